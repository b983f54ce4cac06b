"""Reads a whole answer from tokens: lists, brackets, sets, matrices, quantities with units.

In: tokens. Out: a `Value`. Relations between two sides are read by `relations`.
"""

from __future__ import annotations

from fractions import Fraction

from verifiers.boxed.algebra import INFINITY, Atom, Ratio, UnreadableError, atoms, integer, ratio
from verifiers.boxed.expressions import DEGREE, PERCENT, Expressions
from verifiers.boxed.regions import EVERYTHING, complement, intersection, union
from verifiers.boxed.relations import SIGNS, as_region, chain, find_name, scalar
from verifiers.boxed.tokens import Cursor, Token
from verifiers.boxed.units import read_unit, split_multiplier
from verifiers.boxed.values import (
    Many,
    Proportion,
    Quantity,
    Region,
    Residue,
    Sequence,
    SetOf,
    Table,
    Union,
    Unit,
    Value,
    Word,
)
from verifiers.boxed.words import SEPARATORS

MAX_ITEMS = 200
_CURRENCIES = {"\\$": "$", "$": "$", "€": "euro", "£": "gbp", "¥": "yuan", "¢": "¢", "pounds": "gbp"}
_UNIT_SIGNS = {"/": "/", "cdot": "·", "times": "·"}
_MATRICES = frozenset({"pmatrix", "bmatrix", "matrix", "smallmatrix", "Bmatrix", "array"})
_NUMBER_SETS = {"\\mathbb{Z}": "integers", "\\mathbb{N}": "naturals", "\\mathbb{Q}": "rationals",
                "\\mathbb{C}": "complex numbers"}  # fmt: skip


