"""Sameness of values of one kind, where no convention has a say: relations, ratios, times, residues.

In: two values of the kinds named. Out: True or False, symmetric.
"""

from __future__ import annotations

from itertools import combinations
from math import gcd

from verifiers.boxed.algebra import Atom, Ratio, as_fraction, as_integer, integer, poly_mul
from verifiers.boxed.numeric import equal, is_zero, sign
from verifiers.boxed.values import Based, Clock, Many, Named, Quantity, Relation, Residue, Value


def same_relation(one: Relation, two: Relation) -> bool:
    """True when the differences are the same up to a constant factor, positive for inequalities."""
    if one.sign != two.sign:
        return False
    first, second = one.difference, two.difference
    shared = sorted(set(map(_variables, first.num)) & set(map(_variables, second.num)))
    if not shared or not first.num:
        return False
    lead = shared[-1]
    a = {tuple(f for f in m if f not in lead): c for m, c in first.num.items() if _variables(m) == lead}
    b = {tuple(f for f in m if f not in lead): c for m, c in second.num.items() if _variables(m) == lead}
    left, right = Ratio(poly_mul(first.num, b), {(): 1}), Ratio(poly_mul(second.num, a), {(): 1})
    if is_zero(a) or is_zero(b) or not equal(left, right):
        return False
    if one.sign in ("=", "!="):
        return True
    if not equal(Ratio(first.den, {(): 1}), Ratio(second.den, {(): 1})) and (
        len(first.den) > 1 or len(second.den) > 1
    ):
        return False
    return sign(Ratio(a, {(): 1})) == sign(Ratio(b, {(): 1})) is not None


def _variables(monomial: tuple[tuple[Atom, object], ...]) -> tuple[tuple[Atom, object], ...]:
    return tuple(
        factor for factor in monomial if factor[0].kind not in ("prime", "i", "root", "cos", "pi", "e", "log")
    )


def proportional(ones: tuple[Ratio, ...], twos: tuple[Ratio, ...]) -> bool:
    """True when both have the same terms up to one common factor that is not zero."""
    pairs = list(zip(ones, twos, strict=False))
    if len(ones) != len(twos) or any(is_zero(one.num) != is_zero(two.num) for one, two in pairs):
        return False
    return all(equal(a * d, b * c) for (a, c), (b, d) in combinations(pairs, 2))


def is_quotient(terms: tuple[Ratio, ...], quantity: Quantity) -> bool:
    """True when a ratio of two terms, divided out, is the plain number `quantity`."""
    if len(terms) != 2 or quantity.unit is not None or quantity.percent or is_zero(terms[1].num):
        return False
    return equal(terms[0] / terms[1], quantity.value)


def assigned(many: Many) -> dict[str, Value]:
    """The value of each unknown in x = 1, y = 2; in the order of the alphabet where all are letters.

    Empty when `many` is anything else.
    """
    named = [item for item in many.items if isinstance(item, Named)]
    values = {item.name: item.value for item in named}
    if not len(values) == len(named) == len(many.items):
        return {}
    return dict(sorted(values.items())) if all(len(name) == 1 for name in values) else values


def digits_value(based: Based) -> int | None:
    """The digits as a decimal number, for answers that leave the base out."""
    return int(based.digits) if based.digits.lstrip("-").isdigit() else None


def may_be_ratio(clock: Clock) -> bool:
    """True for 3:16, which may be a ratio: in lowest terms, with no minutes like 03 and no am or pm."""
    return not clock.half and not clock.second and clock.minute >= 10 and gcd(clock.hour, clock.minute) == 1


def clock_terms(clock: Clock) -> tuple[Ratio, ...]:
    """hour : minute, or hour : minute : second, as the terms of a ratio."""
    terms = (clock.hour, clock.minute, clock.second) if clock.second else (clock.hour, clock.minute)
    return tuple(map(integer, terms))


def same_time(one: Clock, two: Clock) -> bool:
    """True for one time of day. Where only one says am or pm, the other is as written or in 24 hours."""
    if one.half and two.half:
        return _seconds(one) == _seconds(two)
    if one.half or two.half:
        stated, bare = (one, two) if one.half else (two, one)
        plain = (stated.hour, stated.minute, stated.second) == (bare.hour, bare.minute, bare.second)
        return plain or (bare.hour > 12 and _seconds(stated) == _seconds(bare))
    return one == two


def _seconds(clock: Clock) -> int:
    hour = clock.hour if not clock.half else clock.hour % 12 + (12 if clock.half == "pm" else 0)
    return hour * 3600 + clock.minute * 60 + clock.second


def same_residue(one: Residue, two: Residue) -> bool:
    """True for one residue class."""
    if not equal(one.modulus, two.modulus):
        return False
    if equal(one.value, two.value):
        return True
    modulus, difference = as_integer(one.modulus), as_fraction(one.value - two.value)
    return modulus is not None and modulus != 0 and difference is not None and difference % modulus == 0
