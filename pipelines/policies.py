"""What makes a prompt part of the set, as data.

In: the name of a rule, thresholds, quotas, sizes. Out: a `Rule` of Polars expressions over the columns of
GROUPS, which `compose` applies. A rule is one entry of RULES:

    varied        the correctness of its rollouts differs
    posterior     p_mixed, the chance that a fresh group of the trainer's size is mixed, reaches `min_p_mixed`
    band          the pass rate lies in `band`, ends included (Bae et al., "Online difficulty filtering for
                  reasoning oriented reinforcement learning", 2025)
    learnability  the prompts of the highest E[p(1-p)], as many as it takes to hold `learnable_share` of
                  its sum over all scored prompts (after Foster et al., "Learning to reason at the frontier
                  of learnability", 2025, who take a fixed number)
    hard_first    of the prompts that vary, the `hard_share` of the lowest pass rates, weighted by 1 - p
                  (weight: Kimi Team, "Kimi k1.5", 2025, section 2.3.4)

Pass rates are posterior means, never raw means: a group may have been stopped early.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import polars as pl

RuleName = Literal["varied", "posterior", "band", "learnability", "hard_first"]
RULES: tuple[RuleName, ...] = get_args(RuleName)

_HAIR = 1e-9  # products of shares and sums come out a little off


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which scored prompts are candidates, which of them go first, how many are taken, what they weigh."""

    keep: pl.Expr
    """Whether a prompt is a candidate."""
    first: pl.Expr
    """Candidates of a higher value go first."""
    within: pl.Expr
    """Over all scored prompts in that order: whether a candidate is still within the rule's share."""
    weight: pl.Expr
    """The weight of a kept prompt, before scaling."""
    asks: str
    """What the rule asks for, in words that follow "the rule asks for"."""
    figure: str | None = None
    """The column that a prompt is measured by, to be named when the rule leaves it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionPolicy:
    """How the set is chosen from the scored pool."""

    rule: RuleName = "varied"
    min_p_mixed: float = 0.5
    """posterior: the least p_mixed, in [0, 1]."""
    band: tuple[float, float] = (0.2, 0.8)
    """band: the lowest and the highest pass rate, in [0, 1]."""
    learnable_share: float = 0.9
    """learnability: share of the pool's sum of E[p(1-p)] that the set holds, in (0, 1]."""
    hard_share: float = 0.5
    """hard_first: share of the prompts that vary, in (0, 1]."""
    quotas: Mapping[str, float] = field(default_factory=dict)
    """Domain to the largest share of the set it may have, in (0, 1]; others may have any."""
    min_size: int | None = None
    """Fewer prompts than this are filled up with prompts that vary but fall outside the rule."""
    max_size: int | None = None
    """The set has no more prompts than this, the hard reserve included."""
    hard_reserve: float = 0.05
    """Share of the set given to prompts never solved, the likeliest to be mixed first; in [0, 1)."""
    retest: float = 0.1
    """Chance of a dropped prompt to be marked for another test, in [0, 1]; deferred ones always are."""
    min_judged: int | None = None
    """Judged rollouts below which a group without variation says nothing; None: more than half of its own."""
    mostly_truncated: float = 0.5
    """A group without a success is set aside as truncated when more than this share was cut off."""
    seed: int | None = None
    """Orders prompts that are equally good and draws the retests, so that another seed takes others;
    None: ordered by prompt_id, and drawn with seed 0."""

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"unknown rule {self.rule!r}; known: {', '.join(RULES)}")
        for name in ("min_p_mixed", "retest", "mostly_truncated"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)}")
        for name in ("learnable_share", "hard_share"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in (0, 1], got {getattr(self, name)}")
        if not 0 <= self.band[0] <= self.band[1] <= 1:
            raise ValueError(f"band must be two pass rates in [0, 1], the lower first, got {self.band}")
        if not 0 <= self.hard_reserve < 1:
            raise ValueError(f"hard_reserve must lie in [0, 1), got {self.hard_reserve}")
        for name in ("min_judged", "min_size", "max_size"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.min_size is not None and self.max_size is not None and self.min_size > self.max_size:
            raise ValueError(f"min_size {self.min_size} is above max_size {self.max_size}")
        for domain, share in self.quotas.items():
            if not 0 < share <= 1:
                raise ValueError(f"the quota of {domain!r} must lie in (0, 1], got {share}")

    @property
    def expressions(self) -> Rule:
        """The rule as Polars expressions."""
        return _MADE[self.rule](self)

    def enough(self, judged: pl.Expr) -> pl.Expr:
        """Whether `judged` rollouts of a group are enough to believe that it does not vary."""
        if self.min_judged is not None:
            return judged >= self.min_judged
        return judged * 2 > pl.col("rollouts")

    def reserve_size(self, kept: int) -> int:
        """How many prompts make the hard reserve its share of a set that holds `kept` others."""
        return int(self.hard_reserve * kept / (1 - self.hard_reserve) + 1e-9)


_RATE, _WORTH, _VARIED = pl.col("pass_rate"), pl.col("learnability"), pl.col("varied")
_EVERY = pl.lit(value=True)


def _varied(policy: SelectionPolicy) -> Rule:  # noqa: ARG001 - it has no thresholds
    return Rule(keep=_VARIED, first=_WORTH, within=_EVERY, weight=_WORTH, asks="rollouts that differ")


def _posterior(policy: SelectionPolicy) -> Rule:
    chance = pl.col("p_mixed")
    return Rule(
        keep=chance >= policy.min_p_mixed,
        first=chance,
        within=_EVERY,
        weight=_WORTH,
        asks=f"{policy.min_p_mixed} or more",
        figure="p_mixed",
    )


def _band(policy: SelectionPolicy) -> Rule:
    low, high = policy.band
    return Rule(
        keep=_RATE.is_between(low, high),
        first=_WORTH,
        within=_EVERY,
        weight=_WORTH,
        asks=f"{low} to {high}",
        figure="pass_rate",
    )


def _learnability(policy: SelectionPolicy) -> Rule:
    wanted = policy.learnable_share * _WORTH.sum() * (1 - _HAIR)
    return Rule(
        keep=_WORTH.is_not_null(),
        first=_WORTH,
        within=_WORTH.cum_sum() - _WORTH < wanted,  # those before it do not hold the share yet
        weight=_WORTH,
        asks=f"the highest, which hold {policy.learnable_share:.0%} of the pool's",
        figure="learnability",
    )


def _hard_first(policy: SelectionPolicy) -> Rule:
    wanted = (policy.hard_share * _VARIED.sum() - _HAIR).ceil()
    return Rule(
        keep=_VARIED,
        first=-_RATE,
        within=_VARIED.cum_sum() <= wanted,
        weight=1 - _RATE,
        asks=f"the lowest {policy.hard_share:.0%} of those that vary",
        figure="pass_rate",
    )


_MADE: Mapping[RuleName, Callable[[SelectionPolicy], Rule]] = {
    "varied": _varied,
    "posterior": _posterior,
    "band": _band,
    "learnability": _learnability,
    "hard_first": _hard_first,
}
