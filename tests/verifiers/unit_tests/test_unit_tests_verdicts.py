"""What the verifier says of honest and broken responses, by kind of test."""

from __future__ import annotations

import pickle
import time

import pytest

from verifiers import registry, sandbox
from verifiers.unit_tests import UnitTestsVerifier

VERIFIER = UnitTestsVerifier()
ADD = {"tests": [{"kind": "call", "args": [1, 2], "expected": 3}], "entry_point": "add"}
SUM = {"tests": [{"kind": "io", "stdin": "1 2\n3\n", "stdout": "6\n"}]}


def fenced(code: str) -> str:
    return f"Here it is.\n```python\n{code}\n```\n"


def test_is_found_by_name() -> None:
    assert isinstance(registry.get("unit_tests"), UnitTestsVerifier)


def test_a_jail_is_found_here() -> None:
    assert sandbox.level().name != "none", sandbox.level().description


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("def add(a, b):\n    return a + b", "correct"),
        ("add = lambda a, b: a + b", "correct"),
        ("def add(a, b):\n    return a - b", "wrong"),
        ("def add(a, b):\n    return '3'", "wrong"),
        ("def add(a, b):\n    return object()", "wrong"),
        ("def add(a, b)\n    return a + b", "wrong"),
        ("def sub(a, b):\n    return a - b", "wrong"),
        ("import nowhere\ndef add(a, b):\n    return a + b", "wrong"),
        ("def add(a, b):\n    while True: pass", "timeout"),
        ("while True: pass\ndef add(a, b): return 3", "timeout"),
        ("def add(a, b):\n    return a + b\nexit()", "correct"),
    ],
)
def test_call(code: str, outcome: str) -> None:
    verdict = VERIFIER.verify(fenced(code), {**ADD, "timeout_s": 1})
    assert verdict.outcome == outcome, verdict


def test_survives_pickling_after_use() -> None:
    assert VERIFIER.verify(fenced("def add(a, b): return a + b"), ADD).correctness == 1.0
    again = pickle.loads(pickle.dumps(VERIFIER))
    assert again.verify(fenced("def add(a, b): return a + b"), ADD).correctness == 1.0


@pytest.mark.parametrize("kind", ["call", "assert", "io"])
def test_slow_tests_share_a_total(kind: str) -> None:
    test = {
        "call": {"kind": "call", "args": [1, 2], "expected": 3},
        "assert": {"kind": "assert", "code": "assert add(1, 2) == 3"},
        "io": {"kind": "io", "stdin": "", "stdout": "3"},
    }[kind]
    slow = "import time\ndef add(a, b):\n    time.sleep(0.4)\n    return a + b\n"
    code = f"{slow}if __name__ == '__main__': print(add(1, 2))"
    reference = {"tests": [test] * 20, "entry_point": "add", "timeout_s": 1, "partial": True}
    started = time.monotonic()
    verdict = VERIFIER.verify(fenced(code), {**reference, "total_timeout_s": 1})
    assert time.monotonic() - started < 5
    assert verdict.correctness < 0.2
    assert len(verdict.parts) == 20
