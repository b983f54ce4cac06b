"""Which observed groups stand in for sampled ones, and what they are then taken to say."""

import polars as pl
import pytest

from pipelines.groups import GroupRule, group_statistics
from pipelines.observed import OBSERVED, VISITS, FreshRule, observed_groups
from pipelines.policies import SelectionPolicy
from pipelines.schemas import CAPS, GROUPS
from pipelines.select import decide

VISIT = {
    "prompt_id": "a",
    "refresh_id": "r1",
    "checkpoint": "step_900",
    "newest": True,
    "step": 1000,
    "masked": False,
    "n": 8,
    "s": 5,
    "unjudged": 0,
    "truncated": 0,
    "low": 0.0,
    "high": 1.0,
    "total": 5.0,
    "tokens": 80,
    "longest": 20,
}
RULE = {
    "step": 1000,
    "wanted": 8,
    "min_rollouts": 4,
    "half_life": 100.0,
    "truncated": "wrong",
    "assume_fresh": False,
}


def observed(*visits, **rule):
    rows = pl.DataFrame([VISIT | visit for visit in visits], schema=VISITS)
    return observed_groups(rows, FreshRule(**RULE | rule))


def alike(n, mark=0.0, **more):
    """A group whose rollouts all have one mark."""
    return {"n": n, "s": n if mark == 1 else 0, "low": mark, "high": mark, "total": n * mark} | more


FRESH = [
    ([{"step": 1000}], {}, True),
    ([{"step": 900}], {}, True),  # one half-life: worth four of eight
    ([{"step": 899}], {}, False),
    ([{"step": 1101}], {}, False),  # of a run that has gone further than the checkpoint
    ([{"step": 899}], {"half_life": 200.0}, True),
    ([{"step": 899}], {"min_rollouts": 3}, True),
    ([{"n": 4, "s": 2}], {}, True),
    ([{"n": 4, "s": 2, "step": 999}], {}, False),
    ([{"n": 4, "s": 2, "step": 999}, {"n": 4, "s": 2, "step": 990}], {}, True),
    ([{"n": 3, "s": 2}], {}, False),
    ([{"step": 2}, {"step": 980}], {}, True),
    ([{"step": None}], {}, False),
    ([{"step": None}], {"assume_fresh": True}, True),
    ([{"step": None, "newest": False}], {"assume_fresh": True}, False),
    ([{"step": 3}], {"step": None}, False),
    ([{"step": 3}], {"step": None, "assume_fresh": True}, True),
    ([{"n": 0, "s": 0, "unjudged": 8, "low": None, "high": None, "total": 0.0}], {"min_rollouts": 0}, False),
    # Cut off, and judged otherwise than the trainer that follows would.
    ([{"truncated": 1, "masked": True}], {}, False),
    ([{"truncated": 1}], {"truncated": "excluded"}, False),
    ([{"truncated": 1, "masked": True, "n": 7, "unjudged": 1}], {"truncated": "excluded"}, True),
    ([{"masked": True}], {}, True),
]


@pytest.mark.parametrize(("visits", "rule", "counts"), FRESH)
def test_a_group_counts_while_it_is_fresh(visits, rule, counts):
    assert observed(*visits, **rule).height == counts


def test_the_freshest_visits_are_taken_until_they_are_a_group():
    found = observed(
        alike(8, 1.0, step=995),
        {"step": 990, "s": 4, "total": 4.0},
        {"step": 10, "s": 0, "total": 0.0},
    )
    assert found.select("n", "s", "range", "observed_step").row(0) == (8, 8, 0.0, 995)
    halves = [{"step": step, "n": 4, "s": 1, "total": 1.0} for step in (990, 995, 985, 980)]
    assert observed(*halves).select("n", "s", "observed_step").row(0) == (8, 2, 995)


def test_each_prompt_is_looked_at_by_itself():
    found = observed(
        {"prompt_id": "b", "step": 10}, {"prompt_id": "c"}, alike(8, prompt_id="a"), {"prompt_id": "b"}
    )
    assert found["prompt_id"].to_list() == ["a", "b", "c"]
    assert found["s"].to_list() == [0, 5, 5]
    assert found.schema == OBSERVED


