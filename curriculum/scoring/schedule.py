"""Which rollouts to ask for next, given what has come back.

In: the prompts of the pass and, one by one, the judged rollouts. Out: `Ask`s. The loop, the journal
and the statistics know only the `Schedule` protocol, so rounds with early stopping can take the
place of the fixed schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Ask:
    """One rollout to sample: position `index` in the group of `prompt_id`."""

    prompt_id: str
    index: int
    round: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a schedule may learn of a judged rollout."""

    prompt_id: str
    index: int
    correctness: float
    judged: bool  # False: verifier or engine error, which says nothing about the prompt


class Schedule(Protocol):
    """Decides what to sample. Called from one thread only."""

    def take(self, room: int) -> list[Ask]:
        """At most `room` further asks; fewer, or none, while it waits for outcomes."""
        ...

    def record(self, outcome: Outcome) -> None:
        """Tells it of a judged rollout; within a group these may come in any order."""
        ...

    def wanted(self, prompt_id: str) -> int:
        """Rollouts this prompt is to get in all, as far as is known now."""
        ...

    @property
    def finished(self) -> bool:
        """True when `take` will never give another ask."""
        ...


class FixedSchedule:
    """Asks for each given rollout once, in the order given, whatever comes back.

    Args:
        asks: every rollout of the pass.
        judged: (prompt_id, index) of those that need not be asked for.
    """

    def __init__(self, asks: Iterable[Ask], *, judged: Collection[tuple[str, int]] = ()) -> None:
        asks = list(asks)
        self._wanted = Counter(ask.prompt_id for ask in asks)
        self._left = [ask for ask in asks if (ask.prompt_id, ask.index) not in judged]
        self._next = 0

    def take(self, room: int) -> list[Ask]:
        asks = self._left[self._next : self._next + max(room, 0)]
        self._next += len(asks)
        return asks

    def record(self, outcome: Outcome) -> None:
        """Nothing that comes back changes a fixed schedule."""

    def wanted(self, prompt_id: str) -> int:
        return self._wanted[prompt_id]

    @property
    def finished(self) -> bool:
        return self._next == len(self._left)
