"""A sample of programs is judged twice, and a verdict that depends on chance is none."""

from __future__ import annotations

import time

import pytest

from verifiers.unit_tests import UnitTestsVerifier

IS_EARLY = """```python
import time

def f(moment):
    early = time.time() < moment
    while time.time() < moment:
        time.sleep(0.05)
    return early
```"""
"""True at its first run, False at every later one."""
RIGHT = "```python\ndef f(moment):\n    return True\n```"
WRONG = "```python\ndef f(moment):\n    return False\n```"


def judged(response, **options):
    test = {"kind": "call", "args": [time.time() + 2], "expected": True}
    return UnitTestsVerifier().verify(response, {"entry_point": "f", "tests": [test], **options})


def test_a_flaky_program_is_a_verifier_error():
    verdict = judged(IS_EARLY, rerun=1)
    assert verdict.outcome == "verifier_error"
    assert verdict.detail.startswith("flaky: 1 of 1 tests passed; judged again, 0 of 1 tests passed")


def test_it_passes_where_nothing_is_judged_twice():
    assert judged(IS_EARLY, rerun=0).outcome == "correct"


@pytest.mark.parametrize(("response", "outcome"), [(RIGHT, "correct"), (WRONG, "wrong")])
def test_a_steady_program_keeps_its_verdict(response, outcome):
    assert judged(response, rerun=1) == judged(response, rerun=0)
    assert judged(response, rerun=1).outcome == outcome


def test_the_sample_is_the_share_that_was_asked_for():
    from verifiers.unit_tests import _is_rerun
    from verifiers.unit_tests.cases import CallTest, Suite

    suite = Suite(tests=(CallTest([], {}, None, None),), rerun=0.1)
    chosen = [_is_rerun(suite, f"def f(): return {number}") for number in range(2000)]
    assert 150 < sum(chosen) < 250
    assert chosen == [_is_rerun(suite, f"def f(): return {number}") for number in range(2000)]


@pytest.mark.parametrize("rerun", [-0.1, 1.5, "all", True])
def test_a_share_is_a_number_from_0_to_1(rerun):
    assert judged(RIGHT, rerun=rerun).outcome == "verifier_error"
