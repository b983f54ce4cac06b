"""Answers meant to hang or break the verifier: each is judged, not rewarded, within its time."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from verifiers.boxed import BoxedVerifier
from verifiers.boxed.read import remembered
from verifiers.shaping import RewardShape
from verifiers.workers import Item, VerifierWorkers

LIMIT_S = 0.1

ANSWERS = {
    "power tower": "9^{9^{9^{9^9}}}",
    "long tower": "^".join("9" * 400),
    "nested exponents": "9^{" * 300 + "9" + "}" * 300,
    "huge exponent": "2^{10^{1000}}",
    "scientific": "1e999999999",
    "factorial": "100000000!",
    "iterated factorial": "((((9!)!)!)!)!",
    "many factorials": "+".join(["2300!"] * 100),
    "factorial marks": "5" + "!" * 600,
    "binomial": r"\binom{100000000}{50000000}",
    "wide binomial": r"\binom{10^{1000}}{200}",
    "100k digits": "1" * 100_000,
    "4k digits": "7" * 3_900,
    "digits to a power": "(" + "7" * 1000 + ")^{7000000}",
    "root of digits": r"\sqrt{" + "7" * 1100 + "}",
    "20k braces": "{" * 20_000 + "1" + "}" * 20_000,
    "20k brackets": "(" * 20_000 + "1" + ")" * 20_000,
    "29 brackets": "(" * 29 + "1" + ")" * 29,
    "nested roots": r"\sqrt{1+" * 29 + "2" + "}" * 29,
    "continued fraction": r"\frac{1}{x+" * 28 + "1" + "}" * 28,
    "power of a sum": "(x+y+z+w)^{200}",
    "product of sums": "(x+y+z+w+a+b+c+d)" * 40,
    "product of surds": "".join(rf"(1+\sqrt{{{p}}})" for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31)),
    "sum of nested surds": "+".join(rf"\sqrt{{{i}+\sqrt{{{i + 1}}}}}" for i in range(2, 60)),
    "power of surds": r"(\sqrt{2+\sqrt3}+\sqrt[3]{5}+\sqrt[5]{7})^{12}",
    "cosines": "+".join(rf"\cos {i}^\circ" for i in range(1, 90)),
    "logarithms": "+".join(rf"\ln {i}" for i in range(2, 200)),
    "harmonic": "+".join(rf"\frac{{1}}{{x+{i}}}" for i in range(60)),
    "root degree": r"\sqrt[4096]{3+\sqrt[4095]{2}}",
    "signs": "-" * 3_000 + "1",
    "exponent signs": "2^" + "-" * 600 + "1",
    "plus-minus": r"\pm" * 1_000 + "1",
    "options": "A: " * 1_000 + "1",
    "hours": "3 hours " * 90,
    "commas": ",".join(map(str, range(700))),
    "thousands": "1" + ",000" * 5_000,
    "spaces": "1" + " " * 15_000 + "2",
    "backslashes": "\\\\" * 9_000,
    "text in text": r"\text{" * 3_000 + "a" + "}" * 3_000,
    "bars": "|" * 600 + "1",
    "unicode": "½" * 3_000,
    "surrogate": "\ud800",
    "nul": "\x00" * 1_000,
    "code": "__import__('os').system('touch owned')",
    "other digits": "١٢٣²³",
    "spaces between equations": "x=1" + " " * 3_900 + "y",
    "spaces in lines": r"\begin{cases} x &= 1" + " " * 3_900 + r"& \end{cases}",
    "open list": "[" + "1," * 1_950,
    "equations": "=1 " * 1_300,
    "currencies": "Rs " * 1_300,
    "spaces before a currency": " " * 3_900 + "Rs",
    "hours and hours": "3 ft and " * 120 + "2 in",
    "words": r"\text{" + "a or " * 750 + "}",
    "integers": r"\{x \in \mathbb{Z} : 0 < x < 10^{9}\}",
    "spaces after a filler": r"\text{the answer is" + " " * 3_900 + "}",
    "fillers": "about " * 650,
    "ordinals": "1^{" * 600 + "th}" * 600,
    "dots": "0." + "12" * 1_900 + "...",
}

RESPONSES = {
    "nested boxes": r"\boxed{" * 20_000 + "5" + "}" * 20_000,
    "open boxes": r"\boxed{" * 20_000,
    "many boxes": r"\boxed{5} or " * 20_000,
    "false boxes": r"\boxedx" * 100_000,
    "braces": "{" * 300_000 + r"\boxed{5}" + "}" * 300_000,
    "braces after": r"\boxed{5}" + "}{" * 100_000,
    "dollars": "$" * 20_000,
    "answer": "answer: \n" * 20_000,
    "the final answer": "the final answer is " * 20_000,
    "brackets": " [" * 20_000,
    "thoughts": "<think>" * 20_000 + "</think>" * 20_000,
    "spaces": r"\boxed" + " " * 300_000 + "{5}",
    "lines": "\n>" * 50_000,
}


def seconds(response, **reference):
    """The least CPU time of two fresh judgements; a busy machine does not count."""
    taken = []
    for _ in range(2):
        remembered.cache_clear()
        start = time.thread_time()
        verdict = BoxedVerifier().verify(response, reference)
        taken.append(time.thread_time() - start)
    return min(taken), verdict


@pytest.mark.parametrize("name", ANSWERS)
def test_hostile_answer(name):
    taken, verdict = seconds(rf"\boxed{{{ANSWERS[name]}}}", answer="12345")
    assert verdict.correctness == 0.0
    assert taken < LIMIT_S


@pytest.mark.parametrize("name", ANSWERS)
def test_hostile_answer_against_its_neighbour(name):
    answer = ANSWERS[name]
    taken, verdict = seconds(rf"\boxed{{{answer}}}", answer=answer[:9_000] + "+1")
    assert verdict.correctness == 0.0
    assert taken < 2 * LIMIT_S


@pytest.mark.parametrize("name", RESPONSES)
@pytest.mark.parametrize("formats", [["boxed"], ["hash", "answer_line", "plain"]])
def test_hostile_response(name, formats):
    taken, _ = seconds(RESPONSES[name], answer="5", formats=formats)
    assert taken < LIMIT_S


def test_in_a_worker():
    judged = []
    with VerifierWorkers(workers=1, rewards=RewardShape(), on_judged=judged.extend, deadline_s=5) as workers:
        for name, answer in ANSWERS.items():
            workers.submit([Item(name, "boxed", rf"\boxed{{{answer}}}", '{"answer": "12345"}')])
        workers.close()
    assert {item.key: item.verdict.correctness for item in judged} == dict.fromkeys(ANSWERS, 0.0)
    assert [item.key for item in judged if "deadline" in item.verdict.detail] == []


def test_in_a_thread_and_in_asyncio():
    response, reference = r"\boxed{9^{9^{9^9}} + \frac12}", {"answer": "1/2"}
    expected = BoxedVerifier().verify(response, reference)
    found = []
    thread = threading.Thread(target=lambda: found.append(BoxedVerifier().verify(response, reference)))
    thread.start()
    thread.join(5)

    async def judge():
        return await asyncio.to_thread(BoxedVerifier().verify, response, reference)

    assert [*found, asyncio.run(judge())] == [expected, expected]
