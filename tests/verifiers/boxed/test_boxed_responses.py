"""Which answer a whole response gives, and what it earns: a table of responses, references and outcomes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifiers.boxed import BoxedVerifier

CASES = [json.loads(line) for line in (Path(__file__).parent / "responses.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["response"])
def test_response(case):
    verdict = BoxedVerifier().verify(case["response"], case["reference"])
    assert verdict.outcome == case["outcome"], verdict
