"""Turns a verdict into the reward a trainer would have given. Correctness itself is never changed.

In: a `Verdict`, a `RewardShape`. Out: a float.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from verifiers.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardShape:
    """Rewards per outcome; a partial verdict lies between `wrong` and `correct` by its correctness.

    Outcomes without a reward of their own (truncated, timeout, verifier_error) have correctness 0 and so
    the reward of `wrong`.

    Raises:
        ValueError: a reward is not finite, or `low` is above `high`.
    """

    correct: float = 1.0
    wrong: float = 0.0
    malformed: float = -0.5
    no_answer: float = -0.5
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            if not math.isfinite(getattr(self, field.name)):
                raise ValueError(f"reward {field.name} must be finite, got {getattr(self, field.name)!r}")
        if self.low > self.high:
            raise ValueError(f"reward low ({self.low}) must not be above high ({self.high})")


def shape(verdict: Verdict, rewards: RewardShape) -> float:
    """The shaped reward of `verdict`, clamped to [low, high]."""
    match verdict.outcome:
        case "malformed":
            reward = rewards.malformed
        case "no_answer":
            reward = rewards.no_answer
        case _:
            reward = rewards.wrong + verdict.correctness * (rewards.correct - rewards.wrong)
    return min(max(reward, rewards.low), rewards.high)
