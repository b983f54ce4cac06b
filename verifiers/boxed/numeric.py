"""Decides whether an exact expression is zero, and the sign and decimal value of a constant.

In: `Poly` and `Ratio`. Out: True or False, -1/0/1, `Decimal`.

Most zero tests need no number: roots of primes and i are independent over the rationals, so a
reduced polynomial in them is zero only when it is empty. Nested roots and cosines are decided by
evaluation with a proof: every atom is an algebraic integer, so a nonzero P with conjugates at most U
in size and degree D has |P| >= U**(1 - D), because its norm is a nonzero integer.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal, DecimalException, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil, gcd, lcm, log10

from verifiers.boxed.algebra import (
    Atom,
    Exponent,
    Monomial,
    Poly,
    Ratio,
    as_fraction,
    poly_add,
    poly_mul,
    ratio,
)
from verifiers.boxed.bounds import MAX_BITS, TooHardError, spend

MAX_DIGITS = 800
"""Decimal digits a zero test may need; beyond that it is too hard."""
_FIRST_LOOK = 50
_GUARD = 15


def equal(left: Ratio, right: Ratio) -> bool:
    """True when left - right is zero."""
    if left.den == right.den:
        if left.num == right.num:
            return True
        return is_zero(poly_add(left.num, right.num, -1))
    return is_zero(poly_add(poly_mul(left.num, right.den), poly_mul(right.num, left.den), -1))


def is_zero(poly: Poly) -> bool:
    """True when `poly` is zero for all values of its variables."""
    if not poly:
        return True
    groups: dict[Monomial, tuple[Poly, Poly]] = {}
    for monomial, coefficient in _lowered(poly).items():
        inner = tuple(f for f in monomial if is_real_algebraic(f[0]))
        outer = tuple(f for f in monomial if f not in inner and f[0].kind != "i")
        side = 1 if any(atom.kind == "i" for atom, _ in monomial) else 0
        part = groups.setdefault(outer, ({}, {}))[side]
        part[inner] = part.get(inner, 0) + coefficient
    return all(_is_algebraic_zero(part) for parts in groups.values() for part in parts)


def _lowered(poly: Poly) -> Poly:
    """`poly` divided by the power of each huge prime power that all its terms share."""
    huge = {atom for term in poly for atom, power in term if atom.kind == "prime" and power >= 1}
    for atom in huge:
        prime = atom.args[0]
        totals: list[tuple[Exponent, dict[Atom, Exponent], int]] = []
        for term, given in poly.items():
            powers, coefficient = dict(term), given
            power: Exponent = powers.pop(atom, 0)
            while coefficient % prime == 0:
                coefficient, power = coefficient // prime, power + 1
                spend(1)
            totals.append((power, powers, coefficient))
        least = min(power for power, _, _ in totals).__floor__()
        poly = {}
        for power, powers, coefficient in totals:
            left = power - least
            whole = left.__floor__()
            if whole * prime.bit_length() <= MAX_BITS:
                coefficient, left = coefficient * prime**whole, left - whole
            if left:
                powers[atom] = left
            key = tuple(sorted(powers.items()))
            poly[key] = poly.get(key, 0) + coefficient
    return {term: coefficient for term, coefficient in poly.items() if coefficient}


def is_real_algebraic(atom: Atom) -> bool:
    """True for an atom that is a real algebraic number."""
    return atom.kind in ("prime", "cos") or (atom.kind == "root" and bool(atom.args[3]))


def _is_algebraic_zero(poly: Poly) -> bool:
    content = gcd(*poly.values())
    if content == 0:
        return True
    poly = {monomial: coefficient // content for monomial, coefficient in poly.items() if coefficient}
    used = {atom for monomial in poly for atom, _ in monomial}
    if all(atom.kind == "prime" and atom.args[1] for atom in used):
        return False
    bound = _bound(poly)
    if abs(_value(poly, _FIRST_LOOK)) > Decimal(10) ** (ceil(bound) - _FIRST_LOOK + _GUARD):
        return False
    degrees: dict[str, int] = {}
    _collect_degrees(poly, degrees)
    degree = 1
    for part in degrees.values():
        degree *= part
    needed = ceil((degree - 1) * bound) + 1
    digits = 2 * needed + ceil(bound) + _GUARD  # twice: a root of a tiny difference halves its digits
    if digits > MAX_DIGITS:
        raise TooHardError("a zero test that needs too many digits")
    spend(20 + len(used) * digits * digits // 1000)
    return abs(_value(poly, digits)) < Decimal(10) ** -needed


def _bound(poly: Poly) -> float:
    """log10 of a bound on every conjugate of an algebraic integer, at least 0."""
    sizes = [
        _log(coefficient) + sum(float(power) * _atom_bound(atom) for atom, power in monomial)
        for monomial, coefficient in poly.items()
    ]
    return max(sizes) + log10(len(sizes)) + 1e-6


def _atom_bound(atom: Atom) -> float:
    if atom.kind == "prime":
        return _log(atom.args[0])
    if atom.kind == "cos":
        return log10(2)
    return max(_bound(atom.args[1]), 0.0) / float(atom.args[0])


def _log(value: int) -> float:
    bits = max(value.bit_length() - 60, 0)
    return log10(abs(value) >> bits) + 1e-12 + bits * log10(2) + 1e-9 * bits


def _collect_degrees(poly: Poly, degrees: dict[str, int]) -> None:
    for monomial in poly:
        for atom, power in monomial:
            degree = Fraction(power).denominator
            if atom.kind == "root":
                degree *= atom.args[0]
                _collect_degrees(atom.args[1], degrees)
            elif atom.kind == "cos":  # all cosines lie in one cyclotomic field, whose real part this bounds
                degrees["cos"] = lcm(degrees.get("cos", 1), atom.args[0].denominator)
            key = f"{atom.kind}:{atom.name}"
            degrees[key] = lcm(degrees.get(key, 1), degree)


# ---- decimal values ----------------------------------------------------------------------------


def decimal_value(value: Ratio, digits: int = _FIRST_LOOK) -> Decimal | None:
    """The value of a real constant to about `digits` digits, or None when it is not one we can evaluate."""
    fraction = as_fraction(value)
    if fraction is not None:
        with localcontext(_context(digits)):
            return Decimal(fraction.numerator) / Decimal(fraction.denominator)
    if any(not _has_value(atom) for poly in (value.num, value.den) for term in poly for atom, _ in term):
        return None
    try:
        with localcontext(_context(digits)):
            den = _value(value.den, digits)
            return _value(value.num, digits) / den if den else None
    except DecimalException as error:
        raise TooHardError("a value out of range") from error


def sign(value: Ratio) -> int | None:
    """The sign of a real constant; None when `value` is not a real constant we can evaluate.

    Raises:
        TooHardError: a transcendental value too close to zero to tell.
    """
    fraction = as_fraction(value)
    if fraction is not None:
        return (fraction > 0) - (fraction < 0)
    if is_zero(value.num):
        return 0
    approximate = decimal_value(value)
    if approximate is None:
        return None
    size = max((_log(c) for poly in (value.num, value.den) for c in poly.values()), default=0.0)
    if abs(approximate) < Decimal(10) ** (ceil(size) - _FIRST_LOOK + _GUARD):
        raise TooHardError("a value too close to zero to tell its sign")
    return 1 if approximate > 0 else -1


def floor(value: Ratio) -> int | None:
    """The greatest whole number not above a real constant, or None."""
    fraction = as_fraction(value)
    if fraction is not None:
        return fraction.__floor__()
    approximate = decimal_value(value)
    if approximate is None or abs(approximate) > Decimal(10) ** 20:
        return None
    guess = int(approximate.to_integral_value(ROUND_FLOOR))
    for candidate in (guess + 1, guess, guess - 1):
        difference = sign(value + ratio({(): -candidate} if candidate else {}, {(): 1}))
        if difference is not None and difference >= 0:
            return candidate
    return None


def _context(digits: int) -> Context:
    return Context(prec=digits + _GUARD, Emax=999_999_999, Emin=-999_999_999)


def _has_value(atom: Atom) -> bool:
    return atom.kind in _EVALUATORS and (atom.kind != "root" or bool(atom.args[2]))


def _value(poly: Poly, digits: int) -> Decimal:
    spend(2 * len(poly))
    try:
        with localcontext(_context(digits)):
            total = Decimal(0)
            for monomial, coefficient in poly.items():
                term = Decimal(coefficient)
                for atom, power in monomial:
                    term *= _power(_EVALUATORS[atom.kind](atom, digits), power)
                total += term
            return total
    except DecimalException as error:  # an exponent out of range
        raise TooHardError("a value out of range") from error


def _power(base: Decimal, power: Exponent) -> Decimal:
    if power == 1:
        return base
    if power == Fraction(1, 2) and base >= 0:
        return base.sqrt()
    spend(10)
    if base >= 0:
        return base ** _quotient(power)
    if power.denominator % 2 == 0:
        raise TooHardError("an even root of a value that cannot be told from a negative one")
    size = (-base) ** _quotient(power)
    return -size if power.numerator % 2 else size


def _quotient(power: Exponent) -> Decimal:
    return Decimal(power.numerator) / Decimal(power.denominator)


def _root_value(atom: Atom, digits: int) -> Decimal:
    return _power(_value(atom.args[1], digits), Fraction(1, atom.args[0]))


def _log_value(atom: Atom, digits: int) -> Decimal:
    inner = decimal_value(atom.args[0], digits)
    if inner is None or inner <= 0:
        raise TooHardError("the logarithm of something that is no positive number")
    spend(10)
    return inner.ln()


def _cos_value(atom: Atom, digits: int) -> Decimal:
    """2 cos(r pi) by its power series."""
    angle = _pi(digits) * _quotient(atom.args[0])
    total = term = Decimal(1)
    square, k = angle * angle, 0
    while abs(term) > Decimal(10) ** -(digits + _GUARD):
        k += 2
        term *= -square / (k * (k - 1))
        total += term
    spend(10 + k // 4)
    return 2 * total


@lru_cache(maxsize=64)
def _pi(digits: int) -> Decimal:
    """Pi by Machin's formula 16 arctan(1/5) - 4 arctan(1/239)."""
    scale = 10 ** (digits + _GUARD + 10)

    def arctan(inverse: int) -> int:
        term, total, k = scale // inverse, 0, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term, k = term // (inverse * inverse), k + 2
        return total

    return Decimal(16 * arctan(5) - 4 * arctan(239)) / Decimal(scale)


_EVALUATORS: dict[str, Callable[[Atom, int], Decimal]] = {
    "prime": lambda atom, _: Decimal(atom.args[0]),
    "root": _root_value,
    "cos": _cos_value,
    "pi": lambda _, digits: _pi(digits),
    "e": lambda _, digits: Decimal(1).exp(_context(digits)),
    "log": _log_value,
}