SAYS = [
    ({}, {"rollouts": 8, "correct": 5, "wrong": 3, "partial": 0, "mean": 0.625, "top": 5, "range": 1.0}),
    ({}, {"variance": 0.625 * 0.375, "tokens_mean": 10.0, "tokens_max": 20}),
    ({"tokens": None, "longest": None}, {"tokens_mean": None, "tokens_max": None}),
    (alike(8, 1.0), {"correct": 8, "wrong": 0, "mean": 1.0, "variance": 0.0, "top": 8}),
    (alike(8), {"correct": 0, "wrong": 8, "mean": 0.0, "variance": 0.0, "top": 0}),
    (alike(8, 0.5), {"correct": 0, "wrong": 0, "partial": 8, "mean": 0.5, "variance": 0.0, "top": 8}),
    ({"total": 6.5}, {"correct": 5, "partial": 3, "mean": 0.8125, "variance": None, "top": 5}),
    ({"s": 0, "total": 1.5, "high": 0.5}, {"partial": 8, "range": 0.5, "top": 3}),
    ({"s": 0, "total": 0.1, "high": 0.5}, {"top": 1}),
    ({"unjudged": 2}, {"rollouts": 10, "n": 8, "verifier_error": 2}),
    ({"truncated": 2}, {"truncated": 2, "wrong": 1, "verifier_error": 0}),
    ({"truncated": 8}, {"truncated": 3, "wrong": 0}),  # five of them had earned full marks before
]


@pytest.mark.parametrize(("visit", "says"), SAYS)
def test_what_a_visit_says(visit, says):
    row = observed(visit).row(0, named=True)
    assert {name: row[name] for name in says} == says


def test_masked_rollouts_are_cut_off_and_not_errors():
    row = observed(
        {"masked": True, "truncated": 2, "unjudged": 3, "n": 5}, truncated="excluded", min_rollouts=2
    ).row(0, named=True)
    assert (row["rollouts"], row["n"], row["truncated"], row["verifier_error"]) == (8, 5, 2, 1)


DECIDED = [
    ({}, "keep_mixed", "5 of 8 rollouts correct, observed at step 1000"),
    ({"step": None}, "keep_mixed", "5 of 8 rollouts correct, observed in training"),
    (alike(8, 1.0), "drop_solved", "8 of 8 rollouts correct, observed at step 1000"),
    (alike(8), "drop_unsolved", "0 of 8 rollouts correct, observed at step 1000"),
    (alike(8, 0.5), "drop_constant_partial", "all 8 rollouts score 0.5, observed at step 1000"),
    (
        alike(8, truncated=5),
        "defer_truncated",
        "5 of 8 rollouts cut off, none correct, observed at step 1000",
    ),
    (
        alike(4, unjudged=4),
        "defer_unscorable",
        "only 4 of 8 rollouts judged (0 aborted, 4 verifier errors, 0 cut off), observed at step 1000",
    ),
]


@pytest.mark.parametrize(("visit", "decision", "reason"), DECIDED)
def test_observed_groups_are_decided_by_the_rules_of_sampled_ones(
    visit, decision, reason, pool_of, rollouts_of
):
    pool = pool_of([{"prompt_id": "a"}]).lazy()
    found = observed(visit, assume_fresh=True).lazy()
    rule = GroupRule(trainer_group_size=8)
    groups = group_statistics(rollouts_of([]).lazy(), pool, rule, found).collect()
    assert groups.schema == GROUPS
    row = decide(pool, groups, pl.DataFrame(schema=CAPS), SelectionPolicy()).row(0, named=True)
    assert (row["decision"], row["reason"]) == (decision, reason)


def test_sampled_and_observed_groups_have_one_prior(pool_of, rollouts_of):
    """Equal counts give equal posteriors, whoever counted."""
    rollout = {"prompt_id": "b", "finish": "stop", "outcome": "correct", "tokens": 10}
    sampled = [
        rollout | {"index": i, "correctness": float(i < 5), "outcome": "correct" if i < 5 else "wrong"}
        for i in range(8)
    ]
    groups = group_statistics(
        rollouts_of(sampled).lazy(),
        pool_of([{"prompt_id": "a"}, {"prompt_id": "b"}]).lazy(),
        GroupRule(trainer_group_size=8),
        observed({}).lazy(),
    ).collect()
    same = ["n", "s", "mean", "variance", "alpha", "beta", "pass_rate", "p_mixed", "learnability"]
    assert groups.select(same).is_duplicated().all()
    assert groups["observed"].to_list() == [True, False]
