"""Suspect references: prompts whose rollouts agree with each other and not with the reference.

In: the answers of prompts without a success, counted, schema ANSWERS. Out: the suspects, schema SUSPECTS,
sorted by prompt_id.

How sure it is that the policy's favourite answer is its favourite: with v rollouts for it and w for the next
best, under a uniform prior, the chance that of the two it is the likelier one, P(p > 1/2) for
p ~ Beta(v + 1, w + 1) (Aggarwal et al., "Let's sample step by step", 2023, section 3). Answers of several
checkpoints count together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from pipelines.schemas import ANSWERS, SUSPECTS, require


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectRule:
    """When agreement speaks against a reference."""

    min_rollouts: int = 8
    """Rollouts of a prompt, those without an answer included."""
    min_share: float = 0.75
    """Share of them that give the favourite answer, at least."""
    min_posterior: float = 0.97
    """Chance that the favourite is likelier than the next best answer; it must be more than this."""

    def __post_init__(self) -> None:
        if self.min_rollouts < 1:
            raise ValueError(f"min_rollouts must be at least 1, got {self.min_rollouts}")
        for name in ("min_share", "min_posterior"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)}")


def suspects(answers: pl.LazyFrame | pl.DataFrame, rule: SuspectRule) -> pl.DataFrame:
    """The prompts whose reference is in doubt: schema SUSPECTS, sorted by prompt_id.

    Args:
        answers: schema ANSWERS; a prompt may have rows of several passes.
        rule: how much agreement it takes.

    Raises:
        SchemaError: a column is missing or of another type.
    """
    require(answers, ANSWERS, table="answers")
    ranked = (
        answers.lazy()
        .group_by("prompt_id", "answer")
        .agg(pl.col("rollouts").sum(), pl.col("accepted").any())
        .sort("prompt_id", pl.col("answer").is_null(), -pl.col("rollouts"), "answer")
    )
    given = pl.col("rollouts").filter(pl.col("answer").is_not_null())
    favourites = (
        ranked.group_by("prompt_id", maintain_order=True)
        .agg(
            pl.col("answer", "accepted").first(),
            agreeing=given.first(),
            next_best=given.get(1, null_on_oob=True).fill_null(0),
            rollouts=pl.col("rollouts").sum(),
        )
        .filter(
            pl.col("answer").is_not_null(),
            ~pl.col("accepted"),
            pl.col("rollouts") >= rule.min_rollouts,
            pl.col("agreeing") >= rule.min_share * pl.col("rollouts"),
        )
        .join(_passes(answers.lazy()), on="prompt_id")
        .collect()
    )
    chances = _chances(favourites.select("agreeing", "next_best").unique())
    return (
        favourites.join(chances, on=["agreeing", "next_best"])
        .filter(pl.col("posterior") > rule.min_posterior)
        .select(pl.col(name).cast(dtype) for name, dtype in SUSPECTS.items())
        .sort("prompt_id")
    )


def doubts(found: pl.DataFrame, dropped: Iterable[str]) -> pl.DataFrame:
    """Why each of these prompts is set aside, for `select.decide`: schema DOUBTS, sorted by prompt_id.

    Args:
        found: schema SUSPECTS.
        dropped: prompts that a review has dropped.
    """
    agreement = pl.format(
        "{} of {} rollouts answer {}, which the reference does not accept",
        *("agreeing", "rollouts", pl.col("answer").str.slice(0, 60)),
    )
    reviewed = pl.DataFrame({"prompt_id": sorted(dropped)}, {"prompt_id": pl.String}).with_columns(
        doubt=pl.lit("dropped by review")
    )
    return (
        pl.concat([reviewed, found.select("prompt_id", doubt=agreement)])
        .unique("prompt_id", keep="first", maintain_order=True)
        .sort("prompt_id")
    )


def _passes(answers: pl.LazyFrame) -> pl.LazyFrame:
    return answers.group_by("prompt_id").agg(passes=pl.col("pass_id").n_unique())


def _chances(pairs: pl.DataFrame) -> pl.DataFrame:
    """Each distinct (agreeing, next_best) with its `posterior`."""
    chances = [favourite_chance(first, second) for first, second in pairs.iter_rows()]
    return pairs.with_columns(posterior=pl.Series(chances, dtype=pl.Float64))


def favourite_chance(first: int, second: int) -> float:
    """P(p > 1/2) for p ~ Beta(first + 1, second + 1): as many heads as `first` or fewer in
    first + second + 1 tosses of a fair coin."""
    tosses = first + second + 1
    favourable = sum(math.comb(tosses, heads) for heads in range(first + 1))
    return favourable / (1 << tosses)
