"""The kinds of value an answer can have.

In: nothing. Out: one frozen dataclass per kind; their scalars are exact `Ratio`s.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from verifiers.boxed.algebra import Ratio


@dataclass(frozen=True, slots=True)
class Unit:
    """What is measured ("length^2", or the noun of a count) and the size in base units of that kind."""

    kind: str
    scale: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """A scalar, perhaps with a unit; 50% has value 50 and `percent`."""

    value: Ratio
    unit: Unit | None = None
    percent: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """Items in brackets whose order counts: a point, a vector, or an interval."""

    opening: str
    closing: str
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """Several answers side by side, in any order."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SetOf:
    """A finite set."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Real numbers from `low` to `high`; None is minus or plus infinity."""

    low: Ratio | None
    high: Ratio | None
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A set of real numbers: disjoint intervals in order; of `variable` when the answer names one."""

    intervals: tuple[Interval, ...]
    variable: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """A union whose parts cannot be ordered, compared part by part."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A matrix, row by row."""

    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """difference `sign` 0, sign one of = < <= !=."""

    sign: str
    difference: Ratio


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """name = value; `relation` is the same as an equation when the name can be read as a variable."""

    name: str
    value: Value
    relation: Relation | None


@dataclass(frozen=True, slots=True)
class Based:
    """Digits in a base, as written: 52_8."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day; `half` is "am", "pm" or "" where it is not said."""

    hour: int
    minute: int
    second: int
    half: str


@dataclass(frozen=True, slots=True, eq=False)
class Proportion:
    """a : b : c."""

    terms: tuple[Ratio, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Residue:
    """value (mod modulus)."""

    value: Ratio
    modulus: Ratio


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The letter of an option, with the option's own value when it is given too."""

    letter: str
    value: Value | None


@dataclass(frozen=True, slots=True)
class Word:
    """Words, or a phrase of known meaning."""

    text: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """Text nobody here can read; equal only to the same text."""

    text: str


Value: TypeAlias = (
    Quantity
    | Sequence
    | Many
    | SetOf
    | Region
    | Union
    | Table
    | Relation
    | Named
    | Based
    | Clock
    | Proportion
    | Residue
    | Choice
    | Word
    | Opaque
)
