"""The task sampler and gate of prime-rl, through prime-rl's own contract.

prime-rl is not on PyPI. `TaskSampler`, `AdmissionGate` and what is around them follow prime-rl 0.8.0 at
commit 559b4477 (src/prime_rl/orchestrator/curriculum/, train_source.py, train_sink.py and ckpt.py).
"""

import io
import random
import sys
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Protocol, runtime_checkable

import pytest

from curriculum.errors import UsageError
from curriculum.hooks import CurriculumSampler, Evidence, Recipe
from curriculum.hooks.prime_rl import CurriculumTaskSampler, VariedGate, install

torch = pytest.importorskip("torch")
RECIPE = Recipe(batch_size=8)


@runtime_checkable
class TaskSampler(Protocol):
    def __next__(self) -> Any: ...
    def observe(self, group: list[Any]) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...
    def metrics(self) -> dict[str, float]: ...


@runtime_checkable
class AdmissionGate(Protocol):
    def admit(self, group: list[Any]) -> bool: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...
    def metrics(self) -> dict[str, float]: ...


class Curriculum:
    """One sampler and gates by name: all observe a group, and it trains if every gate admits it."""

    def __init__(self, config: Any, tasks: Any) -> None:
        self.sampler: Any = iter(tasks)
        self.gates: dict[str, Any] = {}

    def on_result(self, group):
        self.sampler.observe(group)
        admitted = [gate.admit(group) for gate in self.gates.values()]
        return all(admitted)

    def state_dict(self):
        gates = {name: gate.state_dict() for name, gate in self.gates.items()}
        return {"sampler": self.sampler.state_dict(), "gates": gates}

    def load_state_dict(self, state):
        assert set(state["gates"]) == set(self.gates)
        self.sampler.load_state_dict(state["sampler"])
        for name, gate in self.gates.items():
            gate.load_state_dict(state["gates"][name])


@dataclass
class TrainSink:
    """Groups that were admitted wait in order; a batch is cut from the oldest, here by groups."""

    batch_size: int
    pending: deque[Any] = field(default_factory=deque)

    def process_batch(self):
        episodes = [episode for _ in range(self.batch_size) for episode in self.pending.popleft()]
        return SimpleNamespace(samples=episodes, cohort=SimpleNamespace(vf_episodes=episodes))


def task_of(prompt_id):
    return SimpleNamespace(data=SimpleNamespace(prompt_id=prompt_id), key=f"key {prompt_id}")


def group_of(task, rewards, *, errors=(), trainable=True):
    return [
        SimpleNamespace(
            task=task,
            traces=[
                SimpleNamespace(
                    reward=reward,
                    has_error=at in errors,
                    agent=SimpleNamespace(trainable=trainable),
                    num_output_tokens=7,
                    is_truncated=False,
                )
            ],
        )
        for at, reward in enumerate(rewards)
    ]


@pytest.fixture
def orchestrator(monkeypatch):
    """The modules of an orchestrator, as far as `install` touches them."""
    source = SimpleNamespace(Curriculum=Curriculum)
    sink = SimpleNamespace(TrainSink=type("Sink", (TrainSink,), {}))
    monkeypatch.setitem(sys.modules, "prime_rl.orchestrator.train_source", source)
    monkeypatch.setitem(sys.modules, "prime_rl.orchestrator.train_sink", sink)
    return SimpleNamespace(curriculum=lambda tasks: source.Curriculum(None, tasks), sink=sink)


def tasks_of(small):
    return [task_of(prompt_id) for prompt_id in sorted(small.ids)]


def order(small, prompts):
    run, ids = CurriculumSampler(small.folder, RECIPE, evidence=Evidence(None)), []
    while len(ids) < prompts:
        ids += run.prompt_ids(list(run))
    return ids[:prompts]


def ids_of_tasks(tasks):
    return [task.data.prompt_id for task in tasks]


def through_disk(state):
    file = io.BytesIO()
    torch.save(state, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=False)


def sampler_of(small):
    return CurriculumTaskSampler(CurriculumSampler(small.folder, RECIPE), tasks_of(small))


def test_they_are_a_task_sampler_and_a_gate(small):
    sampler = sampler_of(small)
    assert isinstance(sampler, TaskSampler)
    assert isinstance(VariedGate(sampler.finished), AdmissionGate)
    assert iter(sampler) is sampler


def test_tasks_come_in_the_order_of_the_sampler_whatever_order_they_were_loaded_in(small):
    sampler = sampler_of(small)
    assert ids_of_tasks(next(sampler) for _ in range(200)) == order(small, 200)


def test_a_taskset_that_lacks_a_prompt_of_the_set_is_refused(small):
    with pytest.raises(UsageError, match="2 of the 103 prompts"):
        CurriculumTaskSampler(CurriculumSampler(small.folder, RECIPE), tasks_of(small)[2:])


def test_a_group_is_evidence_by_its_prompt_and_errors_are_not_judged(small):
    sampler = sampler_of(small)
    task = next(sampler)
    sampler.observe(group_of(task, [1.0, 0.0, 0.0, 0.0], errors=[2]))
    (line,) = small.evidence()
    assert line["prompt_id"] == [task.data.prompt_id]
    assert (line["n"], line["s"], line["unjudged"], line["tokens"]) == ([3], [1], [1], [28])


