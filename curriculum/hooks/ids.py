"""Prompt ids as pairs of 64-bit integers, and finding rows by them.

In: `prompt_id` columns or lists of 32 hexadecimal digits. Out: arrays of 16 bytes an id, and the rows
that have them.
"""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from curriculum.errors import UsageError
from curriculum.hooks.sorting import sorted_rows

Words: TypeAlias = NDArray[np.uint64]
Rows: TypeAlias = NDArray[np.int64]

_DIGITS = 32
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def parse_ids(ids: Sequence[str], *, where: str) -> Words:
    """The ids as an array of shape (n, 2), the leading 64 bits first.

    Raises:
        UsageError: something in `ids` is not 32 hexadecimal digits.
    """
    return _words("".join(ids).encode(), all(len(one) == _DIGITS for one in ids), len(ids), where)


def parse_column(column: pa.Array[Any], *, where: str) -> Words:
    """`parse_ids` of an Arrow column, without a Python object for each.

    Raises:
        UsageError: something in it is null, or not 32 hexadecimal digits.
    """
    _, offsets_buffer, text = column.buffers()
    if column.null_count or not offsets_buffer or not text:
        return _words(b"", not len(column), 0, where)
    offsets = np.frombuffer(memoryview(offsets_buffer), dtype=np.int32)[
        column.offset : column.offset + len(column) + 1
    ]
    whole = bool((np.diff(offsets) == _DIGITS).all())
    return _words(memoryview(text)[int(offsets[0]) : int(offsets[-1])], whole, len(column), where)


def ids_text(words: Words) -> list[str]:
    """The ids as 32 hexadecimal digits each."""
    text = words.astype(">u8").tobytes().hex()
    return [text[start : start + _DIGITS] for start in range(0, len(text), _DIGITS)]


def _words(digits: bytes | memoryview, whole: bool, count: int, where: str) -> Words:
    fault = UsageError(
        "a prompt_id is not 32 hexadecimal digits",
        where=where,
        do="pass the prompt_id column of the published set on with each rollout",
    )
    if not whole:
        raise fault
    try:
        data = binascii.unhexlify(digits)
    except ValueError as error:
        raise fault from error
    return np.frombuffer(data, dtype=">u8").reshape(count, 2).astype(np.uint64)


class IdIndex:
    """Rows by prompt id: 28 bytes a row, one binary search a look-up."""

    def __init__(self, words: Words, *, where: str) -> None:
        """Indexes row i as `words[i]`.

        Raises:
            UsageError: two rows have one id.
        """
        self.leading = np.ascontiguousarray(words[:, 0])
        self.trailing = np.ascontiguousarray(words[:, 1])
        self._order = sorted_rows(self.leading)
        self._sorted = self.leading[self._order]
        twins = np.flatnonzero(self._sorted[1:] == self._sorted[:-1])
        # Rows whose leading halves are equal are neighbours here; equal ids among them are a fault.
        for at in twins.tolist():
            run = self._order[at : np.searchsorted(self._sorted, self._sorted[at], side="right")]
            if np.unique(self.trailing[run]).size < run.size:
                raise UsageError(
                    f"prompt_id {ids_text(self.words(run[:1].astype(np.int64)))[0]} is there twice",
                    where=where,
                    do="publish the set again with `curriculum refresh`",
                )

    def __len__(self) -> int:
        return self.leading.size

    def words(self, rows: Rows) -> Words:
        """The ids of `rows`, shape (n, 2)."""
        return np.stack([self.leading[rows], self.trailing[rows]], axis=1)

    def find(self, words: Words) -> Rows:
        """The row of each id, -1 where there is none."""
        leading, trailing = np.ascontiguousarray(words[:, 0]), words[:, 1]
        found = self.find_leading(leading)
        if not len(self):
            return found
        other = np.flatnonzero((found >= 0) & (self.trailing[found] != trailing))
        for at in other.tolist():  # an id whose leading half is also that of another
            run = slice(*(np.searchsorted(self._sorted, leading[at], side=side) for side in _SIDES))
            rows = self._order[run]
            found[at] = next((row for row in rows.tolist() if self.trailing[row] == trailing[at]), -1)
        return found

    def find_leading(self, leading: Words) -> Rows:
        """The row of each leading half, -1 where there is none: two of 5 million ids share one with 1e-6."""
        if not self._sorted.size:
            return np.full(leading.size, -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._sorted, leading), self._sorted.size - 1)
        return np.where(self._sorted[at] == leading, self._order[at], -1).astype(np.int64)
