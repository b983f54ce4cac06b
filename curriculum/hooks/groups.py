"""Rollouts put together to groups by prompt id, however they arrive.

In: ids and marks of rollouts, a call at a time. Out: `Groups`, an entry for each group that is whole. A group
that was split over calls, micro-batches or ranks is one group here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from curriculum.hooks.ids import Words

MOST_OPEN = 65_536
"""Groups that wait for more rollouts; beyond it the oldest are taken as they are."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Columns of one length, an entry a group."""

    ids: Words  # shape (groups, 2)
    seen: NDArray[np.int64]  # rollouts
    n: NDArray[np.int64]  # of which judged
    s: NDArray[np.int64]  # of which solved
    low: NDArray[np.float64]  # the least mark of the judged; inf where there is none
    high: NDArray[np.float64]  # the greatest; -inf where there is none
    total: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, which: NDArray[np.int64]) -> Groups:
        """The entries `which`."""
        return Groups(*(getattr(self, column.name)[which] for column in fields(self)))


def gather(ids: Words, marks: NDArray[np.float64], solved_at: float) -> tuple[NDArray[np.int64], Groups]:
    """The group of each rollout, and the groups sorted by id.

    Args:
        ids: one a rollout. marks: its reward; NaN is not judged.
    """
    unique, inverse = np.unique(ids, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1).astype(np.int64)
    judged = ~np.isnan(marks)
    ones = np.ones(marks.size, dtype=np.int64)
    parts = _empty(unique)
    for column, values, mask in (
        (parts.seen, ones, slice(None)),
        (parts.n, ones, judged),
        (parts.s, ones, judged & (marks >= solved_at - 1e-6)),
        (parts.total, marks, judged),
    ):
        np.add.at(column, inverse[mask], values[mask])
    np.minimum.at(parts.low, inverse[judged], marks[judged])
    np.maximum.at(parts.high, inverse[judged], marks[judged])
    return inverse, parts


class GroupMerger:
    """Holds groups until they are whole, at most MOST_OPEN of them."""

    def __init__(self, group_size: int | None) -> None:
        """Without a group size, a group is what arrives in one step, or in one call without a step."""
        self._size = group_size
        self._open: dict[bytes, Groups] = {}
        self._step: int | None = None

    def add(self, parts: Groups, step: int | None) -> Groups:
        """Takes parts of groups; returns the groups that are whole."""
        whole = []
        if self._size is None and step != self._step:
            whole, self._open = list(self._open.values()), {}
        self._step = step
        if self._size is None and step is None:
            return _together([*whole, parts])
        for at in range(len(parts)):
            part = parts.take(np.array([at]))
            key = part.ids.tobytes()
            before = self._open.pop(key, None)
            group = part if before is None else _sum(before, part)
            if self._size is not None and group.seen[0] >= self._size:
                whole.append(group)
            else:
                self._open[key] = group
        while len(self._open) > MOST_OPEN:
            whole.append(self._open.pop(next(iter(self._open))))
        return _together(whole)


def _empty(ids: Words) -> Groups:
    size = len(ids)
    seen, n, s = (np.zeros(size, dtype=np.int64) for _ in range(3))
    return Groups(ids, seen, n, s, np.full(size, np.inf), np.full(size, -np.inf), np.zeros(size))


def _sum(one: Groups, other: Groups) -> Groups:
    return Groups(
        one.ids,
        one.seen + other.seen,
        one.n + other.n,
        one.s + other.s,
        np.minimum(one.low, other.low),
        np.maximum(one.high, other.high),
        one.total + other.total,
    )


def _together(groups: list[Groups]) -> Groups:
    if not groups:
        return _empty(np.empty((0, 2), dtype=np.uint64))
    columns = [[getattr(group, column.name) for group in groups] for column in fields(Groups)]
    return Groups(*(np.concatenate(column) for column in columns))
