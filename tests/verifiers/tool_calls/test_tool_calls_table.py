"""What responses earn: a table of responses and wanted calls in every format, over one list of tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifiers.tool_calls import ToolCallsVerifier

HEAD, *CASES = map(json.loads, (Path(__file__).parent / "calls.jsonl").read_text().splitlines())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["response"][:60])
def test_response(case):
    reference = {"tools": HEAD["tools"], "calls": case["calls"], **case.get("options", {})}
    verdict = ToolCallsVerifier().verify(case["response"], reference)
    assert verdict.correctness == pytest.approx(case["correctness"], abs=1e-6), verdict
    assert verdict.outcome == case["outcome"], verdict
