"""The prompts that are held out: a sample of the clean ones that shares no near duplicate with the rest.

In: the clean prompts as text. Out: the prompt_ids to hold out.

Prompts that are alike, at a looser threshold than that of duplicates, form families; a family is held out
whole or not at all, and one that is large beside what is wanted stays in the set.
"""

from __future__ import annotations

import polars as pl

from pipelines.near_duplicates import near_duplicates
from pipelines.order import shuffled

LARGEST_FAMILY = 0.1
"""Share of the wanted prompts that one family may make up, and at least one prompt."""


def wanted(clean: int, sentinel: float) -> int:
    """How many of `clean` prompts to hold out: `sentinel` is a share below 1, else a number."""
    return min(clean, int(sentinel * clean) if sentinel < 1 else int(sentinel))


def held_out(texts: pl.DataFrame, count: int, *, apart: float, seed: int) -> pl.DataFrame:
    """About `count` of `texts` (prompt_id, text) at random, never more: column prompt_id, sorted.

    Args:
        texts: the clean prompts.
        count: how many to hold out.
        apart: similarity from which on two prompts are of one family.
        seed: of the choice.
    """
    alike = near_duplicates(texts.select("prompt_id", "text"), threshold=apart)
    family = texts.select("prompt_id").join(alike, on="prompt_id", how="left")
    family = family.select("prompt_id", family=pl.coalesce("duplicate_of", "prompt_id"))
    sizes = family.group_by(prompt_id="family").len("size")
    small = sizes.filter(pl.col("size") <= max(1, int(LARGEST_FAMILY * count)))
    drawn = shuffled(small, seed).filter(pl.col("size").cum_sum() <= count)
    return (
        family.join(drawn, left_on="family", right_on="prompt_id", how="semi")
        .select("prompt_id")
        .sort("prompt_id")
    )
