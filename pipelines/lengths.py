"""Response lengths of all rollouts, one integer each, and what is counted from them.

In: the length of each rollout, whether it was cut off and whether it was correct. Out: `Lengths`; the median
and 0.9 quantile per prompt; how many rollouts there are of each length in each cell of prompts.

A quantile of a group needs all its values at once. Polars gathers those in memory, each with its key; here a
rollout takes 8 bytes, prompt above length, and one sort puts every group in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

_LOWEST = 2**31  # added to a length of 32 bits, so that it is never negative
_BELOW = 34  # bits of a key below the prompt's place: 32 of length, one for cut off, one for correct
_PIECE = 2**24  # keys counted at a time


@dataclass(frozen=True, slots=True)
class Lengths:
    """The rollouts of known length that were not aborted."""

    prompts: pl.DataFrame  # prompt_id and domain, one row a prompt; its row is its place
    keys: NDArray[np.int64]  # sorted


def packed(rollouts: pl.LazyFrame, prompts: pl.DataFrame) -> Lengths:
    """The lengths of `rollouts`, which are scanned once.

    Args:
        rollouts: prompt_id, `length` (int32; null where it does not count), `cut` and `correct` (bool).
        prompts: prompt_id and domain, at most 2^29 rows; rollouts of other prompts are left out.
    """
    length = (pl.col("length").cast(pl.Int64) + _LOWEST) * 4
    flags = pl.col("cut").cast(pl.Int64) * 2 + pl.col("correct").cast(pl.Int64)
    keys = (
        rollouts.drop_nulls("length")
        .join(prompts.lazy().select("prompt_id").with_row_index("place"), on="prompt_id")
        .select(key=pl.col("place").cast(pl.Int64) * 2**_BELOW + length + flags)
        .collect()["key"]
        .to_numpy(writable=True)
    )
    keys.sort()
    return Lengths(prompts, keys)


def length_quantiles(of: Lengths) -> pl.DataFrame:
    """The prompts with tokens_p50 and tokens_p90, linear between the two nearest lengths; null for none."""
    ends = np.searchsorted(of.keys, np.arange(of.prompts.height + 1) << _BELOW)
    return of.prompts.with_columns(
        tokens_p50=_quantile(of.keys, ends, 0.5), tokens_p90=_quantile(of.keys, ends, 0.9)
    )


def _quantile(keys: NDArray[np.int64], ends: NDArray[np.int64], q: float) -> pl.Series:
    known = np.flatnonzero(np.diff(ends))
    first, last = ends[known], ends[known + 1] - 1
    place = (last - first) * q
    low = first + np.floor(place).astype(np.int64)
    below, above = (_length(keys[at]) for at in (low, np.minimum(low + 1, last)))
    quantiles = np.full(ends.size - 1, np.nan)
    quantiles[known] = below + (above - below) * (place % 1)
    return pl.Series(quantiles, nan_to_null=True)


def length_counts(of: Lengths, cells: NDArray[np.int64]) -> pl.DataFrame:
    """Columns cell, correct, tokens, ended and cut: how many rollouts ended, or were cut, at each length.

    Args:
        of: the lengths.
        cells: the cell of each prompt, by its place.
    """
    pieces = [_counted(of.keys[start : start + _PIECE], cells) for start in range(0, of.keys.size, _PIECE)]
    empty = _counted(of.keys[:0], cells)
    return pl.concat([empty, *pieces]).group_by("cell", "correct", "tokens").agg(pl.col("ended", "cut").sum())


def _counted(keys: NDArray[np.int64], cells: NDArray[np.int64]) -> pl.DataFrame:
    keys = cells[keys >> _BELOW] << _BELOW | keys & (2**_BELOW - 1)
    keys.sort()
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    rows, keys = np.diff(starts, append=keys.size), keys[starts]
    cut = keys >> 1 & 1
    return pl.DataFrame(
        {
            "cell": keys >> _BELOW,
            "correct": keys & 1 == 1,
            "tokens": _length(keys).astype(np.int32),
            "ended": rows * (1 - cut),
            "cut": rows * cut,
        }
    )


def _length(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    return (keys >> 2 & (2**32 - 1)) - _LOWEST
