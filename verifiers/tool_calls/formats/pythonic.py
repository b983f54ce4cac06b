"""Pythonic: `[f(a='x', b=1), g()]`, keywords and literals only.

In: a text and the place of a `[` before a name, or of the name itself. Out: the calls of the list.

What is no literal (a nested call, bytes, arithmetic, a positional argument) makes that one call's arguments
invalid and leaves its neighbours alone.
"""

from __future__ import annotations

import re
from typing import Any

from verifiers.tool_calls.call import MAX_CALLS, Broken, Call, Flaw, Format, Item, Reading
from verifiers.tool_calls.json_text import find_flaw
from verifiers.tool_calls.python_literals import NAME, WORDS, Scanner, Unreadable, read_value, skip

TAG = "<|python_start|>"

_CALL = re.compile(rf"\s*+{NAME}\(")
_KEYWORD = re.compile(rf"\s*+{NAME}\(\s*+{NAME}\s*+=")


def read(text: str, start: int) -> Reading | None:
    """The list of calls at `start`."""
    scanner = Scanner(text, start + len(TAG) if text.startswith(TAG, start) else start)
    items: list[Item] = []
    try:
        scanner.need("[")
        while not scanner.take("]"):
            items.append(_call(scanner))
            if not scanner.take(","):
                scanner.need("]")
                break
    except Unreadable as error:
        end = len(text) if scanner.spent else max(scanner.end, start + 1)
        return Reading((Broken(f"no list of calls: {error}"),), end)
    return Reading(tuple(items), scanner.end)


def read_unbracketed(text: str) -> tuple[Item, ...]:
    """The calls that `text` consists of, without brackets around them; empty when it is anything else."""
    if not _CALL.match(text):
        return ()
    scanner = Scanner(text, 0)
    items: list[Item] = []
    try:
        while scanner.kind and len(items) <= MAX_CALLS:
            items.append(_call(scanner))
            scanner.take(",")
    except Unreadable as error:
        return (Broken(f"no call: {error}"),) if not items and _KEYWORD.match(text) else ()
    return tuple(items)


def _call(scanner: Scanner) -> Call:
    if scanner.kind != "name":
        raise Unreadable("a tool's name expected")
    name = scanner.advance()
    scanner.need("(")
    arguments: dict[str, Any] = {}
    flaw = ""
    while not scanner.take(")"):
        if scanner.kind == "name" and scanner.lexeme not in WORDS:
            key = scanner.advance()
            if scanner.take("="):
                value = read_value(scanner, 1)
                arguments[key] = Flaw(f"{key!r} is given twice") if key in arguments else value
            else:
                flaw = skip(scanner, "an argument without a keyword").reason
        else:
            flaw = skip(scanner, "an argument without a keyword").reason
        if not scanner.take(","):
            scanner.need(")")
            break
    return Call(name, arguments, flaw or find_flaw(arguments))


TAGGED = Format("pythonic", re.escape(TAG), read)
LIST = Format("pythonic", rf"\[\s*+{NAME}\s*+\(", read, bare=True)
