"""Which rows say again what another one says: in the pool itself, and in other pools.

In: the raw pool, what the references are worth, and texts of other pools. Out: one row a superfluous row of
the pool, schema DUPLICATES, sorted by row.

Of rows that say the same the one with the best reference stays: one that was accepted before one that could
not be checked, that before one that was refused; then the earliest.
"""

from __future__ import annotations

import polars as pl

from curriculum.preparing.raw import Raw
from curriculum.preparing.texts import asked
from pipelines.near_duplicates import near_duplicates
from pipelines.text import normalised, tokens

DUPLICATES = pl.Schema(
    {
        "row": pl.Int64,
        "prompt_id": pl.String,
        "kind": pl.String,  # same prompt | same text | near duplicate | in another pool
        "duplicate_of": pl.String,  # prompt_id of what stays; null where that is in another pool
        "duplicate_of_row": pl.Int64,  # its row, or its place in the other pool
        "pool": pl.String,  # the other pool; null for this one
        "similarity": pl.Float64,  # Jaccard index; 1.0 where the texts are the same
        "same_reference": pl.Boolean,  # whether the two have one reference; null across pools
    }
)

_RANKS = {"accepted": 0, "unchecked": 1, "refused": 2, "unusable": 3}


def same_prompts(raw: Raw) -> pl.DataFrame:
    """Rows whose prompt, verifier and reference an earlier row has: DUPLICATES."""
    first = pl.col("row").min().over("prompt_id")
    again = raw.index.with_columns(first=first).filter(pl.col("row") != pl.col("first"))
    return again.select(
        "row",
        "prompt_id",
        kind=pl.lit("same prompt"),
        duplicate_of="prompt_id",
        duplicate_of_row="first",
        pool=pl.lit(None, pl.String),
        similarity=pl.lit(1.0),
        same_reference=pl.lit(value=True),
    ).cast(DUPLICATES)


def ranked(raw: Raw, references: pl.DataFrame) -> pl.DataFrame:
    """The first row of every prompt: row, prompt_id, rank; the lowest rank is the best."""
    worth = references.select(
        "prompt_id", worth=pl.col("status").replace_strict(_RANKS, return_dtype=pl.Int64)
    )
    firsts = raw.index.unique("prompt_id", keep="first", maintain_order=True).select("row", "prompt_id")
    return firsts.join(worth, on="prompt_id", how="left", maintain_order="left").select(
        "row", "prompt_id", rank=pl.col("worth").fill_null(1) * pl.lit(raw.rows) + pl.col("row")
    )


def same_texts(raw: Raw, firsts: pl.DataFrame) -> pl.DataFrame:
    """Of `firsts`, those whose messages are, but for spelling, the messages of a better one: DUPLICATES."""
    hashed = pl.concat([_hashes(raw.frame(part), firsts) for part in range(raw.parts)])
    text = ["hash_1", "hash_2", "verifier"]
    best = pl.col("rank") == pl.col("rank").min().over(text)
    stays = hashed.filter(best).select(*text, best_id="prompt_id", best_row="row", best_reference="reference")
    return (
        hashed.filter(~best)
        .join(stays, on=text)
        .select(
            "row",
            "prompt_id",
            kind=pl.lit("same text"),
            duplicate_of="best_id",
            duplicate_of_row="best_row",
            pool=pl.lit(None, pl.String),
            similarity=pl.lit(1.0),
            same_reference=pl.col("reference") == pl.col("best_reference"),
        )
        .cast(DUPLICATES)
        .sort("row")
    )


def _hashes(frame: pl.DataFrame, firsts: pl.DataFrame) -> pl.DataFrame:
    """Hashes of the tokens of all messages and of the reference, for grouping in this process alone:
    Polars may hash otherwise in its next version."""
    message = pl.element().struct
    everything = pl.col("prompt").list.eval(message.field("role") + " " + message.field("content"))
    spelling = tokens(normalised(everything.list.join("\n"))).list.join(" ")
    return (
        frame.select("row", "prompt_id", "prompt", "verifier", reference=pl.col("reference").hash(0))
        .join(firsts.select("row", "rank"), on="row", maintain_order="left")
        .with_columns(spelling=spelling)
        .with_columns(hash_1=pl.col("spelling").hash(1), hash_2=pl.col("spelling").hash(2))
        .drop("prompt", "spelling")
    )


def near_texts(texts: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Of `texts` (row, prompt_id, text, rank, reference), those that a better one is like: DUPLICATES."""
    found = near_duplicates(texts.select("prompt_id", "text", "rank"), threshold=threshold)
    by = texts.select("prompt_id", "row", "reference")
    return (
        found.join(by, on="prompt_id")
        .join(
            by.rename({"prompt_id": "duplicate_of", "row": "duplicate_of_row", "reference": "other"}),
            on="duplicate_of",
        )
        .select(
            "row",
            "prompt_id",
            kind=pl.lit("near duplicate"),
            duplicate_of="duplicate_of",
            duplicate_of_row="duplicate_of_row",
            pool=pl.lit(None, pl.String),
            similarity="similarity",
            same_reference=pl.col("reference") == pl.col("other"),
        )
        .cast(DUPLICATES)
        .sort("row")
    )


def in_other_pools(texts: pl.DataFrame, others: pl.DataFrame, threshold: float) -> pl.DataFrame:
    """Of `texts`, those that a prompt of `others` (curriculum.preparing.texts.TEXTS) is like: DUPLICATES."""
    other = others.with_columns(prompt_id=pl.int_range(pl.len()).cast(pl.String))
    found = near_duplicates(
        texts.select("prompt_id", "text"), against=other.select("prompt_id", "text"), threshold=threshold
    )
    return (
        found.join(other.rename({"prompt_id": "duplicate_of"}).drop("text"), on="duplicate_of")
        .join(texts.select("prompt_id", "row"), on="prompt_id")
        .select(
            "row",
            "prompt_id",
            kind=pl.lit("in another pool"),
            duplicate_of=pl.lit(None, pl.String),
            duplicate_of_row="place",
            pool="set",
            similarity="similarity",
            same_reference=pl.lit(None, pl.Boolean),
        )
        .cast(DUPLICATES)
        .sort("row")
    )


def texts_of(raw: Raw, firsts: pl.DataFrame) -> pl.DataFrame:
    """row, prompt_id, text, rank and a hash of the reference of the rows in `firsts`."""
    return pl.concat(
        [
            raw.frame(part)
            .join(firsts.select("row", "rank"), on="row", maintain_order="left")
            .select("row", "prompt_id", "rank", text=asked(), reference=pl.col("reference").hash(0))
            for part in range(raw.parts)
        ]
    )
