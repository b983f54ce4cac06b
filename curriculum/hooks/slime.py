"""slime: its data source draws from the newest published set, and its rollouts become evidence.

In: slime's arguments, with the output folder as `--prompt-data`. Out: groups of slime's `Sample`, a state in
slime's own checkpoint, evidence.

    --data-source-path curriculum.hooks.slime.CurriculumDataSource
    --rollout-function-path curriculum.hooks.slime.generate_rollout
    --rollout-all-samples-process-path curriculum.hooks.slime.observe

Written for slime 0.3.1 at commit 624b824a (slime/rollout/data_source.py, slime/rollout/sglang_rollout.py and
slime/ray/rollout.py), which is imported only when a rollout or a set is begun. slime throws away finished
groups beyond the batch, and without `--partial-rollout` those it aborts; both are handed out again here.
"""

from __future__ import annotations

import copy
import importlib
import logging
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

from curriculum.errors import UsageError
from curriculum.hooks.evidence import Evidence
from curriculum.hooks.manifest import find_source
from curriculum.hooks.sampler import CurriculumSampler
from curriculum.hooks.settings import read_settings
from curriculum.hooks.slime_samples import Group, Reader, Sample, last, read_samples, rewards

_log = logging.getLogger(__name__)
_INNER = "slime.rollout.sglang_rollout.generate_rollout"


