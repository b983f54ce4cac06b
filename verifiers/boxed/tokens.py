"""Cuts a cleaned answer into tokens and walks over them.

In: text from `clean`. Out: `Cursor` over `Token`s of five kinds: "num" (a numeral), "let" (a variable or
a named symbol), "cmd" (a LaTeX command or function), "txt" (words), "op" (one sign).
Every bracket is matched here, once, so that later stages know what a bracket holds before reading it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from verifiers.boxed.bounds import UnreadableError
from verifiers.boxed.braces import group_end
from verifiers.boxed.symbols import NAME_COMMANDS, SYNONYMS, TEXT_COMMANDS
from verifiers.boxed.words import COMMAND_OF_WORD, FUNCTION_WORDS, OTHER_UNITS, PLURALS, SEPARATORS, UNITS

MAX_TOKENS = 700
MAX_DEPTH = 30
_MAX_TEXT_DEPTH = 4


class Token(NamedTuple):
    """One token; `gap` tells whether white space came before it."""

    kind: str
    text: str
    gap: bool


_TOKEN = re.compile(
    r"(?P<gap>\s+)"
    r"|(?P<rep>\d{0,40}\.\d{0,40}(?:\\(?:overline|bar)\s*\{\d{1,40}\}|\\dot\s*\{?\d\}?(?:\d{0,40}\\dot\s*\{?\d\}?)?"
    r"|\(\d{1,40}\)(?=$|[^\d(])|(?P<same>\d)(?P=same){2,}(?:\.\.\.|\s?\\[lc]?dots)))"
    r"|(?P<num>\d+(?:\.\d+)?[eE][+-]?\d{1,9}(?![\d.])|\d+(?:\.(?!\.)\d*)?|\.\d+)"
    r"|(?P<run>[A-Za-z]+)"
    r"|\\(?P<cmd>[A-Za-z]+)\*?"
    r"|(?P<op>\.\.\.|<=|>=|!=|\\[^A-Za-z]|.)",
    re.DOTALL | re.ASCII,
)
_BOLD = frozenset({"mathbf", "boldsymbol", "bm"})
"""Fonts that set a whole expression as well as one symbol."""
_WORDS = re.compile(r"[A-Za-z][A-Za-z .,'’/^0-9-]*:?")
_LIST = re.compile(r"(,|\b(?:and|or)\b)")
_UNIT_TEXT = re.compile(
    r"\s*[A-Za-z]{1,12}(?:\s?\^\s?\{?[23]\}?)?(?:\s?/\s?[A-Za-z]{1,12}(?:\^\{?[23]\}?)?)?\s*"
)
_PREFIXED = re.compile(r"(arcsin|arccos|arctan|sin|cos|tan|cot|sec|csc|ln|log|sqrt)([a-z]{1,2})")
_OPENING = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
_CLOSING = frozenset(_OPENING.values())


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`.

    Raises:
        UnreadableError: an open brace after a text command, or too many tokens.
    """
    found = list(_tokens(text, 0))
    if len(found) > MAX_TOKENS:
        raise UnreadableError(f"more than {MAX_TOKENS} tokens")
    return found


def _tokens(text: str, depth: int) -> Iterator[Token]:
    at, gap, count = 0, False, 0
    previous: Token | None = None
    while at < len(text) and count <= MAX_TOKENS:
        match = _TOKEN.match(text, at)
        if match is None:  # cannot happen: the last alternative takes any character
            raise UnreadableError("unknown character")
        at = match.end()
        kind = match.lastgroup
        if kind == "gap":
            gap = True
            continue
        if kind == "cmd" and match["cmd"] in TEXT_COMMANDS | NAME_COMMANDS:
            content, at = _argument(text, at)
            new = list(_styled(match["cmd"], content, gap, depth, _follows_value(previous)))
        elif kind == "run":
            new = list(_letters(match[0], gap, previous))
        else:
            new = [_plain(match, gap)]
        yield from new
        count += len(new)
        previous, gap = new[-1] if new else previous, False


def _plain(match: re.Match[str], gap: bool) -> Token:
    if match["cmd"] is not None:
        name = SYNONYMS.get(match["cmd"], match["cmd"])
        return (
            Token("op", {"{": "\\{", "}": "\\}"}.get(name, name), gap)
            if len(name) == 1
            else Token("cmd", name, gap)
        )
    if match["op"] is not None:
        return Token("cmd", "ldots", gap) if match[0] == "..." else Token("op", match[0], gap)
    return Token("num", match[0], gap)


def _argument(text: str, at: int) -> tuple[str, int]:
    """The group or single sign after position `at`, and where it ends."""
    while at < len(text) and text[at] == " ":
        at += 1
    if at >= len(text):
        raise UnreadableError("a command without its argument")
    if text[at] != "{":
        return text[at], at + 1
    end = group_end(text, at + 1)
    if end < 0:
        raise UnreadableError("an open brace")
    return text[at + 1 : end], end + 1


