"""prime-rl: its task sampler and admission gate, over the newest published set.

In: the tasks of an environment, each with the `prompt_id` of a published prompt in its `TaskData`. Out: tasks
in the order of the sampler, groups without signal refused, evidence, a state in prime-rl's own checkpoint.

    from curriculum.hooks.prime_rl import install     # in the module of the taskset

    install("curriculum-out", Recipe(batch_size=64))

Written for prime-rl 0.8.0 (src/prime_rl/orchestrator/curriculum/, train_source.py and train_sink.py at commit
559b4477). Its configuration names only samplers of its own, so `install` puts these in where the orchestrator
makes a curriculum. Nothing of prime-rl or its `verifiers` is imported here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from curriculum.errors import UsageError
from curriculum.hooks.evidence import Evidence
from curriculum.hooks.order import Recipe
from curriculum.hooks.sampler import CurriculumSampler
from curriculum.hooks.signal import TOLERANCE

_SOURCE = "prime_rl.orchestrator.train_source"
_SINK = "prime_rl.orchestrator.train_sink"
GATE = "curriculum"
"""The name of the gate, in prime-rl's checkpoints and metrics."""

Episodes = list[Any]
"""The `vf.Episode`s of one task, each with its traces."""


class CurriculumTaskSampler:
    """prime-rl's `TaskSampler`: the tasks of a published set, in the order of a `CurriculumSampler`."""

    def __init__(self, sampler: CurriculumSampler, tasks: Sequence[Any], *, first_step: int = 0) -> None:
        """Finds the task of each prompt by its id; for `first_step` see `install`.

        Raises:
            UsageError: the set has prompts that the taskset does not.
        """
        by_id = {prompt_id_of(task): task for task in tasks}
        ids = sampler.prompt_ids(range(len(sampler.published)))
        if missing := [prompt_id for prompt_id in ids if prompt_id not in by_id]:
            raise UsageError(
                f"{len(missing)} of the {len(ids)} prompts of the set are no tasks, {missing[0]} first",
                where=str(sampler.published.source.folder),
                do="load the taskset from the train shards of that refresh, with prompt_id in each TaskData",
            )
        self.sampler = sampler
        self._tasks = [by_id[prompt_id] for prompt_id in ids]
        self._rows = self._endless()
        self._step = first_step  # batches shipped

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        """The next task; there is always one."""
        return self._tasks[next(self._rows)]

    def observe(self, group: Episodes) -> None:
        """Takes a finished group as evidence; a trace with an error was not judged."""
        traces = list(_trainable(group))
        if traces:
            self.sampler.observe(
                [group[0].task.data.prompt_id] * len(traces),
                [None if trace.has_error else trace.reward for trace in traces],
                lengths=[trace.num_output_tokens for trace in traces],
                truncated=[trace.is_truncated for trace in traces],
                step=self._step,
            )

    def shipped(self, episodes: Iterable[Any]) -> None:
        """Moves the frontier over a batch that went to the trainer."""
        self._step += 1
        self.finished(episode.task for episode in episodes)

    def finished(self, tasks: Iterable[Any]) -> None:
        """Moves the frontier over tasks that were trained or refused for good."""
        ids = {prompt_id for task in tasks if (prompt_id := prompt_id_of(task)) is not None}
        self.sampler.trained(prompt_ids=sorted(ids))

    def state_dict(self) -> dict[str, Any]:
        """What was shipped or refused, not what is being generated."""
        return {"step": self._step, "curriculum": self.sampler.state_dict()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continues from a checkpoint.

        Raises:
            UsageError: the state is that of another sampler.
        """
        self.sampler.load_state_dict(state_dict.get("curriculum", state_dict))
        self._step = state_dict["step"]
        self._rows = self._endless()

    def metrics(self) -> dict[str, float]:
        """The rolling signal, as `curriculum/<env>/sampler/…`."""
        figures = self.sampler.signal.metrics()
        return {name.removeprefix("curriculum/"): value for name, value in figures.items()}

    def _endless(self) -> Iterator[int]:
        while True:
            yield from self.sampler


class VariedGate:
    """prime-rl's `AdmissionGate`: groups whose rewards vary are trained, by max - min > tol."""

    def __init__(self, refused: Callable[[list[Any]], None], tol: float = TOLERANCE) -> None:
        """`refused` is told the tasks of refused groups."""
        self._refused = refused
        self._tol = tol
        self._counts = {"admitted": 0, "refused": 0, "unjudged": 0}

    def admit(self, group: Episodes) -> bool:
        """Whether the group varies. One without a judged rollout does not, and may be tried again."""
        rewards = [trace.reward for trace in _trainable(group) if not trace.has_error]
        varies = bool(rewards) and max(rewards) - min(rewards) > self._tol
        self._counts["admitted" if varies else "refused" if rewards else "unjudged"] += 1
        if rewards and not varies:
            self._refused([group[0].task])
        return varies

    def state_dict(self) -> dict[str, Any]:
        """The counts."""
        return dict(self._counts)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Counts on."""
        self._counts.update(state_dict)

    def metrics(self) -> dict[str, float]:
        """Groups since the run began, as `curriculum/<env>/gate/curriculum/…`."""
        return {name: float(count) for name, count in self._counts.items()}


def install(
    published: str | Path,
    recipe: Recipe,
    *,
    tol: float = TOLERANCE,
    first_step: int = 0,
    evidence: Evidence | None = None,
) -> None:
    """Has the orchestrator of this process draw the tasks that carry a prompt id from a published set.

    Does nothing in a process without an orchestrator, such as an environment server that imports the
    taskset. Environments whose tasks carry no prompt id keep the curriculum of their configuration.

    Args:
        published: an output folder, or a refresh folder.
        recipe: `batch_size` is that of the orchestrator divided by its group size.
        tol: the least range of the rewards of a group that is trained.
        first_step: the step of the checkpoint that training goes on from, where that has no state of this.
        evidence: where the rollouts go; None writes to `<out>/evidence`.

    Raises:
        UsageError: the orchestrator is of a release that is not known.
    """
    if (source := sys.modules.get(_SOURCE)) is None:
        return
    made: list[CurriculumTaskSampler] = []
    try:
        curriculum_of, sink = source.Curriculum, sys.modules[_SINK].TrainSink
        process_batch = sink.process_batch
    except (AttributeError, KeyError) as error:
        raise UsageError(
            "this release of prime-rl makes its curriculum in another way",
            where=repr(error),
            do="use prime-rl 0.8, or a newer rlvr-curriculum",
        ) from error

    @wraps(curriculum_of)
    def with_sampler(config: Any, tasks: Any) -> Any:
        curriculum = curriculum_of(config, tasks)
        if isinstance(tasks, Sequence) and tasks and all(map(prompt_id_of, tasks)):
            drawn = CurriculumSampler(published, recipe, evidence=evidence)
            sampler = CurriculumTaskSampler(drawn, tasks, first_step=first_step)
            curriculum.sampler = sampler
            curriculum.gates[GATE] = VariedGate(sampler.finished, tol)
            made.append(sampler)
        return curriculum

    source.Curriculum = with_sampler  # type: ignore[attr-defined]

    @wraps(process_batch)
    def with_frontier(self: Any) -> Any:
        batch = process_batch(self)
        for sampler in made if batch.samples else []:
            sampler.shipped(batch.cohort.vf_episodes)
        return batch

    sink.process_batch = with_frontier


def prompt_id_of(task: Any) -> str | None:
    """The id of a task's prompt, or None where its `TaskData` has none."""
    return getattr(task.data, "prompt_id", None)


def _trainable(group: Episodes) -> Iterator[Any]:
    return (trace for episode in group for trace in episode.traces if trace.agent.trainable)
