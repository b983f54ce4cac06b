"""Near duplicates: prompts that say the same thing in almost the same words, with the same numbers.

In: prompts as text. Out: the rows that another one makes superfluous, schema NEAR_DUPLICATES.

Alike means a Jaccard index of three-token runs of at least the threshold, an equal multiset of numbers and
as many minus signs: "x^2-5x+6=0" is much like "x^2-7x+6=0" and "x^2+5x+6=0", which are other problems.
What is found does not depend on the order of the rows.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipelines.minhash import candidates, similarity, sketches
from pipelines.ngrams import Places
from pipelines.schemas import NEAR_DUPLICATES, PROMPTS, require

THRESHOLD = 0.8


def near_duplicates(
    prompts: pl.DataFrame, *, against: pl.DataFrame | None = None, threshold: float = THRESHOLD
) -> pl.DataFrame:
    """The superfluous prompts, and what each duplicates: schema NEAR_DUPLICATES, sorted by prompt_id.

    Pairs that are alike are joined into clusters, so two prompts of one cluster may be less alike than the
    threshold; `similarity` is that of the row to the one it points to. The row of lowest `rank`, then of
    lowest prompt_id, stays.

    Args:
        prompts: schema PROMPTS, one row a prompt, and optionally `rank`: a number, the lower the better
            (null last).
        against: schema PROMPTS; if given, the rows of `prompts` that are alike to one of these are
            returned, each with the one it is most alike to, and nothing is said of duplicates among
            `prompts`.
        threshold: least Jaccard index, in (0, 1].

    Raises:
        SchemaError: a column is missing or of another type.
        ValueError: `threshold` does not lie in (0, 1].
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must lie in (0, 1], got {threshold}")
    require(prompts, PROMPTS, table="prompts")
    if against is None:
        found = _within(_ordered(prompts), threshold)
    else:
        require(against, PROMPTS, table="against")
        found = _across(_ordered(prompts), _ordered(against), threshold)
    return found.sort("prompt_id")


def _ordered(prompts: pl.DataFrame) -> pl.DataFrame:
    """The rows that carry on first."""
    rank = pl.col("rank") if "rank" in prompts.columns else pl.lit(0)
    return prompts.select("prompt_id", "text", rank=rank).sort("rank", "prompt_id", nulls_last=True)


def _within(prompts: pl.DataFrame, threshold: float) -> pl.DataFrame:
    of = sketches(prompts["text"])
    firsts = np.arange(prompts.height)
    for left, right in candidates(of, threshold):
        apart = firsts[left] != firsts[right]
        left, right = left[apart], right[apart]
        alike = similarity(of, left, right, floor=threshold) > 0
        firsts = _joined(firsts, left[alike], right[alike])
    others = np.flatnonzero(firsts != np.arange(prompts.height))
    return _table(prompts, others, prompts, firsts[others], similarity(of, others, firsts[others]))


def _joined(firsts: Places, left: Places, right: Places) -> Places:
    """The clusters after joining those of each pair; a cluster is named by its first row.

    Union-find over whole arrays: each round hooks the later of two roots to the earlier and then
    shortens every path to its root, until every pair has one root.
    """
    firsts = firsts.copy()
    while True:
        one, other = firsts[left], firsts[right]
        apart = one != other
        if not apart.any():
            return firsts
        low, high = np.minimum(one, other)[apart], np.maximum(one, other)[apart]
        np.minimum.at(firsts, high, low)
        while (firsts[firsts] != firsts).any():
            firsts = firsts[firsts]


def _across(prompts: pl.DataFrame, against: pl.DataFrame, threshold: float) -> pl.DataFrame:
    both = pl.concat([against["text"], prompts["text"]])
    of = sketches(both)
    found = []
    for left, right in candidates(of, threshold, targets=np.arange(len(both)) < against.height):
        index = similarity(of, left, right, floor=threshold)
        alike = index > 0
        found.append((left[alike] - against.height, right[alike], index[alike]))
    rows, firsts, index = (np.concatenate(part) for part in zip(*found, strict=True))
    return (
        _table(prompts, rows, against, firsts, index)
        .sort("prompt_id", "similarity", "duplicate_of", descending=[False, True, False])
        .unique("prompt_id", keep="first", maintain_order=True)
    )


def _table(
    prompts: pl.DataFrame, rows: Places, kept: pl.DataFrame, firsts: Places, index: NDArray[np.float64]
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "prompt_id": prompts["prompt_id"].gather(rows),
            "duplicate_of": kept["prompt_id"].gather(firsts),
            "similarity": index,
        },
        NEAR_DUPLICATES,
    )
