"""Signs carried along as factors while an expression is read: the degree, the percent, infinity.

In: `Ratio`s with such factors. Out: `Ratio`s without them.
"""

from __future__ import annotations

from verifiers.boxed.algebra import INFINITY, PI, Atom, Ratio, atoms, integer, of_atom, ratio
from verifiers.boxed.bounds import UnreadableError
from verifiers.boxed.tokens import Cursor

DEGREE = Atom("mark", "degree")
PERCENT = Atom("mark", "percent")


def degree_sign(cursor: Cursor) -> bool:
    """Passes over what makes a degree sign of the "^" before it: \\circ, {\\circ}, o or {o}."""
    signs = ("circ", "o")
    ahead = [cursor.peek(place) for place in range(3)]
    texts = [token.text if token is not None else "" for token in ahead]
    if texts[0] in signs:
        cursor.at += 1
        return True
    if texts[0] == "{" and texts[1] in signs and texts[2] == "}":
        cursor.at += 3
        return True
    return False


def without_mark(value: Ratio, mark: Atom) -> tuple[Ratio, bool]:
    """`value` without the factor `mark`, and whether it had it."""
    if all(atom != mark for atom in atoms(value)):
        return value, False
    if any((mark, 1) not in term for term in value.num):
        raise UnreadableError(f"a {mark.name} sign on a part of the value")
    return ratio(
        {tuple(f for f in term if f[0] != mark): c for term, c in value.num.items()}, value.den
    ), True


def radians(argument: Ratio) -> Ratio:
    """`argument` with its degree signs, if any, turned into pi / 180."""
    plain, degrees = without_mark(argument, DEGREE)
    return plain * of_atom(PI) / integer(180) if degrees else argument


def refuse_infinity(*operands: Ratio) -> None:
    """Raises `UnreadableError` when an operand of a sum or product is infinite."""
    for value in operands:
        if len(value.num) == 1 and any(atom == INFINITY for atom in atoms(value)):
            raise UnreadableError("arithmetic with infinity")
