"""Equal prompts: which row of the pool carries on for all of them.

In: a table with `row` and `prompt_id`. Out: the place of each prompt's first row, and the first rows.
Equality is the content hash, so the same text with another reference is another prompt.
"""

from __future__ import annotations

import polars as pl


def first_row() -> pl.Expr:
    """For each row, the smallest `row` with the same `prompt_id`; its own where it is the first."""
    return pl.col("row").min().over("prompt_id")


def distinct(pool: pl.LazyFrame) -> pl.LazyFrame:
    """The first row of each prompt, in no particular order."""
    return pool.filter(pl.col("row") == first_row())
