"""Another set in the middle of a run: prompts carry over by id, and what is in flight is not lost."""

import json
import random

import pytest

from curriculum.errors import UsageError
from curriculum.hooks import Recipe


def through_json(state):
    return json.loads(json.dumps(state))


@pytest.fixture
def two(publish, tmp_path):
    """A set, and one published later that shares prompts 40 to 102 with it."""
    old = publish(tmp_path, "step_0-00000000", list(range(103)))
    return old, lambda: publish(tmp_path, "step_9-00000009", list(range(40, 160)))


def test_a_newer_set_is_seen_when_latest_names_it(two, make):
    old, publish_new = two
    run = make(old)
    assert run.newer() is None
    new = publish_new()
    assert run.newer() == new.folder
    run.swap(new.folder)
    assert run.newer() is None


def test_a_swap_repeats_and_loses_nothing_of_the_epoch(two, make, train):
    old, publish_new = two
    run = make(old)
    before = [one for ids in train(run, 5) for one in ids]
    new = publish_new()
    report = run.swap(new.folder)
    shared = set(before) & set(new.ids)
    assert (report.trained, report.trained_here, report.in_flight) == (40, len(shared), 0)
    assert (report.before, report.now, report.prompts) == ("step_0-00000000", "step_9-00000009", 120)
    after = [one for batch in run.batches() for one in run.prompt_ids(batch)]
    assert run.epoch == 0
    assert len(after) == len(set(after)) == (120 - len(shared)) // 8 * 8
    assert not set(after) & set(before)
    following = [one for batch in run.batches() for one in run.prompt_ids(batch)]
    assert run.epoch == 1
    assert set(new.ids) - set(after) - shared <= set(following[:8])


def test_what_is_in_flight_at_a_swap_is_still_counted(two, make):
    old, publish_new = two
    run = make(old)
    batches = run.numbered()
    flying = [next(batches) for _ in range(3)]
    ids = [run.prompt_ids(batch.rows) for batch in flying]
    new = publish_new()
    assert run.swap(new.folder).in_flight == 24
    number, rows = next(batches)  # the same iteration goes on with the new set
    assert number == 3
    assert run.prompt_ids(rows) == [new.ids[row] for row in rows]
    assert run.trained() == 8
    assert run.trained(prompt_ids=ids[2]) == 8
    assert run.trained(1) == 8
    rest = {one for batch in batches for one in run.prompt_ids(batch.rows)}
    assert not rest & {one for group in ids for one in group}


def test_killed_with_batches_of_an_earlier_set_in_flight_those_come_first(two, make):
    old, publish_new = two
    run = make(old)
    batches = run.numbered()
    flying = [run.prompt_ids(next(batches).rows) for _ in range(3)]
    run.trained(0)
    new = publish_new()
    run.swap(new.folder)
    next(batches)
    resumed = make(new)
    assert resumed.load_state_dict(through_json(run.state_dict())) is None
    again = resumed.batches()
    present = [[one for one in ids if one in set(new.ids)] for ids in flying[1:]]
    assert [resumed.prompt_ids(next(again)) for _ in present] == present
    rest = [one for rows in again for one in resumed.prompt_ids(rows)]
    unbroken = [one for rows in run.batches() for one in run.prompt_ids(rows)]
    assert rest == unbroken


def test_a_state_of_another_set_is_taken_over_by_id(two, caplog, make, train):
    """A data set that was exchanged must not skip as many rows as the old one had trained."""
    old, publish_new = two
    run = make(old)
    before = {one for ids in train(run, 5, ahead=3) for one in ids}
    state = through_json(run.state_dict())
    new = publish_new()
    resumed = make(new)
    report = resumed.load_state_dict(state)
    assert (report.trained, report.trained_here) == (40, len(before & set(new.ids)))
    assert str(report) in caplog.text
    after = {one for rows in resumed.batches() for one in resumed.prompt_ids(rows)}
    assert not after & before
    assert len(after) == (120 - report.trained_here) // 8 * 8


@pytest.mark.parametrize("seed", range(10))
def test_killed_and_resumed_around_swaps_nothing_is_skipped_or_repeated(publish, tmp_path, seed, make):
    """200 steps over sets that overlap: no prompt twice in an epoch, and as an unbroken run does it."""
    draw = random.Random(seed)
    sets = [publish(tmp_path, f"s{n}", draw.sample(range(160), draw.randint(60, 120))) for n in range(4)]
    swaps = sorted(draw.sample(range(1, 200), 3))
    unbroken, broken = make(sets[0]), make(sets[0])
    current, expected, got = 0, [], []
    for step in range(200):
        if step in swaps:
            current += 1
            assert str(unbroken.swap(sets[current].folder)) == str(broken.swap(sets[current].folder))
        if draw.random() < 0.2:
            state = through_json(broken.state_dict())
            broken = make(sets[current])
            assert broken.load_state_dict(state) is None
        for run, seen in ((unbroken, expected), (broken, got)):
            rows = next(run.batches())
            run.trained()
            seen.append((run.epoch, run.prompt_ids(rows)))
    assert got == expected
    for epoch in {number for number, _ in got}:
        ids = [one for number, batch in got if number == epoch for one in batch]
        assert len(ids) == len(set(ids))


def test_another_recipe_carries_over_by_id_too(small, make, train):
    run = make(small)
    before = {one for ids in train(run, 5) for one in ids}
    resumed = make(small, Recipe(batch_size=16))
    report = resumed.load_state_dict(run.state_dict())
    assert report.trained_here == 40
    assert not before & {one for rows in resumed.batches() for one in resumed.prompt_ids(rows)}


def test_a_set_is_not_changed_inside_a_batch(two, make):
    old, publish_new = two
    run = make(old)
    rows = iter(run)
    next(rows)
    new = publish_new()
    assert run.newer() is None
    with pytest.raises(UsageError, match="inside a batch"):
        run.swap(new.folder)
    for _ in range(7):
        next(rows)
    assert run.newer() == new.folder


def test_a_set_that_cannot_be_used_leaves_the_old_one(two, publish, tmp_path, make):
    old, _ = two
    run = make(old)
    bad = publish(tmp_path, "tiny", list(range(5)))
    with pytest.raises(UsageError, match="lower batch_size"):
        run.swap(bad.folder)
    assert run.published.source.refresh_id == "step_0-00000000"
    assert len(list(run.batches())) == 12


def test_a_set_of_which_all_was_trained_begins_the_next_epoch(publish, tmp_path, make, train):
    old = publish(tmp_path, "old", list(range(96)))
    run = make(old)
    train(run, 11)
    new = publish(tmp_path, "new", list(range(90)))
    run.swap(new.folder)
    assert len(list(run.batches())) in (11, 1)
    assert run.epoch <= 1
