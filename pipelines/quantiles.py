"""Quantiles of response length per prompt, in memory that does not grow with what else a rollout holds.

In: the length of each rollout. Out: one row a prompt with a known length: its median and its 0.9 quantile.

A quantile of a group needs all its values at once, which Polars gathers in memory, row by row with the key.
Here a rollout is one integer of 8 bytes, prompt above length, and one sort puts all groups in order.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

_LOWEST = 2**31  # added to a length of 32 bits, so that it is never negative


def length_quantiles(lengths: pl.LazyFrame, prompts: pl.DataFrame) -> pl.DataFrame:
    """Columns prompt_id, tokens_p50 and tokens_p90: linear between the two nearest lengths.

    Args:
        lengths: prompt_id and `length` (int32) of each rollout; null where it does not count.
        prompts: the distinct prompt_ids; lengths of others are left out.
    """
    place = pl.col("place").cast(pl.Int64) * 2**32
    keys = (
        lengths.drop_nulls("length")
        .join(prompts.lazy().select("prompt_id").with_row_index("place"), on="prompt_id")
        .select(key=place + pl.col("length").cast(pl.Int64) + _LOWEST)
        .collect()["key"]
        .to_numpy(writable=True)
    )
    keys.sort()
    ends = np.searchsorted(keys, (np.arange(prompts.height + 1)) * 2**32)
    known = np.flatnonzero(np.diff(ends))
    first, last = ends[known], ends[known + 1] - 1
    return prompts.select(pl.col("prompt_id").gather(known)).with_columns(
        tokens_p50=_quantile(keys, first, last, 0.5), tokens_p90=_quantile(keys, first, last, 0.9)
    )


def _quantile(
    keys: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64], q: float
) -> pl.Series:
    place = (last - first) * q
    low = first + np.floor(place).astype(np.int64)
    below, above = (keys[at] % 2**32 - _LOWEST for at in (low, np.minimum(low + 1, last)))
    return pl.Series(below + (above - below) * (place % 1))
