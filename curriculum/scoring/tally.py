"""Running counts of a pass, cheap enough to keep per rollout.

In: judged rollouts, those of earlier runs first. Out: `Progress` snapshots, and the error rate.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

import polars as pl

from curriculum.scoring.progress import Progress
from curriculum.scoring.schedule import Schedule


@dataclass(slots=True)
class _Group:
    rollouts: int = 0
    low: float = 2.0
    high: float = -1.0


@dataclass(slots=True)
class Tally:
    """What has come back so far. `tol` as in the group statistics."""

    schedule: Schedule
    prompts_total: int
    rollouts_total: int
    tol: float
    causes: Counter[str] = field(default_factory=Counter)
    rollouts_done: int = 0
    rollouts_new: int = 0
    tokens_new: int = 0
    errors_new: int = 0
    _groups: dict[str, _Group] = field(default_factory=dict)
    _errors: int = 0
    _prompts_done: int = 0
    _varied: int = 0
    _began: float | None = None
    _ended: float | None = None

    def begin(self) -> None:
        """Scoring starts now."""
        self._began = time.monotonic()

    def end(self) -> None:
        """Scoring is over."""
        self._ended = time.monotonic()

    def add_earlier(self, judged: pl.DataFrame) -> None:
        """Counts what the journal already holds (columns of `judged_keys`)."""
        for prompt_id, correctness, error in judged.select("prompt_id", "correctness", "error").iter_rows():
            self._add(prompt_id, None if error else correctness)

    def add(self, prompt_id: str, correctness: float, *, tokens: int, error: str | None) -> None:
        """Counts one rollout of this run; `error` says why no judgement was possible."""
        self.rollouts_new += 1
        self.tokens_new += tokens
        if error is not None:
            self.errors_new += 1
            self.causes[error] += 1
        self._add(prompt_id, None if error is not None else correctness)

    def _add(self, prompt_id: str, correctness: float | None) -> None:
        self.rollouts_done += 1
        group = self._groups.setdefault(prompt_id, _Group())
        group.rollouts += 1
        if correctness is None:
            self._errors += 1
        else:
            varied_before = group.high - group.low > self.tol
            group.low = min(group.low, correctness)
            group.high = max(group.high, correctness)
            self._varied += (group.high - group.low > self.tol) - varied_before
        if group.rollouts == self.schedule.wanted(prompt_id):
            self._prompts_done += 1

    @property
    def seconds(self) -> float:
        """Of scoring in this run."""
        if self._began is None:
            return 0.0
        return (self._ended or time.monotonic()) - self._began

    def snapshot(self) -> Progress:
        """The state of the pass now."""
        return Progress(
            prompts_done=self._prompts_done,
            prompts_total=self.prompts_total,
            rollouts_done=self.rollouts_done,
            rollouts_total=self.rollouts_total,
            rollouts_new=self.rollouts_new,
            tokens_new=self.tokens_new,
            varied=self._varied,
            errors=self._errors,
            seconds=self.seconds,
        )
