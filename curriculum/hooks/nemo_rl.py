"""NeMo-RL: the function for `data.custom_dataloader`, over the newest published set.

In: NeMo-RL's data loaders, one for each train shard. Out: the batch of the next step, in the order of the
sampler; a state in NeMo-RL's own checkpoint; evidence from `set_records`.

    # my_curriculum.py, for data.custom_dataloader=my_curriculum.draw
    from curriculum.hooks import Recipe
    from curriculum.hooks.nemo_rl import CurriculumDataloader

    draw = CurriculumDataloader("curriculum-out", Recipe(batch_size=64), checkpoints="results/grpo")

Written for NeMo-RL at commit 7ea279ab (nemo_rl/data/dataloader.py, nemo_rl/data/utils.py and
docs/guides/grpo.md), of which nothing is imported. For its synchronous trainers only: the asynchronous ones
refuse several data loaders.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from curriculum.errors import UsageError
from curriculum.hooks.epoch import Batch
from curriculum.hooks.evidence import Evidence
from curriculum.hooks.order import Recipe
from curriculum.hooks.prompts import PublishedRows
from curriculum.hooks.sampler import CurriculumSampler

_KEY = "curriculum"
_COMPARED = 64
_STEP = re.compile(r"step_(\d+)")

Loaders = dict[str, Any]
"""A `StatefulDataLoader` for each task; NeMo-RL's tasks are its data files."""


class CurriculumDataloader:
    """Draws each step's batch from the data sets of NeMo-RL's loaders, whose own order is not used."""

    def __init__(
        self,
        published: str | Path,
        recipe: Recipe,
        *,
        checkpoints: str | Path,
        group_size: int | None = None,
        evidence: Evidence | None = None,
    ) -> None:
        """Opens the newest set.

        Args:
            published: an output folder, or a refresh folder.
            recipe: `batch_size` is `grpo.num_prompts_per_step`.
            checkpoints: `checkpointing.checkpoint_dir`, to resume from.
            group_size: `grpo.num_generations_per_prompt`; belongs to `evidence` where that is given.
            evidence: where the rollouts go; None writes to `<out>/evidence`.

        Raises:
            UsageError: no set, or one that does not fit the recipe.
        """
        self.sampler = CurriculumSampler(published, recipe, group_size=group_size, evidence=evidence)
        self._checkpoints = Path(checkpoints)
        self._ready = False
        self._datasets: list[Any] = []
        self._ends: list[int] = []  # rows up to the end of each data set
        self._batches = self._endless()
        self._drawn: list[int] = []  # batches that no checkpoint has yet
        self._step = 0  # the batch drawn last

    def __call__(
        self, data_iterators: dict[str, Iterator[Any]], dataloaders: Loaders, **records: Any
    ) -> tuple[Any, dict[str, Iterator[Any]]]:
        """The next batch; `records` is what `set_records` was given about the last.

        Raises:
            UsageError: the loaders' files are not the train shards of the set.
        """
        if not self._ready:
            self._take_over(dataloaders)
        if records:
            self.observe(**records)
        batch = next(self._batches)
        self._drawn.append(batch.number)
        self._step = batch.number
        datums = []
        for row in batch.rows.tolist():
            dataset, index = self._find(row)
            datums.append({**dataset[index], "idx": row})
        collate = next(iter(dataloaders.values())).collate_fn
        return collate(datums), data_iterators

    def observe(
        self,
        *,
        idx: Sequence[int],
        rewards: Sequence[float],
        lengths: Sequence[int] | None = None,
        truncated: Sequence[bool] | None = None,
    ) -> None:
        """Takes the rollouts of a step as evidence: `idx` of the batch, repeated for each rollout."""
        self.sampler.observe(
            self.sampler.prompt_ids([int(row) for row in idx]),
            [float(reward) for reward in rewards],
            lengths=None if lengths is None else [int(length) for length in lengths],
            truncated=None if truncated is None else [bool(cut) for cut in truncated],
            step=self._step,
        )

    def state_dict(self) -> dict[str, Any]:
        """The frontier when a checkpoint is written: NeMo-RL trains on a batch before it asks for another."""
        for number in self._drawn:
            self.sampler.trained(number)
        self._drawn = []
        return self.sampler.state_dict()

    def _take_over(self, dataloaders: Loaders) -> None:
        """Finds the rows in the data sets, has the loaders save the frontier, and resumes."""
        self._datasets = [loader.dataset for loader in dataloaders.values()]
        self._ends = list(accumulate(map(len, self._datasets)))
        self._check()
        first = next(iter(dataloaders))
        if (saved := _newest(self._checkpoints, first)) is not None:
            self.sampler.load_state_dict(saved)
            self._batches = self._endless()
        dataloaders[first] = SavedLoader(dataloaders[first], self)
        self._ready = True

    def _find(self, row: int) -> tuple[Any, int]:
        """The data set that has a row, and where."""
        at = bisect_right(self._ends, row)
        return self._datasets[at], row - (self._ends[at - 1] if at else 0)

    def _check(self) -> None:
        """Compares as many prompts as the set has, and some of them, with the train shards."""
        size = len(self.sampler.published)
        same = self._ends[-1] == size
        rows = np.unique(np.linspace(0, size - 1, _COMPARED).astype(int)).tolist() if same else []
        for row, there in zip(rows, PublishedRows(self.sampler).__getitems__(rows), strict=True):
            dataset, index = self._find(row)
            same = same and _is_same(dataset.dataset[index], there)
        if not same:
            raise UsageError(
                f"data.train, with {self._ends[-1]} prompts, is not the set, with {size}, row by row",
                where=str(self.sampler.published.source.folder / "train"),
                do='publish with output.layout = "nemo_rl", and name each train shard of that refresh as a '
                "data set of data.train, in order",
            )

    def _endless(self) -> Iterator[Batch]:
        while True:
            yield from self.sampler.numbered()


