"""Sorting millions of 64-bit words, as a set and an epoch of it need.

In: words. Out: the rows in ascending order of their words. numpy sorts words with vector instructions, and
finds the order of a sort without them, several times slower. So the number of a row takes the place of the
low bits of its word, and the few rows whose other bits are equal are put in order afterwards.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def sorted_rows(words: NDArray[np.uint64]) -> NDArray[np.int32]:
    """`np.argsort(words, kind="stable")`, for fewer than 2**31 words."""
    bits = np.uint64(max(1, (words.size - 1).bit_length()))
    low = (np.uint64(1) << bits) - np.uint64(1)
    packed = words & ~low
    packed |= np.arange(words.size, dtype=np.uint64)
    packed.sort()
    rows = (packed & low).astype(np.int32)
    packed >>= bits
    alike = np.flatnonzero(packed[1:] == packed[:-1])
    del packed
    if alike.size > words.size // 64:
        return np.argsort(words, kind="stable").astype(np.int32)
    for run in np.split(alike, np.flatnonzero(np.diff(alike) > 1) + 1):
        if run.size:
            here = slice(run[0], run[-1] + 2)
            rows[here] = rows[here][np.argsort(words[rows[here]], kind="stable")]
    return rows


def sorted_keys(keys: NDArray[np.float64]) -> NDArray[np.int32]:
    """The same for numbers that are not negative: their bits are in the order of their values."""
    return sorted_rows(keys.view(np.uint64))
