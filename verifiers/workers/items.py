"""What goes into the workers and what comes out of them.

In: nothing. Out: `Item`, `Judged`, and the error of workers that cannot go on.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from verifiers.verdict import Verdict


class WorkersError(RuntimeError):
    """The workers are closed, cannot be started, or their caller's `on_judged` raised."""


@dataclass(frozen=True, slots=True)
class Item:
    """One response to judge."""

    key: Hashable
    """The caller's own name for it; stays in the caller's process and comes back in `Judged`."""
    verifier: str
    """A name that `verifiers.registry.get` knows."""
    response: str
    reference: str
    """JSON text of an object."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One item, judged."""

    key: Hashable
    verdict: Verdict
    reward: float
    """Shaped."""
    repetition: float
    """Share of repeated word 4-grams of the response, 0..1."""
    verify_ms: float
    """Wall-clock milliseconds inside the verifier; 0.0 when the worker was lost."""
