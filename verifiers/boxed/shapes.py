"""Reads a whole answer from tokens: lists, brackets, sets, matrices, quantities with units.

In: tokens. Out: a `Value`. Relations between two sides are read by `relations`.
"""

from __future__ import annotations

from verifiers.boxed.algebra import Ratio, integer
from verifiers.boxed.bounds import UnreadableError
from verifiers.boxed.expressions import Expressions
from verifiers.boxed.numeric import equal
from verifiers.boxed.quantities import Quantities
from verifiers.boxed.regions import EVERYTHING, union
from verifiers.boxed.relations import SIGNS, chain, find_name, in_base_units, is_constant, scalar
from verifiers.boxed.sets import combined, condition, intersected
from verifiers.boxed.tokens import Cursor, Token
from verifiers.boxed.values import (
    Choice,
    Interval,
    Many,
    Named,
    Quantity,
    Region,
    Sequence,
    SetOf,
    Table,
    Value,
    Word,
)
from verifiers.boxed.words import SEPARATORS, folded

MAX_ITEMS = 200
_MATRICES = frozenset({"pmatrix", "bmatrix", "matrix", "smallmatrix", "Bmatrix", "array"})
_NUMBER_SETS = {"\\mathbb{Z}": "integers", "\\mathbb{N}": "naturals", "\\mathbb{Q}": "rationals",
                "\\mathbb{C}": "complex numbers"}  # fmt: skip


class Shapes:
    """Reads values that are more than one scalar."""

    def __init__(self, tokens: list[Token]) -> None:
        self.cursor = Cursor(tokens)
        self.expressions = Expressions(self.cursor)
        self.quantities = Quantities(self.expressions)

    def answer(self) -> Value:
        """The value of all tokens.

        Raises:
            UnreadableError: they are no answer this package can represent.
        """
        items, joiner = self._items()
        if self.cursor.peek() is not None:
            raise UnreadableError("something is left over")
        if len(items) == 1 or (joiner == "or" and _all_equal(items)):
            return items[0]
        regions = [item for item in items if isinstance(item, Region) and item.variable]
        if len(regions) == len(items) and joiner != "," and len({region.variable for region in regions}) == 1:
            return union(regions) if joiner == "or" else intersected(regions)
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
        while self.cursor.next_is("cup", "cap", "setminus") or self._plain_operation(value):
            operation = self.cursor.take().text
            operation = {"U": "cup", "-": "setminus"}.get(operation, operation)
            value = combined(operation, value, self._operand())
        return value

    def _plain_operation(self, left: Value) -> bool:
        """True for the U of (1,2) U (3,4) and the minus of a set without some of its numbers."""
        token = self.cursor.peek()
        return token is not None and token.text in ("U", "-") and not isinstance(left, Quantity)

    def _operand(self) -> Value:
        cursor = self.cursor
        token = cursor.peek()
        if token is None:
            raise UnreadableError("the answer ends too early")
        if token.kind == "txt" and token.text not in ("e", "i"):
            return self._word()
        if cursor.accept_letter("\\mathbb{R}"):
            return self._reals()
        if token.text in _NUMBER_SETS:
            cursor.at += 1
            return Word(_NUMBER_SETS[token.text])
        if cursor.accept("emptyset"):
            return SetOf(())
        if cursor.accept("ldots"):
            return Word("...")
        if cursor.accept("begin"):
            return self._table()
        if cursor.next_is("(", "[") and cursor.next_is("begin", ahead=1):
            cursor.at += 2
            table = self._table()
            if not cursor.accept(")", "]"):
                raise UnreadableError("a bracket around a matrix is missing")
            return table
        if cursor.next_is("\\{") or (cursor.next_is("{") and cursor.at in cursor.commas):
            return self._set()
        if cursor.next_is("langle") or (cursor.next_is("(", "[") and cursor.at in cursor.commas):
            return self._sequence()
        if token.text.isupper() and cursor.next_is("(", ahead=1) and cursor.at + 1 in cursor.commas:
            cursor.at += 1
            return Named(token.text, self._sequence(), None)  # the point A(1,2)
        if cursor.next_is("-") and cursor.next_is("begin", ahead=1):
            cursor.at += 2
            return _scaled(self._table(), integer(-1))
        value = self.quantities.read()
        if cursor.accept("begin"):
            return _scaled(self._table(), scalar(value))
        return value

    def _reals(self) -> Region:
        """The real line, or with a sign to it the positive or negative half."""
        if not self.cursor.accept("^"):
            return EVERYTHING
        braced = self.cursor.accept("{")
        positive = self.cursor.accept("+")
        if not positive:
            self.cursor.expect("-")
        if braced:
            self.cursor.expect("}")
        low, high = (integer(0), None) if positive else (None, integer(0))
        return Region((Interval(low, high, False, False),))

    def _word(self) -> Value:
        words = [self.cursor.take().text]
        while (token := self.cursor.peek()) is not None and token.kind == "txt":
            if token.text.strip(" ,.;").lower() in SEPARATORS:
                break
            words.append(self.cursor.take().text)
        text = " ".join(words)
        return Choice(text, None) if len(text) == 1 and text.isupper() else Word(folded(text))

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
        builder, self.quantities.in_builder = self.quantities.in_builder, True
        self.expressions.open_bars += 1
        items, _ = self._items()
        self.expressions.open_bars -= 1
        self.quantities.in_builder = builder
        if self.cursor.accept("|", "mid", ":"):
            conditions, joiner = self._items()
            self.cursor.expect(closing)
            return condition(items, conditions, joiner)
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


def _scaled(table: Table, factor: Ratio) -> Table:
    """A number times a matrix."""
    return Table(tuple(tuple(Quantity(scalar(item) * factor) for item in row) for row in table.rows))


def _all_equal(items: list[Value]) -> bool:
    """True for one scalar written in several ways: 1/2 or 0.5."""
    scalars = [item for item in items if isinstance(item, Quantity) and is_constant(item)]
    kinds = {item.unit.kind if item.unit is not None else "" for item in scalars}
    return (
        len(scalars) == len(items)
        and len(kinds) == 1
        and all(equal(in_base_units(scalars[0]), in_base_units(item)) for item in scalars[1:])
    )


def _flat(items: list[Value]) -> tuple[Value, ...]:
    """`items` with lists among them opened."""
    flat: list[Value] = []
    for item in items:
        flat.extend(item.items if isinstance(item, Many) else (item,))
    return tuple(flat)
