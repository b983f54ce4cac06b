"""The structure of TRL's sampler around the curriculum's batches, without TRL."""

import numpy as np
import pytest

from curriculum.hooks import CurriculumSampler, Evidence, Recipe
from curriculum.hooks.trl_rows import TrainRows

SIZE, GROUP = 8, 3
WIDTH = SIZE * GROUP


def make(written, repeats, place=None):
    sampler = CurriculumSampler(written.folder, Recipe(batch_size=SIZE), evidence=Evidence(None))
    place = np.arange(103) if place is None else place
    return sampler, TrainRows(sampler, place, group_size=GROUP, repeats=repeats)


def batches_of(sampler, epochs):
    return [rows.tolist() for _ in range(epochs) for rows in sampler.batches()]


def micro_steps(rows):
    """The rows of an epoch, a list of distinct prompts for each micro-step; checks the repeats inside."""
    flat = np.array(list(rows)).reshape(-1, SIZE, GROUP)
    assert (flat == flat[:, :, :1]).all()
    return flat[:, :, 0].tolist()


@pytest.mark.parametrize("repeats", [1, 2, 6])
def test_each_prompt_is_repeated_for_its_group_and_each_batch_for_its_micro_steps(small, repeats):
    _, rows = make(small, repeats)
    expected = [batch for batch in batches_of(make(small, 1)[0], 1) for _ in range(repeats)]
    assert micro_steps(rows) == expected
    assert len(rows) == 12 * repeats * WIDTH


def test_rows_are_those_of_the_trainers_data_set(small):
    place = np.random.default_rng(0).permutation(103)
    _, rows = make(small, 1, place)
    assert micro_steps(rows) == [place[batch].tolist() for batch in batches_of(make(small, 1)[0], 1)]


def test_epochs_of_the_trainer_are_those_of_the_curriculum(small):
    sampler, rows = make(small, 2)
    seen = []
    for _ in range(3):
        seen += micro_steps(rows)[::2]
        for _ in range(12):
            sampler.trained()
    assert seen == batches_of(make(small, 1)[0], 3)


def test_what_a_trainer_skips_after_a_resume_is_taken_off_its_epoch_not_off_the_curriculum(small):
    sampler, _ = make(small, 2)
    for _ in zip(range(5), sampler.batches(), strict=False):
        sampler.trained()
    resumed, rows = make(small, 2)
    resumed.load_state_dict(sampler.state_dict())
    rows.begin(10)
    assert micro_steps(rows)[10::2] == batches_of(make(small, 1)[0], 1)[5:]


def test_a_batch_that_was_under_way_comes_again_for_what_is_left_of_its_micro_steps(small):
    _, rows = make(small, 6)
    rows.begin(4)
    steps = micro_steps(rows)
    whole = batches_of(make(small, 1)[0], 1)
    assert steps[4:6] == [whole[0]] * 2
    assert steps[6:] == [batch for batch in whole[1:] for _ in range(6)]


def test_an_iteration_that_was_broken_off_starts_again_at_the_frontier(small):
    sampler, rows = make(small, 1)
    ahead = iter(rows)
    for _ in range(7 * WIDTH):
        next(ahead)
    for _ in range(3):
        sampler.trained()
    rows.begin(0)
    assert micro_steps(rows)[:9] == batches_of(make(small, 1)[0], 1)[3:]


def test_on_another_set_the_trainers_epochs_stay_whole(small, publish):
    sampler, _ = make(small, 1)
    before = set()
    for _, batch in zip(range(5), sampler.batches(), strict=False):
        before.update(sampler.prompt_ids(batch))
        sampler.trained()
    new = publish(small.out, "later", list(range(40, 143)))
    resumed, rows = make(new, 1)
    report = resumed.load_state_dict(sampler.state_dict())
    rows.begin(5)
    steps = micro_steps(rows)[5:]
    assert len(steps) == 7
    left = (103 - report.trained_here) // SIZE
    own = [new.ids[row] for batch in steps[:left] for row in batch]
    assert not set(own) & before
