"""Pythonic: `[f(a='x', b=1), g()]`, keywords and literals only.

In: a text and the place of a `[` before a name, or of the name itself. Out: the calls of the list.

Read by a small scanner of its own: Python's `ast` may warn, overflow its stack or take whole programs, and
none of that should depend on the response. Literals are what JSON knows, written as Python or as JSON
(`true`, `null`); a tuple is a list. What is no literal (a nested call, bytes, arithmetic, a positional argument) makes
that one call's arguments invalid and leaves its neighbours alone.
"""

from __future__ import annotations

import re
from typing import Any

from verifiers.tool_calls.call import (
    MAX_CALLS,
    MAX_DEPTH,
    MAX_PAYLOAD,
    Broken,
    Call,
    Flaw,
    Format,
    Item,
    Reading,
)
from verifiers.tool_calls.formats.python_strings import STRING, unquote
from verifiers.tool_calls.json_text import MAX_DIGITS, find_flaw

TAG = "<|python_start|>"
NAME = r"[^\W\d][\w.]*+"

_TOKEN = re.compile(
    rf"\s*+(?:(?P<string>{STRING})|(?P<number>(?:\d[\d_]*+(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?![\w.]))"
    rf"|(?P<name>{NAME})|(?P<mark>\S))",
    re.DOTALL,
)
_WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_OPEN, _CLOSE = "([{", ")]}"


class _Unreadable(ValueError):
    """The text is no list of calls."""


