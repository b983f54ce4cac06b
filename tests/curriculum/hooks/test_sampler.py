"""The sampler as a trainer uses it: order, ranks, the trained frontier, and other sets."""

import json
import pickle
import random
from functools import cache
from itertools import islice

import numpy as np
import pytest

from curriculum.errors import UsageError
from curriculum.hooks import CurriculumSampler, Evidence, Recipe, open_published, sampler

EIGHT = Recipe(batch_size=8)


def make(written, recipe=EIGHT, **more):
    return CurriculumSampler(opened(written.folder), recipe, evidence=Evidence(None), **more)


opened = cache(open_published)


def endless(run):
    """Batches of ids, epoch after epoch."""
    while True:
        for number, rows in run.numbered():
            yield number, run.prompt_ids(rows)


def train(run, steps, *, ahead=0):
    """What a trainer trains in `steps` steps whose loader fetches `ahead` batches early."""
    source, queue, trained = endless(run), [], []
    for _ in range(steps):
        while len(queue) <= ahead:
            queue.append(next(source))
        number, ids = queue.pop(0)
        run.trained(number)
        trained.append(ids)
    return trained


def through_json(state):
    return json.loads(json.dumps(state))


def through_pickle(state):
    return pickle.loads(pickle.dumps(state))


# Order


def test_rows_are_those_of_the_shards_in_order(small):
    run = make(small)
    rows = next(run.batches())
    assert run.prompt_ids(rows) == [small.ids[row] for row in rows]


def test_an_epoch_repeats_nothing_and_loses_nothing(small):
    run = make(small)
    first = list(run)
    assert len(first) == len(run) == len(set(first)) == 96
    begins = list(run)[:8]
    assert set(range(103)) - set(first) <= set(begins)


def test_ranks_have_one_order_and_disjoint_slices(small):
    whole = [set(rows.tolist()) for rows in make(small).batches()]
    slices = [list(make(small, rank=rank, world_size=4).batches()) for rank in range(4)]
    assert [len(own) for own in slices] == [12] * 4
    for batch, parts in zip(whole, zip(*slices, strict=True), strict=True):
        assert [part.size for part in parts] == [2] * 4
        assert set(np.concatenate(parts).tolist()) == batch


@pytest.mark.parametrize(("rank", "world_size"), [(0, 3), (4, 4), (-1, 2)])
def test_ranks_that_do_not_fit_are_refused(small, rank, world_size):
    with pytest.raises(UsageError, match="cannot be split"):
        make(small, rank=rank, world_size=world_size)


def test_a_set_too_small_for_a_batch_is_an_error_at_once(publish, tmp_path):
    with pytest.raises(UsageError, match="lower batch_size"):
        make(publish(tmp_path, "tiny", list(range(7))))


def test_a_set_of_one_batch_goes_on_for_ever(publish, tmp_path):
    run = make(publish(tmp_path, "one", list(range(8))))
    assert len(train(run, 5)) == 5
    assert run.epoch == 4


# The trained frontier


@pytest.mark.parametrize("through", [through_json, through_pickle])
@pytest.mark.parametrize("ahead", [0, 1, 5, 30])
def test_what_was_fetched_ahead_is_not_in_the_state(small, through, ahead):
    unbroken = train(make(small), 40)
    run = make(small)
    begun = train(run, 17, ahead=ahead)
    resumed = make(small)
    assert resumed.load_state_dict(through(run.state_dict())) is None
    assert begun + train(resumed, 23, ahead=ahead) == unbroken


RECIPES = [
    Recipe(batch_size=8, seed=1),
    Recipe(batch_size=12, mode="shuffle"),
    Recipe(batch_size=16, mode="easy_to_hard", seed=5),
    Recipe(batch_size=8, domain_quotas={"sums": 0.75, "more": 0.25}, seed=2),
    Recipe(batch_size=8, domain_quotas={"sums": 0.5, "more": 0.5}, hard_reserve=0.125),
]


