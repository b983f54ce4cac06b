"""Powers and roots of exact expressions, brought to one form where that is cheap.

In: `Ratio` base and exponent. Out: `Ratio`. Roots of whole numbers become roots of primes, i comes
out of even roots of negatives, odd roots of negatives are real, and exponents with variables are
split over their terms, so that 2^(n+1) is 2 * 2^n and 4^n is (2^n)^2.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import gcd, isqrt

from verifiers.boxed.algebra import (
    ONE,
    ZERO,
    Atom,
    E,
    Exponent,
    I,
    Monomial,
    Poly,
    Ratio,
    as_fraction,
    monomial_power,
    of_atom,
    poly_mul,
    poly_power,
    poly_text,
    ratio,
)
from verifiers.boxed.bounds import MAX_BITS, TooHardError, UnreadableError, spend
from verifiers.boxed.numeric import is_real_algebraic, sign

_PRIME_LIMIT = 1000
_PRIMES = tuple(n for n in range(2, _PRIME_LIMIT) if all(n % d for d in range(2, isqrt(n) + 1)))
_MAX_EXPANDED = 60
"""Terms an expanded power may have; a larger one stays a power of its base."""
_MAX_ROOT = 4096
_MAX_POWER_BITS = 256
"""Size up to which a number is tried as a perfect power."""


def power(base: Ratio, exponent: Ratio) -> Ratio:
    """base ** exponent.

    Raises:
        UnreadableError: 0 to a power that is not positive.
        TooHardError: a bound was reached.
    """
    number = as_fraction(exponent)
    if number is not None:
        return _rational_power(base, number)
    if not base.num:
        raise UnreadableError("zero to an unknown power")
    return _symbolic_power(base, exponent)


def root(value: Ratio, degree: int) -> Ratio:
    """The principal root of degree `degree`, real for odd degrees of negative numbers."""
    if not 1 <= degree <= _MAX_ROOT:
        raise TooHardError(f"a root of degree {degree}")
    return _rational_power(value, Fraction(1, degree))


def _rational_power(base: Ratio, exponent: Fraction) -> Ratio:
    if not base.num:
        if exponent <= 0:
            raise UnreadableError("zero to a power that is not positive")
        return ZERO
    if exponent < 0:
        base, exponent = ratio(base.den, base.num), -exponent
    whole, degree = exponent.numerator, exponent.denominator
    if degree > _MAX_ROOT:
        raise TooHardError(f"a root of degree {degree}")
    if degree > 1:
        # (n/d)^(1/k) = (n d^(k-1))^(1/k) / d keeps the radicand a polynomial.
        if len(base.den) > 1 or len(base.num) > 1:
            radicand = poly_mul(base.num, _whole_power(base.den, degree - 1))
            base = ratio(_root_poly(radicand, degree), base.den)
            return base if whole == 1 else _rational_power(base, Fraction(whole))
        top, bottom = _root_poly(base.num, degree), _root_poly(base.den, degree)
        return ratio(_whole_power(top, whole), _whole_power(bottom, whole))
    return ratio(_whole_power(base.num, whole), _whole_power(base.den, whole))


def _whole_power(poly: Poly, exponent: int) -> Poly:
    """poly ** exponent; a huge one stays symbolic."""
    if exponent == 0:
        return {(): 1}
    if len(poly) == 1:
        ((monomial, coefficient),) = poly.items()
        return poly_mul(monomial_power(monomial, exponent), _integer_power(coefficient, exponent))
    terms, count = 1, len(poly)
    for k in range(1, min(exponent, _MAX_EXPANDED + 1) + 1):  # binomial(exponent + count - 1, count - 1)
        terms = terms * (k + count - 1) // k
    if terms <= _MAX_EXPANDED or exponent <= 2 or all(_is_constant(atom) for m in poly for atom, _ in m):
        return poly_power(poly, exponent)
    content = gcd(*poly.values())
    inner = {m: c // content for m, c in poly.items()}
    atom = Atom("base", poly_text(inner))
    return poly_mul({((atom, exponent),): 1}, _integer_power(content, exponent))


def _is_constant(atom: Atom) -> bool:
    return atom.kind in ("prime", "i")


def _integer_power(value: int, exponent: Exponent) -> Poly:
    """value ** exponent for a positive exponent, as primes when it is too large to write out."""
    if value == 1:
        return {(): 1}
    if exponent.denominator == 1 and value.bit_length() * exponent <= MAX_BITS:
        return {(): value**exponent.numerator}
    result: Poly = {(): 1}
    if value < 0:
        result, value = {(): -1 if exponent.numerator % 2 else 1}, -value
    spend(4 + value.bit_length() // 40)
    for prime, count, certain in factors(value):
        result = poly_mul(result, monomial_power(((_prime(prime, certain), 1),), count * exponent))
    return result


def _prime(value: int, certain: bool) -> Atom:
    return Atom("prime", str(value), (value, certain))


@lru_cache(maxsize=1024)
def factors(value: int) -> tuple[tuple[int, int, bool], ...]:
    """(factor, count, certainly prime) of a positive integer, by the primes below 1000.

    What is left has no small factor; it is prime when below 10**6, and otherwise a number of unknown
    factors, below 2**256 no perfect power.
    """
    found: list[tuple[int, int, bool]] = []
    for prime in _PRIMES:
        if prime * prime > value:
            break
        count = 0
        while value % prime == 0:
            value, count = value // prime, count + 1
        if count:
            found.append((prime, count, True))
    if value > 1:
        rest, count = _perfect_power(value)
        found.append((rest, count, rest < _PRIME_LIMIT**2))
    return tuple(found)


def _perfect_power(value: int) -> tuple[int, int]:
    """(b, k) with b**k == value and k as large as possible; value has no factor below 1000."""
    if value.bit_length() > _MAX_POWER_BITS:
        return value, 1
    for k in range(min(value.bit_length() // 9, 64), 1, -1):
        low, high = 1, 1 << (value.bit_length() // k + 1)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if middle**k <= value else (low, middle - 1)
        if low**k == value:
            return low, k
    return value, 1


def _root_poly(poly: Poly, degree: int) -> Poly:
    """The root of `poly`, its integer content and a single monomial taken out."""
    content = gcd(*poly.values())
    if len(poly) == 1:
        ((monomial, coefficient),) = poly.items()
        return poly_mul(_integer_root(coefficient, degree), _monomial_root(monomial, degree))
    spend(5)
    inner: Poly = {m: c // content for m, c in poly.items()}
    direction = sign(Ratio(inner, {(): 1}))
    outer = _integer_root(content, degree)
    if direction == 0:
        return {}
    if direction == -1:
        inner = {m: -c for m, c in inner.items()}
        outer = poly_mul(outer, _integer_root(-1, degree))
    real = direction is not None
    algebraic = real and all(is_real_algebraic(atom) for term in inner for atom, _ in term)
    atom = Atom("root", f"{degree}({poly_text(inner)})", (degree, inner, real, algebraic))
    return poly_mul(outer, {((atom, 1),): 1})


def _integer_root(value: int, degree: int) -> Poly:
    if value < 0:
        turn = _minus_one_root(degree)
        return poly_mul(turn, _integer_root(-value, degree))
    if value.bit_length() > 4096:
        raise TooHardError("a root of a number with too many digits")
    return _integer_power(value, Fraction(1, degree))


def _minus_one_root(degree: int) -> Poly:
    if degree % 2:
        return {(): -1}
    if degree == 2:
        return {((I, 1),): 1}
    return {((Atom("sign", "half turn"), Fraction(1, degree)),): 1}


def _monomial_root(monomial: Monomial, degree: int) -> Poly:
    """The root of a product of atoms; sqrt(x^2) is |x|."""
    result: Poly = {(): 1}
    for atom, given in monomial:
        exponent = Fraction(given) / degree
        if atom.kind == "var" and degree % 2 == 0 and given % 2 == 0 and exponent % 2 == 1:
            atom = Atom("abs", poly_text({((atom, 1),): 1}))
        result = poly_mul(result, monomial_power(((atom, 1),), exponent))
    return result


def _symbolic_power(base: Ratio, exponent: Ratio) -> Ratio:
    """base ** exponent for an exponent that is no rational number."""
    if len(exponent.den) > 1 or () not in exponent.den or len(base.num) > 1 or len(base.den) > 1:
        return of_atom(Atom("power", f"({base})^({exponent})"))
    divisor = exponent.den[()]
    result = ONE
    for monomial, coefficient in exponent.num.items():
        part = Fraction(coefficient, divisor)
        if not monomial:
            result = result * _rational_power(base, part)
        else:
            result = result * _monomial_exponent(base, monomial, part)
    return result


def _monomial_exponent(base: Ratio, monomial: Monomial, scale: Fraction) -> Ratio:
    """base ** (scale * monomial), base a single term."""
    result = ONE
    for poly, direction in ((base.num, 1), (base.den, -1)):
        ((factors_of, coefficient),) = poly.items()
        pieces: list[tuple[Atom, Exponent]] = list(factors_of)
        if coefficient < 0:
            pieces.append((Atom("minus one", "-1"), 1))
        pieces += [(_prime(p, certain), count) for p, count, certain in factors(abs(coefficient))]
        for atom, count in pieces:
            result = result * _atom_power(atom, monomial, scale * direction * count)
    return result


def _atom_power(atom: Atom, monomial: Monomial, scale: Fraction) -> Ratio:
    """atom ** (scale * monomial)."""
    name = poly_text({monomial: 1})
    if atom.kind == "minus one":
        return of_atom(Atom("sign", name), scale % 2)
    if atom == E and len(monomial) == 1 and monomial[0][0].kind == "log" and monomial[0][1] == 1:
        return _rational_power(monomial[0][0].args[0], scale)  # e^(c ln a) = a^c
    return of_atom(Atom("power", f"{atom.kind}:{atom.name}^({name})"), scale)
