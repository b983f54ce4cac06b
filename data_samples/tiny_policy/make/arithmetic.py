r"""Arithmetic of growing length, answered in \boxed{}; chains of sums show their running totals.

In: a level and a random source. Out: a `Task` of the family `arithmetic`.
"""

from __future__ import annotations

from random import Random

from data_samples.tiny_policy.make.tasks import Task

WORDINGS = (
    ("{}=?", 1.0),
    ("What is {}?", 0.97),
    ("Compute {}.", 0.6),
    ("Find {}.", 0.25),
    ("{}, please", 0.04),
)
"""How a question is put, and how often its demonstrations are right: five teachers, most of them careless."""


def make_task(level: str, random: Random) -> Task:
    """A random task of `level`; `sum3` adds two numbers of three digits, `chain5` adds five small ones."""
    wording, odds = random.choice(WORDINGS)
    if level.startswith("chain"):
        terms = [random.randint(1, 9) for _ in range(int(level[5:]))]
        question, answer = "+".join(map(str, terms)), sum(terms)
        work = running_totals(terms) + "\n"
    else:
        question, answer = direct(level, random)
        work = ""
    slip = answer + random.choice((-10, -1, 1, 10))
    return Task(
        family="arithmetic",
        level=level,
        prompt=wording.format(question),
        reference={"answer": str(answer)},
        gold=f"{work}\\boxed{{{answer}}}",
        flawed=(f"{work}{answer}", f"{work}It is {answer}.", f"{work}\\boxed{{{slip}}}"),
        odds=odds,
    )


def direct(level: str, random: Random) -> tuple[str, int]:
    """A question of two operands, and its answer."""
    sign = {"sum": "+", "minus": "-", "times": "*"}[level.rstrip("0123456789")]
    digits = level.lstrip("abcdefghijklmnopqrstuvwxyz")
    left, right = (random.randint(10 ** (int(d) - 1), 10 ** int(d) - 1) for d in (digits[0], digits[-1]))
    answer = {"+": left + right, "-": left - right, "*": left * right}[sign]
    return f"{left}{sign}{right}", answer


def running_totals(terms: list[int]) -> str:
    """The scratch pad of a chain: `3+8=11,11+4=15`."""
    total, steps = terms[0], []
    for term in terms[1:]:
        steps.append(f"{total}+{term}={total + term}")
        total += term
    return ",".join(steps)
