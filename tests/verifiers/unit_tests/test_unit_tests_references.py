"""References that cannot be used are verifier errors that name the key."""

from __future__ import annotations

from typing import Any

import pytest

from verifiers.unit_tests import UnitTestsVerifier

CALL = {"kind": "call", "args": [1], "expected": 1}
RESPONSE = "```python\ndef f(x): return x\n```"


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ({}, "tests"),
        ({"tests": []}, "tests"),
        ({"tests": "assert f(1) == 1"}, "tests"),
        ({"tests": {"kind": "call"}}, "tests"),
        ({"tests": [CALL]}, "entry_point"),
        ({"tests": ["assert f(1) == 1"], "entry_point": "f"}, "tests[0]"),
        ({"tests": [CALL, {"kind": "cal"}], "entry_point": "f"}, "tests[1]"),
        ({"tests": [{"kind": "call", "args": [1]}], "entry_point": "f"}, "expected"),
        ({"tests": [{**CALL, "raises": "ValueError"}], "entry_point": "f"}, "raises"),
        ({"tests": [{**CALL, "args": "abc"}], "entry_point": "f"}, "args"),
        ({"tests": [{**CALL, "args": [object()]}], "entry_point": "f"}, "tests[0]"),
        ({"tests": [{**CALL, "kwargs": {1: 2}}], "entry_point": "f"}, "kwargs"),
        ({"tests": [{"kind": "assert"}], "entry_point": "f"}, "code"),
        ({"tests": [{"kind": "io", "stdin": "1"}]}, "stdout"),
        ({"tests": [{"kind": "io", "stdin": 1, "stdout": "1"}]}, "stdin"),
        ({"tests": [CALL], "entry_point": "f; import os"}, "entry_point"),
        ({"tests": [CALL], "entry_point": "f()"}, "entry_point"),
        ({"tests": [CALL], "entry_point": "__import__('os').system"}, "entry_point"),
        ({"tests": [CALL], "entry_point": "print"}, "entry_point"),
        ({"tests": [CALL], "entry_point": 3}, "entry_point"),
        ({"tests": [CALL], "entry_point": "f", "timeout_s": 0}, "timeout_s"),
        ({"tests": [CALL], "entry_point": "f", "timeout_s": "5"}, "timeout_s"),
        ({"tests": [CALL], "entry_point": "f", "timeout_s": float("nan")}, "timeout_s"),
        ({"tests": [CALL], "entry_point": "f", "timeout_s": 5, "total_timeout_s": 1}, "total_timeout_s"),
        ({"tests": [CALL], "entry_point": "f", "memory_mb": 1}, "memory_mb"),
        ({"tests": [CALL], "entry_point": "f", "tolerance": -1}, "tolerance"),
        ({"tests": [CALL], "entry_point": "f", "unordered": "yes"}, "unordered"),
        ({"tests": [CALL], "entry_point": "f", "tolerence": 1}, "tolerance"),
    ],
)
def test_unusable(reference: dict[str, Any], named: str) -> None:
    verdict = UnitTestsVerifier().verify(RESPONSE, reference)
    assert verdict.outcome == "verifier_error"
    assert named in verdict.detail


@pytest.mark.parametrize(
    "reference",
    [
        {"tests": [CALL], "entry_point": "f"},
        {
            "tests": [{**CALL, "kwargs": None, "raises": None, "code": None}],
            "entry_point": "f",
            "setup": None,
        },
        {
            "tests": ({"kind": "call", "kwargs": {"x": 1}, "expected": 1},),
            "entry_point": "f",
            "source": "mine",
        },
        {"tests": [{"kind": "call", "args": [None], "expected": None}], "entry_point": "f", "partial": True},
    ],
)
def test_usable(reference: dict[str, Any]) -> None:
    assert UnitTestsVerifier().verify(RESPONSE, reference).outcome == "correct"
