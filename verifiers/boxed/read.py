"""Reads an answer's text as a value.

In: text. Out: its possible `Value`s, the likeliest first: `100,200` is a number and may be a list.
Text that cannot be read is `Opaque`. Results are cached; reading depends on nothing but the text.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from itertools import product

from verifiers.boxed.algebra import rational
from verifiers.boxed.bounds import UnreadableError, metered
from verifiers.boxed.clean import clean, squeezed
from verifiers.boxed.regions import EVERYTHING
from verifiers.boxed.shapes import Shapes
from verifiers.boxed.tokens import Token, tokenize
from verifiers.boxed.values import Based, Choice, Clock, Many, Opaque, Quantity, Region, SetOf, Value, Word
from verifiers.boxed.words import (
    COMMAND_OF_WORD,
    FUNCTION_WORDS,
    NUMBER_WORDS,
    PHRASES,
    TIMES_OF_DAY,
    folded,
)

MAX_READ = 4_000
"""Characters; longer answers are compared as text only."""
MAX_REMEMBERED = 200
"""Characters; with the number of texts kept this bounds the memory that hostile answers can hold."""
_MAX_SIGNS = 3

_PLAIN_NUMBER = re.compile(
    r"([-+]?)(?:(\d{1,200}(?:\.\d{1,200})?)|\\[dt]?frac\{(\d{1,200})\}\{(\d{1,200})\}|(\d{1,200})/(\d{1,200}))",
    re.ASCII,
)
_FONT = re.compile(r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|mbox|hbox|mathrm|mathbf|operatorname)(?![A-Za-z])")
_LETTERS = re.compile(r"[A-Za-z](?:[A-Za-z' .,]|(?<=[A-Za-z]{2})-(?=[A-Za-z]{2}))*")
_ARTICLE = re.compile(r"(?:an?|the) (?=[a-z]{3})", re.IGNORECASE)
_NAMED_NUMBER = re.compile(r"[A-Za-z]{3,}[.,]? [0-9]{1,6}(?:st|nd|rd|th)?(?:, [0-9]{4})?")
"""March 5, 2020; Room 12."""
_CLOCK = re.compile(
    r"(\d{1,2}):(\d\d)(?::(\d\d))?(?: ?(a|p)\.? ?m\.?)?|(\d{1,2}) ?(a|p)\.? ?m\.?",
    re.IGNORECASE | re.ASCII,
)
_CHOICE = re.compile(r"(?:(?:[Oo]ption|[Cc]hoice) )?\(? ?([A-Z]) ?[).:]?")
_OTHER_OPTION = re.compile(r"(?<![A-Za-z\\{])[A-J](?![A-Za-z])")
_CHOICE_WITH_VALUE = re.compile(
    r"(?:\(([A-Z])\)[.:]?|([A-J])(?:[.):](?= )|\)))\s*([^-+*/^=<>,_!(\\ ].*|\\(?!c?dot|times|cup|in).*)"
)
_BASED = re.compile(
    r"[(\[]?(-?(?=[A-Fa-f]{0,20}[0-9])[0-9A-Fa-f]{1,64}|[A-F]{2,8}(?=_\{?1[1-6]))[)\]]?\s*"
    r"(?:_\s*\{?\s*\(?\s*(?:base ?)?(-?[0-9]{1,2}|[a-z]+)\s*\)?\s*\}?|,? (?:in )?base[ -]([0-9]{1,2}|[a-z]+))"
)
_LAKHS = re.compile(r"[1-9]\d?(?:,\d\d)+,\d{3}", re.ASCII)
"""12,34,567, as written in India."""
_COMMA_NUMBER = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?!\d|,\d)", re.ASCII)


def read(text: str) -> tuple[Value, ...]:
    """The readings of `text`."""
    return remembered(text) if len(text) <= MAX_REMEMBERED else _readings(text)


@lru_cache(maxsize=512)
def remembered(text: str) -> tuple[Value, ...]:
    """The readings of a short text, kept: a reference meets every rollout of its group."""
    return _readings(text)


def _readings(text: str) -> tuple[Value, ...]:
    plain = _PLAIN_NUMBER.fullmatch(text)
    if plain is not None:
        return (_plain_number(plain),)
    if len(text) > MAX_READ:
        return (Opaque(text.strip()),)
    cleaned = clean(text)
    if not 0 < len(cleaned) <= MAX_READ:
        return (Opaque(text.strip()),)
    joined = _COMMA_NUMBER.sub(lambda found: _joined(cleaned, found), cleaned)
    if _LAKHS.fullmatch(cleaned):
        joined = cleaned.replace(",", "")
        return _read(joined), _read(cleaned)
    if joined != cleaned and _COMMA_NUMBER.fullmatch(cleaned) and ",0" not in cleaned:
        return _read(joined), _read(cleaned)
    return (_read(joined),)


def _plain_number(found: re.Match[str]) -> Value:
    """What the general way gives for 12, -0.5, 3/4 and \\frac{3}{4}, at a tenth of the time."""
    sign, decimal, top, bottom, above, below = found.groups()
    denominator = int(bottom or below or 1)
    if denominator == 0:
        return Opaque(found[0])
    value = Fraction(decimal) if decimal else Fraction(int(top or above), denominator)
    return Quantity(rational(-value if sign == "-" else value))


def is_readable(text: str) -> bool:
    """True when `text` has a value and is not only compared letter by letter."""
    return not isinstance(read(text)[0], Opaque)


def _joined(text: str, found: re.Match[str]) -> str:
    """The comma number as plain digits; inside brackets only where separators carry a space."""
    before = text[: found.start()]
    depth = sum(before.count(sign) for sign in ("(", "[", "\\{")) - sum(
        before.count(sign) for sign in (")", "]", "\\}")
    )
    return found[0] if depth > 0 and ", " not in text else found[0].replace(",", "")


def _read(text: str) -> Value:
    try:
        with metered():
            special = _special(text)
            return special if special is not None else _answer(tokenize(text))
    except UnreadableError:
        return Opaque(squeezed(text))


def _answer(tokens: list[Token]) -> Value:
    """The value of the tokens, one for each choice of the plus-minus signs."""
    places = [place for place, token in enumerate(tokens) if token.text in ("pm", "mp")]
    if not places:
        return Shapes(tokens).answer()
    if len(places) > _MAX_SIGNS:
        raise UnreadableError("too many plus-minus signs")
    values: list[Value] = []
    kind: type[SetOf | Many] = Many
    for signs in _sign_choices([tokens[place].text for place in places]):
        variant = list(tokens)
        for place, sign in zip(places, signs, strict=True):
            variant[place] = Token("op", sign, tokens[place].gap)
        value = Shapes(variant).answer()
        values.extend(value.items if isinstance(value, Many | SetOf) else (value,))
        kind = SetOf if isinstance(value, SetOf) else kind
    return kind(tuple({repr(value): value for value in values}.values()))


def _sign_choices(names: list[str]) -> list[tuple[str, ...]]:
    """With a minus-plus all signs go together; without, each plus-minus is free."""
    if "mp" in names:
        upper = tuple("+" if name == "pm" else "-" for name in names)
        return [upper, tuple("-" if sign == "+" else "+" for sign in upper)]
    return list(product("+-", repeat=len(names)))


def _special(text: str) -> Value | None:
    """Answers that are read as a whole: phrases, words, options, times, numbers in a base."""
    plain = _plain(text)
    choice = _CHOICE.fullmatch(plain)
    if choice is not None:
        return Choice(choice[1], None)
    if _LETTERS.fullmatch(plain):
        return _words(plain)
    if _NAMED_NUMBER.fullmatch(plain) and plain.split()[0].lower() not in FUNCTION_WORDS | {
        "about",
        "approximately",
        "roughly",
    }:
        return Word(folded(plain))
    clock = _CLOCK.fullmatch(plain)
    if clock is not None:
        return _clock(clock)
    based = _BASED.fullmatch(plain)
    if based is not None:
        return _based(based)
    option = _CHOICE_WITH_VALUE.fullmatch(plain) if plain[:1] in "(ABCDEFGHIJ" else None
    return _option(option[1] or option[2], text) if option is not None else None


def _option(letter: str, text: str) -> Value | None:
    """The option `letter` with its value; None when the rest offers another option or several values."""
    rest = text[text.index(letter) + 1 :].lstrip(")}.: ")
    if rest.endswith("}") and rest.count("}") > rest.count("{"):
        rest = rest[:-1]
    if not rest or _OTHER_OPTION.search(rest):
        return None
    value = _answer(tokenize(rest))
    return None if isinstance(value, Many) else Choice(letter, value)


def _plain(text: str) -> str:
    """`text` without fonts and braces."""
    if "\\" not in text:
        return text
    return " ".join(_FONT.sub("", text).replace("{", " ").replace("}", " ").split())


def _words(plain: str) -> Value | None:
    phrase = " ".join(plain.lower().split()).rstrip(".")
    if len(phrase) == 1:
        return None
    number = NUMBER_WORDS.get(phrase.replace("-", " "))
    if number is not None:
        return _read(str(number))
    if phrase in TIMES_OF_DAY:
        return Clock(12, 0, 0, TIMES_OF_DAY[phrase])
    meaning = PHRASES.get(phrase)
    if meaning == "nothing":
        return SetOf(())
    if meaning == "everything":
        return Region(EVERYTHING.intervals)
    if meaning is not None:
        return Word(meaning)
    parts = phrase.replace(",", " ").split()
    if (
        any(part in FUNCTION_WORDS or part in COMMAND_OF_WORD or part in ("and", "or") for part in parts)
        or "," in phrase
    ):
        return None
    if all(len(part) == 1 for part in parts):
        return Word("".join(plain.split()))
    return Word(folded(_ARTICLE.sub("", " ".join(plain.split()).rstrip("."))))


def _clock(found: re.Match[str]) -> Value | None:
    if found[5]:
        return Clock(int(found[5]), 0, 0, f"{found[6].lower()}m") if int(found[5]) <= 12 else None
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    if hour > 24 or minute > 59 or second > 59:
        return None
    return Clock(hour, minute, second, f"{found[4].lower()}m" if found[4] else "")


def _based(found: re.Match[str]) -> Value | None:
    written = found[2] or found[3]
    number = written.lstrip("-")
    base = int(number) if number.isdigit() else NUMBER_WORDS.get(number, 0)
    minus, digits = found[1].startswith("-"), found[1].lstrip("-").upper().lstrip("0") or "0"
    if not 2 <= base <= 36 or any(int(digit, 36) >= base for digit in digits):
        return None
    return Based("-" * minus + digits, -base if written.startswith("-") else base)
