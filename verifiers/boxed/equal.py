"""Whether two answers have the same meaning.

In: two texts and `Conventions`. Out: True or False, the same whichever comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from verifiers.boxed.algebra import (
    PI,
    Atom,
    Ratio,
    as_integer,
    integer,
    of_atom,
    rational,
)
from verifiers.boxed.bounds import UnreadableError, metered
from verifiers.boxed.clean import squeezed
from verifiers.boxed.kinds import (
    assigned,
    clock_terms,
    digits_value,
    is_quotient,
    may_be_ratio,
    proportional,
    same_relation,
    same_residue,
    same_time,
)
from verifiers.boxed.numeric import decimal_value, equal
from verifiers.boxed.read import MAX_READ, read
from verifiers.boxed.regions import same_region
from verifiers.boxed.relations import as_region, is_constant
from verifiers.boxed.values import (
    Based,
    Choice,
    Clock,
    Many,
    Named,
    Opaque,
    Proportion,
    Quantity,
    Region,
    Relation,
    Residue,
    Sequence,
    SetOf,
    Table,
    Union,
    Value,
    Word,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """The choices on which graders differ; the defaults are explained in docs/verifiers/boxed.md."""

    percent: Literal["either", "value", "number"] = "either"
    units: Literal["optional", "required", "ignored"] = "optional"
    relative: Fraction = Fraction(0)
    absolute: Fraction = Fraction(0)
    ordered: bool = False
    """Whether the order of a list without brackets counts."""


def same(first: str, second: str, conventions: Conventions) -> bool:
    """True when the two answers have one meaning."""
    if first == second:
        return True
    if _is_whole(first) and _is_whole(second) and not conventions.relative and not conventions.absolute:
        return first.lstrip("0") == second.lstrip("0")
    ones, others = read(first), read(second)
    comparison = _Comparison(conventions)
    try:
        with metered():
            if comparison.same(ones[0], others[0]):
                return True
            if len(ones) + len(others) == 2:
                return isinstance(ones[0], Opaque) and isinstance(others[0], Opaque) and ones == others
            lists = [value for value in (ones[-1], others[-1]) if isinstance(value, Many)]
            return len(lists) == 2 and comparison.same(lists[0], lists[1])
    except UnreadableError:
        return len(first) + len(second) <= 2 * MAX_READ and squeezed(first) == squeezed(second)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()


class _Comparison:
    """Compares values under one set of conventions."""

    def __init__(self, conventions: Conventions) -> None:
        self.conventions = conventions

    def same(self, one: Value, two: Value) -> bool:
        """True when the values mean the same; symmetric."""
        if type(one) is type(two):
            return self._same_kind(one, two)
        return self._across(one, two) or self._across(two, one)

    def _same_kind(self, one: Value, two: Value) -> bool:
        match one, two:
            case Quantity(), Quantity():
                return self._quantities(one, two)
            case Sequence(), Sequence():
                brackets = (one.opening, one.closing) == (two.opening, two.closing)
                return (brackets or len(one.items) > 2) and self._in_order(one.items, two.items)
            case Many(), Many():
                return self._in_any_order(one.items, two.items)
            case SetOf(), SetOf():
                return self._as_sets(one.items, two.items)
            case Union(), Union():
                return self._in_any_order(one.parts, two.parts)
            case Region(), Region():
                return same_region(one, two)
            case Table(), Table():
                return len(one.rows) == len(two.rows) and all(map(self._in_order, one.rows, two.rows))
            case Relation(), Relation():
                return same_relation(one, two)
            case Named(), Named():
                if one.name.replace(" ", "") == two.name.replace(" ", "") and self.same(one.value, two.value):
                    return True
                return bool(one.relation and two.relation and same_relation(one.relation, two.relation))
            case Clock(), Clock():
                return same_time(one, two)
            case Proportion(), Proportion():
                return proportional(one.terms, two.terms)
            case Residue(), Residue():
                return same_residue(one, two)
            case Choice(), Choice():
                same_letter = one.letter == two.letter
                return same_letter and (
                    one.value is None or two.value is None or self.same(one.value, two.value)
                )
            case _:
                return one == two  # Based, Word, Opaque: plain data

    def _across(self, one: Value, two: Value) -> bool:
        """Kinds that may mean the same although they differ; `one` is the first of each pair named."""
        match one, two:
            case Named(), Relation():  # 2x + 3 = 7 is the question that x = 2 answers
                unsolved = is_constant(one.value)
                return one.relation is not None and not unsolved and same_relation(one.relation, two)
            case Named(), Region(variable=variable) if variable:
                return one.name == variable and self.same(one.value, two)
            case Named(value=Sequence() as point), Many() if one.name.startswith("("):  # (x,y) = (1,2)
                values = assigned(two)
                names = one.name[1:-1].split(",")
                return values.keys() == set(names) and self._in_order(
                    point.items, tuple(values[name] for name in names)
                )
            case Named(), _:
                return self.same(one.value, two)
            case Choice(), Quantity() if one.value is None:
                return str(two.value) == str(of_atom(Atom("var", one.letter)))
            case Choice(), _:
                return one.value is not None and self.same(one.value, two)
            case SetOf(), Many():
                return self._as_sets(one.items, two.items)
            case Region(), (Sequence() | SetOf() | Many()):
                other = as_region(SetOf(two.items) if isinstance(two, Many) else two)
                return other is not None and same_region(one, other)
            case SetOf(items=(single,)), (Quantity() | Sequence()):
                return self.same(single, two)
            case Sequence(), Many():
                if values := assigned(two):
                    return self._in_order(one.items, tuple(values.values()))
                return len(one.items) > 2 and self._in_order(one.items, two.items)
            case Sequence(items=(Sequence(), *_)), Table():
                rows = [row.items for row in one.items if isinstance(row, Sequence)]
                return len(rows) == len(one.items) == len(two.rows) and all(
                    map(self._in_order, rows, two.rows)
                )
            case Sequence(opening="(", closing=")"), Table():
                vector = (
                    two.rows[0] if len(two.rows) == 1 else tuple(row[0] for row in two.rows if len(row) == 1)
                )
                return self._in_order(one.items, vector)
            case Clock(), Proportion() if may_be_ratio(one) or (one.second >= 10 and not one.half):
                return proportional(clock_terms(one), two.terms)
            case Clock(), Quantity() if may_be_ratio(one):
                return is_quotient(clock_terms(one), two)
            case Proportion(), Quantity():
                return is_quotient(one.terms, two)
            case Residue(), Quantity():
                return two.unit is None and not two.percent and equal(one.value, two.value)
            case Based(), Quantity():
                return (
                    two.unit is None
                    and (digits := digits_value(one)) is not None
                    and (as_integer(two.value) == digits)
                )
            case _:
                return False

    # ---- scalars -------------------------------------------------------------------------------

    def _quantities(self, one: Quantity, two: Quantity) -> bool:
        if one.percent != two.percent:
            share, plain = (one, two) if one.percent else (two, one)
            if plain.unit is not None and plain.unit.kind:
                return False
            mode = self.conventions.percent
            hundredth = share.value / integer(100)
            return (mode != "number" and self._numbers(hundredth, plain.value)) or (
                mode != "value" and self._numbers(share.value, plain.value)
            )
        first, second = (q.unit if q.unit is not None and q.unit.kind else None for q in (one, two))
        if self.conventions.units == "ignored" or (first is None and second is None):
            return self._numbers(one.value, two.value)
        if first is not None and second is not None:
            scaled = (one.value * rational(first.scale), two.value * rational(second.scale))
            return first.kind == second.kind and self._numbers(*scaled)
        stated, bare = (one, two) if first is not None else (two, one)
        return self._one_unit(stated, bare)

    def _one_unit(self, stated: Quantity, bare: Quantity) -> bool:
        """A number with a unit against one without."""
        unit = stated.unit
        if unit is None:
            return False
        if unit.kind == "angle" and self._numbers(stated.value * of_atom(PI) / integer(180), bare.value):
            return True
        for letter in _LETTERS_OF.get((unit.kind, unit.scale), ""):  # 3m, the unit typed as a letter
            if equal(stated.value * of_atom(Atom("var", letter)), bare.value):
                return True
        return self.conventions.units == "optional" and self._numbers(stated.value, bare.value)

    def _numbers(self, one: Ratio, two: Ratio) -> bool:
        if equal(one, two):
            return True
        if not self.conventions.relative and not self.conventions.absolute:
            return False
        first, second = decimal_value(one), decimal_value(two)
        if first is None or second is None:
            return False
        size = max(abs(first), abs(second))
        allowed = max(_decimal(self.conventions.absolute), _decimal(self.conventions.relative) * size)
        return abs(first - second) <= allowed

    # ---- collections ---------------------------------------------------------------------------

    def _in_order(self, ones: tuple[Value, ...], twos: tuple[Value, ...]) -> bool:
        return len(ones) == len(twos) and all(map(self.same, ones, twos))

    def _in_any_order(self, ones: tuple[Value, ...], twos: tuple[Value, ...]) -> bool:
        if len(ones) != len(twos):
            return False
        if self._in_order(ones, twos):
            return True
        if self.conventions.ordered or any(isinstance(item, Word) and item.text == "..." for item in ones):
            return False
        left = list(twos)
        for one in ones:
            place = next((k for k, two in enumerate(left) if self.same(one, two)), None)
            if place is None:
                return False
            del left[place]
        return True

    def _as_sets(self, ones: tuple[Value, ...], twos: tuple[Value, ...]) -> bool:
        return all(any(self.same(one, two) for two in twos) for one in ones) and all(
            any(self.same(one, two) for one in ones) for two in twos
        )


_LETTERS_OF = {("length", Fraction(1)): "m", ("mass", Fraction(1)): "g", ("time", Fraction(1)): "s",
               ("time", Fraction(3600)): "h", ("volume", Fraction(1)): "lL"}  # fmt: skip


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
