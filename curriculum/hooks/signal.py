"""How much of the training signal is left: the share of groups that vary, over the latest groups.

In: whole groups of the trainer's rollouts. Out: figures, overall and by domain, and a call when the set has
grown stale.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from curriculum.errors import UsageError
from curriculum.hooks.groups import Groups
from curriculum.hooks.published import PublishedSet

_log = logging.getLogger(__name__)

TOLERANCE = 1e-6
"""Rewards of a group vary when they are further apart than this; less is float noise."""

_VARIED, _EASY, _HARD = range(3)
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class StalePolicy:
    """When a set counts as stale."""

    floor: float = 0.3  # effective signal ratio
    steps: int = 20  # in a row below the floor
    recovered: float = 0.35  # from which it may grow stale again
    window: int = 2048  # groups
    fewest: int = 256  # groups in the window before anything is said

    def __post_init__(self) -> None:
        """Raises UsageError for limits that contradict each other."""
        if not (
            0 <= self.floor <= self.recovered <= 1 and 1 <= self.fewest <= self.window and self.steps >= 1
        ):
            raise UsageError(
                "the limits contradict each other",
                where=repr(self),
                do="keep 0 <= floor <= recovered <= 1, 1 <= fewest <= window and steps >= 1",
            )


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares of the latest groups; they add up to 1. NaN when there are none."""

    groups: int
    effective: float  # varied
    too_easy: float  # the same reward for all rollouts, and all solved
    too_hard: float  # the same reward for all rollouts, and none solved


@dataclass(frozen=True, slots=True)
class Stale:
    """A set that has grown stale."""

    figures: Figures
    by_domain: dict[str, Figures]
    step: int | None
    refresh_id: str
    message: str


OnStale: TypeAlias = Callable[[Stale], None]


class Signal:
    """The latest groups in a ring, and the count of steps below the floor."""

    def __init__(self, policy: StalePolicy, on_stale: Iterable[OnStale], *, command: str) -> None:
        """`command` is what refreshes the set, for the message."""
        self._policy = policy
        self._on_stale = list(on_stale) or [_warn]
        self._command = command

    def use(self, published: PublishedSet) -> None:
        """Begins anew with another set."""
        self._published = published
        self._kind: NDArray[np.uint8] = np.zeros(self._policy.window, dtype=np.uint8)
        self._domain: NDArray[np.uint16] = np.zeros(self._policy.window, dtype=np.uint16)
        self._seen = 0
        self._below = 0
        self._armed = True
        self._step: int | None = None

    def add(self, groups: Groups, *, step: int | None) -> None:
        """Counts groups of two or more judged rollouts. Each step is judged when the next begins."""
        if step is None or step != self._step:
            self._judge()
        self._step = step
        groups = groups.take(np.flatnonzero(groups.n >= 2)[-self._policy.window :])
        alike = groups.high - groups.low <= TOLERANCE
        kind = np.where(alike, np.where(groups.s > 0, _EASY, _HARD), _VARIED)
        rows = self._published.ids.find(groups.ids)
        domain = np.where(rows >= 0, self._published.domain[rows], len(self._published.domains))
        at = (self._seen + np.arange(len(groups))) % self._policy.window
        self._kind[at], self._domain[at] = kind, domain
        self._seen += len(groups)

    def figures(self) -> Figures:
        """Over all domains."""
        return _figures(self._kind[: self._filled])

    def by_domain(self) -> dict[str, Figures]:
        """Of each domain among the latest groups; `unknown` are prompts that the set does not have."""
        names = (*self._published.domains, _UNKNOWN)
        kind, domain = self._kind[: self._filled], self._domain[: self._filled]
        return {names[code]: _figures(kind[domain == code]) for code in np.unique(domain).tolist()}

    def metrics(self) -> dict[str, float]:
        """The figures by the names under which a trainer logs them; empty before the first group."""
        figures = {"": self.figures(), **{f"{name}/": one for name, one in self.by_domain().items()}}
        return {
            f"curriculum/{where}{name}": getattr(one, name)
            for where, one in figures.items()
            if one.groups
            for name in ("effective", "too_easy", "too_hard")
        }

    @property
    def _filled(self) -> int:
        return min(self._seen, self._policy.window)

    def _judge(self) -> None:
        figures = self.figures()
        if figures.groups < self._policy.fewest:
            return
        if figures.effective >= self._policy.recovered:
            self._armed = True
        self._below = self._below + 1 if figures.effective < self._policy.floor else 0
        if self._armed and self._below >= self._policy.steps:
            self._armed = False
            stale = self._stale(figures)
            for call in self._on_stale:
                call(stale)

    def _stale(self, figures: Figures) -> Stale:
        domains = self.by_domain()
        worst = min(domains, key=lambda name: (domains[name].effective, name))
        message = (
            f"the set {self._published.source.refresh_id} has grown stale: {figures.effective:.0%} of the "
            f"latest {figures.groups} groups vary (floor {self._policy.floor:.0%}, for {self._below} steps), "
            f"{figures.too_easy:.0%} are too easy, {figures.too_hard:.0%} too hard; least in domain {worst}, "
            f"{domains[worst].effective:.0%} of {domains[worst].groups}. "
            f"Refresh it with the newest checkpoint: {self._command} --ckpt NAME"
        )
        return Stale(figures, domains, self._step, self._published.source.refresh_id, message)


def _figures(kind: NDArray[np.uint8]) -> Figures:
    if not kind.size:
        return Figures(0, np.nan, np.nan, np.nan)
    varied, easy, hard = (np.bincount(kind, minlength=3) / kind.size).tolist()
    return Figures(int(kind.size), varied, easy, hard)


def _warn(stale: Stale) -> None:
    _log.warning("curriculum: %s", stale.message)
