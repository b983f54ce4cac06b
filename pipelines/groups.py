"""Group statistics: what the rollouts of each prompt say about it.

In: rollouts (one row each), the pool, and groups observed in training. Out: one row per prompt with
rollouts, schema GROUPS.

A rollout is *judged* when it has a verdict that counts: not aborted by the engine, not a verifier
error, correctness a finite number, and, where the trainer masks truncated responses, not cut off.
The table is the same to the last bit whatever the order of the journal (`totals`), and rollouts are never
all in memory: they are scanned for sums and counts, for lengths, for parts and for partial marks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from pipelines import dedupe, prior, totals
from pipelines.lengths import Lengths, length_quantiles, packed
from pipelines.schemas import GROUPS, POOL, ROLLOUTS, require

TOL = 1e-6
"""Two marks that differ by no more than this are the same mark."""

SLICE = 2_000_000
"""Prompts whose rollouts are aggregated at a time, about 1.2 kB each; more prompts take more scans."""

COUNTED = (
    "correct",
    "partial",
    "wrong",
    "no_answer",
    "malformed",
    "truncated",
    "timeout",
    "verifier_error",
    "aborted",
)
"""What a rollout is counted as; every rollout is counted once."""

_USED = ("prompt_id", "tokens", "finish", "correctness", "outcome", "parts", "mean_logprob", "repetition")
NEEDED = pl.Schema({name: ROLLOUTS[name] for name in _USED})
"""The columns of ROLLOUTS that statistics read; the others may be absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRule:
    """How a group is judged: the trainer's own way of reading it."""

    trainer_group_size: int
    """Rollouts per prompt in training; may differ from the number scored."""
    truncated: Literal["wrong", "excluded"] = "wrong"
    """"wrong": a cut-off response counts as it was judged; "excluded": the trainer masks it."""
    tol: float = TOL

    def __post_init__(self) -> None:
        if self.trainer_group_size < 2:
            raise ValueError(
                f"trainer_group_size must be at least 2, got {self.trainer_group_size}: one is never mixed"
            )
        if self.truncated not in ("wrong", "excluded"):
            raise ValueError(f"truncated must be 'wrong' or 'excluded', got {self.truncated!r}")


def counted_as() -> pl.Expr:
    """One of COUNTED. Correctness that is no finite number, or an unknown outcome, is a verifier error."""
    known = pl.col("outcome").is_in(COUNTED[:-1]) & pl.col("correctness").is_finite()
    return (
        pl.when(pl.col("finish") == "abort")
        .then(pl.lit("aborted"))
        .when(known.fill_null(value=False))
        .then(pl.col("outcome"))
        .otherwise(pl.lit("verifier_error"))
    )


def group_statistics(
    rollouts: pl.LazyFrame,
    pool: pl.LazyFrame,
    rule: GroupRule,
    observed: pl.LazyFrame | None = None,
    *,
    lengths: Lengths | None = None,
) -> pl.LazyFrame:
    """The statistics of every prompt of the pool that has rollouts: schema GROUPS, sorted by prompt_id.

    Args:
        rollouts: schema ROLLOUTS; only the columns of NEEDED are read.
        pool: schema POOL; the first row of equal prompts gives the domain. Rollouts of prompts that
            are not in the pool are left out.
        rule: which rollouts count.
        observed: schema `pipelines.observed.OBSERVED`, prompts that have no rollouts here.
        lengths: `response_lengths` of the same arguments, where they are at hand.

    The groups are computed here, once: the prior of the posteriors is fitted to all of them.

    Raises:
        SchemaError: a column is missing or of another type.
    """
    require(rollouts, NEEDED, table="rollouts")
    require(pool, POOL, table="pool")
    marked = _marked(rollouts, rule)
    lengths = lengths or response_lengths(rollouts, pool, rule)
    slices = _slices(marked, lengths.prompts["prompt_id"])
    sampled = pl.concat(_sampled(rows, rule) for rows in slices).lazy()
    if observed is not None:
        sampled = pl.concat([sampled, observed.with_columns(observed=True)], how="diagonal_relaxed")
    groups = (
        sampled.join(length_quantiles(lengths).lazy(), on="prompt_id", how="inner")
        .with_columns(
            varied=(pl.col("range") > rule.tol).fill_null(value=False),
            parts=pl.col("parts").fill_null([]),
        )
        .with_columns(collapsed=pl.col("part_varies").fill_null(value=False) & ~pl.col("varied"))
        .collect()
    )
    return (
        _with_posteriors(groups, rule.trainer_group_size)
        .select(pl.col(name).cast(dtype) for name, dtype in GROUPS.items())
        .sort("prompt_id")
        .lazy()
    )


def response_lengths(rollouts: pl.LazyFrame, pool: pl.LazyFrame, rule: GroupRule) -> Lengths:
    """The lengths that group statistics and length caps both count; aborted rollouts are left out.

    Args:
        rollouts: schema ROLLOUTS; only the columns of NEEDED are read.
        pool: schema POOL.
        rule: what counts as correct.
    """
    sampled = counted_as() != "aborted"
    judged = sampled & (counted_as() != "verifier_error")
    marked = rollouts.select(
        "prompt_id",
        length=pl.when(sampled).then("tokens"),
        cut=(pl.col("finish") == "length").fill_null(value=False),
        correct=(judged & (pl.col("correctness") >= 1 - rule.tol)).fill_null(value=False),
    )
    return packed(marked, dedupe.distinct(pool).select("prompt_id", "domain").collect())