class CurriculumDataSource:
    """slime's `DataSource`; in one process, called from its rollout thread as well."""

    def __init__(self, args: Any, read: Reader | None = None) -> None:
        """Opens the newest set of `--prompt-data`.

        Args:
            args: slime's; `args.curriculum`, if it is there, has options of `curriculum.hooks.settings`, and
                `rollout_function_path` where the rollouts are not slime's own.
            read: makes a sample of each row of a set; None has slime do it.

        Raises:
            UsageError: an option is wrong; no set, or one that does not fit.
        """
        if not args.prompt_data:
            raise UsageError(
                "no set is named", where="--prompt-data", do="name the output folder of `curriculum refresh`"
            )
        options = {
            "out": args.prompt_data,
            "seed": args.rollout_seed,
            **(getattr(args, "curriculum", None) or {}),
        }
        self.rollout_function_path = options.pop("rollout_function_path", _INNER)
        self._args = args
        self._read = read or read_samples
        settings = read_settings(options, where="curriculum", without=("correctness", "epochs", "first_step"))
        evidence = Evidence(
            find_source(Path(settings.out)).out / "evidence",
            group_size=args.n_samples_per_prompt,
            solved_at=settings.solved_at,
            truncated=settings.truncated,
        )
        recipe = settings.recipe(args.rollout_batch_size)
        self.sampler = CurriculumSampler(settings.out, recipe, evidence=evidence)
        self._samples = self._read(args, self.sampler.published)
        self._batches = self._endless()
        self._rows: deque[int] = deque()  # of the batch that is being handed out
        self._lock = Lock()
        self._groups = self._rollouts = 0  # numbers given out
        self._again: deque[Group] = deque()  # to be handed out before new ones
        self._flying: dict[int, Sample] = {}  # by group number: the sample that its group was copied from
        self._finished: dict[int, Group] = {}  # in this rollout
        self._reused: set[int] = set()  # groups handed out again with their rewards
        self._done: dict[int, list[str]] = {}  # rollout id to the prompts that are trained with it
        self._rollout_id: int | None = None

    def __len__(self) -> int:
        """Prompts of the epoch under way."""
        return len(self.sampler)

    def get_samples(self, num_samples: int) -> list[Group]:
        """The next groups: first those that were aborted or left over, then new ones."""
        with self._lock:
            return [self._again.popleft() if self._again else self._new() for _ in range(num_samples)]

    def add_samples(self, samples: list[Group]) -> None:
        """Takes aborted groups back."""
        with self._lock:
            self._again.extend(samples)

    def save(self, rollout_id: int) -> None:
        """Writes the trained frontier of a rollout where slime looks for it."""
        if not self._args.rollout_global_dataset:
            return
        import torch

        with self._lock:
            self._trained_up_to(rollout_id)
            state = {
                "sample_group_index": self._groups,
                "sample_index": self._rollouts,
                "curriculum": self.sampler.state_dict(),
            }
        path = _state_path(self._args.save, rollout_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, path)

    def load(self, rollout_id: int | None = None) -> None:
        """Continues from a checkpoint; one of another data source begins the first epoch."""
        if self._args.load is None or not self._args.rollout_global_dataset:
            return
        path = _state_path(self._args.load, rollout_id)
        if not path.exists():  # as in slime, which asks for rollout -1 when it starts
            _log.info("curriculum: no state at %s", path)
            return
        import torch

        state = torch.load(path)
        with self._lock:
            self._groups, self._rollouts = state["sample_group_index"], state["sample_index"]
            if "curriculum" not in state:
                _log.warning("curriculum: %s is of another data source; the first epoch begins", path)
                return
            self.sampler.load_state_dict(state["curriculum"])
            self._batches = self._endless()
            for held in (self._rows, self._again, self._flying, self._finished, self._reused, self._done):
                held.clear()  # of before the checkpoint

    def rollout(self, rollout_id: int) -> Any:
        """One rollout of slime's, or of the function that `args.curriculum` names."""
        self._begin(rollout_id)
        output = named(self.rollout_function_path)(self._args, rollout_id, self, evaluation=False)
        kept = getattr(output, "samples", output)
        self.observe(kept)
        self._end(rollout_id, {_number(group) for group in kept})
        if hasattr(output, "metrics"):
            output.metrics = {**(output.metrics or {}), **self.sampler.signal.metrics()}
        return output

    def observe(self, groups: list[Group], *, aborted: bool = False) -> None:
        """Takes finished groups as evidence, each once.

        Args:
            aborted: whether slime has ended whatever else was handed out, and will not give it back.
        """
        with self._lock:
            fresh = {number: group for group in groups if (number := _number(group)) not in self._finished}
            self._finished |= fresh
            self._count(
                [one for number in fresh if number not in self._reused for one in last(fresh[number])]
            )
            if aborted:
                here = self._finished.keys() | {_number(group) for group in self._again}
                for number in [number for number in self._flying if number not in here]:
                    self._reused.discard(number)
                    self._again.append(self._copies(self._flying.pop(number)))

    def _count(self, rollouts: list[Sample]) -> None:
        if rollouts:
            self.sampler.observe(
                [one.metadata["prompt_id"] for one in rollouts],
                rewards(self._args, rollouts),
                lengths=[one.response_length for one in rollouts],
                truncated=[one.status.value == "truncated" for one in rollouts],
                step=self._rollout_id,
            )

    def _begin(self, rollout_id: int) -> None:
        """slime's asynchronous loop begins a rollout while it trains on the one before."""
        with self._lock:
            self._rollout_id = rollout_id
            self._trained_up_to(rollout_id - 2)
            if (folder := self.sampler.newer()) is not None:
                rest = [self._samples[row] for row in self._rows]
                self._again.extend(self._copies(sample) for sample in rest if sample is not None)
                self._rows.clear()
                _log.info("curriculum: %s", self.sampler.swap(folder))
                self._samples = self._read(self._args, self.sampler.published)
                self._batches = self._endless()

    def _end(self, rollout_id: int, kept: set[int]) -> None:
        with self._lock:
            done = self._done.setdefault(rollout_id, [])
            for number, group in self._finished.items():
                if number not in kept and self._is_surplus(group):
                    self._reused.add(number)
                    self._again.appendleft(group)
                    continue
                self._reused.discard(number)
                self._flying.pop(number, None)
                done.append(last(group)[0].metadata["prompt_id"])
            self._finished = {}

    def _trained_up_to(self, rollout_id: int) -> None:
        for one in [one for one in self._done if one <= rollout_id]:
            self.sampler.trained(prompt_ids=self._done.pop(one))

    def _endless(self) -> Iterator[list[int]]:
        while True:
            for rows in self.sampler.batches():
                yield rows.tolist()

    def _new(self) -> Group:
        while True:
            if not self._rows:
                self._rows.extend(next(self._batches))
            row = self._rows.popleft()
            sample = self._samples[row]
            if sample is not None:
                return self._copies(sample)
            self.sampler.trained(prompt_ids=self.sampler.prompt_ids([row]))

    def _copies(self, sample: Sample) -> Group:
        group = []
        for _ in range(self._args.n_samples_per_prompt):
            one = copy.deepcopy(sample)
            one.group_index, one.index = self._groups, self._rollouts
            self._rollouts += 1
            group.append(one)
        self._flying[self._groups] = sample
        self._groups += 1
        return group

    def _is_surplus(self, group: Group) -> bool:
        """Whether a group that was not trained is one that the filter would have let through."""
        path = self._args.dynamic_sampling_filter_path
        output = path is None or named(path)(self._args, group)
        return bool(getattr(output, "keep", output))


def generate_rollout(args: Any, rollout_id: int, data_source: Any, evaluation: bool = False) -> Any:
    """For `--rollout-function-path`: slime's own rollout, and what became of each group."""
    if evaluation:
        return named(data_source.rollout_function_path)(args, rollout_id, data_source, evaluation=True)
    return data_source.rollout(rollout_id)


def observe(args: Any, all_samples: list[Group], data_source: Callable[[int], list[Group]]) -> None:
    """For `--rollout-all-samples-process-path`: the groups that a filter dropped are evidence too."""
    source: CurriculumDataSource = data_source.__self__  # type: ignore[attr-defined]  # slime passes get_samples
    source.observe(all_samples, aborted=not args.partial_rollout)


def named(path: str) -> Any:
    """What a dotted path names."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _state_path(folder: str, rollout_id: int | None) -> Path:
    return Path(folder) / f"rollout/global_dataset_state_dict_{rollout_id}.pt"


def _number(group: Group) -> int:
    return int(last(group)[0].group_index)
