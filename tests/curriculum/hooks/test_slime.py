"""The data source of slime, through slime's own contract.

slime is not on PyPI. `DataSource`, `Sample` and the steps of `generate` follow slime 0.3.1 at commit 624b824a
(slime/rollout/data_source.py, slime/utils/types.py and slime/rollout/sglang_rollout.py).
"""

import sys
from collections import Counter
from copy import copy
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any, Protocol, runtime_checkable

import pytest

from curriculum.errors import UsageError
from curriculum.hooks import CurriculumSampler, Evidence, Recipe
from curriculum.hooks.slime import CurriculumDataSource, generate_rollout, named, observe
from curriculum.hooks.slime_samples import label

torch = pytest.importorskip("torch")


@runtime_checkable
class DataSource(Protocol):
    def get_samples(self, num_samples: int) -> list[list[Any]]: ...
    def add_samples(self, samples: list[list[Any]]) -> None: ...
    def save(self, rollout_id: int) -> None: ...
    def load(self, rollout_id: int | None = None) -> None: ...
    def __len__(self) -> int: ...


class Status(Enum):
    COMPLETED = "completed"
    TRUNCATED = "truncated"
    ABORTED = "aborted"


@dataclass
class Sample:
    prompt: str
    group_index: int | None = None
    index: int | None = None
    response_length: int = 0
    reward: Any = None
    status: Status = Status.ABORTED
    metadata: dict[str, Any] = field(default_factory=dict)

    def get_reward_value(self, args):
        return self.reward[args.reward_key] if args.reward_key else self.reward


def read(_args, published):
    samples = [Sample(f"row {row}") for row in range(len(published))]
    label(samples, published)
    return samples


def varied(number):
    return [float(number % 2), 1.0, 0.0, 1.0]


def judge(args, group):
    """Four rollouts a prompt, rewarded by the number of their group."""
    for one, reward in zip(group, args.rewards(group[0].group_index), strict=True):
        if one.status is Status.ABORTED:
            one.reward, one.response_length, one.status = reward, 10, Status.COMPLETED
    return group


def generate(args, rollout_id, data_source, evaluation=False):
    """What slime's rollout does with a data source: oversample, filter, cut at the batch, abort the rest."""
    target, pending, kept, finished, remaining = args.rollout_batch_size, [], [], [], 0
    while len(kept) < target:
        while remaining < target:
            pending += data_source.get_samples(args.over_sampling_batch_size)
            remaining += args.over_sampling_batch_size
        done, pending = pending[: args.at_once], pending[args.at_once :]
        for group in done:
            finished.append(judge(args, group))
            output = named(args.dynamic_sampling_filter_path)(args, group)
            if getattr(output, "keep", output):
                kept += [group] if len(kept) < target else []
            else:
                remaining -= 1
    if args.all_samples:
        observe(args, finished, data_source.get_samples)
    if args.partial_rollout and pending:
        data_source.add_samples(pending)
    return SimpleNamespace(samples=kept, metrics=None)


@pytest.fixture
def args(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "my_rollouts", SimpleNamespace(generate=generate))
    return SimpleNamespace(
        prompt_data=str(small.out),
        rollout_seed=3,
        rollout_batch_size=8,
        over_sampling_batch_size=8,
        n_samples_per_prompt=4,
        rollout_global_dataset=True,
        partial_rollout=False,
        reward_key=None,
        save=str(tmp_path / "checkpoints"),
        load=str(tmp_path / "checkpoints"),
        curriculum={"rollout_function_path": "my_rollouts.generate"},
        all_samples=True,
        at_once=1,
        rewards=varied,
        dynamic_sampling_filter_path="curriculum.hooks.slime_samples.varies",
    )


def order(small, prompts):
    recipe = Recipe(batch_size=8, seed=3)
    run, ids = CurriculumSampler(small.folder, recipe, evidence=Evidence(None)), []
    while len(ids) < prompts:
        ids += run.prompt_ids(list(run))
    return ids[:prompts]


def ids_of_groups(groups):
    return [group[0].metadata["prompt_id"] for group in groups]


def train(args, source, rollouts, *, save=True):
    """The prompts of each rollout, as the synchronous loop trains them."""
    trained = []
    for rollout_id in rollouts:
        trained.append(ids_of_groups(generate_rollout(args, rollout_id, source).samples))
        if save:
            source.save(rollout_id)
    return trained


