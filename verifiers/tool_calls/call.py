"""What a format reader finds in a response: calls, and attempts at calls that cannot be read.

In: nothing. Out: `Call`, `Broken`, `Flaw`, `Text`, `Reading`, and the limits every reader keeps to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MAX_CALLS = 64
"""Calls read from one response, and expected by one reference; more is refused, not judged."""

MAX_DEPTH = 64
"""Nesting of one value. Checked before decoding: what Python's own limit allows depends on the caller."""

MAX_PARAMETERS = 256
"""Parameters of one call in a format that marks each by a tag."""

MAX_TEXT = 300_000
"""Characters of a response outside thinking."""

MAX_MARKS = 10_000
"""Brackets, commas and strings of one JSON value, tokens of one list of Python calls."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """Stands in a value tree where the text held something that is no JSON value."""

    reason: str


class Text(str):
    """An argument of a format that writes every value as bare text; the schema gives it its type."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One call as written."""

    name: str
    arguments: dict[str, Any]
    flaw: str = ""
    """Why the arguments cannot be valid whatever the schema says; empty when nothing is wrong."""


@dataclass(frozen=True, slots=True)
class Broken:
    """An attempt at a call that cannot be read as one."""

    reason: str


Item = Call | Broken


@dataclass(frozen=True, slots=True)
class Reading:
    """What stood at one opener: no items means the text only mentions the opener."""

    items: tuple[Item, ...]
    end: int
    """Where reading goes on; always beyond the opener's first character."""


def begins_line(text: str, start: int) -> bool:
    """Whether only white space stands before `start` in its line."""
    return not text[max(0, start - 80) : start].rpartition("\n")[2].strip()


@dataclass(frozen=True, slots=True)
class Format:
    """One way of writing calls.

    `opener` is a regular expression that begins it, its first character a literal. `read` gets the text and
    the place of an opener, and answers None when what follows belongs to another format with the same opener.
    A `bare` format has no marker: whether a call or a sentence about one was written depends on what is
    around it.
    """

    name: str
    opener: str
    read: Callable[[str, int], Reading | None]
    bare: bool = False
