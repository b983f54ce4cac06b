from __future__ import annotations

import math

import polars as pl
import pytest

from pipelines.groups import NEEDED, GroupRule, group_statistics
from pipelines.schemas import SchemaError

RULE = GroupRule(trainer_group_size=8)
PROMPT = "a" * 32


def group_of(rows, rollouts_of, pool_of, rule=RULE):
    rollouts = rollouts_of([{"prompt_id": PROMPT} | row for row in rows])
    return (
        group_statistics(rollouts.lazy(), pool_of([{"prompt_id": PROMPT}]).lazy(), rule)
        .collect()
        .row(0, named=True)
    )


def test_right_and_cut_off_vary_unless_the_trainer_masks_the_cut_off(rollouts_of, pool_of) -> None:
    rows = [
        {"correctness": 1.0, "outcome": "correct"},
        {"correctness": 0.0, "outcome": "truncated", "finish": "length"},
    ]
    assert group_of(rows, rollouts_of, pool_of)["varied"]
    masked = group_of(rows, rollouts_of, pool_of, GroupRule(trainer_group_size=8, truncated="excluded"))
    assert (masked["varied"], masked["n"], masked["s"], masked["truncated"]) == (False, 1, 1, 1)


def test_parts_that_cancel_out_are_collapse(rollouts_of, pool_of) -> None:
    swapped = [
        {
            "correctness": 0.5,
            "outcome": "partial",
            "parts": [{"name": "a", "value": x}, {"name": "b", "value": 1 - x}],
        }
        for x in (0.0, 1.0)
    ]
    group = group_of(swapped, rollouts_of, pool_of)
    assert group["collapsed"]
    assert not group["varied"]
    assert group["parts"] == [{"name": "a", "variance": 0.25}, {"name": "b", "variance": 0.25}]


def test_entropy_counts_every_token_once(rollouts_of, pool_of) -> None:
    rows = [
        {"tokens": 1, "mean_logprob": -4.0},
        {"tokens": 3, "mean_logprob": -2.0},
        {"mean_logprob": math.nan},
    ]
    assert group_of(rows, rollouts_of, pool_of)["entropy"] == pytest.approx(2.5)


def test_the_order_of_the_journal_changes_no_bit(rollouts_of, pool_of) -> None:
    prompts = [f"{number:032x}" for number in range(40)]
    rows = [
        {
            "prompt_id": prompt_id,
            "correctness": (index * 0.1 + number * 0.037) % 1.0,
            "outcome": "partial",
            "mean_logprob": -0.1 * index - 0.01 * number,
            "repetition": (index * 0.7 + number * 0.13) % 1.0,
            "tokens": 7 * index + number,
            "parts": [{"name": "p", "value": (index * 0.3 + number * 0.11) % 1.0}],
        }
        for number, prompt_id in enumerate(prompts)
        for index in range(17)
    ]
    journal, pool = rollouts_of(rows), pool_of([{"prompt_id": prompt_id} for prompt_id in prompts])
    first, *others = (
        group_statistics(
            journal.sample(fraction=1, shuffle=True, seed=seed).lazy(), pool.lazy(), RULE
        ).collect()
        for seed in range(8)
    )
    assert all(other.equals(first) for other in others)


def test_only_the_needed_columns_are_asked_for(rollouts_of, pool_of) -> None:
    rollouts, pool = rollouts_of([{"prompt_id": PROMPT}]), pool_of([{"prompt_id": PROMPT}])
    assert group_statistics(rollouts.select(NEEDED.names()).lazy(), pool.lazy(), RULE).collect().height == 1
    with pytest.raises(SchemaError, match=r"'rollouts'.*missing: finish.*tokens is String"):
        group_statistics(rollouts.drop("finish").cast({"tokens": pl.String}).lazy(), pool.lazy(), RULE)


def test_an_empty_journal_has_no_groups(rollouts_of, pool_of) -> None:
    assert group_statistics(rollouts_of([]).lazy(), pool_of([]).lazy(), RULE).collect().is_empty()


def test_a_group_of_one_is_never_mixed() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        GroupRule(trainer_group_size=1)


def partial(*marks):
    kinds = {1.0: "correct", 0.0: "wrong"}
    return [{"correctness": mark, "outcome": kinds.get(mark, "partial")} for mark in marks]


def test_marks_short_of_full_are_as_mixed_as_full_ones(rollouts_of, pool_of) -> None:
    """A trainer's group varies over 0.3 and 0.6 as over 0 and 1; only the pass rate asks for full marks."""
    graded = group_of(partial(*[0.6] * 4, *[0.3] * 4), rollouts_of, pool_of)
    binary = group_of(partial(*[1.0] * 4, *[0.0] * 4), rollouts_of, pool_of)
    for column in ("alpha", "beta", "p_mixed", "learnability"):
        assert graded[column] == binary[column]
    assert graded["s"] == 0
    assert graded["pass_rate"] < binary["pass_rate"]


def test_constant_marks_promise_no_mixed_group(rollouts_of, pool_of) -> None:
    chances = [group_of(partial(*[mark] * 8), rollouts_of, pool_of)["p_mixed"] for mark in (0.0, 0.6, 1.0)]
    assert chances[0] == pytest.approx(chances[1]) == pytest.approx(chances[2])
    assert max(chances) < 0.5
