"""All epochs of a run as one sequence, for trainers that read a data set in order and take no sampler.

In: a published set, a `Recipe`, a number of epochs. Out: `Unrolled`, whose place i is the same prompt in
every process and after every resume. The sequence is that of `CurriculumSampler`, epoch after epoch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from curriculum.hooks.order import Drawn, Recipe, draw
from curriculum.hooks.published import PublishedSet


class Place(NamedTuple):
    """A prompt of the run."""

    row: int
    batch: int  # number of its batch in the run, from 0
    epoch: int


class Unrolled:
    """Places 0 to len - 1. A step forward is free; a first look at epoch e costs e + 1 draws."""

    def __init__(self, published: PublishedSet, recipe: Recipe, epochs: int) -> None:
        """Draws the first epoch.

        Raises:
            UsageError: see `curriculum.hooks.order.draw`.
        """
        self.published = published
        self.recipe = recipe
        self.epochs = epochs
        self._first = draw(published, recipe, 0)
        self._epoch, self._drawn = 0, self._first

    @property
    def epoch_size(self) -> int:
        """Prompts of an epoch: whole batches, the same in each."""
        return int(self._first.batches.size)

    def __len__(self) -> int:
        return self.epochs * self.epoch_size

    def __getitem__(self, place: int) -> Place:
        if not 0 <= place < len(self):
            raise IndexError(place)
        epoch, within = divmod(place, self.epoch_size)
        row = self._batches(epoch).batches.reshape(-1)[within]
        return Place(int(row), place // self.recipe.batch_size, epoch)

    def _batches(self, epoch: int) -> Drawn:
        """An epoch begins with what the one before has left, so they are drawn one after the other."""
        if epoch < self._epoch:
            self._epoch, self._drawn = 0, self._first
        while self._epoch < epoch:
            carried = np.asarray(self._drawn.carried)
            self._epoch += 1
            self._drawn = draw(self.published, self.recipe, self._epoch, carried=carried)
        return self._drawn
