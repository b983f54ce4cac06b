"""Recorded rollouts of a real model, with right references and with corrupted ones."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from curriculum.agreement import count_answers
from pipelines.suspects import SuspectRule, suspects
from verifiers import registry

SHARED = Path(__file__).resolve().parents[2] / "../shared/data"
POOL, ROLLOUTS = SHARED / "math_recorded_pool_verl.parquet", SHARED / "math_recorded_rollouts.jsonl"

pytestmark = pytest.mark.skipif(not ROLLOUTS.exists(), reason="no recorded rollouts beside the checkout")


def accepts(response: str, answer: str) -> float:
    return registry.get("boxed").verify(response, {"answer": answer}).correctness


@pytest.fixture(scope="module")
def gold() -> dict[str, str]:
    rows = pl.read_parquet(POOL).iter_rows(named=True)
    return {str(row["extra_info"]["index"]): row["reward_model"]["ground_truth"] for row in rows}


def judged(gold: dict[str, str]) -> pl.DataFrame:
    rows = [json.loads(line) for line in ROLLOUTS.read_text(encoding="utf-8").splitlines()]
    ids, texts = [str(row["extra_info.index"]) for row in rows], [row["text"] for row in rows]
    marks = [accepts(text, gold[prompt_id]) for prompt_id, text in zip(ids, texts, strict=True)]
    return pl.DataFrame({"prompt_id": ids, "pass_id": "recorded", "text": texts, "correctness": marks})


def suspected(rollouts: pl.DataFrame, gold: dict[str, str]) -> set[str]:
    unsolved = rollouts.filter(pl.col("correctness").max().over("prompt_id") < 1)
    references = [json.dumps({"answer": answer}) for answer in gold.values()]
    prompts = pl.DataFrame({"prompt_id": list(gold), "verifier": "boxed", "reference": references})
    return set(suspects(count_answers(unsolved, prompts), SuspectRule())["prompt_id"])


@pytest.fixture(scope="module")
def right(gold) -> pl.DataFrame:
    return judged(gold)


def test_corrupted_references_of_solvable_prompts_are_found(gold, right) -> None:
    """All of them are corrupted at once: whether one is found depends on no other."""
    answers = list(gold.values())
    wrong = {
        prompt_id: next(
            other
            for other in answers[place + 1 :] + answers[:place]
            if not accepts(f"\\boxed{{{other}}}", answer)
        )
        for place, (prompt_id, answer) in enumerate(gold.items())
    }
    solvable = set(right.filter(pl.col("correctness") == 1)["prompt_id"])
    found = suspected(judged(wrong), wrong)
    assert len(found & solvable) / len(solvable) >= 0.7


def test_right_references_are_seldom_suspected(gold, right) -> None:
    """The one that is, "4:30p..", was mangled before it got here."""
    found = suspected(right, gold)
    assert len(found) / len(gold) <= 0.02
    assert {gold[prompt_id] for prompt_id in found} <= {"4:30p.."}
