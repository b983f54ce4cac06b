"""What a refresh gives back: the figures its summary shows.

In: nothing. Out: `Forecast`, `RefreshResult` with `Observed`; they turn into plain JSON.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a pass is expected to cost, and what the figure rests on."""

    prompts: int
    rollouts: int
    rollouts_left: int  # not yet in the journal
    observed: int = 0  # prompts not sampled, because the trainer's own rollouts say enough
    tokens: int | None  # response tokens still to generate
    seconds: float | None
    engine_hours: float | None  # seconds × devices
    basis: str  # a sentence: measured where, or an upper bound

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """How many decisions of a refresh rest on groups that a trainer observed."""

    prompts: int = 0
    rollouts: int = 0
    first_step: int | None = None  # training steps of the newest rollouts of a prompt; None where unknown
    last_step: int | None = None
    decisions: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshResult:
    """A published refresh."""

    refresh_id: str
    path: Path
    pass_id: str
    checkpoint: str
    decisions: list[dict[str, Any]]  # rows of domain, decision, prompts; sorted
    caps: list[dict[str, Any]]  # rows of pipelines.schemas.CAPS
    pool_rows: int
    set_rows: int
    control_rows: int
    signal_before: float | None  # varied groups / prompts sampled
    signal_after: float | None  # expected share of varied groups of the trainer's size in the set
    rollouts: int
    errors: int
    tokens: int | None  # response tokens in the pass; None where a recording does not tell
    seconds: float  # of scoring in this run
    tokens_per_s: float | None
    engine_hours: float
    device: str  # "2 × NVIDIA H100", "cpu", "replay"
    sandbox: str | None  # jail level when unit tests ran
    rules: list[dict[str, Any]] = field(default_factory=list)  # rows of pipelines.schemas.RULE_TABLE
    suspects: int = 0  # prompts whose reference is in doubt; suspects.csv has them
    short_of_floor: int = 0  # prompts that the set lacks of selection.min_size
    observed: Observed = Observed()

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**asdict(self), "path": str(self.path)}