def test_a_group_of_untrainable_agents_says_nothing(small):
    sampler = sampler_of(small)
    sampler.observe(group_of(next(sampler), [1.0, 0.0], trainable=False))
    assert sampler.sampler.evidence.observed == 0


@pytest.mark.parametrize(
    ("rewards", "errors", "admitted", "done"),
    [
        ([1.0, 0.0, 1.0], (), True, 0),
        ([0.3, 0.1 + 0.2, 0.3], (), False, 1),
        ([0.5, 0.5, 0.5], (), False, 1),
        ([1.0, 0.0, 0.0], (0,), False, 1),
        ([0.0, 0.0], (0, 1), False, 0),
    ],
)
def test_the_gate_admits_what_varies_by_more_than_rounding(small, rewards, errors, admitted, done):
    refused = []
    gate = VariedGate(refused.extend)
    task = task_of(small.ids[0])
    assert gate.admit(group_of(task, rewards, errors=errors)) is admitted
    assert len(refused) == done
    state = through_disk(gate.state_dict())
    again = VariedGate(refused.extend)
    again.load_state_dict(state)
    assert again.metrics() == gate.metrics()
    assert sum(gate.metrics().values()) == 1


def run(orchestrator, small, curriculum, sink, steps, seed, *, hard=lambda task: False):
    """The prompts of each shipped batch: groups finish in any order, twenty at a time are on their way."""
    rng, flying, shipped = random.Random(seed), [], []
    while len(shipped) < steps:
        while len(flying) < 20:
            flying.append(next(curriculum.sampler))
        task = flying.pop(rng.randrange(len(flying)))
        group = group_of(task, [0.0] * 4 if hard(task) else [1.0, 0.0, 0.0, 1.0])
        if curriculum.on_result(group):
            sink.pending.append(group)
        if len(sink.pending) == sink.batch_size:
            batch = sink.process_batch()
            shipped.append(sorted({episode.task.data.prompt_id for episode in batch.cohort.vf_episodes}))
    return shipped


def hard(task):
    return task.data.prompt_id[0] in "0123"


@pytest.mark.parametrize("killed", [3, 5, 8])
def test_a_resume_skips_and_repeats_nothing_that_was_shipped(orchestrator, small, killed):
    """What waits for a batch, and what is being generated, is lost with the process and comes again."""
    install(small.folder, RECIPE)
    begun = orchestrator.curriculum(tasks_of(small))
    shipped = run(orchestrator, small, begun, orchestrator.sink.TrainSink(8), killed, 1, hard=hard)
    state = through_disk(begun.state_dict())
    resumed = orchestrator.curriculum(tasks_of(small))
    resumed.load_state_dict(state)
    refused = {prompt for line in small.evidence() for prompt in line["prompt_id"] if hard(task_of(prompt))}
    left = [prompt for prompt in order(small, 96) if prompt not in refused.union(*shipped)]
    assert len(left) < 96 - 8 * killed
    assert ids_of_tasks(next(resumed.sampler) for _ in left) == left


def test_refused_groups_are_evidence_and_do_not_come_again(orchestrator, small):
    install(small.folder, RECIPE)
    curriculum = orchestrator.curriculum(tasks_of(small))
    tasks = [next(curriculum.sampler) for _ in range(96)]
    for task in tasks:
        assert not curriculum.on_result(group_of(task, [1.0] * 4))
    resumed = orchestrator.curriculum(tasks_of(small))
    resumed.load_state_dict(through_disk(curriculum.state_dict()))
    assert ids_of_tasks([next(resumed.sampler)]) == order(small, 97)[96:]
    assert sum(len(line["prompt_id"]) for line in small.evidence()) == 96


def test_the_signal_counts_shipped_batches_as_steps(orchestrator, small):
    install(small.folder, RECIPE)
    curriculum = orchestrator.curriculum(tasks_of(small))
    run(orchestrator, small, curriculum, orchestrator.sink.TrainSink(8), 3, 1)
    assert {line["step"] for line in small.evidence()} == {0, 1, 2}
    assert curriculum.sampler.metrics()["effective"] == 1.0


def test_an_orchestrator_of_another_make_is_refused(orchestrator, small, monkeypatch):
    monkeypatch.setitem(sys.modules, "prime_rl.orchestrator.train_sink", SimpleNamespace())
    with pytest.raises(UsageError, match="another way"):
        install(small.folder, RECIPE)


def test_evidence_of_ones_own_says_what_is_solved(orchestrator, small):
    install(small.folder, RECIPE, evidence=Evidence(small.out / "evidence", solved_at=0.5), first_step=40)
    curriculum = orchestrator.curriculum(tasks_of(small))
    curriculum.on_result(group_of(next(curriculum.sampler), [0.6, 0.1]))
    (line,) = small.evidence()
    assert (line["s"], line["step"]) == ([1], 40)


def test_tasks_without_prompt_ids_and_processes_without_an_orchestrator_are_left_alone(orchestrator, small):
    install(small.folder, RECIPE)
    plain = [SimpleNamespace(data=SimpleNamespace(), key=str(number)) for number in range(3)]
    curriculum = orchestrator.curriculum(plain)
    assert not curriculum.gates
    del sys.modules["prime_rl.orchestrator.train_source"]
    install(small.folder, RECIPE)
