"""Length caps: how long a rollout may be, measured per domain instead of guessed.

In: rollouts and the pool. Out: one row per domain of the pool, schema CAPS, sorted by domain.

The cap is the quantile of rollout length, with truncated rollouts as right-censored at the length
where they were cut: the Kaplan-Meier estimate (Kaplan & Meier, "Nonparametric estimation from
incomplete observations", J. Am. Stat. Assoc. 53, 1958). Where the estimate never reaches the
quantile the answer is "beyond the cap in force", which is then kept. A cap is never below the same
quantile of correct rollouts.
"""

from __future__ import annotations

import polars as pl

from pipelines import dedupe
from pipelines.groups import NEEDED, GroupRule, counted_as
from pipelines.schemas import CAPS, POOL, require

_ROUNDING = 1e-9  # survival is a product of floats: 0.1 may come out as 0.1 + 1e-17


def length_caps(
    rollouts: pl.LazyFrame,
    pool: pl.LazyFrame,
    *,
    cap_in_force: int,
    rule: GroupRule,
    quantile: float = 0.9,
) -> pl.DataFrame:
    """The length cap of every domain of the pool: schema CAPS, sorted by domain.

    A measured cap may exceed `cap_in_force` where recorded rollouts were longer.

    Args:
        rollouts: schema ROLLOUTS; aborted rollouts and those of unknown length are left out.
        pool: schema POOL; the first row of equal prompts gives the domain.
        cap_in_force: the cap under which the rollouts were sampled, in tokens.
        rule: what counts as correct.
        quantile: share of rollouts that the cap lets finish, in (0, 1).

    Raises:
        SchemaError: a column is missing or of another type.
        ValueError: `quantile` does not lie in (0, 1).
    """
    if not 0 < quantile < 1:
        raise ValueError(f"quantile must lie in (0, 1), got {quantile}")
    require(rollouts, NEEDED, table="rollouts")
    require(pool, POOL, table="pool")
    lengths = _lengths(rollouts, pool, rule).collect().lazy()
    correct = lengths.filter("correct")
    of_correct = (
        _kaplan_meier(correct, quantile)
        .rename({"quantile": "correct_quantile"})
        .drop("rollouts", "truncated")
    )
    caps = (
        pool.select("domain")
        .unique()
        .join(_kaplan_meier(lengths, quantile), on="domain", how="left", nulls_equal=True)
        .join(of_correct.with_columns(any_correct=True), on="domain", how="left", nulls_equal=True)
        .with_columns(
            pl.col("rollouts", "truncated").fill_null(0), identified=pl.col("quantile").is_not_null()
        )
        .with_columns(cap=_cap(cap_in_force))
    )
    return (
        caps.join(_correct_cut(correct, caps), on="domain", how="left", nulls_equal=True)
        .select(pl.col(name).cast(dtype) for name, dtype in CAPS.items())
        .sort("domain")
        .collect()
    )


def _lengths(rollouts: pl.LazyFrame, pool: pl.LazyFrame, rule: GroupRule) -> pl.LazyFrame:
    """How many rollouts of each domain, correct or not, ended and were cut at each length."""
    counted = counted_as()
    full_marks = (pl.col("correctness") >= 1 - rule.tol).fill_null(value=False)
    return (
        rollouts.select(NEEDED.names())
        .filter(counted != "aborted", pl.col("tokens").is_not_null())
        .select(
            "prompt_id",
            "tokens",
            cut=(pl.col("finish") == "length").fill_null(value=False),
            correct=(counted != "verifier_error") & full_marks,
        )
        .join(dedupe.distinct(pool).select("prompt_id", "domain"), on="prompt_id", how="inner")
        .group_by("domain", "correct", "tokens")
        .agg(ended=(~pl.col("cut")).sum().cast(pl.Int64), cut=pl.col("cut").sum().cast(pl.Int64))
    )


def _kaplan_meier(lengths: pl.LazyFrame, quantile: float) -> pl.LazyFrame:
    """Per domain the smallest length by which the estimate has reached `quantile`, null where it never does.

    At equal lengths those that ended come before those that were cut, which were still running.
    """
    at_risk = (pl.col("ended") + pl.col("cut")).cum_sum(reverse=True).over("domain")
    survival = (1 - pl.col("ended") / pl.col("at_risk")).cum_prod().over("domain")
    reached = pl.col("survival") <= 1 - quantile + _ROUNDING
    return (
        lengths.group_by("domain", "tokens")
        .agg(pl.col("ended", "cut").sum())
        .sort("domain", "tokens")
        .with_columns(at_risk=at_risk)
        .with_columns(survival=survival)
        .group_by("domain")
        .agg(
            quantile=pl.col("tokens").filter(reached).min(),
            rollouts=pl.col("ended").sum() + pl.col("cut").sum(),
            truncated=pl.col("cut").sum(),
        )
    )


def _cap(cap_in_force: int) -> pl.Expr:
    """The larger of the two quantiles; the cap in force where one of them lies beyond it."""
    correct_beyond = pl.col("any_correct") & pl.col("correct_quantile").is_null()
    return (
        pl.when(pl.col("rollouts") == 0)
        .then(None)
        .when(pl.col("quantile").is_null() | correct_beyond)
        .then(cap_in_force)
        .otherwise(pl.max_horizontal("quantile", "correct_quantile"))
    )


def _correct_cut(correct: pl.LazyFrame, caps: pl.LazyFrame) -> pl.LazyFrame:
    """Per domain the share of correct rollouts longer than its cap."""
    count = pl.col("ended") + pl.col("cut")
    return (
        correct.join(caps.select("domain", "cap"), on="domain", nulls_equal=True)
        .group_by("domain")
        .agg(correct_cut=count.filter(pl.col("tokens") > pl.col("cap")).sum() / count.sum())
    )
