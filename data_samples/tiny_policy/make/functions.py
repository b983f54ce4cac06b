"""Tiny Python functions judged by unit tests: text slices, chains of operations, filtered lists.

In: a level and a random source. Out: a `Task` of the family `functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from data_samples.tiny_policy.make.tasks import Task

WORDINGS = (
    ("f({}): {}", 1.0),
    ("Write f({}): {}", 0.95),
    ("Code f({}) to {}", 0.5),
    ("def f({}): {}?", 0.05),
)
"""How a function is asked for, and how often its demonstrations are right."""

TEXT = {
    "first {} letters": "s[:{}]",
    "last {} letters": "s[-{}:]",
    "drop first {}": "s[{}:]",
    "drop last {}": "s[:-{}]",
    "repeat {} times": "s*{}",
    "letter {}": "s[{}]",
    "every {} letters": "s[::{}]",
}
OPERATIONS = {"add {}": "{}+{}", "subtract {}": "{}-{}", "times {}": "{}*{}", "modulo {}": "{}%{}"}
FILTERS = {"above {}": "i>{}", "below {}": "i<{}", "not {}": "i!={}", "multiples of {}": "i%{}==0"}
MAPS = {"": "i", "doubled": "2*i", "squared": "i*i", "negated": "-i"}
TOTALS = {"sum": "sum({})", "list": "[{}]", "count": "len([{}])", "top": "max({})"}

INPUTS: dict[str, list[Any]] = {
    "s": ["abcdefghijklmnop", "The quick brown fox", "0123456789ABCDEF"],
    "x": [17, 230, -41],
    "v": [[1, 14, 9, 16, 5, 12, 3], [20, 36, 1, 7, 40, 11], [63, 1, 8, 30, 24, 6]],
}

Built = tuple[str, str, str, str, list[Any]]
"""Argument, request, the body that meets it, one that narrowly does not, and inputs that tell them apart."""


def make_task(level: str, random: Random) -> Task:
    """A random task of `level`; `ops3` chains three operations, `items2` filters and maps a list."""
    wording, odds = random.choice(WORDINGS)
    build = {"text": text, "ops": operations, "items": items}[level.rstrip("0123456789")]
    argument, request, body, slip, inputs = build(level, random)
    function = evaluate(argument, body)
    return Task(
        family="functions",
        level=level,
        prompt=wording.format(argument, request),
        reference={
            "tests": [{"kind": "call", "args": [v], "expected": function(v)} for v in inputs],
            "entry_point": "f",
        },
        gold=fenced(argument, body),
        flawed=(f"f({argument}) = {body}", f"It is {body}", fenced(argument, slip)),
        odds=odds,
    )


def fenced(argument: str, body: str) -> str:
    return f"```python\ndef f({argument}):\n    return {body}\n```"


def evaluate(argument: str, body: str) -> Callable[[Any], Any]:
    """The function that `body`, an expression written by this file, stands for."""
    return eval(f"lambda {argument}: {body}")


def text(_: str, random: Random) -> Built:
    request, body = random.choice(list(TEXT.items()))
    size = random.randint(2, 9)
    return "s", request.format(size), body.format(size), body.format(size + 1), INPUTS["s"]


def operations(level: str, random: Random) -> Built:
    """Operations one after the other, each on the whole result so far: `(x+3)*4`."""
    requests, body = [], "x"
    sizes = [random.randint(2, 9) for _ in range(int(level[3:]))]
    slip = body
    for size in sizes:
        request, form = random.choice(list(OPERATIONS.items()))
        requests.append(request.format(size))
        inner = body if body == "x" else f"({body})"
        body, slip = form.format(inner, size), form.format(inner, size + 1)
    return "x", ", ".join(requests), body, slip, INPUTS["x"]


def items(level: str, random: Random) -> Built:
    total, outer = random.choice(list(TOTALS.items()))
    chosen, test = random.choice(list(FILTERS.items()))
    change, inner = random.choice(list(MAPS.items())) if level == "items2" else ("", "i")
    size = random.randint(2, 9)
    body = outer.format(f"{inner} for i in v if {test.format(size)}")
    slip = outer.format(f"{inner} for i in v if {test.format(size + 2)}")
    inputs = [*INPUTS["v"], [1, size + 1, size] if chosen == "above {}" else [1, size]]
    return "v", " ".join(filter(None, (total, change, chosen.format(size)))), body, slip, inputs
