"""Reads numerals exactly: 1234, 0.5, 1.5e3, 0.1\\overline{6}, 0.333..., and the fraction of 2 1/3.

In: the text of a "num" token, or a `Cursor` behind one. Out: exact numbers.
"""

from __future__ import annotations

import re
from fractions import Fraction

from verifiers.boxed.algebra import Ratio, integer, rational
from verifiers.boxed.bounds import TooHardError
from verifiers.boxed.powers import power
from verifiers.boxed.tokens import Cursor

MAX_DIGITS = 1_200
_REPEATING = re.compile(
    r"(\d*)\.(\d*?)(?:\\(?:overline|bar)\s*\{(\d+)\}|\((\d+)\)|(\\dot.*)|(\d)\6*(?:\.\.\.|\s?\\[lc]?dots))"
)
_NOT_DIGIT = re.compile(r"\D")


def numeral(text: str) -> Ratio:
    """The exact value of a numeral: digits, decimals, 1.5e3 and repeating decimals.

    Raises:
        TooHardError: more than `MAX_DIGITS` digits.
    """
    if len(text) > MAX_DIGITS:
        raise TooHardError(f"a number with more than {MAX_DIGITS} digits")
    if text.isdigit():
        return integer(int(text))
    repeating = _REPEATING.fullmatch(text)
    if repeating is not None:
        return rational(_repeating(repeating))
    mantissa, _, exponent = text.lower().partition("e")
    value = rational(Fraction(mantissa.rstrip(".")))
    return value * power(integer(10), integer(int(exponent))) if exponent else value


def _repeating(found: re.Match[str]) -> Fraction:
    whole, fixed = found[1] or "0", found[2]
    if found[6] is not None:  # 0.333...
        period = found[6]
    elif found[5] is not None:  # dots over the first and last repeating digit
        period = _NOT_DIGIT.sub("", found[5])
    else:
        period = found[3] or found[4]
    nines = int("9" * len(period)) * 10 ** len(fixed)
    return Fraction(int(whole)) + Fraction(int(fixed or "0"), 10 ** len(fixed)) + Fraction(int(period), nines)


def mixed_part(cursor: Cursor) -> Fraction | None:
    """The proper fraction that follows a whole number, as in 2 1/3, passed over; else None."""
    ahead = [cursor.peek(place) for place in range(7)]
    texts = [token.text if token is not None else "" for token in ahead]
    if texts[0] == "frac" and texts[1] == texts[4] == "{" and texts[3] == texts[6] == "}":
        top, bottom, length = texts[2], texts[5], 7
    elif texts[0] == "frac" and re.fullmatch(r"[1-9]{2}", texts[1]):
        top, bottom, length = texts[1][0], texts[1][1], 2
    elif texts[1] == "/" and ahead[0] is not None and ahead[0].gap:
        top, bottom, length = texts[0], texts[2], 3
    else:
        return None
    if not (top.isdigit() and bottom.isdigit() and 0 < len(top) < 9 and 0 < len(bottom) < 9):
        return None
    if not 0 < int(top) < int(bottom):
        return None
    cursor.at += length
    return Fraction(int(top), int(bottom))