def _styled(command: str, content: str, gap: bool, depth: int, follows_value: bool) -> Iterator[Token]:
    """The tokens of a group set in upright text, or the one symbol of an accented group."""
    inner = content.strip(" $")
    if command in NAME_COMMANDS and not (command in _BOLD and re.fullmatch(r"[0-9].*|..+", inner)):
        if not re.fullmatch(r"[A-Za-z0-9' ]{1,20}|\\[a-z]+", inner):
            raise UnreadableError(f"an accent over {inner[:20]!r}")
        yield Token("let", f"\\{command}{{{inner.replace(' ', '')}}}", gap)
    elif len(inner) > 1 and inner.lower() in FUNCTION_WORDS and not (follows_value and inner == "min"):
        yield Token("cmd", COMMAND_OF_WORD.get(inner.lower(), inner), gap)
    elif _WORDS.fullmatch(inner) or _UNIT_TEXT.fullmatch(inner):
        for part in _LIST.split(inner):
            if part == ",":
                yield Token("op", ",", False)
            elif part.strip():
                yield Token("txt", part.strip(), gap)
    elif depth >= _MAX_TEXT_DEPTH:
        raise UnreadableError("text inside text inside text")
    else:
        yield from _tokens(inner, depth + 1)


def _letters(run: str, gap: bool, previous: Token | None) -> Iterator[Token]:
    """A run of bare letters: a word, a function, a unit after a number, or variables side by side."""
    lower = run.lower()
    follows_value = _follows_value(previous)
    prefixed = _PREFIXED.fullmatch(run)
    if lower in SEPARATORS or (lower == "to" and follows_value):
        yield Token("txt", lower, gap)
    elif (run in FUNCTION_WORDS or lower in COMMAND_OF_WORD) and not (follows_value and run == "min"):
        yield Token("cmd", COMMAND_OF_WORD.get(lower, run), gap)
    elif len(run) > 1 and ((follows_value and is_unit_word(run)) or len(run) > 4 or (gap and len(run) == 4)):
        yield Token("txt", run, gap)
    elif prefixed is not None:
        yield Token("cmd", prefixed[1], gap)
        for letter in prefixed[2]:
            yield Token("let", letter, False)
    else:
        for place, letter in enumerate(run):
            yield Token("let", letter, gap and place == 0)


def _follows_value(previous: Token | None) -> bool:
    return previous is not None and (previous.kind == "num" or previous.text in (")", "}"))


def is_unit_word(word: str) -> bool:
    """True for a known unit or countable noun, in the singular or plural."""
    single = singular(word)
    return word in UNITS or single in UNITS or single in OTHER_UNITS


def singular(word: str) -> str:
    """The lower-case singular of a unit's name."""
    lower = word.lower()
    if lower in PLURALS:
        return PLURALS[lower]
    is_plural = len(lower) > 3 or (lower not in UNITS and lower[:-1] in UNITS)
    if is_plural and lower.endswith("s") and not lower.endswith("ss"):
        return lower[:-1]
    return lower


class Cursor:
    """A place in a list of tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.partner, self.commas = _match_brackets(tokens)

    def peek(self, ahead: int = 0) -> Token | None:
        """The token `ahead` places on, or None at the end."""
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def take(self) -> Token:
        """The next token, passed over."""
        token = self.peek()
        if token is None:
            raise UnreadableError("the answer ends too early")
        self.at += 1
        return token

    def words_ahead(self, places: int) -> bool:
        """True when the token `places` on is words."""
        token = self.peek(places)
        return token is not None and token.kind == "txt"

    def word_is(self, word: str) -> bool:
        """True when the next token is `word`."""
        token = self.peek()
        return token is not None and (token.kind, token.text) == ("txt", word)

    def number_ahead(self, places: int) -> bool:
        """True when the token `places` on is a numeral."""
        token = self.peek(places)
        return token is not None and token.kind == "num"

    def next_is(self, *signs: str, ahead: int = 0) -> bool:
        """True when the token `ahead` places on is one of the operators or commands `signs`."""
        token = self.peek(ahead)
        return token is not None and token.kind in ("op", "cmd") and token.text in signs

    def accept(self, *signs: str) -> bool:
        """Passes over the next token if it is one of `signs`."""
        if self.next_is(*signs):
            self.at += 1
            return True
        return False

    def accept_letter(self, name: str) -> bool:
        """Passes over the next token if it is the letter or symbol `name`."""
        token = self.peek()
        if token is None or (token.kind, token.text) != ("let", name):
            return False
        self.at += 1
        return True

    def expect(self, sign: str) -> None:
        """Passes over `sign`.

        Raises:
            UnreadableError: something else comes next.
        """
        if not self.accept(sign):
            raise UnreadableError(f"{sign} is missing")


def _match_brackets(tokens: list[Token]) -> tuple[dict[int, int], set[int]]:
    """Where each opening bracket closes, and which of them hold a comma of their own."""
    partner: dict[int, int] = {}
    commas: set[int] = set()
    stack: list[int] = []
    for place, token in enumerate(tokens):
        sign = token.text
        if token.kind != "op" and sign not in ("langle", "rangle"):
            continue
        if sign in _OPENING or sign == "langle":
            stack.append(place)
            if len(stack) > MAX_DEPTH:
                raise UnreadableError(f"more than {MAX_DEPTH} brackets inside one another")
        elif sign in _CLOSING or sign == "rangle":
            if not stack or not _fits(tokens[stack[-1]].text, sign):
                raise UnreadableError("brackets that do not match")
            partner[stack.pop()] = place
        elif sign in (",", ";") and stack:
            commas.add(stack[-1])
    if stack:
        raise UnreadableError("a bracket that does not close")
    return partner, commas


def _fits(opening: str, closing: str) -> bool:
    if opening in ("(", "["):
        return closing in (")", "]")  # half-open intervals
    return closing == ("rangle" if opening == "langle" else _OPENING[opening])
