"""What makes a prompt part of the set, as data.

In: thresholds and the name of a rule. Out: the Polars expressions that `select.decide` applies.
A rule is one entry of RULES.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl


@dataclass(frozen=True, slots=True)
class Rule:
    """Which groups are kept, and the weight of a kept prompt before scaling; over columns of GROUPS."""

    keep: pl.Expr
    weight: pl.Expr


RULES: Mapping[str, Rule] = {
    "varied": Rule(keep=pl.col("varied"), weight=pl.col("learnability")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionPolicy:
    """How the set is chosen from the scored pool."""

    rule: Literal["varied"] = "varied"
    hard_reserve: float = 0.05
    """Share of the set given to prompts never solved, the likeliest to be mixed first; in [0, 1)."""
    min_judged: int | None = None
    """Judged rollouts below which a group without variation says nothing; None: more than half of its own."""
    reserve_seed: int | None = None
    """Orders prompts that are equally likely to be mixed, so that another seed reserves others; None: by
    prompt_id."""
    mostly_truncated: float = 0.5
    """A group without a success is set aside as truncated when more than this share was cut off."""

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"unknown rule {self.rule!r}; known: {', '.join(RULES)}")
        if not 0 <= self.hard_reserve < 1:
            raise ValueError(f"hard_reserve must lie in [0, 1), got {self.hard_reserve}")
        if not 0 <= self.mostly_truncated <= 1:
            raise ValueError(f"mostly_truncated must lie in [0, 1], got {self.mostly_truncated}")
        if self.min_judged is not None and self.min_judged < 1:
            raise ValueError(f"min_judged must be at least 1, got {self.min_judged}")

    @property
    def expressions(self) -> Rule:
        """The rule's expressions."""
        return RULES[self.rule]

    def enough(self, judged: pl.Expr) -> pl.Expr:
        """Whether `judged` rollouts of a group are enough to believe that it does not vary."""
        if self.min_judged is not None:
            return judged >= self.min_judged
        return judged * 2 > pl.col("rollouts")

    def reserve_size(self, kept: int) -> int:
        """How many prompts make the hard reserve its share of a set that holds `kept` others."""
        return int(self.hard_reserve * kept / (1 - self.hard_reserve) + 1e-9)
