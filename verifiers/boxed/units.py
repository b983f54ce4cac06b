"""Reads units: metres, square inches, miles per hour, dollars.

In: the words after (or before) a number. Out: `Unit`, or None when they are no unit.
"""

from __future__ import annotations

import re
from fractions import Fraction

from verifiers.boxed.tokens import singular
from verifiers.boxed.values import Unit
from verifiers.boxed.words import EMPTY_UNITS, MULTIPLIERS, NOT_UNITS, UNITS

_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_ABBREVIATIONS = {"mph": "mile/h", "kph": "km/h", "kmh": "km/h", "mpg": "mile/gallon"}
_MAX_WORDS = 4
_MAX_FACTOR = 10**30
_POWER = re.compile(r"\^\{?(\d)\}?$")
_NO_UNIT = Unit("", Fraction(1))


def read_unit(text: str) -> Unit | None:
    """The unit that `text` names; unknown nouns count things of that name. "units" is the empty unit."""
    plain = " ".join(text.replace(".", " ").replace("-", " ").split())
    plain = _ABBREVIATIONS.get(plain.lower(), plain)
    top, *below = re.split(r"\s*/\s*|\s+per\s+|\s+an?\s+", plain)
    if len(below) > 1 or not top:
        return None
    unit = _product(top)
    if unit is None or not below:
        return unit
    bottom = _product(below[0])
    if bottom is None:
        return None
    return Unit(f"{unit.kind}/{bottom.kind}", unit.scale / bottom.scale)


def split_multiplier(text: str) -> tuple[int, str]:
    """(1000000, "dollars") of "million dollars"; (1, text) where no such word leads."""
    factor, words = 1, text.split()
    while words and singular(words[0]) in MULTIPLIERS and factor < _MAX_FACTOR:
        factor *= MULTIPLIERS[singular(words.pop(0))]
    return factor, " ".join(words)


def _product(text: str) -> Unit | None:
    """Units multiplied by a dot, as in N·m."""
    factors = [_factor(part) for part in text.split("·")]
    found = [factor for factor in factors if factor is not None]
    if len(found) < len(factors):
        return None
    scale = Fraction(1)
    for factor in found:
        scale *= factor.scale
    return Unit("·".join(sorted(factor.kind for factor in found)), scale)


def _factor(text: str) -> Unit | None:
    """A known unit with its power, or a noun of at most four words."""
    words = text.split()
    if not words or len(words) > _MAX_WORDS or any(word.lower() in NOT_UNITS for word in words):
        return None
    if " ".join(map(singular, words)) in EMPTY_UNITS:
        return _NO_UNIT
    exponent = 1
    if words[0].lower() in _POWERS and len(words) == 2:
        exponent, words = _POWERS[words[0].lower()], words[1:]
    elif words[-1].lower() in ("squared", "cubed") and len(words) == 2:
        exponent, words = (2 if words[-1].lower() == "squared" else 3), words[:1]
    elif (found := _POWER.search(words[-1])) is not None:
        exponent, words = int(found[1]), [*words[:-1], words[-1][: found.start()]]
    name = " ".join(words)
    if any(character.isdigit() for character in name):
        return None
    known = UNITS.get(name) or UNITS.get(singular(name))
    kind, scale = known if known is not None else (singular(name), Fraction(1))
    return Unit(kind if exponent == 1 else f"{kind}^{exponent}", scale**exponent)