class Shapes:
    """Reads values that are more than one scalar."""

    def __init__(self, tokens: list[Token]) -> None:
        self.cursor = Cursor(tokens)
        self.expressions = Expressions(self.cursor)
        self.in_builder = False
        """Inside \\{x : …\\}, where a colon is no proportion."""

    def answer(self) -> Value:
        """The value of all tokens.

        Raises:
            UnreadableError: they are no answer this package can represent.
        """
        items, joiner = self._items()
        if self.cursor.peek() is not None:
            raise UnreadableError("something is left over")
        if len(items) == 1:
            return items[0]
        regions = [item for item in items if isinstance(item, Region) and item.variable]
        if len(regions) == len(items) and joiner != "," and len({region.variable for region in regions}) == 1:
            return union(regions) if joiner == "or" else _intersected(regions)
        return Many(_flat(items))

    def _items(self) -> tuple[list[Value], str]:
        """The items up to a closing bracket or the end, and what stands between them: "," "and" or "or"."""
        items: list[Value] = []
        joiner = ","
        while self.cursor.peek() is not None and not self._at_end():
            items.append(self._item())
            if len(items) > MAX_ITEMS:
                raise UnreadableError(f"more than {MAX_ITEMS} items")
            found = self._separator()
            if not found:
                break
            joiner = found
        if not items:
            raise UnreadableError("nothing between the brackets")
        return items, joiner

    def _at_end(self) -> bool:
        return self.cursor.next_is(")", "]", "}", "\\}", "rangle", "&", "\\\\", "end")

    def _separator(self) -> str:
        """The comma, "and" or "or" that comes next, passed over; empty when there is none."""
        found = ""
        while (token := self.cursor.peek()) is not None:
            word = token.text.strip(" ,.;").lower()
            if token.kind == "op" and token.text in (",", ";"):
                found = found or ","
            elif (token.kind == "txt" and word in SEPARATORS) or token.text in ("lor", "land"):
                found = "or" if word in ("or", "lor") else "and"
            else:
                break
            self.cursor.at += 1
        return found

    def _item(self) -> Value:
        self.cursor.accept("=", "approx", "sim", "therefore")
        name = find_name(self.cursor)
        sides: list[Value] = [self._side()]
        signs: list[str] = []
        while self.cursor.next_is(*SIGNS):
            signs.append(SIGNS[self.cursor.take().text])
            sides.append(self._side())
        return chain(name, sides, signs)

    def _side(self) -> Value:
        value = self._operand()
        while self.cursor.next_is("cup", "cap", "setminus"):
            operation = self.cursor.take().text
            value = _combined(operation, value, self._operand())
        return value

    def _operand(self) -> Value:
        cursor = self.cursor
        token = cursor.peek()
        if token is None:
            raise UnreadableError("the answer ends too early")
        if token.kind == "txt" and token.text not in ("e", "i"):
            return self._word()
        if token.text in _NUMBER_SETS or token.text == "\\mathbb{R}":
            cursor.at += 1
            return EVERYTHING if token.text == "\\mathbb{R}" else Word(_NUMBER_SETS[token.text])
        if cursor.accept("emptyset"):
            return SetOf(())
        if cursor.accept("ldots"):
            return Word("...")
        if cursor.accept("begin"):
            return self._table()
        if cursor.next_is("\\{") or (cursor.next_is("{") and cursor.at in cursor.commas):
            return self._set()
        if cursor.next_is("langle") or (cursor.next_is("(", "[") and cursor.at in cursor.commas):
            return self._sequence()
        return self._quantity()

    def _word(self) -> Value:
        words = [self.cursor.take().text]
        while (token := self.cursor.peek()) is not None and token.kind == "txt":
            if token.text.strip(" ,.;").lower() in SEPARATORS:
                break
            words.append(self.cursor.take().text)
        return Word(" ".join(words))

    def _sequence(self) -> Value:
        opening = self.cursor.take().text
        items, _ = self._items()
        closing = self.cursor.take().text
        if closing == "rangle":
            opening, closing = "(", ")"
        return Sequence(opening, closing, tuple(items))

    def _set(self) -> Value:
        closing = "\\}" if self.cursor.take().text == "\\{" else "}"
        if self.cursor.accept(closing):
            return SetOf(())
        builder, self.in_builder = self.in_builder, True
        self.expressions.open_bars += 1
        items, _ = self._items()
        self.expressions.open_bars -= 1
        self.in_builder = builder
        if self.cursor.accept("|", "mid", ":"):
            conditions, joiner = self._items()
            self.cursor.expect(closing)
            return _condition(conditions, joiner)
        self.cursor.expect(closing)
        return SetOf(_flat(items))

    def _table(self) -> Table:
        name = self._environment()
        if name not in _MATRICES:
            raise UnreadableError(f"environment {name[:20]!r}")
        if name == "array":
            self._environment()  # the column format
        rows: list[tuple[Value, ...]] = []
        row: list[Value] = []
        while True:
            if not self._at_end():
                row.append(self._item())
            if self.cursor.accept("&"):
                continue
            if row:
                rows.append(tuple(row))
            row = []
            if not self.cursor.accept("\\\\"):
                break
        self.cursor.expect("end")
        self._environment()
        if not rows or len({len(row) for row in rows}) > 1 or len(rows) * len(rows[0]) > MAX_ITEMS:
            raise UnreadableError("a matrix with uneven rows")
        return Table(tuple(rows))

    def _environment(self) -> str:
        opening = self.cursor.at
        if not self.cursor.accept("{"):
            raise UnreadableError("an environment without a name")
        inner = self.cursor.tokens[opening + 1 : self.cursor.partner[opening]]
        self.cursor.at = self.cursor.partner[opening] + 1
        return "".join(token.text for token in inner)

    # ---- quantities ----------------------------------------------------------------------------

    def _quantity(self) -> Value:
        cursor = self.cursor
        minus = cursor.next_is("-") and self._currency_after_sign()
        if minus:
            cursor.at += 1
        token = cursor.peek()
        currency = _CURRENCIES.get(token.text) if token is not None and token.kind == "op" else None
        if currency is not None:
            cursor.at += 1
        value = self.expressions.sum()
        value = -value if minus else value
        if cursor.next_is(":") and not self.in_builder:
            return self._proportion(value)
        if cursor.next_is("pmod", "bmod", "mod") or self._mod_in_brackets():
            return self._residue(value)
        if cursor.accept("begin"):
            return _scaled(self._table(), value)
        value, degrees = _without_mark(value, DEGREE)
        value, percent = _without_mark(value, PERCENT)
        factor, words = split_multiplier(self._unit_words())
        value = value * integer(factor)
        if words.lower() in ("percent", "per cent", "pct"):
            percent, words = True, ""
        token = cursor.peek()
        if currency is None and token is not None and token.kind == "op" and token.text in _CURRENCIES:
            currency = _CURRENCIES[cursor.take().text]
        unit = _unit(words)
        if currency is not None:
            unit = read_unit(currency)
        elif degrees:
            value, scale = _temperature(value)
            unit = Unit(scale or (f"°{unit.kind}" if unit is not None else "angle"), Fraction(1))
        if any(atom == INFINITY for atom in atoms(value)) and unit is not None:
            raise UnreadableError("infinity with a unit")
        return Quantity(value, unit, percent)

    def _currency_after_sign(self) -> bool:
        token = self.cursor.peek(1)
        return token is not None and token.text in _CURRENCIES

    def _proportion(self, first: Ratio) -> Value:
        terms = [first]
        while self.cursor.accept(":"):
            terms.append(self.expressions.sum())
        return Proportion(tuple(terms))

    def _mod_in_brackets(self) -> bool:
        token = self.cursor.peek(1)
        return self.cursor.next_is("(") and token is not None and token.text in ("mod", "bmod")

    def _residue(self, value: Ratio) -> Value:
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
            elif text and token.text in _UNIT_SIGNS and (after := cursor.peek(1)) and after.kind == "txt":
                text += _UNIT_SIGNS[token.text]
            elif text and token.text == "^":
                text += "^" + self._unit_power()
                continue
            else:
                break
            cursor.at += 1
        return text.strip()

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