class _Scanner:
    """Tokens of a text from a place on, one ahead."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._limit = min(len(text), start + MAX_PAYLOAD)
        self.end = start
        self.kind = self.token = ""
        self._next = start
        self.advance()

    def advance(self) -> str:
        """Moves past the current token and gives it back; `kind` is empty at the end of the text."""
        passed = self.token
        self.end = self._next
        match = _TOKEN.match(self._text, self._next, self._limit)
        self.kind = match.lastgroup or "" if match else ""
        self.token = match[self.kind] if match and self.kind else ""
        self._next = match.end() if match else self._next
        return passed

    def take(self, mark: str) -> bool:
        """Whether the current token is `mark`; if so it is passed."""
        if self.kind in ("mark", "name") and self.token == mark:
            self.advance()
            return True
        return False

    def need(self, mark: str) -> None:
        if not self.take(mark):
            raise _Unreadable(f"{mark} expected, {self.token[:20] or 'the end'} found")


def read(text: str, start: int) -> Reading | None:
    """The list of calls, or the one call without brackets, at `start`."""
    tagged = text.startswith(TAG, start)
    scanner = _Scanner(text, start + len(TAG) if tagged else start)
    items: list[Item] = []
    try:
        if scanner.take("["):
            while not scanner.take("]"):
                items.append(_call(scanner))
                if not scanner.take(","):
                    scanner.need("]")
                    break
        else:
            items.append(_call(scanner))
    except _Unreadable as error:
        return Reading((Broken(f"no list of calls: {error}"),), max(scanner.end, start + 1))
    if len(items) > MAX_CALLS:
        return Reading((Broken(f"more than {MAX_CALLS} calls"),), scanner.end)
    return Reading(tuple(items), scanner.end)


def _call(scanner: _Scanner) -> Call:
    if scanner.kind != "name":
        raise _Unreadable("a tool's name expected")
    name = scanner.advance()
    scanner.need("(")
    arguments: dict[str, Any] = {}
    flaw = ""
    while not scanner.take(")"):
        if scanner.kind == "name" and scanner.token not in _WORDS:
            key = scanner.advance()
            if scanner.take("="):
                value = _value(scanner, 1)
                arguments[key] = Flaw(f"{key!r} is given twice") if key in arguments else value
            else:
                flaw = _skip(scanner, "an argument without a keyword").reason
        else:
            flaw = _skip(scanner, "an argument without a keyword").reason
        if not scanner.take(","):
            scanner.need(")")
            break
    return Call(name, arguments, flaw or find_flaw(arguments))


def _value(scanner: _Scanner, depth: int) -> Any:
    """One literal, or a `Flaw` where something else stands, up to the comma or bracket that ends it."""
    if depth > MAX_DEPTH:
        raise _Unreadable(f"nested more than {MAX_DEPTH} deep")
    value = _literal(scanner, depth)
    if scanner.kind and scanner.token not in (",", ")", "]", "}", ":"):
        return _skip(scanner, "a value that is no literal")
    return value


def _literal(scanner: _Scanner, depth: int) -> Any:
    match scanner.kind:
        case "string":
            parts = []
            while scanner.kind == "string":
                parts.append(unquote(scanner.advance()))
            return next((part for part in parts if isinstance(part, Flaw)), None) or "".join(map(str, parts))
        case "number":
            return _number(scanner.advance(), 1)
        case "name" if scanner.token in _WORDS:
            return _WORDS[scanner.advance()]
        case "mark" if scanner.token in "+-":
            sign = -1 if scanner.advance() == "-" else 1
            return (
                _number(scanner.advance(), sign)
                if scanner.kind == "number"
                else Flaw("a sign without a number")
            )
        case "mark" if scanner.token in "[(":
            return _sequence(scanner, depth)
        case "mark" if scanner.token == "{":
            return _mapping(scanner, depth)
    return _skip(scanner, "a value that is no literal")


def _sequence(scanner: _Scanner, depth: int) -> Any:
    bracket = scanner.advance()
    closing = "]" if bracket == "[" else ")"
    values: list[Any] = []
    comma = True
    while not scanner.take(closing):
        if not comma:
            raise _Unreadable("a comma is missing in a list")
        values.append(_value(scanner, depth + 1))
        comma = scanner.take(",")
    if bracket == "(" and len(values) == 1 and not comma:
        return values[0]
    return values


def _mapping(scanner: _Scanner, depth: int) -> Any:
    scanner.advance()
    values: dict[str, Any] = {}
    flaw: Flaw | None = None
    comma = True
    while not scanner.take("}"):
        if not comma:
            raise _Unreadable("a comma is missing in a dict")
        key = _value(scanner, depth + 1)
        if not scanner.take(":"):
            flaw, comma = Flaw("a set is no JSON value"), scanner.take(",")
            continue
        value = _value(scanner, depth + 1)
        if not isinstance(key, str):
            flaw = Flaw("a key that is no string")
        elif key in values:
            flaw = Flaw(f"{key!r} is given twice")
        else:
            values[key] = value
        comma = scanner.take(",")
    return flaw or values


def _number(digits: str, sign: int) -> Any:
    if len(digits) > MAX_DIGITS:
        return Flaw(f"a number of {len(digits)} digits")
    try:
        number = int(digits) if digits.replace("_", "").isdecimal() else float(digits)
    except ValueError:
        return Flaw(f"{digits[:20]} is no number")
    return sign * number if abs(number) != float("inf") else Flaw(f"{digits[:20]} is no finite number")


def _skip(scanner: _Scanner, reason: str) -> Flaw:
    """Passes over what cannot be read, up to a comma or bracket that ends it."""
    depth = 0
    while scanner.kind:
        if depth == 0 and scanner.token in (",", ")", "]", "}"):
            return Flaw(reason)
        if scanner.kind == "mark":
            depth += (scanner.token in _OPEN) - (scanner.token in _CLOSE)
        scanner.advance()
    raise _Unreadable("a bracket is not closed")


def literal(text: str) -> Any:
    """The Python literal that is the whole of `text`, or a `Flaw`."""
    scanner = _Scanner(text, 0)
    try:
        value = _value(scanner, 1)
    except _Unreadable as error:
        return Flaw(str(error))
    return Flaw("text after the value") if scanner.kind else value


TAGGED = Format("pythonic", re.escape(TAG), read)
FORMAT = Format("pythonic", rf"(?m:^)[ \t]*+\[\s*+{NAME}\s*+\(", read, "line")
UNBRACKETED = Format("pythonic", rf"(?m:^)[ \t]*+{NAME}\(", read, "alone")
