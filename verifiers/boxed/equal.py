"""Whether two answers are the same.

In: two texts. Out: True or False, the same whichever comes first.
"""

from __future__ import annotations

import re
from fractions import Fraction

_PLAIN_NUMBER = re.compile(r"[-+]?(?:\d{1,400}|\d{1,3}(?:,\d{3})+)(?:\.\d{0,400})?")
_FRACTION = re.compile(
    r"([-+]?)(?:\\[dt]?frac\{([-+]?\d{1,400})\}\{(\d{1,400})\}|([-+]?\d{1,400})/(\d{1,400}))"
)
_SPACE = re.compile(r"(?<!\d)\s+|\s+(?!\d)|\\[,;:! ]|\$")


def same(first: str, second: str) -> bool:
    """True when the two answers have one meaning."""
    one, two = _SPACE.sub("", first), _SPACE.sub("", second)
    if one == two:
        return True
    left, right = _number(one), _number(two)
    return left is not None and left == right


def _number(text: str) -> Fraction | None:
    if _PLAIN_NUMBER.fullmatch(text):
        return Fraction(text.replace(",", "").rstrip("."))
    found = _FRACTION.fullmatch(text)
    if found is None:
        return None
    sign, top, bottom, plain_top, plain_bottom = found.groups()
    denominator = int(bottom or plain_bottom)
    if denominator == 0:
        return None
    return (-1 if sign == "-" else 1) * Fraction(int(top or plain_top), denominator)
