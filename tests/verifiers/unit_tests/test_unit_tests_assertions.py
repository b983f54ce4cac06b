"""Assertion tests: the judge asks the solution, and neither can spoil the other."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from verifiers.unit_tests import UnitTestsVerifier
from verifiers.verdict import Verdict

HUMAN_EVAL = Path(__file__).resolve().parents[4] / "shared/data/HumanEval.jsonl.gz"


def verify(code: str, *tests: str, **options: Any) -> Verdict:
    reference = {"tests": [{"kind": "assert", "code": test} for test in tests], "timeout_s": 5, **options}
    return UnitTestsVerifier().verify(f"```python\n{code}\n```", reference)


@pytest.mark.parametrize(
    ("code", "test", "options", "outcome"),
    [
        (
            "def f(a): return a",
            "def check(candidate):\n    assert candidate(1) == 1",
            {"entry_point": "f"},
            "correct",
        ),
        ("def f(a): return a", "assert f(1) == 1", {"entry_point": "f"}, "correct"),
        ("def f(a): return a", "assert f(1) == 1\nassert f((1,)) == (1,)", {}, "correct"),
        ("def f(a): return list(a)", "assert f((1,)) == (1,)", {}, "wrong"),
        ("def f(a): return a", "assert f(1) == 2", {}, "wrong"),
        ("def f(a): a.sort()", "x = [2, 1]\nf(x)\nassert x == [1, 2]", {}, "correct"),
        ("def f(a): a.clear()", "x = {1: 2}\nf(x)\nassert x == {}", {}, "correct"),
        ("def f(a): yield from a", "assert list(f([1, 2])) == [1, 2]", {}, "correct"),
        ("def f(a): return set(a)", "assert f([1, 1]) == {1}", {}, "correct"),
        (
            "def f(a): raise ValueError(a)",
            "try: f('x')\nexcept ValueError as e: assert str(e) == 'x'",
            {},
            "correct",
        ),
        (
            "def f(a): return double(a)",
            "assert f(2) == helper(2)",
            {"setup": "def helper(a): return 2 * a"},
            "wrong",
        ),
        ("def f(a): return sqrt(a)", "assert f(4) == 2", {"prelude": "from math import sqrt"}, "correct"),
        (
            "class Solution:\n    def f(self, a): return a",
            "assert Solution().f(1) == candidate(1) == 1",
            {"entry_point": "Solution().f"},
            "correct",
        ),
        ("def f(a): return a\ndef g(a): return 2 * a", "assert g(f(1)) == 2", {}, "correct"),
        ("def f(a): exit()", "try: f(1)\nexcept BaseException: pass", {}, "correct"),
        ("import os\ndef f(a): os._exit(0)", "try: f(1)\nexcept BaseException: pass", {}, "wrong"),
        ("def f(a): return 10 ** 9", "assert 2 ** 2 ** f(1) == 1", {}, "timeout"),
        ("def f(a): return 10 ** 9", "assert len([0] * f(1)) == 1", {}, "wrong"),
    ],
)
def test_outcome(code: str, test: str, options: dict[str, Any], outcome: str) -> None:
    verdict = verify(code, test, **{"timeout_s": 2, **options})
    assert verdict.outcome == outcome, verdict


@pytest.mark.parametrize(
    ("test", "options"),
    [
        ("def check(candidate):\n    assert candidate(1) ==", {"entry_point": "f"}),
        ("import nowhere\nassert f(1) == 1", {}),
        ("assert 1 + 1 == 2", {}),
        ("def check(candidate): pass", {"entry_point": "f"}),
        ("while True: pass", {}),
        ("assert f(lambda: 1) == 1", {}),
        ("assert f(1) == 1", {"setup": "raise ValueError"}),
        ("assert f(1) == 1", {"setup": "while True: pass"}),
        ("assert f(1) == 1", {"setup": "import os; os._exit(0)"}),
    ],
)
def test_a_test_that_fails_by_itself_is_an_error_of_the_reference(test: str, options: dict[str, Any]) -> None:
    verdict = verify("def f(a): return a", test, **{"timeout_s": 1, **options})
    assert verdict.outcome == "verifier_error", verdict


def test_partial_credit_goes_on_after_a_crash_and_a_timeout() -> None:
    code = "import os\ndef f(a):\n    if a == 1: os._exit(0)\n    while a == 2: pass\n    return a"
    tests = [f"assert f({number}) == {number}" for number in range(4)]
    verdict = verify(code, *tests, partial=True, timeout_s=1)
    assert verdict.outcome == "partial"
    assert [part.value for part in verdict.parts] == [1.0, 0.0, 0.0, 1.0]
    assert verdict.correctness == 0.5
    assert verify(code, *tests, timeout_s=1).correctness == 0.0


def test_what_passed_stands_when_the_code_cannot_be_loaded_again() -> None:
    code = "import os, time\ntime.sleep(0.3)\ndef f(a):\n    if a: os._exit(0)\n    return a"
    verdict = verify(
        code, "assert f(0) == 0", *["assert f(1) == 1"] * 9, partial=True, total_timeout_s=1.5, timeout_s=1
    )
    assert [part.value for part in verdict.parts] == [1.0, *[0.0] * 9]


@pytest.mark.slow
@pytest.mark.skipif(not HUMAN_EVAL.exists(), reason="HumanEval is not beside the checkout")
@pytest.mark.parametrize(("body", "outcome"), [("canonical_solution", "correct"), ("stub", "wrong")])
def test_human_eval(body: str, outcome: str) -> None:
    with gzip.open(HUMAN_EVAL, "rt") as lines:
        problems = [json.loads(line) for line in lines]
    unexpected = []
    for problem in problems:
        solution = problem["prompt"] + problem["canonical_solution"]
        code = solution if body == "canonical_solution" else problem["prompt"] + "    return None\n"
        options = {"entry_point": problem["entry_point"], "setup": solution, "timeout_s": 30}
        verdict = verify(code, problem["test"], **options)
        if verdict.outcome != outcome:
            unexpected.append((problem["task_id"], verdict))
    assert (len(problems), unexpected) == (164, [])