@pytest.mark.parametrize("seed", range(16))
def test_killed_and_resumed_at_random_the_prompts_are_those_of_an_unbroken_run(small, seed):
    """Sixteen runs of 200 steps, killed every few steps, each time with other ranks and another prefetch."""
    draw = random.Random(seed)
    recipe = RECIPES[seed % len(RECIPES)]
    unbroken = train(make(small, recipe), 200)
    state, trained = make(small, recipe).state_dict(), []
    while len(trained) < 200:
        steps = min(draw.randint(1, 30), 200 - len(trained))
        world, ahead = draw.choice([1, 2, 4]), draw.randint(0, 6)
        runs = [make(small, recipe, rank=rank, world_size=world) for rank in range(world)]
        for run in runs:
            assert run.load_state_dict(through_json(state)) is None
        parts = [train(run, steps, ahead=ahead) for run in runs]
        states = [run.state_dict() for run in runs]
        assert all(other == states[0] for other in states)
        state = states[0]
        for step in zip(*parts, strict=True):
            whole = [None] * recipe.batch_size
            for rank, ids in enumerate(step):
                whole[rank::world] = ids
            trained.append(whole)
    assert trained == unbroken


def test_prompts_trained_out_of_order_are_neither_skipped_nor_repeated(small):
    draw = random.Random(0)
    for _ in range(30):
        run, flying, trained = make(small), [], []
        source = (one for _, ids in endless(run) for one in ids)
        for _ in range(draw.randint(1, 30)):
            flying += [next(source) for _ in range(draw.randint(0, 3))]
            draw.shuffle(flying)
            done = [flying.pop() for _ in range(min(len(flying), draw.randint(0, 3)))]
            assert run.trained(prompt_ids=done) == len(done)
            trained += done
        resumed = make(small)
        resumed.load_state_dict(through_json(run.state_dict()))
        rest = [one for batch in resumed.batches() for one in resumed.prompt_ids(batch)]
        assert not set(rest) & set(trained)
        assert len(rest) + len(trained) == 96


def test_batches_may_be_reported_out_of_order(small):
    run = make(small)
    numbered = list(run.numbered())
    for number in (3, 1, 7):
        assert run.trained(number) == 8
    resumed = make(small)
    resumed.load_state_dict(run.state_dict())
    assert [batch.number for batch in resumed.numbered()] == [0, 2, 4, 5, 6, 8, 9, 10, 11]
    assert len(numbered) == 12


def test_reporting_twice_changes_nothing(small):
    run = make(small)
    _, rows = next(run.numbered())
    assert run.trained(prompt_ids=run.prompt_ids(rows)) == 8
    assert run.trained(prompt_ids=run.prompt_ids(rows)) == 0
    assert run.trained(0) == 0


def test_without_a_number_the_oldest_in_flight_is_meant(small):
    run = make(small)
    batches = run.batches()
    next(batches), next(batches)
    run.trained()
    resumed = make(small)
    resumed.load_state_dict(run.state_dict())
    assert next(resumed.numbered()).number == 1


@pytest.mark.parametrize("number", [None, 0, 5])
def test_reporting_what_was_not_drawn_is_an_error(small, number):
    with pytest.raises(UsageError, match="report a batch after it was drawn"):
        make(small).trained(number)


def test_an_abandoned_iteration_starts_again_at_the_frontier(small):
    run = make(small)
    for number, _ in run.numbered():
        if number == 4:
            break
        run.trained(number)
    assert [batch.number for batch in run.numbered()] == list(range(4, 12))


def test_a_state_saved_at_the_end_of_an_epoch_goes_on_with_the_next(small):
    unbroken = train(make(small), 24)
    run = make(small)
    train(run, 12)
    resumed = make(small)
    resumed.load_state_dict(run.state_dict())
    assert train(resumed, 12) == unbroken[12:]


def test_a_trainer_that_never_reports_is_told_so(small, caplog, monkeypatch):
    monkeypatch.setattr(sampler, "_MOST_HELD", 0)
    run = make(small)
    for _ in range(3):
        list(run.batches())
    assert "96 prompts never reported as trained" in caplog.text


def test_the_state_is_small(small):
    run = make(small)
    train(run, 11)
    assert len(json.dumps(run.state_dict())) < 1000 + 12 * 88