def test_it_is_a_data_source_in_the_order_of_the_sampler(args, small):
    source = CurriculumDataSource(args, read)
    assert isinstance(source, DataSource)
    groups = [group for _ in range(40) for group in source.get_samples(5)]
    assert ids_of_groups(groups) == order(small, 200)
    assert [one.index for group in groups for one in group] == list(range(800))
    assert [{one.group_index for one in group} for group in groups] == [{number} for number in range(200)]
    assert len(source) == 96


def test_the_rows_of_a_group_are_those_of_the_set(args, small):
    (group,) = CurriculumDataSource(args, read).get_samples(1)
    row = int(group[0].prompt.removeprefix("row "))
    assert group[0].metadata == {
        "prompt_id": small.ids[row],
        "domain": group[0].metadata["domain"],
        "max_tokens": 64,
    }


def test_aborted_groups_come_first_and_are_the_same_rollouts(args):
    source = CurriculumDataSource(args, read)
    groups = source.get_samples(6)
    source.add_samples(groups[2:4])
    assert source.get_samples(3)[:2] == groups[2:4]


def test_all_finished_groups_are_evidence_once_and_with_their_step(args, small):
    args.rewards = lambda number: [1.0] * 4 if number % 3 == 0 else varied(number)
    args.at_once = 5
    source = CurriculumDataSource(args, read)
    trained = train(args, source, range(6))
    lines = small.evidence()
    seen = Counter(prompt for line in lines for prompt in line["prompt_id"])
    assert set(seen.values()) == {1}
    assert {prompt for step in trained for prompt in step} < set(seen)
    assert all(n == 4 for line in lines for n in line["n"])
    assert {line["step"] for line in lines} == set(range(6))
    assert source.sampler.evidence.unknown == 0


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("at_once", [1, 5, 13])
def test_aborted_and_surplus_groups_are_trained_all_the_same(args, partial, at_once):
    """slime throws both away; an epoch would lose a part of its prompts."""
    args.partial_rollout, args.at_once, args.over_sampling_batch_size = partial, at_once, 24
    trained = train(args, CurriculumDataSource(args, read), range(12))
    assert len({prompt for step in trained for prompt in step}) == 96


def test_surplus_groups_keep_their_rollouts(args, small):
    args.at_once = args.over_sampling_batch_size = 12
    source = CurriculumDataSource(args, read)
    train(args, source, range(2))
    assert sum(len(line["prompt_id"]) for line in small.evidence()) == 24 - 4  # twelve, then eight new ones


def test_what_float_noise_makes_vary_is_refused_and_does_not_come_back(args):
    args.rewards = lambda number: [0.1 + 0.2, 0.3, 0.3, 0.3] if number % 2 else varied(number)
    source = CurriculumDataSource(args, read)
    trained = train(args, source, range(6))
    assert len({prompt for step in trained for prompt in step}) == 48
    (group,) = source.get_samples(1)
    assert group[0].group_index >= 95


def test_a_filter_of_the_users_own_is_asked_which_groups_are_surplus(args, monkeypatch):
    own = SimpleNamespace(keep=lambda args, group: SimpleNamespace(keep=group[0].group_index % 5 > 0))
    monkeypatch.setitem(sys.modules, "my_filters", own)
    args.dynamic_sampling_filter_path = "my_filters.keep"
    args.at_once = args.over_sampling_batch_size = 16
    trained = train(args, CurriculumDataSource(args, read), range(9))
    assert len({prompt for step in trained for prompt in step}) == 72


@pytest.mark.parametrize("killed", [1, 5, 12, 17])
def test_a_resume_trains_what_an_unbroken_run_trains(args, small, killed):
    unbroken = train(args, CurriculumDataSource(args, read), range(24), save=False)
    begun = train(args, CurriculumDataSource(args, read), range(killed))
    resumed = CurriculumDataSource(args, read)
    resumed.get_samples(3)  # lost, as it was before the state
    resumed.load(killed - 1)
    assert begun + train(args, resumed, range(killed, 24)) == unbroken
    assert [prompt for step in unbroken for prompt in step] == order(small, 192)


def test_the_asynchronous_loop_does_not_save_what_it_has_not_trained(args):
    """It begins the next rollout before it trains on this one and saves."""
    source = CurriculumDataSource(args, read)
    rollouts = [generate_rollout(args, 0, source)]
    for rollout_id in range(5):
        rollouts.append(generate_rollout(args, rollout_id + 1, source))
        source.save(rollout_id)
    resumed = CurriculumDataSource(args, read)
    resumed.load(4)
    again = generate_rollout(args, 5, resumed)
    assert ids_of_groups(again.samples) == ids_of_groups(rollouts[5].samples)


