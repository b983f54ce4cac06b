"""Builds values from sides and the signs between them: x = 5, 1 < x < 2, x in [0, 1], 2 + 3 = 5.

In: the sides as `Value`s and their signs. Out: one `Value`; ranges of one variable become `Region`s.
"""

from __future__ import annotations

import itertools
import re

from verifiers.boxed.algebra import (
    INFINITY,
    Atom,
    Poly,
    Ratio,
    as_fraction,
    atoms,
    integer,
    of_atom,
    ratio,
    rational,
)
from verifiers.boxed.bounds import UnreadableError
from verifiers.boxed.numeric import equal, sign
from verifiers.boxed.regions import EVERYTHING, complement, intersection, point, union
from verifiers.boxed.tokens import Cursor
from verifiers.boxed.values import (
    Interval,
    Many,
    Named,
    Quantity,
    Region,
    Relation,
    Residue,
    Sequence,
    SetOf,
    Value,
    Word,
)
from verifiers.boxed.words import GREEK

SIGNS = {"=": "=", "<": "<", ">": ">", "le": "<=", "ge": ">=", "<=": "<=", ">=": ">=", "ne": "!=", "!=": "!=",
         "approx": "~", "simeq": "~", "in": "in", "equiv": "=", "iff": "=", "cong": "="}  # fmt: skip
_MAX_NAME = 32
_HEADS = frozenset({"int", "sum", "prod", "lim", "det", "Pr"})
"""What begins the name of a value that is not computed here: \\int_0^1 x dx = 1/2."""
_CONSTANT = frozenset({"prime", "root", "cos", "pi", "e", "log"})
_GREEK = "|".join(sorted(GREEK, reverse=True))
_ANNOUNCEMENT = re.compile(r"(?!.*\bnot\b)(?:.*\b(?:is|are|equals|be)|.*:)\s*", re.IGNORECASE)
"""Words that say what the following value is: "The area is", "Area:"."""
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_SIMPLE_NAME = re.compile(rf"(?:[A-Za-z]|\\(?:{_GREEK}))(?:_(?:\{{.*\}}|[^{{]))?'*")
_NAME = re.compile(
    rf"(?:\\(?:sin|cos|tan|cot|sec|csc))?(?:{_SIMPLE_NAME.pattern}|\\[a-z]+\{{\w+\}})(?:\^(?:\{{-1\}}|-1))?"
    r"(?:\([^()]*\)|\[[^\[\]]*\])?|\\(?:gcd|lcm|max|min)|\\\|[^|]{1,12}\\\|"
    r"|\\frac\{d[a-z]?\}\{d[a-z]\}"
    r"|\((?:[A-Za-z](?:_\{?\w\}?)?,)+[A-Za-z](?:_\{?\w\}?)?\)"
    r"|\|?(?:m?\\(?:angle|triangle)|\\overline)?[A-Z]{1,4}\|?|\[[A-Z]{3,6}\]|[A-Za-z](?::[A-Za-z])+"
)


def find_name(cursor: Cursor) -> str:
    """The name before an equals sign, as in f(x) = 3, passed over with the sign; empty if there is none."""
    first = cursor.peek()
    if first is not None and first.kind == "txt" and _ANNOUNCEMENT.fullmatch(first.text) and cursor.peek(1):
        cursor.at += 1
        return first.text
    text, words, depth = "", False, 0
    headed = first is not None and first.kind == "cmd" and first.text in _HEADS
    for ahead in range(_MAX_NAME):
        token = cursor.peek(ahead)
        if token is None or token.text in ("lor", "land") or (token.text in (",", ";") and not depth):
            return ""
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if token.text == "=" and not depth:
            is_name = bool(text) and (words or headed or _NAME.fullmatch(text) is not None)
            if is_name and not (not words and text in ("e", "i", "\\pi")):
                cursor.at += ahead + 1
                return text
            return ""
        if token.kind == "txt":
            words = words or not text
        text += "\\" + token.text if token.kind == "cmd" else token.text
    return ""


