"""Limits that keep every computation short, and the errors that say one was reached.

In: steps to count. Out: `metered` blocks, `UnreadableError`, `TooHardError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MAX_BITS = 24_000
"""Size of an integer coefficient; 2006! needs 19,100."""
MAX_TERMS = 400
MAX_NAME = 8_000
"""Characters in the name of an atom."""
STEPS = 2_500
"""Steps of about 5 microseconds that one reading or one comparison may take."""

_meter: ContextVar[list[int]] = ContextVar("_meter")


class UnreadableError(ValueError):
    """The text has no value that this package can represent."""


class TooHardError(UnreadableError):
    """A bound was reached; the value exists and is not worth its price."""


@contextmanager
def metered(steps: int = STEPS) -> Iterator[None]:
    """Everything inside together takes at most `steps`; beyond that `TooHardError`."""
    token = _meter.set([steps])
    try:
        yield
    finally:
        _meter.reset(token)


def spend(steps: int) -> None:
    """Counts `steps` against the surrounding `metered` block."""
    left = _meter.get()
    left[0] -= steps
    if left[0] < 0:
        raise TooHardError("too much work")
