"""Values in the one line of a verdict's detail.

In: values of builtin types. Out: text of bounded length, whatever the values.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator

_LONGEST = 80
_DETAIL = 300


def short(value: object) -> str:
    """`value` in at most `_LONGEST` characters."""
    if isinstance(value, Iterator):
        return "an iterator"
    try:
        text = _repr.repr(value)
    except ValueError:  # Python refuses to write out an integer of thousands of digits
        text = f"a {type(value).__name__} too long to show"
    return clip(text, _LONGEST)


def clip(text: str, longest: int = _DETAIL) -> str:
    """`text` on one line, cut where it is too long."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = _repr.maxlong = _LONGEST
