"""Public sets go through `prepare`, and every row is accounted for."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from curriculum.plan import read_options
from curriculum.pool.read import read_pool

DATA = Path(__file__).resolve().parents[3] / "../shared/data"

GSM8K = {
    "pool__prompt_key": "question",
    "pool__reference_key": "answer",
    "pool__answer_after": "####",
    "pool__default_domain": "gsm8k",
}
MATH500 = {
    "pool__prompt_key": "problem",
    "pool__reference_key": "answer",
    "prepare__solution_key": "solution",
}
HUMAN_EVAL = {
    "pool__reference_key": "test",
    "pool__default_verifier": "unit_tests",
    "prepare__solution_key": "canonical_solution",
    "verification__workers": 2,
}
TOOLRL = {"pool__default_verifier": "tool_calls"}

ACCOUNTS = [
    ("gsm8k_test.jsonl", GSM8K, 1319),
    ("math500.jsonl", MATH500, 500),
    ("toolrl_test_verl.parquet", TOOLRL, 80),
    pytest.param("HumanEval.jsonl.gz", HUMAN_EVAL, 164, marks=pytest.mark.slow),
]
"""Sets in which every reference accepts its answer, and the given solution where there is one."""

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no public data beside the checkout")


@pytest.mark.parametrize(("name", "settings", "rows"), ACCOUNTS)
def test_every_reference_of_a_public_set_is_accepted(config, prepared, table, name, settings, rows) -> None:
    done = prepared(config(DATA / name, prepare__near_duplicates=0.0, **settings))
    assert done.references == {"accepted": rows}
    assert done.decisions[0]["prompts"] == table(done, "train").height == rows
    assert done.unreadable_rows == 0


@pytest.mark.slow
def test_every_row_of_a_pool_is_accounted_for(config, prepared, table) -> None:
    """Counted again by plain means: repeated prompts, and problems of MATH-500 that stand there verbatim."""
    name, evaluation = DATA / "deepscaler_10k_verl.parquet", DATA / "math500.jsonl"
    settings = config(name, prepare__evaluations=[str(evaluation)])
    pool = read_pool([str(name)], read_options(settings.pool)).frame
    done = prepared(settings)
    decisions = table(done, "decisions")
    assert decisions["row"].to_list() == list(range(10_240))
    assert decisions["prompt_id"].to_list() == pool["prompt_id"].to_list()
    assert sum(row["prompts"] for row in done.decisions) == 10_240
    assert done.duplicates["same prompt"] == 10_240 - pool["prompt_id"].n_unique()
    problems = {json.loads(line)["problem"].strip() for line in evaluation.read_text().splitlines()}
    asked = pool["prompt"].list.last().struct.field("content").str.strip_chars()
    verbatim = decisions.filter(asked.is_in(sorted(problems)))
    assert verbatim.height > 0
    fates = set(verbatim["decision"].cast(pl.String))
    assert fates <= {"drop_contaminated", "drop_duplicate"}
    assert set(verbatim["prompt_id"]) & set(table(done, "train")["prompt_id"]) == set()
    references = table(done, "references")
    unusable = references.filter(pl.col("status") == "unusable")
    assert unusable["cause"].to_list() == [r"the answer '3\\mid n' does not parse"]
    contradicted = references.filter(pl.col("status") == "contradicted")["prompt_id"]
    twice = table(done, "duplicates").filter(pl.col("row") == 1302)["duplicate_of"]  # 432 here, 144 there
    assert twice.is_in(contradicted.to_list()).all()
    assert contradicted.len() >= 25
