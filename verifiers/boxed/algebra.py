"""Exact arithmetic on expressions: quotients of polynomials with integer coefficients.

In: integers and atoms (variables, roots of primes, pi, e, i, and functions nobody can simplify).
Out: `Ratio`, closed under + - * / and whole powers, every step bounded.

Atoms count as independent except for the relations `_reduce` applies (i*i = -1, a root's own
power, sin^2 = 1 - cos^2, (-1)^2n = 1). Quotients are not brought to lowest terms: two are equal when
cross-multiplication gives zero, which `numeric.is_zero` decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd
from typing import Any, TypeAlias

from verifiers.boxed.bounds import MAX_BITS, MAX_NAME, MAX_TERMS, TooHardError, UnreadableError, spend


@dataclass(frozen=True, slots=True, order=True)
class Atom:
    """An indivisible factor. `name` is unique within its kind; `args` are what evaluation needs."""

    kind: str
    name: str
    args: tuple[Any, ...] = field(default=(), compare=False)


Exponent: TypeAlias = int | Fraction
Monomial: TypeAlias = tuple[tuple[Atom, Exponent], ...]
Poly: TypeAlias = dict[Monomial, int]

I = Atom("i", "i")  # noqa: E741 - the imaginary unit has this name
PI = Atom("pi", "pi")
E = Atom("e", "e")
INFINITY = Atom("infinity", "infinity")

_ONE: Poly = {(): 1}
# ---- polynomials -------------------------------------------------------------------------------


def poly_add(left: Poly, right: Poly, sign: int = 1) -> Poly:
    """left + sign * right."""
    spend(1 + len(right))
    total = dict(left)
    for monomial, coefficient in right.items():
        value = total.get(monomial, 0) + sign * coefficient
        if value:
            total[monomial] = value
        else:
            total.pop(monomial, None)
    return _checked(total)


def poly_mul(left: Poly, right: Poly) -> Poly:
    """left * right, with every relation between atoms applied."""
    if left == _ONE:
        return right
    if right == _ONE:
        return left
    spend(len(left) * len(right) * (1 + ((_bits(left) * _bits(right)) >> 24)))
    total: Poly = {}
    for first, a in left.items():
        for second, b in right.items():
            for monomial, c in _times(first, second).items():
                value = total.get(monomial, 0) + a * b * c
                if value:
                    total[monomial] = value
                else:
                    total.pop(monomial, None)
    return _checked(total)


def poly_power(base: Poly, exponent: int) -> Poly:
    """base ** exponent for exponent >= 0, by repeated squaring."""
    result, square = _ONE, base
    while exponent:
        if exponent & 1:
            result = poly_mul(result, square)
        exponent >>= 1
        if exponent:
            square = poly_mul(square, square)
    return result


def monomial_power(monomial: Monomial, exponent: Exponent) -> Poly:
    """monomial ** exponent for a positive exponent."""
    return _reduce({atom: power * exponent for atom, power in monomial})


def _times(first: Monomial, second: Monomial) -> Poly:
    if not first:
        return {second: 1}
    if not second:
        return {first: 1}
    powers = dict(first)
    for atom, power in second:
        powers[atom] = powers.get(atom, 0) + power
    return _reduce(powers)


def _reduce(powers: Mapping[Atom, Exponent]) -> Poly:
    """The product of atom ** power, all powers >= 0, in reduced form."""
    factor = 1
    rest: list[tuple[Atom, Exponent]] = []
    extra: Poly = _ONE
    for atom, given in powers.items():
        power = given
        if atom.kind == "i" and power.denominator == 1:
            power = power % 4
            if power >= 2:
                factor, power = -factor, power - 2
        elif atom.kind == "prime" and power >= 1:
            whole = power.__floor__()
            if whole * atom.args[0].bit_length() <= MAX_BITS:
                factor, power = factor * atom.args[0] ** whole, power - whole
        elif atom.kind == "sign":
            power = power % 2
        elif atom.kind in ("root", "sin"):
            whole, power = divmod(power, atom.args[0])
            if whole:
                extra = poly_mul(extra, poly_power(atom.args[1], int(whole)))
        if power:
            rest.append((atom, power))
    rest.sort(key=_by_name)
    term = {tuple(rest): factor}
    return poly_mul(term, extra) if extra is not _ONE else term


def _by_name(factor: tuple[Atom, Exponent]) -> tuple[str, str]:
    return factor[0].kind, factor[0].name


def _bits(poly: Poly) -> int:
    return max((c.bit_length() for c in poly.values()), default=0)


def _checked(poly: Poly) -> Poly:
    if len(poly) > MAX_TERMS or _bits(poly) > MAX_BITS:
        raise TooHardError("an expression with too many terms or digits")
    return poly


# ---- quotients ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """num / den. Compare with `numeric.equal`, never with ==."""

    num: Poly
    den: Poly

    def __add__(self, other: Ratio) -> Ratio:
        if self.den == other.den:
            return ratio(poly_add(self.num, other.num), self.den)
        num = poly_add(poly_mul(self.num, other.den), poly_mul(other.num, self.den))
        return ratio(num, poly_mul(self.den, other.den))

    def __neg__(self) -> Ratio:
        return Ratio({m: -c for m, c in self.num.items()}, self.den)

    def __sub__(self, other: Ratio) -> Ratio:
        return self + -other

    def __mul__(self, other: Ratio) -> Ratio:
        return ratio(poly_mul(self.num, other.num), poly_mul(self.den, other.den))

    def __truediv__(self, other: Ratio) -> Ratio:
        return ratio(poly_mul(self.num, other.den), poly_mul(self.den, other.num))

    def __str__(self) -> str:
        """A canonical text of this form; names the atoms built on it."""
        top = poly_text(self.num)
        return top if self.den == _ONE else f"({top})/({poly_text(self.den)})"


def ratio(num: Poly, den: Poly) -> Ratio:
    """num / den, its common integer and monomial factors cancelled."""
    if not den:
        raise UnreadableError("division by zero")
    if not num:
        return ZERO
    if len(den) == 1 and () not in den:
        num, den = _clear_denominator(num, den)
    divisor = gcd(*num.values(), *den.values())
    if den[max(den)] < 0:
        divisor = -divisor
    if divisor != 1:
        num = {m: c // divisor for m, c in num.items()}
        den = {m: c // divisor for m, c in den.items()}
    return Ratio(num, den)


def _clear_denominator(num: Poly, den: Poly) -> tuple[Poly, Poly]:
    """Moves roots and i out of a one-term denominator and cancels what divides every term of num."""
    (monomial,) = den
    helper: dict[Atom, Exponent] = {}
    for atom, power in monomial:
        if atom.kind == "i":
            helper[atom] = 1
        elif atom.kind == "prime" and 0 < power < 1:
            helper[atom] = 1 - power
        elif atom.kind == "root":
            helper[atom] = atom.args[0] - power
    if helper:
        extra = _reduce(helper)
        num, den = poly_mul(num, extra), poly_mul(den, extra)
        if len(den) > 1:
            return num, den
        (monomial,) = den
    powers = [dict(term) for term in num]
    shared = {atom: min(power, *(term.get(atom, 0) for term in powers)) for atom, power in monomial}
    if not any(shared.values()):
        return num, den
    return _without(num, shared), _without(den, shared)


def _without(poly: Poly, shared: Mapping[Atom, Exponent]) -> Poly:
    return {
        tuple((atom, left) for atom, power in term if (left := power - shared.get(atom, 0))): coefficient
        for term, coefficient in poly.items()
    }


def poly_text(poly: Poly) -> str:
    """A canonical text of `poly`; hexadecimal, as the decimal text of a huge integer is costly."""
    terms = sorted(("*".join(f"{a.kind}:{a.name}^{e}" for a, e in m), c) for m, c in poly.items())
    text = " + ".join(f"{c:x}*{m}" if m else f"{c:x}" for m, c in terms) or "0"
    if len(text) > MAX_NAME:
        raise TooHardError("a function of a very long expression")
    return text


def integer(value: int) -> Ratio:
    """The whole number `value`."""
    return Ratio({(): value} if value else {}, _ONE)


def rational(value: Fraction) -> Ratio:
    """The fraction `value`."""
    if not value:
        return ZERO
    return Ratio({(): value.numerator}, {(): value.denominator})


def of_atom(atom: Atom, power: Exponent = 1) -> Ratio:
    """atom ** power."""
    if power > 0:
        return Ratio(_reduce({atom: power}), _ONE)
    return ratio(_ONE, _reduce({atom: -power})) if power else ONE


def as_fraction(value: Ratio) -> Fraction | None:
    """The rational number `value` plainly is, or None."""
    if not value.num:
        return Fraction(0)
    if len(value.num) == len(value.den) == 1 and () in value.num and () in value.den:
        return Fraction(value.num[()], value.den[()])
    return None


def as_integer(value: Ratio) -> int | None:
    """The whole number `value` plainly is, or None."""
    number = as_fraction(value)
    return number.numerator if number is not None and number.denominator == 1 else None


def atoms(value: Ratio) -> set[Atom]:
    """Every atom that occurs in `value` itself, not inside other atoms."""
    return {atom for poly in (value.num, value.den) for term in poly for atom, _ in term}


ZERO = Ratio({}, _ONE)
ONE = Ratio(_ONE, _ONE)
