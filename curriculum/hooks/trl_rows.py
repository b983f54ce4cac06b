"""The curriculum's batches in the structure that TRL's `RepeatSampler` has.

In: a `CurriculumSampler`, and where its rows are in the trainer's data set. Out: `TrainRows`, the sampler of
the trainer's data loader: the prompts of a generation batch, each as often as its group is large, and all of
it again for each micro-step that uses the batch:

    3 3 3 3  0 0 0 0  7 7 7 7  …      group_size 4
    3 3 3 3  0 0 0 0  7 7 7 7  …      repeats = num_iterations * steps_per_generation
    1 1 1 1  9 9 9 9  …

All processes have one order; the loader deals it out to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

from curriculum.hooks.ids import Rows
from curriculum.hooks.sampler import CurriculumSampler


class TrainRows:
    """An epoch of the trainer is as long as one of the curriculum on the whole set.

    The two begin together unless the set was changed by a resume. Then the curriculum goes on to its next
    epoch inside one of the trainer's.
    """

    def __init__(self, sampler: CurriculumSampler, place: Rows, *, group_size: int, repeats: int) -> None:
        """`place[i]` is row i of the sampler's set in the data set of the trainer."""
        self.repeats = repeats
        self._sampler = sampler
        self._place = place
        self._group_size = group_size
        self._batches = len(sampler) // sampler.recipe.batch_size
        self.begin(0)

    def __len__(self) -> int:
        return self._batches * self.repeats * self._width

    def begin(self, skipped: int) -> None:
        """Goes on from the trained frontier; the trainer will pass over the first `skipped` micro-steps."""
        self._skipped = skipped
        self._broken_off = True

    def __iter__(self) -> Iterator[int]:
        """The rows of an epoch; those passed over are any row, they are never read."""
        if self._broken_off:
            self._stream = self._endless()
        skipped, self._skipped, self._broken_off = self._skipped, 0, True
        yield from repeat(0, skipped * self._width)
        left = self._batches * self.repeats - skipped
        first = self.repeats - skipped % self.repeats
        while left:
            batch = self._place[next(self._stream)].repeat(self._group_size).tolist()
            yield from chain.from_iterable(repeat(batch, first))
            left, first = left - first, self.repeats
        self._broken_off = False

    def _endless(self) -> Iterator[Rows]:
        while True:
            yield from self._sampler.batches()

    @property
    def _width(self) -> int:
        """Rows of one micro-step, over all processes."""
        return self._sampler.recipe.batch_size * self._group_size
