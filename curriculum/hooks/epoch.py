"""One epoch under way: which batches were issued, and which prompts were trained.

In: the batches drawn for the epoch. Out: the next batch, and the trained frontier. A batch is *issued* when
it is handed out, perhaps far ahead by a prefetching loader, and its prompts are *trained* when the
trainer says so; whatever was issued and not trained is in flight.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curriculum.hooks.ids import IdIndex, Rows, Words
from curriculum.hooks.order import Drawn


class Batch(NamedTuple):
    """Rows to train together, and the number of the batch in the run."""

    number: int
    rows: Rows


class Epoch:
    """The batches of one epoch, numbered through the run from `first`."""

    def __init__(self, epoch: int, first: int, begun_with: Rows, drawn: Drawn) -> None:
        """`begun_with` are the rows that the epoch before had left for this one."""
        self.epoch = epoch
        self.first = first
        self.begun_with = begun_with
        self.batches = drawn.batches
        self.carried = drawn.carried
        self.done: NDArray[np.bool_] = np.zeros(drawn.batches.shape, dtype=np.bool_)
        self.before: Words = np.empty(0, dtype=np.uint64)
        """Leading halves of the ids that were trained in this epoch under an earlier set."""
        self.former: dict[int, Words] = {}
        """Batches by number that were in flight when the set was changed: ids not yet trained."""
        self.resumed = False
        """Whether `former` is of a run that has ended, so that its batches are to be issued again."""
        self._again: deque[int] = deque()
        self._issued = 0
        self._frontier = 0

    @property
    def end(self) -> int:
        """The number of the batch that follows the epoch."""
        return self.first + len(self.batches)

    @property
    def next_number(self) -> int:
        """The number of the batch to be issued next, or `end`."""
        return self.first + self._issued

    @property
    def all_issued(self) -> bool:
        """Whether no batch with an untrained prompt is left to issue."""
        while self._issued < len(self.batches) and self.done[self._issued].all():
            self._issued += 1
        return not self._again and self._issued == len(self.batches)

    @property
    def all_trained(self) -> bool:
        """Whether no prompt is left to train."""
        return not self.former and self.untrained_from() == len(self.batches)

    def untrained_from(self) -> int:
        """The first batch that is not wholly trained, counted in the epoch."""
        while self._frontier < len(self.batches) and self.done[self._frontier].all():
            self._frontier += 1
        return self._frontier

    def rewind(self) -> None:
        """Issues again whatever is not trained."""
        self._issued = 0
        self._again = deque(self.former if self.resumed else ())

    def issue(self, ids: IdIndex, rank: int, world_size: int) -> Batch:
        """The part of the next batch that is this rank's; only when not `all_issued`."""
        if self._again:
            number = self._again.popleft()
            rows = ids.find(self.former[number])[rank::world_size]
            return Batch(number, rows[rows >= 0])
        at, self._issued = self._issued, self._issued + 1
        mine = slice(rank, None, world_size)
        rows = self.batches[at, mine].astype(np.int64)
        return Batch(self.first + at, rows[~self.done[at, mine]])

    def train_oldest(self) -> int | None:
        """Marks the oldest batch in flight as trained: how many prompts; None when none is in flight."""
        if self.former:
            return self.train_batch(next(iter(self.former)))
        at = self.untrained_from()
        return self.train_batch(self.first + at) if at < self._issued else None

    def train_batch(self, number: int) -> int | None:
        """Marks a batch as trained: how many prompts were not yet; None when it was not issued here."""
        if number in self.former:
            ids = self.former.pop(number)
            self.before = np.concatenate([self.before, ids[:, 0]])
            return len(ids)
        if not self.first <= number < self.next_number:
            return None
        line = self.done[number - self.first]
        fresh = int(line.size - line.sum())
        line[:] = True
        return fresh

    def train_prompts(self, words: Words, ids: IdIndex) -> Words:
        """Marks prompts in flight as trained; returns those that are not in flight in this epoch."""
        for number, flying in list(self.former.items()):
            same = (flying[:, None] == words[None]).all(axis=2)
            hit = same.any(axis=1)
            words = words[~same.any(axis=0)]
            self.before = np.concatenate([self.before, flying[hit, 0]])
            self.former[number] = flying[~hit]
            if hit.all():
                del self.former[number]
        window = slice(self.untrained_from(), self._issued)
        rows = ids.find(words)
        fresh = np.isin(self.batches[window], rows) & ~self.done[window]
        self.done[window] |= fresh
        return words[~np.isin(rows, self.batches[window][fresh])]

    def in_flight(self, ids: IdIndex) -> dict[int, Words]:
        """The ids that were issued and not trained, by number of their batch."""
        flying = dict(self.former)
        for at in range(self.untrained_from(), self._issued):
            rows = self.batches[at][~self.done[at]]
            if rows.size:
                flying[self.first + at] = ids.words(rows.astype(np.int64))
        return flying

    def trained(self, ids: IdIndex) -> Words:
        """Leading halves of the ids trained in this epoch, under this set and those before."""
        return np.concatenate([self.before, ids.leading[self.batches[self.done]]])
