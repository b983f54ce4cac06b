"""Sines and cosines: exact at the multiples of pi/12 and pi/5, algebraic numbers at every rational
multiple of pi, atoms elsewhere. sin^2 + cos^2 = 1 and tan = sin/cos hold for all arguments.

In: `Ratio` arguments in radians. Out: `Ratio`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from verifiers.boxed.algebra import (
    ONE,
    PI,
    ZERO,
    Atom,
    Poly,
    Ratio,
    atoms,
    integer,
    metered,
    of_atom,
    ratio,
    rational,
)
from verifiers.boxed.numeric import equal
from verifiers.boxed.powers import root


def call(name: str, *arguments: Ratio) -> Ratio:
    """The application of `name` as an atom."""
    return of_atom(Atom("call", f"{name}({'; '.join(map(str, arguments))})"))


def _turns(argument: Ratio) -> Fraction | None:
    """argument / pi when that is rational."""
    if not argument.num:
        return Fraction(0)
    if set(argument.num) == {((PI, 1),)} and set(argument.den) == {()}:
        return Fraction(argument.num[((PI, 1),)], argument.den[()])
    return None


def _cos_of_turns(turns: Fraction) -> Ratio:
    """cos(turns * pi)."""
    turns = abs(turns) % 2
    if turns > 1:
        turns = 2 - turns
    if turns > Fraction(1, 2):
        return -_cos_of_turns(1 - turns)
    closed = _COSINES.get(turns)
    if closed is not None:
        return closed
    if turns.denominator > 400:
        return call("cos", rational(turns) * of_atom(PI))
    return ratio({((Atom("cos", str(turns), (turns,)), 1),): 1}, {(): 2})


def _surd(*terms: tuple[int, int], over: int) -> Ratio:
    total = ZERO
    for coefficient, radicand in terms:
        total = total + integer(coefficient) * root(integer(radicand), 2)
    return total / integer(over)


def _cosines() -> dict[Fraction, Ratio]:
    return {
        Fraction(0): ONE,
        Fraction(1, 12): _surd((1, 6), (1, 2), over=4),
        Fraction(1, 6): _surd((1, 3), over=2),
        Fraction(1, 5): _surd((1, 1), (1, 5), over=4),
        Fraction(1, 4): _surd((1, 2), over=2),
        Fraction(1, 3): _surd((1, 1), over=2),
        Fraction(2, 5): _surd((1, 5), (-1, 1), over=4),
        Fraction(5, 12): _surd((1, 6), (-1, 2), over=4),
        Fraction(1, 2): ZERO,
    }


def _cos(argument: Ratio) -> Ratio:
    turns = _turns(argument)
    return _cos_of_turns(turns) if turns is not None else call("cos", leading_positive(argument)[0])


def _sin(argument: Ratio) -> Ratio:
    turns = _turns(argument)
    if turns is not None:
        return _cos_of_turns(Fraction(1, 2) - turns)
    inner, direction = leading_positive(argument)
    cosine = Atom("call", f"cos({inner})")
    square: Poly = {(): 1, ((cosine, 2),): -1}
    return integer(direction) * of_atom(Atom("sin", str(inner), (2, square)))


def leading_positive(argument: Ratio) -> tuple[Ratio, int]:
    """(argument, 1) or (-argument, -1), whichever has a positive leading term."""
    return (argument, 1) if argument.num[max(argument.num)] > 0 else (-argument, -1)


def _tan(argument: Ratio) -> Ratio:
    return _sin(argument) / _cos(argument)


def _inverse(name: str, function: Callable[[Ratio], Ratio]) -> Callable[[Ratio], Ratio]:
    """arcsin, arccos or arctan: by table at the multiples of pi/12, otherwise a name."""
    first = 0 if name == "arccos" else -6

    def inverse(argument: Ratio) -> Ratio:
        if not any(atom.kind != "prime" for atom in atoms(argument)):
            for twelfth in range(first, first + 13):
                if name == "arctan" and abs(twelfth) == 6:
                    continue
                angle = of_atom(PI) * rational(Fraction(twelfth, 12))
                if equal(function(angle), argument):
                    return angle
        return call(name, argument)

    return inverse


with metered():
    _COSINES = _cosines()

FUNCTIONS: dict[str, Callable[[Ratio], Ratio]] = {
    "sin": _sin,
    "cos": _cos,
    "tan": _tan,
    "cot": lambda x: _cos(x) / _sin(x),
    "sec": lambda x: ONE / _cos(x),
    "csc": lambda x: ONE / _sin(x),
    "arcsin": _inverse("arcsin", _sin),
    "arccos": _inverse("arccos", _cos),
    "arctan": _inverse("arctan", _tan),
}
