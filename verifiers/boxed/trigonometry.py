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
    I,
    Monomial,
    Poly,
    Ratio,
    atoms,
    integer,
    of_atom,
    ratio,
    rational,
)
from verifiers.boxed.bounds import metered
from verifiers.boxed.numeric import equal
from verifiers.boxed.powers import root

_MAX_TERMS = 3
_MAX_MULTIPLE = 6
"""Up to sin 6x the multiple is written out in sin x and cos x."""


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
    return _cos_and_sin(argument)[0]


def _sin(argument: Ratio) -> Ratio:
    return _cos_and_sin(argument)[1]


def _cos_and_sin(argument: Ratio) -> tuple[Ratio, Ratio]:
    """Both by the addition theorems, so that sin 2x is 2 sin x cos x and sin(x + pi/2) is cos x."""
    turns = _turns(argument)
    if turns is not None:
        return _cos_of_turns(turns), _cos_of_turns(Fraction(1, 2) - turns)
    if set(argument.den) != {()} or len(argument.num) > _MAX_TERMS:
        return _of_angle(argument)
    total = (ONE, ZERO)
    for monomial, coefficient in argument.num.items():
        step, repeat = _angle_step(monomial, Fraction(coefficient, argument.den[()]))
        for _ in range(repeat):
            total = (total[0] * step[0] - total[1] * step[1], total[1] * step[0] + total[0] * step[1])
    return total


def _angle_step(monomial: Monomial, share: Fraction) -> tuple[tuple[Ratio, Ratio], int]:
    """cos and sin of an angle of which share * monomial is a whole multiple, and that multiple."""
    whole = ratio({monomial: share.numerator}, {(): share.denominator})
    if _turns(whole) is not None:
        return _cos_and_sin(whole), 1
    if abs(share.numerator) > _MAX_MULTIPLE:
        return _of_angle(whole), 1
    direction = 1 if share > 0 else -1
    return _of_angle(ratio({monomial: direction}, {(): share.denominator})), abs(share.numerator)


def _of_angle(argument: Ratio) -> tuple[Ratio, Ratio]:
    """The atoms cos and sin of an angle, tied by sin^2 = 1 - cos^2."""
    inner, direction = leading_positive(argument)
    cosine = Atom("call", f"cos({inner})")
    square: Poly = {(): 1, ((cosine, 2),): -1}
    return of_atom(cosine), integer(direction) * of_atom(Atom("sin", str(inner), (2, square)))


def leading_positive(argument: Ratio) -> tuple[Ratio, int]:
    """(argument, 1) or (-argument, -1), whichever has a positive leading term."""
    return (argument, 1) if argument.num[max(argument.num)] > 0 else (-argument, -1)


def unit_circle(exponent: Ratio) -> Ratio | None:
    """e ** exponent for an exponent r i pi with r rational, else None."""
    turns = _turns(exponent / of_atom(I))
    if turns is None:
        return None
    return _cos_of_turns(turns) + of_atom(I) * _cos_of_turns(Fraction(1, 2) - turns)


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
    "cis": lambda x: _cos(x) + of_atom(I) * _sin(x),
    "cot": lambda x: _cos(x) / _sin(x),
    "sec": lambda x: ONE / _cos(x),
    "csc": lambda x: ONE / _sin(x),
    "arcsin": _inverse("arcsin", _sin),
    "arccos": _inverse("arccos", _cos),
    "arctan": _inverse("arctan", _tan),
}
