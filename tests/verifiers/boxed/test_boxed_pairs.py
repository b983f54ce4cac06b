"""Which answers are the same: a table of pairs, each tried both ways round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verifiers.boxed import BoxedVerifier

PAIRS = [json.loads(line) for line in (Path(__file__).parent / "pairs.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['one']} | {pair['two']}")
def test_pair(pair):
    verifier = BoxedVerifier()
    for response, answer in ((pair["one"], pair["two"]), (pair["two"], pair["one"])):
        verdict = verifier.verify(rf"So it is $\boxed{{{response}}}$.", {"answer": answer})
        assert (verdict.outcome == "correct") == pair["same"], verdict


def test_every_answer_equals_itself():
    verifier = BoxedVerifier()
    texts = sorted({pair[side] for pair in PAIRS for side in ("one", "two")})
    for text in texts:
        assert verifier.verify(rf"\boxed{{{text}}}", {"answer": text}).outcome != "wrong"