def chain(name: str, sides: list[Value], signs: list[str]) -> Value:
    """The value of `name = sides[0] signs[0] sides[1] …`, `name` perhaps empty.

    Raises:
        UnreadableError: sides that contradict each other, or signs that do not go together.
    """
    sides, signs = _without_roundings(sides, signs)
    if name:
        if any(s != "=" for s in signs):
            raise UnreadableError("a name equal to an inequality")
        return _named(name, _agreed(sides))
    if not signs:
        return sides[0]
    if signs == ["in"]:
        return _member(sides[0], sides[1])
    if all(s == "=" for s in signs):
        return _equation(sides)
    return _inequalities(sides, signs)


def _without_roundings(sides: list[Value], signs: list[str]) -> tuple[list[Value], list[str]]:
    """Drops what stands after "approximately": the exact side before it is the answer."""
    kept_sides, kept_signs = [sides[0]], []
    for s, side in zip(signs, sides[1:], strict=True):
        if s == "~" and _letter(sides[0]) and len(kept_sides) == 1:
            s = "="
        if s != "~":
            kept_sides.append(side)
            kept_signs.append(s)
    return kept_sides, kept_signs


def _agreed(sides: list[Value]) -> Value:
    """The last of sides that are equal wherever they are constants."""
    constants = [side for side in sides if is_constant(side)]
    for one, two in itertools.pairwise(constants):
        if not equal(in_base_units(one), in_base_units(two)):
            raise UnreadableError("an equation that does not hold")
    return sides[-1]


def in_base_units(value: Value) -> Ratio:
    """A scalar with its percent sign and unit worked in, so that 5 cm = 0.05 m holds."""
    plain = scalar(value)
    if isinstance(value, Quantity) and value.percent:
        return plain / integer(100)
    unit = value.unit if isinstance(value, Quantity) else None
    return plain if unit is None else plain * rational(unit.scale)


def _named(name: str, value: Value) -> Value:
    relation = None
    if _SIMPLE_NAME.fullmatch(name) and isinstance(value, Quantity) and value.unit is None:
        relation = Relation("=", of_atom(Atom("var", name.replace("{", "").replace("}", ""))) - value.value)
    return Named(name, value, relation)


def _equation(sides: list[Value]) -> Value:
    if all(is_constant(side) for side in sides):
        return _agreed(sides)
    if isinstance(sides[-1], Residue):
        return _named(_letter(sides[0]) or "?", sides[-1])
    letter = _letter(sides[-1])
    if letter and all(is_constant(side) for side in sides[:-1]):
        return _named(letter, _agreed(sides[:-1]))
    letter = _letter(sides[0])
    if letter and all(is_constant(side) for side in sides[1:]):
        return _named(letter, _agreed(sides[1:]))
    if len(sides) != 2:
        raise UnreadableError("a chain of equations")
    return Relation("=", scalar(sides[0]) - scalar(sides[1]))


def _member(left: Value, right: Value) -> Value:
    letter = _letter(left)
    if not letter:
        raise UnreadableError("membership of something that is no variable")
    region = as_region(right)
    return Region(region.intervals, letter) if region is not None else Named(letter, right, None)


def _inequalities(sides: list[Value], signs: list[str]) -> Value:
    relations: list[Relation] = []
    solved = True  # the variable stands alone: 2x + 3 < 7 is the question, not its answer
    for left, s, right in zip(sides, signs, sides[1:], strict=False):
        if s not in ("<", "<=", ">", ">=", "!="):
            raise UnreadableError("signs that do not go together")
        if _is_infinite(left) or _is_infinite(right):
            continue  # x < infinity says nothing
        low, high = (right, left) if s in (">", ">=") else (left, right)
        relations.append(Relation(s.replace(">", "<"), scalar(low) - scalar(high)))
        solved = solved and bool(_letter(left) or _letter(right))
    if any(all(atom.kind in _CONSTANT for atom in atoms(relation.difference)) for relation in relations):
        raise UnreadableError("an inequality between constants")
    regions = [_range(relation) if solved else None for relation in relations]
    found = [region for region in regions if region is not None]
    if not found or len(found) < len(relations) or len({region.variable for region in found}) > 1:
        return relations[0] if len(relations) == 1 else Many(tuple(relations))
    result = found[0]
    for region in found[1:]:
        result = intersection(result, region)
    return Region(result.intervals, found[0].variable)


