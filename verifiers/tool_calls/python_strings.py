"""Python string literals, decoded without Python's own compiler.

In: one literal with its quotes. Out: the string it denotes, or a `Flaw` for bytes and f-strings.
"""

from __future__ import annotations

import re
import unicodedata

from verifiers.tool_calls.call import MAX_MARKS, Flaw

STRING = (
    r"(?:[rRuUbBfF]{1,2})?(?:"
    r"'''(?:[^'\\]++|\\.|'(?!''))*+(?:'''|\\?\Z)|"
    r"\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\"|\\?\Z)|"
    r"'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+(?:'|\\?\Z|(?=\n))|"
    r"\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+(?:\"|\\?\Z|(?=\n)))"
)
"""One literal, or as much of one as there is before the text or the line ends."""

_ESCAPE = re.compile(
    r"\\(?:(\n)|([\\'\"abfnrtv])|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^{}]{1,100})\})"
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def unquote(token: str) -> str | Flaw:
    """The string that `token` denotes; an unknown escape stands for itself, as in Python."""
    rest = token.lstrip("rRuUbBfF")
    prefix = token[: len(token) - len(rest)].lower()
    quote = rest[:3] if rest.startswith(("'''", '"""')) else rest[:1]
    if len(rest) < 2 * len(quote) or not rest.endswith(quote):
        return Flaw("a string that is not closed")
    if set(prefix) - set("ru"):
        return Flaw(f"a string marked {prefix} is no JSON value")
    body = rest[len(quote) : -len(quote)]
    if "r" in prefix or "\\" not in body:
        return body
    if body.count("\\") > MAX_MARKS:
        return Flaw(f"a string with more than {MAX_MARKS} escapes")
    return _ESCAPE.sub(_decoded, body)


def _decoded(match: re.Match[str]) -> str:
    newline, simple, octal, *coded, name = match.groups()
    if newline:
        return ""
    if simple:
        return _SIMPLE.get(simple, simple)
    if name:
        try:
            return unicodedata.lookup(name)
        except KeyError:
            return match[0]
    code = int(octal, 8) if octal else int(next(filter(None, coded)), 16)
    return chr(code) if code <= 0x10FFFF else match[0]
