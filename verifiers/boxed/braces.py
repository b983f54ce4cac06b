"""Where a group of braces ends, and whether all of them match.

In: text; a brace after a backslash is a sign like any other. Out: positions.
"""

from __future__ import annotations

import re

_BRACE = re.compile(r"\\.|([{}])", re.DOTALL)


def group_end(text: str, start: int) -> int:
    """The place of the brace that closes the group opened just before `start`; -1 when none does."""
    depth = 1
    for found in _BRACE.finditer(text, start):
        if found[1] is not None:
            depth += 1 if found[1] == "{" else -1
            if depth == 0:
                return found.start()
    return -1


def balanced(text: str) -> bool:
    """True when every brace has its partner."""
    at = 0
    while (found := _BRACE.search(text, at)) is not None:
        at = found.end()
        if found[1] == "}":
            return False
        if found[1] == "{":
            at = group_end(text, at) + 1
            if at == 0:
                return False
    return True
