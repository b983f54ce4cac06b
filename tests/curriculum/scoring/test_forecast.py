"""What a pass is expected to cost, and the order it asks in."""

from __future__ import annotations

import polars as pl
import pytest

from curriculum.scoring.forecast import Evidence, expected_tokens, forecast, longest_first

GROUPS = pl.DataFrame(
    {
        "prompt_id": ["a", "b", "c"],
        "domain": ["sums", "sums", "code"],
        "tokens_mean": [10.0, 30.0, 100.0],
    }
)
EVIDENCE = Evidence("step_0-1", GROUPS, tokens_per_s=50.0, devices=4)
PROMPTS = pl.DataFrame({"prompt_id": ["b", "new", "else"], "domain": ["sums", "sums", "other"]})


def test_own_lengths_come_before_those_of_the_domain() -> None:
    assert expected_tokens(PROMPTS, EVIDENCE).rows() == [("b", 30.0), ("new", 20.0), ("else", None)]
    assert expected_tokens(PROMPTS, None)["expected"].to_list() == [None, None, None]


def test_the_longest_expected_go_first_and_prompts_without_evidence_by_their_own_length() -> None:
    prompts = pl.DataFrame(
        {"prompt_id": ["a", "b", "c", "d"], "expected": [5.0, None, 9.0, None], "prompt_tokens": [1, 7, 1, 7]}
    )
    assert longest_first(prompts) == ["c", "b", "d", "a"]


def test_tokens_seconds_and_engine_hours_rest_on_the_evidence() -> None:
    left = pl.DataFrame({"rollouts": [8, 2], "expected": [10.0, None]})
    cost = forecast(prompts=3, rollouts=24, left=left, evidence=EVIDENCE, max_tokens=512)
    assert (cost.rollouts_left, cost.tokens, cost.seconds) == (10, 100, 2.0)
    assert cost.engine_hours == pytest.approx(8 / 3600)
    assert "step_0-1" in cost.basis


def test_without_evidence_the_tokens_are_an_upper_bound_and_time_is_unknown() -> None:
    left = pl.DataFrame(
        {"rollouts": [8], "expected": [None]}, schema={"rollouts": pl.Int64, "expected": pl.Float64}
    )
    cost = forecast(prompts=1, rollouts=8, left=left, evidence=None, max_tokens=512)
    assert (cost.tokens, cost.seconds, cost.engine_hours) == (4096, None, None)
    assert "upper bound" in cost.basis


def test_a_complete_pass_costs_nothing() -> None:
    left = pl.DataFrame(
        {"rollouts": [], "expected": []}, schema={"rollouts": pl.Int64, "expected": pl.Float64}
    )
    cost = forecast(prompts=3, rollouts=24, left=left, evidence=EVIDENCE, max_tokens=512)
    assert (cost.rollouts_left, cost.tokens, cost.seconds) == (0, 0, 0.0)
