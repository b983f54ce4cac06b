"""Sums that do not depend on order, lengths packed into integers, and groups aggregated slice by slice."""

from __future__ import annotations

import math
import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines import groups, totals
from pipelines.groups import GroupRule, group_statistics
from pipelines.lengths import length_counts, length_quantiles, packed

RULE = GroupRule(trainer_group_size=8)
FINITE = st.floats(-1e6, 1e6)


def aggregated(values: list[float | None]) -> dict[str, float | None]:
    frame = pl.DataFrame({"value": values}, {"value": pl.Float64})
    moments = frame.select(totals.moments(pl.col("value"), "value"))
    reduced = {
        "mean": totals.mean("value"),
        "variance": totals.variance("value"),
        "spread": totals.spread("value"),
    }
    return moments.select(pl.col("value_total").alias("total"), **reduced).row(0, named=True)


@given(st.lists(FINITE, min_size=1, max_size=40), st.randoms())
def test_a_total_is_the_sum_and_does_not_depend_on_order(values, rng):
    found = aggregated(values)["total"]
    assert found == pytest.approx(math.fsum(values), rel=1e-12, abs=1e-12)
    assert aggregated(rng.sample(values, len(values)))["total"] == found


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_mean_and_variance_are_those_of_the_values(values):
    found = aggregated(values)
    assert found["mean"] == pytest.approx(np.mean(values), abs=1e-12)
    assert found["variance"] == pytest.approx(np.var(values), abs=1e-12)
    assert found["spread"] == max(values) - min(values)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, 1.0])
def test_equal_values_have_no_variance(value):
    assert aggregated([value] * 7)["variance"] == 0


def test_no_values_have_no_moments():
    assert aggregated([None]) == {"total": 0, "mean": None, "variance": None, "spread": None}


@pytest.fixture
def lengths():
    rng = random.Random(0)
    rows = [
        (
            str(rng.randrange(5)),
            rng.choice([None, 0, 3, 7, 2**31 - 1]),
            rng.random() < 0.3,
            rng.random() < 0.5,
        )
        for _ in range(400)
    ]
    names = {"prompt_id": pl.String, "length": pl.Int32, "cut": pl.Boolean, "correct": pl.Boolean}
    rollouts = pl.DataFrame(rows, names, orient="row")
    prompts = pl.DataFrame({"prompt_id": ["4", "2", "9", "0", "1"], "domain": ["a", "b", "a", "b", "a"]})
    return rollouts, packed(rollouts.lazy(), prompts)


def test_quantiles_are_those_of_each_prompt(lengths):
    rollouts, of = lengths
    quantile = pl.col("length").quantile
    expected = rollouts.group_by("prompt_id").agg(
        tokens_p50=quantile(0.5, "linear"), tokens_p90=quantile(0.9, "linear")
    )
    found = length_quantiles(of)
    assert found.equals(of.prompts.join(expected, on="prompt_id", how="left", maintain_order="left"))
    assert found.filter(prompt_id="9")["tokens_p50"].item() is None


def test_counts_are_those_of_each_cell(lengths):
    rollouts, of = lengths
    cell = of.prompts.select("prompt_id", cell=pl.Series([0, 1, 0, 1, 0]))
    expected = (
        rollouts.drop_nulls("length")
        .join(cell, on="prompt_id")
        .group_by("cell", "correct", tokens="length")
        .agg(ended=(~pl.col("cut")).sum().cast(pl.Int64), cut=pl.col("cut").sum().cast(pl.Int64))
    )
    found = length_counts(of, cell["cell"].to_numpy())
    order = ["cell", "correct", "tokens"]
    assert found.sort(order).equals(expected.sort(order))


def test_groups_aggregated_slice_by_slice_are_the_same(monkeypatch, rollouts_of, pool_of):
    rng = random.Random(0)
    prompts = [{"prompt_id": f"{rng.getrandbits(128):032x}"} for _ in range(40)]
    rows = [
        row | {"correctness": rng.choice([0.0, 0.5, 1.0]), "outcome": "partial", "tokens": rng.randrange(99)}
        for row in prompts
        for _ in range(5)
    ]
    rollouts, pool = rollouts_of(rng.sample(rows, len(rows))).lazy(), pool_of(prompts).lazy()
    at_once = group_statistics(rollouts, pool, RULE).collect()
    monkeypatch.setattr(groups, "SLICE", 7)
    assert group_statistics(rollouts, pool, RULE).collect().equals(at_once)