def test_a_resume_with_dropped_and_surplus_groups_skips_and_repeats_nothing(args):
    args.rewards = lambda number: [0.0] * 4 if number % 4 == 0 else varied(number)
    args.at_once, args.over_sampling_batch_size = 5, 12
    source = CurriculumDataSource(args, read)
    trained = train(args, source, range(4))
    resumed = CurriculumDataSource(args, read)
    resumed.load(3)
    trained += train(args, resumed, range(4, 7))
    prompts = Counter(prompt for step in trained for prompt in step)
    assert set(prompts.values()) == {1}
    assert resumed.get_samples(1)[0][0].group_index >= 56


def test_a_start_finds_no_state_and_a_state_of_slimes_own_begins_the_first_epoch(
    args, small, tmp_path, caplog
):
    source = CurriculumDataSource(args, read)
    source.load(-1)
    folder = tmp_path / "checkpoints" / "rollout"
    folder.mkdir(parents=True)
    theirs = {
        "sample_offset": 40,
        "epoch_id": 2,
        "sample_group_index": 40,
        "sample_index": 160,
        "metadata": {},
    }
    torch.save(theirs, folder / "global_dataset_state_dict_4.pt")
    source.load(4)
    assert "another data source" in caplog.text
    (group,) = source.get_samples(1)
    assert (group[0].group_index, group[0].index) == (40, 160)
    assert ids_of_groups([group]) == order(small, 1)


@pytest.mark.parametrize("over_sampling", [8, 11])
def test_a_newer_set_is_taken_between_rollouts_after_what_was_drawn(
    args, small, publish, ids_of, over_sampling
):
    args.over_sampling_batch_size = args.at_once = over_sampling
    source = CurriculumDataSource(args, read)
    trained = train(args, source, range(2))
    publish(small.out, "new", list(range(60, 160)))
    trained += train(args, source, range(2, 8))
    assert source.sampler.published.source.refresh_id == "new"
    ids = [prompt for step in trained for prompt in step]
    assert len(ids) == len(set(ids)) == 64
    new = set(ids_of(list(range(60, 160))))
    assert set(ids[:24]) & set(order(small, 24)) >= set(ids[:16])
    assert set(ids[24:]) <= new


def test_prompts_that_are_too_long_are_passed_over_for_good(args):
    def short(args, published):
        return [one if row % 3 else None for row, one in enumerate(read(args, published))]

    source = CurriculumDataSource(args, short)
    trained = train(args, source, range(8))
    rows = {int(group[0].prompt.removeprefix("row ")) % 3 for group in source.get_samples(8)}
    assert rows <= {1, 2}
    assert len({prompt for step in trained for prompt in step}) == 64
    source.save(7)
    resumed = CurriculumDataSource(args, short)
    resumed.load(7)
    assert resumed.sampler.epoch == source.sampler.epoch


def test_a_rollout_that_was_split_counts_once(args, small):
    source = CurriculumDataSource(args, read)
    (group,) = source.get_samples(1)
    judge(args, group)
    source.observe([[[copy(one), one] for one in group]])
    (line,) = small.evidence()
    assert (line["n"], line["tokens"]) == ([4], [40])


def test_rewards_by_key_truncated_and_missing(args, small):
    args.reward_key = "score"
    source = CurriculumDataSource(args, read)
    (group,) = source.get_samples(1)
    for one, reward in zip(group, [1.0, 0.0, 0.0, None], strict=True):
        one.reward = None if reward is None else {"score": reward}
    group[1].status = Status.TRUNCATED
    source.observe([group])
    (line,) = small.evidence()
    assert (line["n"], line["s"], line["unjudged"], line["truncated"]) == ([3], [1], [1], [1])


def test_no_set_and_an_unknown_option_are_errors(args):
    args.curriculum = {"domain_quota": {"sums": 0.5}}
    with pytest.raises(UsageError, match="domain_quotas"):
        CurriculumDataSource(args, read)
    args.prompt_data = None
    with pytest.raises(UsageError, match="no set is named"):
        CurriculumDataSource(args, read)


def test_an_evaluation_is_slimes_own(args):
    source = CurriculumDataSource(args, read)
    args.rollout_batch_size = 0
    assert generate_rollout(args, 0, source, evaluation=True).samples == []
    assert source.sampler.evidence.observed == 0


def test_its_signal_is_among_the_metrics_of_a_rollout(args):
    metrics = generate_rollout(args, 0, CurriculumDataSource(args, read)).metrics
    assert metrics["curriculum/effective"] == 1.0
