"""Groups that a trainer has observed, where they are fresh enough to stand in for sampled ones.

In: visits, schema VISITS, one row for each prompt and training step. Out: one row per prompt that need not
be sampled, schema OBSERVED, which `group_statistics` takes beside the rollouts of a pass.

A visit is worth its judged rollouts times 0.5 ** (age / half-life), its age being the training steps between
it and the checkpoint. The freshest visits are taken until they hold as many rollouts as a pass would sample:
more would make a group vary more easily than a sampled one, and would reach further back. When what was
taken is worth enough, the prompt is observed. Age decides whether a group counts, not what it says: it is
decided with its own counts, by the rules of sampled groups.

What was not reported is left empty: quantiles of length (a sum and a maximum are no distribution), entropy,
repetition, reward parts, and the variance of partial marks. Without full marks in a group, partial marks
are taken to have two values, those of the least and the greatest; with some, every rollout that is neither
solved, cut off nor unjudged counts as partial as soon as one is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from pipelines.groups import COUNTED, TOL
from pipelines.schemas import GROUPS, require

VISITS = pl.Schema(
    {
        "prompt_id": pl.String,
        "refresh_id": pl.String,  # the published set that the prompt was drawn from
        "checkpoint": pl.String,  # which that set was made for
        "newest": pl.Boolean,  # whether that set was the newest one when the visit was read
        "step": pl.Int64,  # training step; null where the trainer did not say
        "masked": pl.Boolean,  # truncated rollouts are among the unjudged
        "n": pl.Int64,  # judged rollouts
        "s": pl.Int64,  # of which solved
        "unjudged": pl.Int64,
        "truncated": pl.Int64,
        "low": pl.Float64,  # correctness of the judged, 0..1: least, greatest, sum
        "high": pl.Float64,
        "total": pl.Float64,
        "tokens": pl.Int64,  # sum and maximum of lengths; null where not told
        "longest": pl.Int64,
    }
)
"""One row per prompt and step, whatever processes reported it."""

_FROM_GROUPS = (
    "prompt_id",
    "rollouts",
    "n",
    "s",
    *COUNTED,
    "mean",
    "variance",
    "range",
    "tokens_mean",
    "tokens_max",
    "observed_step",
)
OBSERVED = pl.Schema([*((name, GROUPS[name]) for name in _FROM_GROUPS), ("top", pl.Int32())])
"""Columns of GROUPS that visits tell; `top` are the rollouts with the best mark, 0 where none has any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshRule:
    """When a prompt was observed well enough for a checkpoint."""

    step: int | None
    """Training step of the checkpoint; None where it is unknown."""
    wanted: int
    """Rollouts that a pass would sample of a prompt."""
    min_rollouts: float
    """What the visits taken must be worth, in rollouts of no age."""
    half_life: float
    """Training steps after which a rollout is worth half."""
    truncated: Literal["wrong", "excluded"]
    """How truncated rollouts are judged, see `GroupRule`; visits that judged them otherwise do not count."""
    assume_fresh: bool
    """Whether visits of unknown age count as of no age when they are of the newest set, or not at all."""


def observed_groups(visits: pl.DataFrame, rule: FreshRule) -> pl.DataFrame:
    """The prompts that were observed well enough: schema OBSERVED, sorted by prompt_id.

    Args:
        visits: schema VISITS.
        rule: which of them count.

    Raises:
        SchemaError: a column is missing or of another type.
    """
    require(visits, VISITS, table="visits")
    alike = pl.col("masked") == (rule.truncated == "excluded")
    earlier = pl.col("n").cum_sum().over("prompt_id") - pl.col("n")
    taken = (
        visits.lazy()
        .with_columns(worth=_worth(rule))
        .filter(alike | (pl.col("truncated") == 0), pl.col("worth") > 0)
        .sort("prompt_id", -pl.col("worth"), -pl.col("step"), "refresh_id", "masked", nulls_last=True)
        .filter(earlier < rule.wanted)
    )
    errors = pl.col("unjudged") - pl.when(pl.col("masked")).then("truncated").otherwise(0)
    return (
        taken.group_by("prompt_id")
        .agg(
            pl.col("n", "s", "truncated").sum(),
            pl.col("low").min(),
            pl.col("high").max(),
            mean=pl.col("total").sum().round(9) / pl.col("n").sum(),
            worth=(pl.col("worth") * pl.col("n")).sum().round(9),
            rollouts=(pl.col("n") + pl.col("unjudged")).sum(),
            verifier_error=errors.clip(0).sum(),
            tokens=pl.when(pl.col("tokens").null_count() == 0).then(pl.col("tokens").sum()),
            tokens_max=pl.when(pl.col("longest").null_count() == 0).then(pl.col("longest").max()),
            observed_step=pl.col("step").max(),
        )
        .filter(pl.col("n") > 0, pl.col("worth") >= rule.min_rollouts)
        .with_columns(range=pl.col("high") - pl.col("low"), tokens_mean=pl.col("tokens") / pl.col("rollouts"))
        .with_columns(*_outcomes())
        .with_columns(variance=_variance(), top=_top())
        .select(pl.col(name).cast(dtype) for name, dtype in OBSERVED.items())
        .sort("prompt_id")
        .collect()
    )


def _worth(rule: FreshRule) -> pl.Expr:
    """What a rollout of a visit is worth, 0 to 1."""
    unknown = pl.when(pl.col("newest") & rule.assume_fresh).then(1.0).otherwise(0.0)
    if rule.step is None:
        return unknown
    age = (pl.col("step") - rule.step).abs()
    return pl.coalesce(0.5 ** (age / rule.half_life), unknown)


def _outcomes() -> list[pl.Expr]:
    """Every rollout counted once, as far as the trainer told them apart."""
    rest = pl.col("rollouts") - pl.col("s") - pl.col("verifier_error")
    cut = pl.min_horizontal("truncated", rest)
    some_partial = pl.col("mean") * pl.col("n") > pl.col("s") + TOL
    none = pl.lit(0)
    return [
        pl.col("s").alias("correct"),
        cut.alias("truncated"),
        pl.when(some_partial).then(rest - cut).otherwise(none).alias("partial"),
        pl.when(some_partial).then(none).otherwise(rest - cut).alias("wrong"),
        *(none.alias(name) for name in ("no_answer", "malformed", "timeout", "aborted")),
    ]


def _variance() -> pl.Expr:
    mean = pl.col("mean")
    return (
        pl.when(pl.col("range") <= TOL)
        .then(0.0)
        .when(pl.col("partial") == 0)
        .then(mean * (1 - mean))
        .otherwise(None)
    )


def _top() -> pl.Expr:
    share = (pl.col("mean") - pl.col("low")) / pl.col("range")
    return (
        pl.when(pl.col("s") > 0)
        .then("s")
        .when(pl.col("high") <= TOL)
        .then(0)
        .when(pl.col("range") <= TOL)
        .then("n")
        .otherwise((share * pl.col("n")).round().clip(1, pl.col("n") - 1))
    )