def _range(relation: Relation) -> Region | None:
    """The range of the one variable in a linear `relation`, or None when it is of another kind."""
    difference = relation.difference
    variables = {atom for atom in atoms(difference) if atom.kind == "var"}
    if len(variables) != 1 or set(difference.den) != {()}:
        return None
    (variable,) = variables
    slope: Poly = {}
    rest: Poly = {}
    for term, coefficient in difference.num.items():
        if not all(atom == variable or atom.kind in _CONSTANT for atom, _ in term):
            return None
        if any(atom == variable for atom, _ in term):
            if (variable, 1) not in term:
                return None
            slope[tuple(f for f in term if f[0] != variable)] = coefficient
        else:
            rest[term] = coefficient
    direction = sign(Ratio(slope, {(): 1}))
    if not direction:
        return None
    edge = -ratio(rest, slope)
    if relation.sign == "!=":
        return Region(complement(union([Region((point(edge),))])).intervals, variable.name)
    closed = relation.sign == "<="
    piece = Interval(None, edge, False, closed) if direction > 0 else Interval(edge, None, closed, False)
    return Region((piece,), variable.name)


def as_region(value: Value) -> Region | None:
    """`value` as a set of real numbers, or None: intervals, finite sets, ranges, nothing, everything."""
    try:
        if isinstance(value, Region):
            return value
        if isinstance(value, Sequence) and len(value.items) == 2:
            return _interval(value)
        if isinstance(value, SetOf) and all(isinstance(item, Quantity) for item in value.items):
            return union([Region((point(scalar(item)),)) for item in value.items])
    except UnreadableError:
        return None
    if isinstance(value, Word) and value.text == "everything":
        return EVERYTHING
    return None


def _interval(value: Sequence) -> Region | None:
    low, high = value.items
    if _is_infinite(low) == 1 or _is_infinite(high) == -1:
        return None
    ends = (None if _is_infinite(low) else scalar(low), None if _is_infinite(high) else scalar(high))
    piece = Interval(
        *ends, value.opening == "[" and ends[0] is not None, value.closing == "]" and ends[1] is not None
    )
    return union([Region((piece,))])


def _is_infinite(value: Value) -> int:
    """1 or -1 for plus or minus infinity, else 0."""
    if isinstance(value, Quantity) and set(value.value.num) == {((INFINITY, 1),)}:
        return value.value.num[((INFINITY, 1),)]
    return 0


def scalar(value: Value) -> Ratio:
    """The plain scalar `value`.

    Raises:
        UnreadableError: it is of another kind.
    """
    if not isinstance(value, Quantity) or _is_infinite(value):
        raise UnreadableError("no plain number")
    return value.value


def is_constant(value: Value) -> bool:
    """True for a scalar without variables."""
    if not isinstance(value, Quantity) or _is_infinite(value):
        return False
    return as_fraction(value.value) is not None or all(
        atom.kind in _CONSTANT or atom.kind == "i" for atom in atoms(value.value)
    )


def _letter(value: Value) -> str:
    """The variable that `value` is, or an empty text."""
    if not isinstance(value, Quantity) or value.unit is not None or set(value.value.den) != {()}:
        return ""
    if len(value.value.num) == 1:
        ((term, coefficient),) = value.value.num.items()
        if len(term) == 1 and term[0][0].kind == "var" and (term[0][1], coefficient) == (1, 1):
            return term[0][0].name
    return ""
