"""Length caps: how long a rollout may be, measured per domain instead of guessed.

In: rollouts and the pool. Out: one row per domain of the pool, schema CAPS, sorted by domain.

The cap is the quantile of rollout length, with truncated rollouts as right-censored at the length
where they were cut: the Kaplan-Meier estimate (Kaplan & Meier, "Nonparametric estimation from
incomplete observations", J. Am. Stat. Assoc. 53, 1958). Where the estimate never reaches the
quantile the answer is "beyond the cap in force", which is then kept. A cap is never below the same
quantile of correct rollouts.

A domain with few finished rollouts takes the quantile of all domains together. Not so when its own
rollouts were cut off before they reached it: then it lies beyond the cap in force, whatever others say.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from pipelines.groups import NEEDED, GroupRule, response_lengths
from pipelines.intervals import UNITS, quantile_interval
from pipelines.lengths import Lengths, length_counts
from pipelines.order import hash_of_prompt
from pipelines.schemas import CAPS, POOL, require

FEWEST_FINISHED = 50
"""Finished rollouts below which a domain's own quantile says little."""

_TOKENS = 2**32  # more than any length
_ROUNDING = 1e-9  # survival is a product of floats: 0.1 may come out as 0.1 + 1e-17


def length_caps(
    rollouts: pl.LazyFrame,
    pool: pl.LazyFrame,
    *,
    cap_in_force: int,
    rule: GroupRule,
    quantile: float = 0.9,
    window: int | None = None,
    lengths: Lengths | None = None,
) -> pl.DataFrame:
    """The length cap of every domain of the pool: schema CAPS, sorted by domain.

    A measured cap may exceed `cap_in_force` where recorded rollouts were longer.

    Args:
        rollouts: schema ROLLOUTS; aborted rollouts and those of unknown length are left out.
        pool: schema POOL; the first row of equal prompts gives the domain.
        cap_in_force: the cap under which the rollouts were sampled, in tokens.
        rule: what counts as correct.
        quantile: share of rollouts that the cap lets finish, in (0, 1).
        window: tokens of prompt and response together that the trainer takes; gives the prompt caps.
        lengths: `response_lengths` of the same arguments, where they are at hand.

    Raises:
        SchemaError: a column is missing or of another type.
        ValueError: `quantile` does not lie in (0, 1).
    """
    if not 0 < quantile < 1:
        raise ValueError(f"quantile must lie in (0, 1), got {quantile}")
    require(rollouts, NEEDED, table="rollouts")
    require(pool, POOL, table="pool")
    counts = _counts(lengths or response_lengths(rollouts, pool, rule))
    caps = _own(counts, pool, quantile)
    of_all = _of_all(counts, quantile) if caps["pooled"].any() else {}
    caps = (
        caps.with_columns(*_used(of_all))
        .with_columns(
            identified=pl.col("quantile").is_not_null(),
            cap=_cap(cap_in_force) if counts.height else pl.lit(None, pl.Int32),
        )
        .with_columns(prompt_cap=None if window is None else (window - pl.col("cap")).clip(0))
    )
    return (
        caps.join(_correct_cut(counts, caps), on="domain", how="left", nulls_equal=True)
        .select(pl.col(name).cast(dtype) for name, dtype in CAPS.items())
        .sort("domain")
    )


def _own(counts: pl.DataFrame, pool: pl.LazyFrame, quantile: float) -> pl.DataFrame:
    """Every domain of the pool with its own estimates, and whether it goes by those of all together."""
    return (
        pool.select("domain")
        .unique()
        .collect()
        .join(_estimates(counts, quantile), on="domain", how="left", nulls_equal=True)
        .with_columns(pl.col("rollouts", "truncated", "correct_rollouts").fill_null(0))
        .with_columns(pooled=_too_few() & ~_beyond())
    )


