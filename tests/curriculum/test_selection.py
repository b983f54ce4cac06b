"""The keys of [selection], from the configuration to the set: one pass, selected from again and again."""

from __future__ import annotations

import polars as pl
import pytest

from curriculum.config import load_config
from curriculum.errors import UsageError
from curriculum.manifest import read_manifest
from curriculum.refresh import refresh
from curriculum.scoring.progress import SilentView


@pytest.fixture(scope="module")
def select(recorded, tmp_path_factory):
    """A refresh of sixty prompts, twenty of which are mixed, with these keys of [selection]."""
    out = tmp_path_factory.mktemp("selected")

    def selected(**keys):
        config = recorded.config(out, **{f"selection__{key}": value for key, value in keys.items()})
        result = refresh(config, recorded.sources, SilentView())
        return result, pl.read_parquet(result.path / "decisions.parquet")

    return selected


def in_set(decisions: pl.DataFrame) -> pl.DataFrame:
    return decisions.filter(pl.col("weight").is_not_null())


def test_the_summary_and_the_manifest_hold_what_every_rule_would_keep(select) -> None:
    result, decisions = select()
    assert [row["rule"] for row in result.rules if row["used"]] == ["varied"]
    assert next(row["prompts"] for row in result.rules if row["used"]) == in_set(decisions).height
    assert read_manifest(result.path).rules == result.rules


@pytest.mark.parametrize("rule", ["posterior", "band", "learnability", "hard_first"])
def test_a_rule_keeps_what_the_table_of_another_refresh_said(rule, select) -> None:
    expected = {row["rule"]: row["prompts"] for row in select()[0].rules}
    result, decisions = select(rule=rule)
    assert result.set_rows == in_set(decisions).height == expected[rule]


def test_quotas_and_sizes_hold_in_the_published_set(select) -> None:
    result, decisions = select(quotas={"sums": 0.25}, max_size=12)
    assert result.set_rows == 12
    assert in_set(decisions).filter(pl.col("domain") == "sums").height == 3
    assert "drop_over_quota" in decisions["decision"].to_list()


def test_a_floor_that_is_out_of_reach_is_said_and_not_faked(select) -> None:
    result, _ = select(min_size=55)
    assert result.short_of_floor == 55 - result.set_rows > 0


def test_a_window_gives_every_domain_a_prompt_cap(select) -> None:
    result, _ = select(trainer_window=40)
    assert all(cap["prompt_cap"] == 40 - cap["cap"] for cap in result.caps)


BAD = [
    ({"rule": "nearest"}, "selection.rule"),
    ({"band": [0.8, 0.2]}, "the lower pass rate comes first"),
    ({"band": [0.2, 1.2]}, "selection.band"),
    ({"quotas": {"maths": 0}}, "selection.quotas.maths"),
    ({"min_size": 10, "max_size": 9}, "the ceiling is below min_size, 10"),
    ({"learnable_share": 0}, "selection.learnable_share"),
]


@pytest.mark.parametrize(("keys", "message"), BAD)
def test_a_policy_that_makes_no_sense_is_refused_before_anything_runs(keys, message) -> None:
    with pytest.raises(UsageError, match=message):
        load_config(None, {f"selection.{key}": value for key, value in keys.items()})
