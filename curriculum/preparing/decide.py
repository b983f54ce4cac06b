"""What happens to every row of a raw pool, and why.

In: the rows and what each stage has found. Out: one decision a row, schema DECISIONS, sorted by row; the
counts add up to the pool.

The first of these that holds decides: a better row says the same; it holds an evaluation prompt; its
reference is suspect; it is too long; it is held out; else it is part of the set.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from curriculum.preparing.raw import Raw
from curriculum.preparing.references import SUSPECT
from pipelines.schemas import DECISIONS, Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the stages have found."""

    duplicates: pl.DataFrame  # curriculum.preparing.duplicates.DUPLICATES
    contamination: pl.DataFrame  # pipelines.schemas.CONTAMINATION
    references: pl.DataFrame  # curriculum.preparing.references.REFERENCES
    lengths: pl.DataFrame  # curriculum.preparing.lengths.LENGTHS
    most_tokens: int | None  # of a prompt; None where lengths are not known
    sentinel: pl.DataFrame  # prompt_id


def decide(raw: Raw, found: Findings) -> pl.DataFrame:
    """The decision on every row of the pool: schema DECISIONS, sorted by row."""
    overlong = pl.col("prompt_tokens") > (found.most_tokens or 0)
    suspect = pl.col("status").is_in(SUSPECT)
    fates = [
        ("drop_duplicate", pl.col("kind").is_not_null(), _duplicate_reason()),
        ("drop_contaminated", pl.col("rule").is_not_null(), _contaminated_reason()),
        ("suspect_reference", suspect, pl.col("cause")),
        ("drop_overlong_prompt", overlong, _overlong_reason(found.most_tokens)),
        ("hold_sentinel", pl.col("held").is_not_null(), pl.lit("held out: no prompt of the set is like it")),
        ("keep_unscored", pl.lit(value=True), _clean_reason()),
    ]
    kept = pl.when(pl.col("decision") == "keep_unscored")
    decided = (
        _facts(raw, found)
        .with_columns(
            decision=pl.coalesce(pl.when(holds).then(pl.lit(fate)) for fate, holds, _ in fates),
            reason=pl.coalesce(pl.when(holds).then(reason) for _, holds, reason in fates),
        )
        .with_columns(weight=kept.then(1.0))
        .sort("row")
    )
    missing = [name for name in DECISIONS if name not in decided.columns]
    return decided.with_columns(
        pl.col("decision").cast(Decision), *(pl.lit(None).alias(name) for name in missing)
    ).select(pl.col(name).cast(dtype) for name, dtype in DECISIONS.items())


def _facts(raw: Raw, found: Findings) -> pl.DataFrame:
    """The index of the pool with what was found of each row beside it."""
    hits = found.contamination.unique("prompt_id", keep="first", maintain_order=True)
    return (
        raw.index.join(found.duplicates.drop("prompt_id"), on="row", how="left", validate="1:1")
        .join(hits, on="prompt_id", how="left", validate="m:1")
        .join(found.references.drop("verifier"), on="prompt_id", how="left", validate="m:1")
        .join(found.lengths, on="prompt_id", how="left", validate="m:1")
        .join(found.sentinel.with_columns(held=True), on="prompt_id", how="left", validate="m:1")
    )


def _duplicate_reason() -> pl.Expr:
    other = pl.when(~pl.col("same_reference")).then(pl.lit(", which has another reference"))
    where = pl.format("row {}{}", "duplicate_of_row", other.otherwise(pl.lit("")))
    alike = pl.col("similarity").round(2)
    return (
        pl.when(pl.col("kind") == "same prompt")
        .then(pl.format("the same prompt as {}", where))
        .when(pl.col("kind") == "same text")
        .then(pl.format("the same text as {}", where))
        .when(pl.col("kind") == "near duplicate")
        .then(pl.format("says the same as {}, similarity {}", where, alike))
        .otherwise(pl.format("stands in {} at {}, similarity {}", "pool", "duplicate_of_row", alike))
    )


def _contaminated_reason() -> pl.Expr:
    return pl.format(
        "{} row {} of {}, coverage {}",
        "rule",
        "evaluation_row",
        "evaluation",
        pl.col("coverage").round(2),
    )


def _overlong_reason(most: int | None) -> pl.Expr:
    return pl.format("the prompt has {} tokens, {} are allowed", "prompt_tokens", pl.lit(most))


def _clean_reason() -> pl.Expr:
    return (
        pl.when(pl.col("status") == "accepted")
        .then(pl.format("clean; the reference accepts its {}", "checked"))
        .otherwise(pl.lit("clean; the reference was not checked"))
    )
