"""When a value or an output counts as the expected one."""

from __future__ import annotations

from collections import deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from verifiers.unit_tests.compare import same, same_output

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("expected", "actual", "answer"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1.0, 1, True),
        (1, True, False),
        (True, 1, False),
        (0, False, False),
        (True, True, True),
        (5, "5", False),
        ("5", 5, False),
        (None, False, False),
        (None, None, True),
        (0, None, False),
        ("a", "a", True),
        ("a", b"a", False),
        ("a", ["a"], False),
        (0.3, 0.1 + 0.2, True),
        (1.0, 1.0 + 1e-6, False),
        (0.0, 1e-12, False),
        (10**17, 1e17, True),
        (10**17 + 1, 1e17, False),
        (500000000500000000, 500000000500000000.0, True),
        (INF, INF, True),
        (INF, 1e308, False),
        (NAN, NAN, True),
        (NAN, 1.0, False),
        (10**400, 1e308, False),
        (0.5, Fraction(1, 2), True),
        (0.5, Decimal("0.5"), True),
        (0.1, Decimal("0.1"), False),
        ([1, 2], (1, 2), True),
        ([[1], [2]], ((1,), [2]), True),
        ([1, 2], [2, 1], False),
        ([1, 2], [1, 2, 3], False),
        ([1], [True], False),
        ([1, 2], {1, 2}, False),
        ([1, 2], deque([1, 2]), False),
        ([1, 2], range(1, 3), False),
        ([1, 2], iter([1, 2]), False),
        ({1, 2}, {2, 1}, True),
        ({1, 2}, frozenset({1, 2}), True),
        ({1}, {True}, False),
        ({(1, 2)}, {(2, 1)}, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": [1]}, {"a": (1,)}, True),
        ({"1": "a"}, {1: "a"}, True),
        ({"1": "a"}, {"1": "a"}, True),
        ({"-3": "a"}, {-3: "a"}, True),
        ({"01": "a"}, {1: "a"}, False),
        ({"1": "a"}, {True: "a"}, False),
        ({1: "a"}, {"1": "a"}, False),
        ({1: "a"}, {True: "a"}, False),
        ({"1": "a", "2": "b"}, {1: "a", 2: "c"}, False),
    ],
)
def test_same(expected: Any, actual: Any, answer: bool) -> None:
    assert same(expected, actual) is answer


@pytest.mark.parametrize(
    ("expected", "actual", "tolerance", "answer"),
    [
        (1.0, 1.05, 0.1, True),
        (1.0, 1.2, 0.1, False),
        (1000.0, 1090.0, 0.1, True),
        (1, 1.05, 0.1, True),
        (0.3, 0.1 + 0.2, 0, False),
        (INF, 5.0, 0.1, False),
        (1.0, INF, 0.1, False),
        (1.0, NAN, 0.1, False),
        (1.0, True, 0.1, False),
        (1.0, "1.0", 0.1, False),
        (10**400, 10**400 + 1, 0.1, False),
        ([1.0, {"a": 2.0}], [1.05, {"a": 2.05}], 0.1, True),
        (1 + 1j, 1.05 + 1j, 0.1, True),
    ],
)
def test_tolerance(expected: Any, actual: Any, tolerance: float, answer: bool) -> None:
    assert same(expected, actual, tolerance=tolerance) is answer


@pytest.mark.parametrize(
    ("expected", "actual", "answer"),
    [
        ([1, 2, 2], [2, 1, 2], True),
        ([1, 2, 2], [1, 1, 2], False),
        ([1, 2], {1, 2}, True),
        ([[1, 2], [3]], [[3], [2, 1]], True),
        ([[1, 2], [3]], [[3, 1], [2]], False),
        ([["a", "b"], ["c"]], [{"c"}, ("b", "a")], True),
        ([1, "a", None, [2.5]], [[2.5], None, "a", 1], True),
        ([1, True], [True, 1], True),
        ([1, 1], [True, 1], False),
        ([{"a": [1, 2]}, {"b": 1}], [{"b": 1}, {"a": [2, 1]}], True),
        ([0.3, 1.0], [1.0, 0.1 + 0.2], True),
        ([NAN, 1.0], [1.0, NAN], True),
        ("ab", "ba", False),
    ],
)
def test_unordered(expected: Any, actual: Any, answer: bool) -> None:
    assert same(expected, actual, unordered=True) is answer


@pytest.mark.parametrize(
    ("expected", "actual", "options", "answer"),
    [
        ("1\n2\n", "1\n2", {}, True),
        ("1\n2\n", "1 \r\n2\t\r\n\r\n", {}, True),
        ("1\n2\n", "1\r2\r", {}, True),
        ("1\n2\n", " 1\n2\n", {}, False),
        ("1\n2\n", "1\n\n2\n", {}, False),
        ("1 2\n", "1  2\n", {}, False),
        ("YES", "yes", {}, False),
        ("", "\n\n", {}, True),
        ("0.5 x", "0.5000001 x", {"tolerance": 1e-6}, True),
        ("0.5 x", "0.5000001 x", {}, False),
        ("0.5 x", "0.5 y", {"tolerance": 1e-6}, False),
        ("1", "nan", {"tolerance": 1e9}, False),
        ("1", "inf", {"tolerance": 1e9}, False),
        ("2\n1", "1\n2", {"unordered": True}, True),
        ("2\n1", "1\n2", {}, False),
    ],
)
def test_output(expected: str, actual: str, options: dict[str, Any], answer: bool) -> None:
    assert same_output(expected, actual, **options) is answer
