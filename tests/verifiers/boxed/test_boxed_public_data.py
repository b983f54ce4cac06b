"""Agreement with public answers and published verdicts; skipped where the data are absent."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from verifiers.boxed import BoxedVerifier

SHARED = Path(__file__).resolve().parents[3] / "../shared"
VERIFIER = BoxedVerifier()

pytestmark = pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="public data not beside the checkout")


def rows(path):
    return [json.loads(line) for line in (SHARED / path).read_text().splitlines()]


def correct(response, answer, **options):
    return VERIFIER.verify(response, {"answer": answer, **options}).outcome == "correct"


def deepscaler_answers():
    table = pq.read_table(SHARED / "data/deepscaler_10k_verl.parquet", columns=["reward_model"])
    return [row["ground_truth"] for row in table["reward_model"].to_pylist()]


def test_grader_cases():
    cases = rows("cases/math.jsonl")
    judged = [(case, correct(case["response"], case["gold"])) for case in cases]
    assert [case["id"] for case, found in judged if found and not case["expected"]] == []
    assert [case["id"] for case, found in judged if not found and case["expected"]] == []


def test_gsm8k_solutions_agree_with_the_published_verdicts():
    solutions = rows("data/gsm8k_solutions.jsonl")
    agreeing = sum(
        correct(s["answer"], s["gold"], formats=["answer_line"]) == s["expected_correct"] for s in solutions
    )
    assert agreeing / len(solutions) >= 0.997


def test_gsm8k_gold_solutions_accept_themselves():
    for row in rows("data/gsm8k_test.jsonl")[:300]:
        assert correct(row["answer"], row["answer"].rpartition("#### ")[2], formats=["hash"])


@pytest.mark.parametrize("name", ["math500", "deepscaler"])
def test_gold_answers_accept_themselves(name):
    golds = (
        [row["answer"] for row in rows("data/math500.jsonl")] if name == "math500" else deepscaler_answers()
    )
    accepted = sum(correct(rf"So $\boxed{{{gold}}}$.", gold + " ") for gold in golds)
    assert accepted / len(golds) >= 0.995


def test_random_pairs_of_unequal_whole_numbers_are_refused():
    numbers = sorted({gold for gold in deepscaler_answers() if gold.isdigit()})
    chosen = random.Random(7)
    for _ in range(2000):
        one, two = chosen.sample(numbers, 2)
        assert correct(rf"\boxed{{{one}}}", two) == (int(one) == int(two))


def test_recorded_answers_agree_with_the_published_verdicts():
    table = pq.read_table(SHARED / "data/math_recorded_pool_verl.parquet").to_pylist()
    gold = {row["extra_info"]["index"]: row["reward_model"]["ground_truth"] for row in table}
    for rollout in rows("data/math_recorded_rollouts.jsonl"):
        found = correct(rollout["text"], gold[rollout["extra_info.index"]])
        assert found == rollout["expected_correct"], rollout["extracted"]
