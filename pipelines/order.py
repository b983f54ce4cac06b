"""Orders and samples that depend on content and seed alone, never on where a row happened to be.

In: a table with `prompt_id`. Out: the same rows in a shuffled order, a random sample of prompts, or a
draw of a coin for each prompt.

The key of a prompt is the first half of its 128-bit content hash, mixed with the seed by the
finaliser of SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators",
OOPSLA 2014). Adding a prompt to the pool moves no other.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipelines import dedupe
from pipelines.schemas import SchemaError

_SHUFFLE, _CONTROL, _DRAW = 1, 2, 3  # what a key is for: the control set must not follow the set's order


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The rows of `frame` in the order that `seed` gives to their prompts.

    Raises:
        SchemaError: a prompt_id is not a hexadecimal hash.
    """
    return _by_key(frame, seed, _SHUFFLE)


def control_sample(pool: pl.DataFrame, size: int, seed: int) -> pl.DataFrame:
    """At most `size` distinct prompts drawn at random from `pool`, in random order.

    Nothing is filtered: rows that no trainer can take must be left out by the caller.

    Raises:
        SchemaError: a prompt_id is not a hexadecimal hash.
    """
    return _by_key(dedupe.distinct(pool.lazy()).collect(), seed, _CONTROL).head(size)


def drawn(prompt_ids: pl.Series, chance: float, seed: int) -> pl.Series:
    """For each prompt, True with probability `chance`, whatever other prompts there are.

    Raises:
        SchemaError: a prompt_id is not a hexadecimal hash.
    """
    return pl.Series(_keys(prompt_ids, seed, _DRAW).to_numpy() / 2.0**64 < chance)


def _by_key(frame: pl.DataFrame, seed: int, purpose: int) -> pl.DataFrame:
    key = _keys(frame["prompt_id"], seed, purpose).alias("_key")
    return frame.with_columns(key).sort("_key", "prompt_id", maintain_order=True).drop("_key")


def hash_of_prompt() -> pl.Expr:
    """The first half of the content hash as a number; 0 for a prompt_id that is none."""
    half = pl.col("prompt_id").str.slice(0, 16)
    return half.str.to_integer(base=16, dtype=pl.UInt64, strict=False).fill_null(0)


def _keys(prompt_ids: pl.Series, seed: int, purpose: int) -> pl.Series:
    """A random-looking 64-bit word for each prompt."""
    half = prompt_ids.str.slice(0, 16).str.to_integer(base=16, dtype=pl.UInt64, strict=False)
    if half.null_count():
        bad = prompt_ids.filter(half.is_null())[0]
        raise SchemaError(f"prompt_id {bad!r} is not a hexadecimal hash; make it with the pool's identity")
    stream = _mix(_mix(np.array([seed % 2**64], np.uint64)) + np.uint64(purpose))
    return pl.Series(_mix(half.to_numpy() ^ stream))


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's step and finaliser: a bijection of 64-bit words in which every bit moves every other."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
