"""The functions an answer may apply: logarithms, factorials, binomials, rounding, gcd and trigonometry.

In: the function's name and `Ratio` arguments. Out: `Ratio`: exact where a closed form is known,
otherwise an atom named by the function and its argument.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb, factorial, gcd, lcm

from verifiers.boxed import trigonometry
from verifiers.boxed.algebra import (
    ONE,
    ZERO,
    Atom,
    E,
    I,
    Poly,
    Ratio,
    as_fraction,
    as_integer,
    atoms,
    integer,
    of_atom,
    ratio,
    rational,
)
from verifiers.boxed.bounds import UnreadableError, spend
from verifiers.boxed.numeric import floor, sign
from verifiers.boxed.powers import factors, power, root
from verifiers.boxed.trigonometry import call, leading_positive

_MAX_FACTORIAL = 2_300
_MAX_SHIFT = 12


def apply(name: str, argument: Ratio) -> Ratio:
    """The function `name` of one argument.

    Raises:
        UnreadableError: the function is not known, or not defined there.
    """
    if name not in _ONE_ARGUMENT:
        raise UnreadableError(f"unknown function {name}")
    return _ONE_ARGUMENT[name](argument)


def names() -> frozenset[str]:
    """The functions `apply` knows."""
    return frozenset(_ONE_ARGUMENT)


# ---- logarithms and powers ---------------------------------------------------------------------


def _ln(argument: Ratio) -> Ratio:
    """The natural logarithm, split over factors; the variables in it count as positive."""
    if not argument.num or sign(argument) == -1:
        raise UnreadableError("the logarithm of a number that is not positive")
    total = ZERO
    for poly, direction in ((argument.num, 1), (argument.den, -1)):
        total = total + integer(direction) * _ln_poly(poly)
    return total


def _ln_poly(poly: Poly) -> Ratio:
    content = gcd(*poly.values())
    total = ZERO
    spend(4 + content.bit_length() // 40)
    for factor, count, _ in factors(content):
        total = total + integer(count) * of_atom(Atom("log", str(factor), (integer(factor),)))
    inner = {m: c // content for m, c in poly.items()}
    if len(inner) > 1 or next(iter(inner.values())) < 0:
        rest = ratio(inner, {(): 1})
        return total + of_atom(Atom("log", str(rest), (rest,)))
    for atom, exponent in next(iter(inner)):
        scale = rational(Fraction(exponent))
        total = total + (scale if atom == E else scale * of_atom(_log_atom(atom)))
    return total


def _log_atom(atom: Atom) -> Atom:
    return Atom("log", atom.name if atom.kind == "prime" else f"{atom.kind}:{atom.name}", (of_atom(atom),))


def raised(base: Ratio, exponent: Ratio) -> Ratio:
    """base ** exponent, e ** (r i pi) by its point on the unit circle."""
    if I in atoms(exponent) and str(base) == str(of_atom(E)):
        turned = trigonometry.unit_circle(exponent)
        if turned is not None:
            return turned
    return power(base, exponent)


def log(argument: Ratio, base: Ratio) -> Ratio:
    """The logarithm of `argument` to `base`."""
    return _ln(argument) / _ln(base)


# ---- whole numbers -----------------------------------------------------------------------------


def factorials(argument: Ratio) -> Ratio:
    """argument!; (n+1)! becomes (n+1) n!."""
    number = as_fraction(argument)
    if number is not None:
        if number < 0 or number.denominator != 1:
            raise UnreadableError("the factorial of a number that is not whole")
        if number > _MAX_FACTORIAL:
            return of_atom(Atom("call", f"factorial({number.numerator})"))
        spend(10 + number.numerator // 4)
        return integer(factorial(number.numerator))
    shift = Fraction(argument.num.get((), 0), argument.den[()]) if set(argument.den) == {()} else Fraction(0)
    if shift.denominator != 1 or abs(shift) > _MAX_SHIFT:
        return call("factorial", argument)
    start = argument - integer(shift.numerator)
    result = call("factorial", start)
    for step in range(1, shift.numerator + 1):
        result = result * (start + integer(step))
    for step in range(0, shift.numerator, -1):
        result = result / (start + integer(step))
    return result


def binomial(top: Ratio, bottom: Ratio) -> Ratio:
    """The binomial coefficient."""
    n, k = as_integer(top), as_integer(bottom)
    if k is not None and k < 0:
        return ZERO
    if n is not None and k is not None and n >= 0:
        if k > n:
            return ZERO
        k = min(k, n - k)
        if n <= 12_000 or k <= 200:
            spend(10 + k * k // 5_000 + k * n.bit_length() // 200)
            return integer(comb(n, k)) if k * n.bit_length() < 40_000 else call("binomial", top, integer(k))
        return call("binomial", top, integer(k))
    if k is not None and k <= _MAX_SHIFT:
        result = ONE
        for step in range(k):
            result = result * (top - integer(step)) / integer(step + 1)
        return result
    return factorials(top) / (factorials(bottom) * factorials(top - bottom))


def _floor(argument: Ratio) -> Ratio:
    whole = floor(argument)
    return integer(whole) if whole is not None else call("floor", argument)


def _ceil(argument: Ratio) -> Ratio:
    whole = floor(-argument)
    return integer(-whole) if whole is not None else call("ceil", argument)


def absolute(argument: Ratio) -> Ratio:
    """The absolute value, also of complex numbers."""
    direction = sign(argument)
    if direction is not None:
        return -argument if direction == -1 else argument
    if set(argument.den) == {()} and {a.kind for a in atoms(argument)} <= {"i", "prime", "root", "pi", "e"}:
        real = {m: c for m, c in argument.num.items() if all(a != I for a, _ in m)}
        imaginary = {tuple(f for f in m if f[0] != I): c for m, c in argument.num.items() if m not in real}
        parts = ratio(real, argument.den), ratio(imaginary, argument.den)
        return root(parts[0] * parts[0] + parts[1] * parts[1], 2)
    return of_atom(Atom("abs", str(leading_positive(argument)[0])))


def several(name: str, arguments: list[Ratio]) -> Ratio:
    """gcd, lcm, max or min of `arguments`."""
    numbers = [as_integer(argument) for argument in arguments]
    if name in ("gcd", "lcm"):
        whole = [number for number in numbers if number is not None]
        if len(whole) != len(arguments) or sum(n.bit_length() for n in whole) > 10_000:
            return of_atom(Atom("call", f"{name}({'; '.join(sorted(map(str, arguments)))})"))
        return integer(gcd(*whole) if name == "gcd" else lcm(*whole))
    best = arguments[0]
    for argument in arguments[1:]:
        direction = sign(argument - best)
        if direction is None:
            return of_atom(Atom("call", f"{name}({'; '.join(sorted(map(str, arguments)))})"))
        if (direction > 0) == (name == "max"):
            best = argument
    return best


def _one_argument() -> dict[str, Callable[[Ratio], Ratio]]:
    table: dict[str, Callable[[Ratio], Ratio]] = {
        **trigonometry.FUNCTIONS,
        "ln": _ln,
        "exp": lambda x: raised(of_atom(E), x),
        "log": lambda x: log(x, integer(10)),
        "lg": lambda x: log(x, integer(10)),
        "floor": _floor,
        "ceil": _ceil,
        "abs": absolute,
    }
    for name in ("sinh", "cosh", "tanh", "arg", "sgn", "Re", "Im", "det", "deg", "phi", "Gamma"):
        table[name] = lambda x, name=name: call(name, x)  # type: ignore[misc]
    return table


_ONE_ARGUMENT = _one_argument()
