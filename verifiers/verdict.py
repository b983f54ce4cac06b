"""What a verifier says of one response, and what a verifier is.

In: nothing. Out: `Verdict`, `Part`, the `Outcome` names and the `Verifier` protocol that every
verifier here and every user's own one follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, runtime_checkable

Outcome = Literal[
    "correct",  # full marks
    "partial",  # some marks: 0 < correctness < 1
    "wrong",  # an answer was given and it is wrong
    "no_answer",  # nothing was offered as an answer
    "malformed",  # something was offered that cannot be read as one answer
    "truncated",  # the response was cut off before it could answer
    "timeout",  # the response's own program ran out of time
    "verifier_error",  # no judgement was possible; says nothing about the response
]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True, slots=True)
class Part:
    """One named share of a verdict, for example one test or "tool chosen"; value in 0..1."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of one response.

    `correctness` is raw, in 0..1, before any shaping. A `verifier_error` has correctness 0.0 and
    must be left out of every statistic.
    """

    correctness: float
    outcome: Outcome
    parts: tuple[Part, ...] = ()
    detail: str = ""
    """One line: why."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.correctness <= 1.0:
            raise ValueError(f"correctness must lie in 0..1, got {self.correctness!r}")
        if self.outcome not in OUTCOMES:
            raise ValueError(f"unknown outcome {self.outcome!r}; known: {', '.join(OUTCOMES)}")


def graded(correctness: float, *, parts: tuple[Part, ...] = (), detail: str = "") -> Verdict:
    """The verdict of an answer that could be judged: correct at 1, wrong at 0, partial between."""
    outcome: Outcome = "correct" if correctness >= 1.0 else "partial" if correctness > 0.0 else "wrong"
    return Verdict(correctness, outcome, parts, detail)


def verifier_error(detail: str) -> Verdict:
    """The verdict when no judgement was possible; `detail` names the cause."""
    return Verdict(0.0, "verifier_error", (), detail)


@runtime_checkable
class Verifier(Protocol):
    """Judges a response against a reference.

    Implementations are pure, deterministic, thread-safe and picklable. `verify` never raises on any
    response, is bounded in time and memory by construction or run in a worker that is killed, and
    never uses `signal.alarm`.
    """

    name: str
    version: str
    """Part of the identity of a scoring pass; changed whenever any verdict changes."""

    def verify(self, response: str, reference: Mapping[str, Any]) -> Verdict:
        """The verdict on `response`; an unusable `reference` gives `verifier_error`."""
        ...


@runtime_checkable
class AnswerVerifier(Verifier, Protocol):
    """A verifier that takes one answer out of a response and compares it with the reference's own.

    With it can be told whether responses that are all wrong agree with each other.
    """

    def answer(self, response: str, reference: Mapping[str, Any]) -> str | None:
        """The answer that `verify` would compare; None where it finds none. Never raises."""
        ...

    def with_answer(self, reference: Mapping[str, Any], answer: str) -> dict[str, Any]:
        """The same reference, asking for `answer` and nothing else."""
        ...
