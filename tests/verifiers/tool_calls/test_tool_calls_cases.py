"""The shared cases: correctness lies in the range each of them gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifiers.tool_calls import ToolCallsVerifier

CASES = Path(__file__).resolve().parents[3] / "../shared/cases/tool_calls.jsonl"


def cases() -> list[dict]:
    return [json.loads(line) for line in CASES.read_text().splitlines()] if CASES.exists() else []


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not beside this checkout")
def test_every_case_is_there():
    assert len(cases()) >= 70


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in cases()])
def test_correctness_lies_in_the_range(case):
    verdict = ToolCallsVerifier().verify(case["response"], case["reference"])
    low, high = case["expected"]["min"], case["expected"]["max"]
    assert low - 1e-9 <= verdict.correctness <= high + 1e-9, (verdict, case["why"])
