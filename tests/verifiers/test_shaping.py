"""Shaping: outcomes to rewards, clamped; correctness is never touched."""

from __future__ import annotations

import pytest

from verifiers.shaping import RewardShape, shape
from verifiers.verdict import Verdict, graded, verifier_error


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (graded(1.0), 1.0),
        (graded(0.0), 0.0),
        (graded(0.25), 0.25),
        (Verdict(0.0, "malformed"), -0.5),
        (Verdict(0.0, "no_answer"), -0.5),
        (Verdict(0.0, "truncated"), 0.0),
        (Verdict(0.0, "timeout"), 0.0),
        (verifier_error("lost"), 0.0),
    ],
)
def test_default_rewards(verdict, expected):
    assert shape(verdict, RewardShape()) == expected


def test_partial_marks_lie_between_wrong_and_correct():
    assert shape(graded(0.25), RewardShape(correct=0.5, wrong=-0.5)) == -0.25


def test_rewards_are_clamped():
    rewards = RewardShape(correct=3.0, malformed=-2.0, low=-1.0, high=2.0)
    assert shape(graded(1.0), rewards) == 2.0
    assert shape(Verdict(0.0, "malformed"), rewards) == -1.0


@pytest.mark.parametrize("setting", [{"correct": float("nan")}, {"low": float("-inf")}, {"low": 2.0}])
def test_senseless_rewards_are_refused(setting):
    with pytest.raises(ValueError, match="must"):
        RewardShape(**setting)
