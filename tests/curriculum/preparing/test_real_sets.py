"""Public sets go through `prepare`, and every row is accounted for."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

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
    ("gsm8k_test.jsonl", GSM8K, [], {"keep_unscored": 1319}),
    ("math500.jsonl", MATH500, [], {"keep_unscored": 500}),
    ("toolrl_test_verl.parquet", TOOLRL, [], {"keep_unscored": 80}),
    pytest.param(*("HumanEval.jsonl.gz", HUMAN_EVAL, [], {"keep_unscored": 164}), marks=pytest.mark.slow),
    pytest.param(
        *("deepscaler_10k_verl.parquet", {}, ["math500.jsonl", "gsm8k_test.jsonl"]),
        {"keep_unscored": 9987, "drop_duplicate": 207, "drop_contaminated": 45, "suspect_reference": 1},
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.skipif(not DATA.is_dir(), reason="no public data beside the checkout")
@pytest.mark.parametrize(("name", "settings", "evaluations", "account"), ACCOUNTS)
def test_every_row_of_a_public_set_is_accounted_for(
    config, prepared, table, name, settings, evaluations, account
) -> None:
    against = [str(DATA / evaluation) for evaluation in evaluations]
    done = prepared(config(DATA / name, prepare__evaluations=against, **settings))
    decisions = table(done, "decisions")
    counts = decisions["decision"].cast(pl.String).value_counts()
    assert dict(counts.iter_rows()) == account
    assert decisions["row"].to_list() == list(range(sum(account.values())))
    assert done.unreadable_rows == 0