class SavedLoader:
    """A loader of NeMo-RL's whose state has the frontier beside its own, which NeMo-RL can load."""

    def __init__(self, loader: Any, curriculum: CurriculumDataloader) -> None:
        self._loader = loader
        self._curriculum = curriculum
        self.dataset = loader.dataset
        self.collate_fn = loader.collate_fn

    def __len__(self) -> int:
        return len(self._loader)

    def state_dict(self) -> dict[str, Any]:
        """For `train_dataloader_<task>.pt`."""
        return {**self._loader.state_dict(), _KEY: self._curriculum.state_dict()}


def _is_same(row: Mapping[str, Any], published: Mapping[str, Any]) -> bool:
    """Whether a row as NeMo-RL has read it is a published one: by id, else by the text of the prompt."""
    if "prompt_id" in row:
        return bool(row["prompt_id"] == published["prompt_id"])
    return bool(row["messages"][0]["content"] == published.get("input"))


def _newest(checkpoints: Path, task: str) -> Mapping[str, Any] | None:
    """The frontier in the checkpoint that NeMo-RL resumes from, the newest; None when it starts."""
    steps = {
        int(name[1]): path for path in checkpoints.glob("step_*") if (name := _STEP.fullmatch(path.name))
    }
    if not steps:
        return None
    path = steps[max(steps)] / f"train_dataloader_{task}.pt"
    if not path.exists():
        raise UsageError(
            "the newest checkpoint has no state of this data file",
            where=str(path),
            do="resume with the shards it was trained on, or with a new checkpoints folder",
        )
    import torch

    state = torch.load(path)
    if _KEY not in state:
        raise UsageError(
            "the newest checkpoint was written without the curriculum",
            where=str(path),
            do="start with a new checkpoints folder, from its weights",
        )
    found: Mapping[str, Any] = state[_KEY]
    return found
