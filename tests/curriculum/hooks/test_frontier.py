"""The trained frontier: what is skipped and what comes again after a resume."""

import json
import pickle
import random

import pytest

from curriculum.errors import UsageError
from curriculum.hooks import Recipe, sampler


def through_json(state):
    return json.loads(json.dumps(state))


def through_pickle(state):
    return pickle.loads(pickle.dumps(state))


@pytest.mark.parametrize("through", [through_json, through_pickle])
@pytest.mark.parametrize("ahead", [0, 1, 5, 30])
def test_what_was_fetched_ahead_is_not_in_the_state(small, through, ahead, make, train):
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
def test_killed_and_resumed_at_random_the_prompts_are_those_of_an_unbroken_run(small, seed, make, train):
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


def test_prompts_trained_out_of_order_are_neither_skipped_nor_repeated(small, make, endless):
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


def test_batches_may_be_reported_out_of_order(small, make):
    run = make(small)
    numbered = list(run.numbered())
    for number in (3, 1, 7):
        assert run.trained(number) == 8
    resumed = make(small)
    resumed.load_state_dict(run.state_dict())
    assert [batch.number for batch in resumed.numbered()] == [0, 2, 4, 5, 6, 8, 9, 10, 11]
    assert len(numbered) == 12


def test_reporting_twice_changes_nothing(small, make):
    run = make(small)
    _, rows = next(run.numbered())
    assert run.trained(prompt_ids=run.prompt_ids(rows)) == 8
    assert run.trained(prompt_ids=run.prompt_ids(rows)) == 0
    assert run.trained(0) == 0


def test_without_a_number_the_oldest_in_flight_is_meant(small, make):
    run = make(small)
    batches = run.batches()
    next(batches), next(batches)
    run.trained()
    resumed = make(small)
    resumed.load_state_dict(run.state_dict())
    assert next(resumed.numbered()).number == 1


@pytest.mark.parametrize("number", [None, 0, 5])
def test_reporting_what_was_not_drawn_is_an_error(small, number, make):
    with pytest.raises(UsageError, match="report a batch after it was drawn"):
        make(small).trained(number)


def test_an_abandoned_iteration_starts_again_at_the_frontier(small, make):
    run = make(small)
    for number, _ in run.numbered():
        if number == 4:
            break
        run.trained(number)
    assert [batch.number for batch in run.numbered()] == list(range(4, 12))


def test_a_state_saved_at_the_end_of_an_epoch_goes_on_with_the_next(small, make, train):
    unbroken = train(make(small), 24)
    run = make(small)
    train(run, 12)
    resumed = make(small)
    resumed.load_state_dict(run.state_dict())
    assert train(resumed, 12) == unbroken[12:]


def test_a_trainer_that_never_reports_is_told_so(small, caplog, monkeypatch, make):
    monkeypatch.setattr(sampler, "_MOST_HELD", 0)
    run = make(small)
    for _ in range(3):
        list(run.batches())
    assert "96 prompts never reported as trained" in caplog.text


def test_the_state_is_small(small, make, train):
    run = make(small)
    train(run, 11)
    assert len(json.dumps(run.state_dict())) < 1000 + 12 * 88


@pytest.mark.parametrize("state", [{}, {"version": 2, "epochs": []}, {"_sampler_iter_state": None}])
def test_the_state_of_something_else_is_refused(small, state, make):
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
def test_a_damaged_state_is_refused_and_the_run_left_as_it_was(small, spoil, make, train):
    run = make(small)
    state = through_json(run.state_dict())
    spoil(state)
    with pytest.raises(UsageError, match="damaged"):
        run.load_state_dict(state)
    assert train(run, 3) == train(make(small), 3)
