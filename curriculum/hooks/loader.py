"""A sampler as torchdata's StatefulDataLoader wants it: state that is read when it is written out.

In: a `CurriculumSampler`. Out: `LoaderSampler`, for `StatefulDataLoader(…, sampler=…)` with any number of
workers. Nothing of torch is imported.

A loader with workers asks its sampler for the state when it *requests* a batch, several batches before the
trainer has it, and keeps the answer until that batch is handed over. A state of that moment lacks all that
was trained since, and a resume would repeat it. So the state given to a loader is looked up when it is
pickled, copied or loaded: `torch.save(loader.state_dict(), …)` writes the frontier of that moment. A
checkpoint that is written in the background must copy the state first, as it does the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from curriculum.hooks.ids import Rows
from curriculum.hooks.sampler import CurriculumSampler


class LateState(dict[str, Any]):
    """An empty dictionary that pickles and copies as the sampler's state of that moment."""

    def __init__(self, sampler: CurriculumSampler) -> None:
        super().__init__()
        self._sampler = sampler

    def now(self) -> dict[str, Any]:
        """The sampler's state."""
        return self._sampler.state_dict()

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (self.now(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return self.now()


class LoaderSampler:
    """The rows of a `CurriculumSampler`, one by one, for a stateful loader."""

    def __init__(self, sampler: CurriculumSampler, place: Rows | None = None) -> None:
        """`place[i]` is row i of the sampler's set in the data set of the loader; None: they are the same."""
        self.sampler = sampler
        self._place = place

    def __iter__(self) -> Iterator[int]:
        return (row if self._place is None else int(self._place[row]) for row in self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)

    def state_dict(self) -> LateState:
        """The trained frontier, as late as it is wanted."""
        return LateState(self.sampler)

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continues from what was trained; see `CurriculumSampler.load_state_dict`."""
        self.sampler.load_state_dict(saved.now() if isinstance(saved, LateState) else saved)