@pytest.mark.parametrize("state", [{}, {"version": 2, "epochs": []}, {"_sampler_iter_state": None}])
def test_the_state_of_something_else_is_refused(small, state):
    with pytest.raises(UsageError, match="not the state"):
        make(small).load_state_dict(state)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda state: state["epochs"][0].update(done="!"),
        lambda state: state["epochs"][0].update(done=""),
        lambda state: state["epochs"][0].pop("before"),
        lambda state: state["epochs"][0].update(begun_with=[10**6]),
        lambda state: state.update(recipe=None),
    ],
)
def test_a_damaged_state_is_refused_and_the_run_left_as_it_was(small, spoil):
    run = make(small)
    state = through_json(run.state_dict())
    spoil(state)
    with pytest.raises(UsageError, match="damaged"):
        run.load_state_dict(state)
    assert train(run, 3) == train(make(small), 3)


# What other loaders were reported to get wrong


def test_surplus_groups_come_again(small):
    """A trainer that samples more prompts than it trains throws none of them away."""
    run = make(small)
    drawn = [one for rows in islice(run.batches(), 3) for one in run.prompt_ids(rows)]
    run.trained(prompt_ids=drawn[:5] + drawn[9:12])
    again = [one for rows in run.batches() for one in run.prompt_ids(rows)]
    assert again[:16] == drawn[5:9] + drawn[12:]


def test_a_trainer_that_rejects_every_group_comes_to_an_end(small):
    """A set too hard for any group to vary costs one epoch, not endless resampling."""
    run = make(small)
    assert sum(run.trained(prompt_ids=run.prompt_ids(rows)) for rows in run.batches()) == 96


def test_epochs_lose_no_partial_batch(small):
    """103 prompts, 8 a batch: what one epoch leaves out, the next begins with."""
    run = make(small)
    counts = np.bincount([row for _ in range(8) for row in run], minlength=103)
    assert counts.sum() == 8 * 96
    assert counts.min() >= 4


def test_a_group_size_that_would_be_passed_over_is_refused(small):
    with pytest.raises(UsageError, match="belongs to the evidence"):
        make(small, group_size=8)


# Another set


@pytest.fixture
def two(publish, tmp_path):
    """A set, and one published later that shares prompts 40 to 102 with it."""
    old = publish(tmp_path, "step_0-00000000", list(range(103)))
    return old, lambda: publish(tmp_path, "step_9-00000009", list(range(40, 160)))


def test_a_newer_set_is_seen_when_latest_names_it(two):
    old, publish_new = two
    run = make(old)
    assert run.newer() is None
    new = publish_new()
    assert run.newer() == new.folder
    run.swap(new.folder)
    assert run.newer() is None


def test_a_swap_repeats_and_loses_nothing_of_the_epoch(two):
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


def test_what_is_in_flight_at_a_swap_is_still_counted(two):
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


def test_killed_with_batches_of_an_earlier_set_in_flight_those_come_first(two):
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


def test_a_state_of_another_set_is_taken_over_by_id(two, caplog):
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
def test_killed_and_resumed_around_swaps_nothing_is_skipped_or_repeated(publish, tmp_path, seed):
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


def test_another_recipe_carries_over_by_id_too(small):
    run = make(small)
    before = {one for ids in train(run, 5) for one in ids}
    resumed = make(small, Recipe(batch_size=16))
    report = resumed.load_state_dict(run.state_dict())
    assert report.trained_here == 40
    assert not before & {one for rows in resumed.batches() for one in resumed.prompt_ids(rows)}


def test_a_set_is_not_changed_inside_a_batch(two):
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


def test_a_set_that_cannot_be_used_leaves_the_old_one(two, publish, tmp_path):
    old, _ = two
    run = make(old)
    bad = publish(tmp_path, "tiny", list(range(5)))
    with pytest.raises(UsageError, match="lower batch_size"):
        run.swap(bad.folder)
    assert run.published.source.refresh_id == "step_0-00000000"
    assert len(list(run.batches())) == 12


def test_a_set_of_which_all_was_trained_begins_the_next_epoch(publish, tmp_path):
    old = publish(tmp_path, "old", list(range(96)))
    run = make(old)
    train(run, 11)
    new = publish(tmp_path, "new", list(range(90)))
    run.swap(new.folder)
    assert len(list(run.batches())) in (11, 1)
    assert run.epoch <= 1