def _scaled(table: Table, factor: Ratio) -> Table:
    """A number times a matrix."""
    return Table(tuple(tuple(Quantity(scalar(item) * factor) for item in row) for row in table.rows))


def _without_mark(value: Ratio, mark: Atom) -> tuple[Ratio, bool]:
    """`value` without the factor `mark`, and whether it had it."""
    if all(atom != mark for atom in atoms(value)):
        return value, False
    if any((mark, 1) not in term for term in value.num):
        raise UnreadableError(f"a {mark.name} sign on a part of the value")
    return ratio(
        {tuple(f for f in term if f[0] != mark): c for term, c in value.num.items()}, value.den
    ), True


def _temperature(value: Ratio) -> tuple[Ratio, str]:
    """Takes the letter of 20 degrees C off."""
    for letter in ("C", "F"):
        symbol = Atom("var", letter)
        if symbol in atoms(value):
            return _without_mark(value, symbol)[0], f"°{singular_letter(letter)}"
    return value, ""


def singular_letter(letter: str) -> str:
    """The unit's kind as `read_unit` would name it."""
    return letter.lower()


def _flat(items: list[Value]) -> tuple[Value, ...]:
    """`items` with lists among them opened."""
    flat: list[Value] = []
    for item in items:
        flat.extend(item.items if isinstance(item, Many) else (item,))
    return tuple(flat)


def _intersected(regions: list[Region]) -> Region:
    result = regions[0]
    for region in regions[1:]:
        result = intersection(result, region)
    return Region(result.intervals, regions[0].variable)


def _condition(conditions: list[Value], joiner: str) -> Value:
    """The numbers that a set's condition admits."""
    regions = [item for item in conditions if isinstance(item, Region)]
    if len(regions) != len(conditions):
        raise UnreadableError("a set condition that is no range of numbers")
    return Region((union(regions) if joiner == "or" else _intersected(regions)).intervals)


def _combined(operation: str, left: Value, right: Value) -> Value:
    first, second = as_region(left), as_region(right)
    if first is not None and second is not None:
        if operation == "cup":
            return union([first, second])
        return intersection(first, second if operation == "cap" else complement(second))
    if operation != "cup":
        raise UnreadableError(f"{operation} of sets that are not real numbers")
    parts = [
        part for value in (left, right) for part in (value.parts if isinstance(value, Union) else (value,))
    ]
    return Union(tuple(parts))
