"""Reads a scalar with what belongs to it: unit, percent or degree sign, currency, modulus, ratio.

In: a `Cursor` and the `Expressions` on it. Out: `Quantity`, `Proportion` or `Residue`.
"""

from __future__ import annotations

from fractions import Fraction

from verifiers.boxed.algebra import INFINITY, PI, Atom, Ratio, atoms, integer, of_atom, rational
from verifiers.boxed.bounds import UnreadableError
from verifiers.boxed.expressions import Expressions
from verifiers.boxed.marks import DEGREE, PERCENT, without_mark
from verifiers.boxed.units import read_unit, split_multiplier
from verifiers.boxed.values import Proportion, Quantity, Residue, Unit
from verifiers.boxed.words import RADIANS, SEPARATORS

_DIVIDED = frozenset({"time", "length", "mass", "money"})
_UNIT_SIGNS = {"/": "/", "cdot": "·", "times": "·"}
_CURRENCIES = {"\\$": "$", "$": "$", "€": "euro", "£": "gbp", "¥": "yuan", "¢": "¢", "₹": "rupee"}


class Quantities:
    """Reads scalars on the cursor of `expressions`."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self.cursor = expressions.cursor
        self.in_builder = False
        """Inside \\{x : …\\}, where a colon is no proportion."""

    def read(self) -> Quantity | Proportion | Residue:
        """The scalar that comes next."""
        cursor = self.cursor
        first = self._quantity()
        if not isinstance(first, Quantity) or first.unit is None or first.unit.kind not in _DIVIDED:
            return first
        smallest = first.unit
        while (joined := self._at_and()) or cursor.number_ahead(0):  # 3 hours (and) 30 minutes
            before = cursor.at
            cursor.at += joined
            rest = self._quantity()
            unit = rest.unit if isinstance(rest, Quantity) else None
            if not isinstance(rest, Quantity) or unit is None or not _is_part(unit, smallest):
                cursor.at = before
                if joined:
                    return first
                raise UnreadableError("a number after a unit")
            smaller = rational(unit.scale / first.unit.scale)
            first, smallest = Quantity(first.value + rest.value * smaller, first.unit), unit
        return first

    def _at_and(self) -> bool:
        """True when an "and" and a number come next."""
        return self.cursor.word_is("and") and self.cursor.number_ahead(1)

    def _quantity(self) -> Quantity | Proportion | Residue:
        cursor = self.cursor
        minus = cursor.next_is("-") and self._currency_after_sign()
        if minus:
            cursor.at += 1
        currency = self._currency()
        value = self.expressions.sum()
        value = -value if minus else value
        if (cursor.next_is(":") and not self.in_builder) or cursor.word_is("to"):
            return self._proportion(value)
        if cursor.next_is("pmod", "bmod", "mod") or self._mod_in_brackets():
            return self._residue(value)
        value, degrees = without_mark(value, DEGREE)
        value, percent = without_mark(value, PERCENT)
        factor, words = split_multiplier(self._unit_words())
        value = value * integer(factor)
        if words.lower() in ("percent", "per cent", "pct"):
            percent, words = True, ""
        if words in RADIANS:
            value, words, degrees = value * integer(180) / of_atom(PI), "", True
        unit = _unit(currency or words or self._currency())
        if degrees:
            value, scale = _temperature(value)
            unit = Unit(scale or (f"°{unit.kind}" if unit is not None else "angle"), Fraction(1))
        if unit is not None and any(atom == INFINITY for atom in atoms(value)):
            raise UnreadableError("infinity with a unit")
        return Quantity(value, unit, percent)

    def _currency(self) -> str:
        """The currency sign that comes next, passed over, as the name of a unit."""
        token = self.cursor.peek()
        if token is None or token.kind != "op" or token.text not in _CURRENCIES:
            return ""
        return _CURRENCIES[self.cursor.take().text]

    def _currency_after_sign(self) -> bool:
        token = self.cursor.peek(1)
        return token is not None and token.text in _CURRENCIES

    def _proportion(self, first: Ratio) -> Proportion:
        terms = [first]
        while self.cursor.next_is(":") or self.cursor.word_is("to"):
            self.cursor.at += 1
            terms.append(self.expressions.sum())
        return Proportion(tuple(terms))

    def _mod_in_brackets(self) -> bool:
        token = self.cursor.peek(1)
        return self.cursor.next_is("(") and token is not None and token.text in ("mod", "bmod")

    def _residue(self, value: Ratio) -> Residue:
        bracketed = self.cursor.accept("(")
        self.cursor.take()
        modulus = self.expressions.sum()
        if bracketed:
            self.cursor.expect(")")
        return Residue(value, modulus)

    def _unit_words(self) -> str:
        """The words after a number, passed over, with their signs: "m/s^2", "N·m"."""
        text = ""
        cursor = self.cursor
        while (token := cursor.peek()) is not None:
            if token.kind == "txt" and token.text.strip(" ,.;").lower() not in SEPARATORS:
                text += " " + token.text
            elif text and token.text in _UNIT_SIGNS and cursor.words_ahead(1):
                text += _UNIT_SIGNS[token.text]
            elif text and token.text == "^":
                text += "^" + self._unit_power()
                continue
            elif token.text == "frac" and cursor.words_ahead(2):
                text += self._unit_fraction()
                continue
            else:
                break
            cursor.at += 1
        return text.strip()

    def _unit_fraction(self) -> str:
        """The unit of a fraction of words, as "m/s"."""
        self.cursor.take()
        parts = []
        for _ in range(2):
            self.cursor.expect("{")
            parts.append(self._unit_words())
            self.cursor.expect("}")
        return "/".join(parts)

    def _unit_power(self) -> str:
        self.cursor.at += 1
        braced = self.cursor.accept("{")
        digit = self.cursor.take().text
        if braced:
            self.cursor.expect("}")
        return digit


def _unit(words: str) -> Unit | None:
    if not words:
        return None
    unit = read_unit(words)
    if unit is None:
        raise UnreadableError(f"words that are no unit: {words[:30]!r}")
    return unit


def _is_part(unit: Unit, whole: Unit) -> bool:
    return unit.kind == whole.kind and unit.scale < whole.scale


def _temperature(value: Ratio) -> tuple[Ratio, str]:
    """Takes the letter of 20 degrees C off."""
    for letter in ("C", "F"):
        symbol = Atom("var", letter)
        if symbol in atoms(value):
            return without_mark(value, symbol)[0], f"°{letter.lower()}"
    return value, ""
