"""The rolling signal: what counts as varied, and when a set is stale."""

import math

import pytest

from curriculum.errors import UsageError
from curriculum.hooks import CurriculumSampler, Evidence, Recipe, StalePolicy

QUICK = StalePolicy(floor=0.5, recovered=0.75, steps=3, window=8, fewest=4)


@pytest.fixture
def run(small):
    calls = []
    sampler = CurriculumSampler(
        small.folder, Recipe(batch_size=8), evidence=Evidence(None), stale=QUICK, on_stale=[calls.append]
    )
    sampler.calls = calls
    return sampler


def report(run, small, kinds, step=None):
    """A group of four for each letter: (v)aried, all (r)ight, all (w)rong."""
    rewards = {"v": [1, 0, 0, 0], "r": [1] * 4, "w": [0] * 4}
    ids = [one for one in small.ids[: len(kinds)] for _ in range(4)]
    run.observe(ids, [float(reward) for kind in kinds for reward in rewards[kind]], step=step)


def test_shares_of_the_latest_groups(run, small):
    report(run, small, "vvrw")
    assert run.signal.figures() == run.signal.figures().__class__(4, 0.5, 0.25, 0.25)
    report(run, small, "wwwwwwww")
    assert run.signal.figures().too_hard == 1


def test_figures_by_domain_add_up(run, small):
    report(run, small, "vvrwvrww")
    domains = run.signal.by_domain()
    assert set(domains) == {"sums", "more"}
    assert sum(figures.groups for figures in domains.values()) == 8
    total = sum(figures.effective * figures.groups for figures in domains.values())
    assert total == run.signal.figures().effective * 8


@pytest.mark.parametrize(
    ("rewards", "effective"),
    [
        ([0.3, 0.3 + 1e-9, 0.1 + 0.2, 0.3], 0),  # float noise is no signal
        ([0.5] * 4, 0),  # neither is a constant that is not 0 or 1
        ([0.5, 0.6, 0.5, 0.5], 1),
        ([-1.0, 1.0, -1.0, -1.0], 1),
        ([None, 1.0, 0.0, None], 1),
        ([None, 1.0, 1.0, float("nan")], 0),
    ],
)
def test_what_counts_as_varied(run, small, rewards, effective):
    run.observe([small.ids[0]] * 4, rewards)
    assert run.signal.figures().effective == effective


def test_a_group_that_was_not_judged_says_nothing(run, small):
    run.observe([small.ids[0]] * 4, [None, None, None, 1.0])
    assert run.signal.figures().groups == 0
    assert math.isnan(run.signal.figures().effective)
    assert run.signal.metrics() == {}


def test_metrics_have_a_trainers_names(run, small):
    report(run, small, "vr")
    metrics = run.signal.metrics()
    assert metrics["curriculum/effective"] == 0.5
    assert {name.rpartition("/")[2] for name in metrics} == {"effective", "too_easy", "too_hard"}


def test_a_set_is_stale_once_after_steps_in_a_row_below_the_floor(run, small):
    for step in range(10):
        report(run, small, "rrrrwwwv", step)
        assert len(run.calls) == (step >= 4)  # group of step n is whole at n + 1, judged at n + 2
    [stale] = run.calls
    assert stale.figures.effective == 0.125
    for part in ("12%", "floor 50%", "3 steps", "50% are too easy", f"curriculum refresh --out {small.out}"):
        assert part in stale.message


def test_dips_shorter_than_that_are_nothing(run, small):
    for step in range(20):
        report(run, small, "vvvvvvvv" if step % 3 == 0 else "rrrrrrrr", step)
    assert run.calls == []


def test_it_is_stale_again_only_after_it_had_recovered(run, small):
    def steps(kinds, count):
        for _ in range(count):
            report(run, small, kinds)

    steps("rrrrrrrr", 10)
    assert len(run.calls) == 1
    steps("vvvvvrrr", 5)  # above the floor, not recovered
    steps("rrrrrrrr", 10)
    assert len(run.calls) == 1
    steps("vvvvvvvv", 5)
    steps("rrrrrrrr", 10)
    assert len(run.calls) == 2


def test_too_few_groups_say_nothing(run, small):
    for step in range(3):
        report(run, small, "r", step)
    assert run.calls == []


def test_another_set_begins_anew(run, small, publish):
    report(run, small, "rrrrrrrr")
    run.swap(publish(small.out, "new", list(range(50, 150))).folder)
    assert run.signal.figures().groups == 0


def test_without_a_callback_it_is_logged(small, caplog):
    run = CurriculumSampler(small.folder, Recipe(batch_size=8), evidence=Evidence(None), stale=QUICK)
    for _ in range(5):
        report(run, small, "rrrrrrrr")
    assert "has grown stale" in caplog.text


@pytest.mark.parametrize(
    "limits", [{"floor": 0.5, "recovered": 0.4}, {"steps": 0}, {"fewest": 9, "window": 8}]
)
def test_limits_that_contradict_each_other_are_refused(limits):
    with pytest.raises(UsageError, match="contradict"):
        StalePolicy(**limits)