def _with_posteriors(groups: pl.DataFrame, trainer_group_size: int) -> pl.DataFrame:
    """Adds pass_rate, the chance of full marks, and the posterior of the group's best mark.

    A trainer's group is mixed when its marks differ, full or not. So p_mixed and learnability are
    those of the chance of the best mark seen (`top` rollouts have it), which is full marks wherever
    any were earned.
    """
    best = prior.posteriors(groups.select("n", s="top"), trainer_group_size).rename({"s": "top"})
    full = prior.posteriors(groups, trainer_group_size).select("s", "n", "pass_rate")
    return groups.join(best.drop("pass_rate"), on=["top", "n"], how="left", validate="m:1").join(
        full, on=["s", "n"], how="left", validate="m:1"
    )


def _marked(rollouts: pl.LazyFrame, rule: GroupRule) -> pl.LazyFrame:
    """Each rollout with `counted`, and with `mark`, `length`, `nats` null where they do not count."""
    judged = ~pl.col("counted").is_in(["aborted", "verifier_error"])
    if rule.truncated == "excluded":
        judged &= (pl.col("finish") != "length").fill_null(value=True)
    sampled = pl.col("counted") != "aborted"
    measured = sampled & pl.col("mean_logprob").is_finite()
    return (
        rollouts.select(NEEDED.names())
        .with_columns(counted=counted_as())
        .with_columns(
            mark=pl.when(judged).then("correctness"),
            length=pl.when(sampled).then("tokens"),
            repetition=pl.when(sampled & pl.col("repetition").is_finite()).then("repetition"),
            measured=pl.when(measured).then("tokens"),
            nats=pl.when(measured).then(-pl.col("mean_logprob") * pl.col("tokens")),
        )
    )


def _slices(marked: pl.LazyFrame, prompt_ids: pl.Series) -> list[pl.LazyFrame]:
    """The rollouts of at most SLICE prompts each; all as they are when there are no more prompts."""
    edges = prompt_ids.sort().gather_every(SLICE).to_list()
    within = [pl.lit(value=True), *(pl.col("prompt_id") >= edge for edge in edges[1:])]
    below = [*(pl.col("prompt_id") < edge for edge in edges[1:]), pl.lit(value=True)]
    return [marked.filter(*both) for both in zip(within, below, strict=True)]


def _sampled(marked: pl.LazyFrame, rule: GroupRule) -> pl.DataFrame:
    """One row a prompt with everything that its rollouts say, but quantiles of length and posteriors."""
    counted = marked.group_by("prompt_id").agg(*_totals(rule)).collect()
    return (
        counted.lazy()
        .select("prompt_id", *_COPIED, *_reduced(), observed=False, observed_step=pl.lit(None, pl.Int64))
        .join(_with_best(marked, counted, rule), on="prompt_id", how="left")
        .join(_parts(marked, rule), on="prompt_id", how="left")
        .with_columns(top=pl.when(pl.col("s") > 0).then("s").otherwise(pl.col("top").fill_null(0)))
        .collect()
    )


_COPIED = ("rollouts", "s", *COUNTED, "tokens_mean", "tokens_max")


def _totals(rule: GroupRule) -> list[pl.Expr]:
    """What every statistic follows from; sums, counts and extremes only, which stream."""
    return [
        pl.len().alias("rollouts"),
        (pl.col("mark") >= 1 - rule.tol).sum().alias("s"),
        *((pl.col("counted") == name).sum().alias(name) for name in COUNTED),
        *totals.moments(pl.col("mark"), "mark"),
        pl.col("length").mean().alias("tokens_mean"),
        pl.col("length").max().alias("tokens_max"),
        pl.col("measured").sum().alias("tokens_measured"),
        totals.total(pl.col("nats")).alias("nats"),
        pl.col("repetition").count().alias("repetition_count"),
        totals.total(pl.col("repetition")).alias("repetition_total"),
    ]


def _reduced() -> list[pl.Expr]:
    """The statistics of a group; entropy counts every token once."""
    tokens = pl.col("tokens_measured")
    return [
        pl.col("mark_count").alias("n"),
        totals.mean("mark").alias("mean"),
        totals.variance("mark").alias("variance"),
        totals.spread("mark").alias("range"),
        pl.when(tokens > 0).then(pl.col("nats") / tokens).alias("entropy"),
        totals.mean("repetition").alias("repetition"),
    ]


def _with_best(marked: pl.LazyFrame, counted: pl.DataFrame, rule: GroupRule) -> pl.LazyFrame:
    """Per prompt without full marks but with some: `top`, how many rollouts have its best mark."""
    some = (pl.col("mark") > 0) & (pl.col("mark") < 1 - rule.tol)  # as every best mark of these prompts is
    partial = counted.filter((pl.col("s") == 0) & (pl.col("mark_max") > rule.tol))
    return (
        marked.filter(some)
        .select("prompt_id", "mark")
        .join(partial.lazy().select("prompt_id", "mark_max"), on="prompt_id")
        .filter(pl.col("mark") >= pl.col("mark_max") - rule.tol)
        .group_by("prompt_id")
        .agg(top=pl.len())
    )


def _parts(marked: pl.LazyFrame, rule: GroupRule) -> pl.LazyFrame:
    """Per prompt: the variance of each reward part over judged rollouts, and whether any part varies."""
    return (
        marked.filter(pl.col("mark").is_not_null() & (pl.col("parts").list.len() > 0))
        .select("prompt_id", "parts")
        .explode("parts")
        .unnest("parts")
        .filter(pl.col("value").is_finite())
        .group_by("prompt_id", "name")
        .agg(totals.moments(pl.col("value"), "value"))
        .select("prompt_id", "name", variance=totals.variance("value"), range=totals.spread("value"))
        .group_by("prompt_id")
        .agg(
            parts=pl.struct("name", "variance").sort_by("name"),
            part_varies=(pl.col("range") > rule.tol).any(),
        )
    )
