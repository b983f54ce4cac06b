"""Runs of n tokens as 64-bit hashes that are the same on every machine and in every version.

In: a column of token lists. Out: flat arrays, one entry a run, sorted by row and place.

A token's hash is BLAKE2b of its text, a run's the polynomial of its tokens' hashes modulo 2^64.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]

_BASE = 0x9E3779B97F4A7C15


class Runs(NamedTuple):
    """One entry a run."""

    hashes: Hashes
    rows: Places  # of the column
    places: Places  # of the run's first token in its row


def text_hashes(texts: pl.Series) -> Hashes:
    """A hash of each text; every distinct text is hashed once. Null hashes as the empty text."""
    coded = texts.fill_null("").to_arrow(compat_level=pl.CompatLevel.oldest()).dictionary_encode()
    distinct = [blake2b(str(text).encode(), digest_size=8).digest() for text in coded.dictionary.to_pylist()]
    of_distinct = np.frombuffer(b"".join(distinct), np.dtype("<u8")).astype(np.uint64)
    hashes: Hashes = of_distinct[coded.indices.to_numpy()]
    return hashes


def runs(tokens: pl.Series, length: int, *, padded: bool = False) -> Runs:
    """Every run of `length` tokens of each row.

    Args:
        tokens: list[str]; null counts as empty.
        length: tokens a run.
        padded: whether runs may reach over both ends of a row, so that each token stands in `length` of
            them, the first and the last as well. Such a run's place may be negative.
    """
    over = length - 1 if padded else 0
    lengths = tokens.list.len().fill_null(0).to_numpy().astype(np.int64)
    count = np.where(lengths > 0, np.maximum(lengths + 2 * over - length + 1, 0), 0)
    rows = np.repeat(np.arange(len(tokens)), count)
    places = ramps(count) - over
    edge = np.zeros(length, np.uint64)
    words = tokens.drop_nulls().explode(empty_as_null=False, keep_nulls=False)
    hashed = np.concatenate([edge, text_hashes(words), edge])
    first = (np.cumsum(lengths) - lengths)[rows] + places + length
    hashes = np.zeros(rows.size, np.uint64)
    for step in range(length):
        word = hashed[first + step]
        if padded:
            word[(places < -step) | (places >= lengths[rows] - step)] = 0
        hashes += word * np.uint64(pow(_BASE, step + 1, 2**64))
    return Runs(hashes, rows, places)


def ramps(counts: Places) -> Places:
    """0, 1, … count - 1 for each count, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if ends.size else 0) - np.repeat(ends - counts, counts)
