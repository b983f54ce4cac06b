"""Whether what a solution returned, or a program printed, is what was expected.

In: the expected value and the actual one, both of exact builtin types. Out: a truth value.

A list equals a tuple of the same items. True is not 1, "5" is not 5. An int equals a float of exactly its
value; two floats are equal within the tolerance. With `unordered`, every collection is a multiset.
"""

from __future__ import annotations

import cmath
import math
import re
from collections import deque
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

_LAST_DIGITS = 1e-9
_SEQUENCES = (list, tuple)
_COLLECTIONS = (list, tuple, set, frozenset, deque)
_NUMBERS = (int, float, complex, Decimal, Fraction)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")


def same(expected: Any, actual: Any, *, tolerance: float | None = None, unordered: bool = False) -> bool:
    """Whether `actual` counts as `expected`; see the module for the rules."""
    return _Comparison(tolerance, unordered).same(expected, actual)


def same_output(
    expected: str, actual: str, *, tolerance: float | None = None, unordered: bool = False
) -> bool:
    """Whether two texts have the same lines, but for line ends, trailing space and empty lines at the end.

    With a tolerance, numbers in the same place of a line may differ by it.
    """
    theirs, ours = _lines(actual), _lines(expected)
    if len(theirs) != len(ours):
        return False
    if unordered:
        theirs, ours = sorted(theirs), sorted(ours)
    return all(_same_line(mine, other, tolerance) for mine, other in zip(ours, theirs, strict=True))


class _Comparison:
    def __init__(self, tolerance: float | None, unordered: bool) -> None:
        self.tolerance = tolerance
        self.unordered = unordered

    def same(self, expected: Any, actual: Any) -> bool:
        kind, other = type(expected), type(actual)
        if self.unordered and kind in _COLLECTIONS and other in _COLLECTIONS:
            return self._same_multiset(list(expected), list(actual))
        if kind in _SEQUENCES and other in _SEQUENCES:
            return self._same_items(expected, actual)
        if kind in _NUMBERS and other in _NUMBERS:
            return _same_number(expected, actual, self.tolerance)
        if kind is dict and other is dict:
            return self._same_dict(expected, actual)
        if kind is deque and other is deque:
            return self._same_items(list(expected), list(actual))
        if {kind, other} <= {set, frozenset}:
            return self._same_multiset(list(expected), list(actual))
        return kind is other and bool(expected == actual)

    def _same_items(self, expected: Sequence[Any], actual: Sequence[Any]) -> bool:
        return len(expected) == len(actual) and all(map(self.same, expected, actual))

    def _same_dict(self, expected: dict[Any, Any], actual: dict[Any, Any]) -> bool:
        if len(expected) != len(actual):
            return False
        theirs = {_typed(key): value for key, value in actual.items()}
        for key, value in expected.items():
            name = next((name for name in _names(key) if name in theirs), None)
            if name is None or not self.same(value, theirs[name]):
                return False
        return True

    def _same_multiset(self, expected: list[Any], actual: list[Any]) -> bool:
        if len(expected) != len(actual):
            return False
        return all(map(self.same, sorted(expected, key=self._order), sorted(actual, key=self._order)))

    def _order(self, value: Any) -> Any:
        """A sort key for values of any kinds, mixed: a rank, and within the rank something comparable."""
        kind = type(value)
        if kind is int or kind is float:
            return (1,) if _is_nan(value) else (2, value)
        if kind is dict:
            return 5, sorted((self._order(key), self._order(item)) for key, item in value.items())
        if kind in _COLLECTIONS:
            keys = [self._order(item) for item in value]
            return 4, keys if kind in _SEQUENCES and not self.unordered else sorted(keys)
        return 3, kind.__name__, str(value)


def _same_number(expected: Any, actual: Any, tolerance: float | None) -> bool:
    if type(expected) is int and type(actual) is int and tolerance is None:
        return bool(expected == actual)
    if expected == actual or (_is_nan(expected) and _is_nan(actual)):
        return True
    try:
        if tolerance is not None:
            size, distance = abs(complex(expected)), abs(complex(expected) - complex(actual))
            return math.isfinite(size) and distance <= tolerance * max(1.0, size)
        both_inexact = isinstance(expected, float | complex) and isinstance(actual, float | complex)
        return both_inexact and cmath.isclose(expected, actual, rel_tol=_LAST_DIGITS, abs_tol=_LAST_DIGITS**2)
    except (OverflowError, ValueError):  # beyond a double, or a signalling NaN
        return False


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _typed(key: object) -> tuple[type, object]:
    """A dictionary key that tells True from 1."""
    return bool if type(key) is bool else object, key


def _names(key: object) -> list[tuple[type, object]]:
    """The keys that may stand for an expected one: JSON can write an integer key only as text."""
    as_integer = isinstance(key, str) and re.fullmatch(r"0|-?[1-9][0-9]{0,18}", key)
    return [_typed(key), *([_typed(int(str(key)))] if as_integer else [])]


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in re.split(r"\r\n|\r|\n", text)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same_line(expected: str, actual: str, tolerance: float | None) -> bool:
    if expected == actual:
        return True
    if tolerance is None:
        return False
    ours, theirs = expected.split(), actual.split()
    return len(ours) == len(theirs) and all(
        mine == other or _same_token(mine, other, tolerance) for mine, other in zip(ours, theirs, strict=True)
    )


def _same_token(expected: str, actual: str, tolerance: float) -> bool:
    if not (_NUMBER.fullmatch(expected) and _NUMBER.fullmatch(actual)):
        return False
    return _same_number(float(expected), float(actual), tolerance)