def _counts(lengths: Lengths) -> pl.DataFrame:
    """How many rollouts of each domain and unit, correct or not, ended and were cut at each length."""
    prompts = lengths.prompts.select("domain", unit=hash_of_prompt() % UNITS)
    cells = prompts.unique().with_row_index("cell")
    places = prompts.join(cells, on=["domain", "unit"], nulls_equal=True, maintain_order="left")["cell"]
    counts = length_counts(lengths, places.to_numpy().astype(np.int64))
    return counts.join(cells.cast({"cell": pl.Int64}), on="cell").drop("cell")


def _estimates(lengths: pl.DataFrame, quantile: float) -> pl.DataFrame:
    """What the rollouts of each domain say by themselves, without a cap yet."""
    of_correct = _kaplan_meier(lengths.filter("correct"), quantile).select(
        "domain", correct_quantile="quantile", correct_rollouts="rollouts"
    )
    return (
        _kaplan_meier(lengths, quantile)
        .join(of_correct, on="domain", how="left", nulls_equal=True)
        .join(_intervals(lengths, quantile), on="domain", how="left", nulls_equal=True)
    )


def _of_all(lengths: pl.DataFrame, quantile: float) -> dict[str, float | None]:
    """The estimates of all domains together; empty without any rollouts."""
    rows = _estimates(lengths.with_columns(domain=pl.lit(None, pl.String)), quantile).to_dicts()
    return rows[0] if rows else {}


def _kaplan_meier(lengths: pl.DataFrame, quantile: float) -> pl.DataFrame:
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
            quantile=pl.col("tokens").filter(reached).min().cast(pl.Float64),
            rollouts=pl.col("ended").sum() + pl.col("cut").sum(),
            truncated=pl.col("cut").sum(),
        )
    )


def _intervals(lengths: pl.DataFrame, quantile: float) -> pl.DataFrame:
    """Per domain the interval of its quantile."""
    rows = [(domain, *quantile_interval(part, quantile)) for (domain,), part in lengths.group_by("domain")]
    return pl.DataFrame(rows, {"domain": pl.String, "low": pl.Float64, "high": pl.Float64}, orient="row")


def _too_few() -> pl.Expr:
    return pl.col("rollouts") - pl.col("truncated") < FEWEST_FINISHED


def _beyond() -> pl.Expr:
    """Whether a domain's own rollouts say that its quantile lies beyond the cap in force."""
    return pl.col("quantile").is_null() & (pl.col("truncated") > 0)


def _used(of_all: Mapping[str, float | None]) -> list[pl.Expr]:
    """The estimates to go by; `beyond_for_correct` where the quantile of correct rollouts is not reached."""

    def used(name: str, *, own: pl.Expr) -> pl.Expr:
        return pl.when("pooled").then(pl.lit(of_all.get(name), pl.Float64)).otherwise(own)

    unreached = bool(of_all.get("correct_rollouts")) and of_all.get("correct_quantile") is None
    own_unreached = (pl.col("correct_rollouts") > 0) & pl.col("correct_quantile").is_null()
    return [
        *(used(name, own=pl.col(name)).alias(name) for name in ("quantile", "low", "high")),
        pl.max_horizontal("correct_quantile", used("correct_quantile", own=pl.lit(None))).alias(
            "correct_quantile"
        ),
        (own_unreached | (pl.col("pooled") & unreached)).alias("beyond_for_correct"),
    ]


def _cap(cap_in_force: int) -> pl.Expr:
    """The larger of the two quantiles; the cap in force where one of them lies beyond it."""
    return (
        pl.when(pl.col("quantile").is_null() | pl.col("beyond_for_correct"))
        .then(cap_in_force)
        .otherwise(pl.max_horizontal("quantile", "correct_quantile"))
    )


def _correct_cut(lengths: pl.DataFrame, caps: pl.DataFrame) -> pl.DataFrame:
    """Per domain the share of correct rollouts longer than its cap."""
    count = pl.col("ended") + pl.col("cut")
    return (
        lengths.filter("correct")
        .join(caps.select("domain", "cap"), on="domain", nulls_equal=True)
        .group_by("domain")
        .agg(correct_cut=count.filter(pl.col("tokens") > pl.col("cap")).sum() / count.sum())
    )
