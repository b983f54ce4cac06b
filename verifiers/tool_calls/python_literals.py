"""Python literals as models write them, read without Python's own compiler.

In: a text and a place. Out: JSON-like values, with a `Flaw` where something stands that is no literal.

Python's `ast` may warn, overflow its stack or take whole programs, and none of that should depend on the
response. Literals are what JSON knows, written as Python or as JSON (`true`, `null`); a tuple is a list.
"""

from __future__ import annotations

import re
from typing import Any

from verifiers.tool_calls.call import MAX_DEPTH, MAX_MARKS, Flaw
from verifiers.tool_calls.json_text import MAX_DIGITS
from verifiers.tool_calls.python_strings import STRING, unquote

NAME = r"[^\W\d][\w.]*+"

_TOKEN = re.compile(
    rf"\s*+(?:(?P<string>{STRING})|(?P<number>(?:[0-9][0-9_]*+(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?(?![\w.]))"
    rf"|(?P<name>{NAME})|(?P<mark>[0-9][\w.]*+|\S))",
    re.DOTALL,
)
WORDS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_OPEN, _CLOSE = "([{", ")]}"


class Unreadable(ValueError):
    """The text is no list of calls."""


class Scanner:
    """Tokens of a text from a place on, one ahead."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._left = MAX_MARKS
        self.end = start
        self.kind = self.lexeme = ""
        self._next = start
        self.advance()

    def advance(self) -> str:
        """Moves past the current token and gives it back; `kind` is empty at the end of the text."""
        passed = self.lexeme
        self.end = self._next
        self._left -= 1
        if not self._left:
            raise Unreadable(f"more than {MAX_MARKS} tokens")
        match = _TOKEN.match(self._text, self._next)
        self.kind = match.lastgroup or "" if match else ""
        self.lexeme = match[self.kind] if match and self.kind else ""
        self._next = match.end() if match else self._next
        return passed

    @property
    def spent(self) -> bool:
        """Whether the text had more tokens than are read."""
        return self._left <= 0

    def take(self, mark: str) -> bool:
        """Whether the current token is `mark`; if so it is passed."""
        if self.kind in ("mark", "name") and self.lexeme == mark:
            self.advance()
            return True
        return False

    def need(self, mark: str) -> None:
        if not self.take(mark):
            raise Unreadable(f"{mark} expected, {self.lexeme[:20] or 'the end'} found")


def read_value(scanner: Scanner, depth: int) -> Any:
    """One literal, or a `Flaw` where something else stands, up to the comma or bracket that ends it."""
    if depth > MAX_DEPTH:
        raise Unreadable(f"nested more than {MAX_DEPTH} deep")
    value = _literal(scanner, depth)
    if scanner.kind and scanner.lexeme not in (",", ")", "]", "}", ":"):
        return skip(scanner, "a value that is no literal")
    return value


def _literal(scanner: Scanner, depth: int) -> Any:
    match scanner.kind:
        case "string":
            parts = []
            while scanner.kind == "string":
                parts.append(unquote(scanner.advance()))
            return next((part for part in parts if isinstance(part, Flaw)), None) or "".join(map(str, parts))
        case "number":
            return _number(scanner.advance(), 1)
        case "name" if scanner.lexeme in WORDS:
            return WORDS[scanner.advance()]
        case "mark" if scanner.lexeme in "+-":
            return _signed(scanner)
        case "mark" if scanner.lexeme in "[(":
            return _sequence(scanner, depth)
        case "mark" if scanner.lexeme == "{":
            return _mapping(scanner, depth)
    return skip(scanner, "a value that is no literal")


def _sequence(scanner: Scanner, depth: int) -> Any:
    bracket = scanner.advance()
    closing = "]" if bracket == "[" else ")"
    values: list[Any] = []
    comma = True
    while not scanner.take(closing):
        if not comma:
            raise Unreadable("a comma is missing in a list")
        values.append(read_value(scanner, depth + 1))
        comma = scanner.take(",")
    if bracket == "(" and len(values) == 1 and not comma:
        return values[0]
    return values


def _mapping(scanner: Scanner, depth: int) -> Any:
    scanner.advance()
    values: dict[str, Any] = {}
    flaw: Flaw | None = None
    comma = True
    while not scanner.take("}"):
        if not comma:
            raise Unreadable("a comma is missing in a dict")
        key = read_value(scanner, depth + 1)
        if not scanner.take(":"):
            flaw, comma = Flaw("a set is no JSON value"), scanner.take(",")
            continue
        value = read_value(scanner, depth + 1)
        if not isinstance(key, str):
            flaw = Flaw("a key that is no string")
        elif key in values:
            flaw = Flaw(f"{key!r} is given twice")
        else:
            values[key] = value
        comma = scanner.take(",")
    return flaw or values


def _signed(scanner: Scanner) -> Any:
    sign = -1 if scanner.advance() == "-" else 1
    return _number(scanner.advance(), sign) if scanner.kind == "number" else Flaw("a sign without a number")


def _number(digits: str, sign: int) -> Any:
    if len(digits) > MAX_DIGITS:
        return Flaw(f"a number of {len(digits)} digits")
    try:
        number = int(digits, 0) if digits.replace("_", "").isdecimal() else float(digits)
    except ValueError:
        return Flaw(f"{digits[:20]} is no number")
    return sign * number if abs(number) != float("inf") else Flaw(f"{digits[:20]} is no finite number")


def skip(scanner: Scanner, reason: str) -> Flaw:
    """Passes over what cannot be read, up to a comma or bracket that ends it."""
    depth = 0
    while scanner.kind:
        if depth == 0 and scanner.lexeme in (",", ")", "]", "}"):
            return Flaw(reason)
        if scanner.kind == "mark":
            depth += (scanner.lexeme in _OPEN) - (scanner.lexeme in _CLOSE)
        scanner.advance()
    raise Unreadable("a bracket is not closed")


def literal(text: str) -> Any:
    """The Python literal that is the whole of `text`, or a `Flaw`."""
    scanner = Scanner(text, 0)
    try:
        value = read_value(scanner, 1)
    except Unreadable as error:
        return Flaw(str(error))
    return Flaw("text after the value") if scanner.kind else value
