"""Plain data survives the journey exactly; nothing else gets through."""

from __future__ import annotations

import struct
from collections import Counter, deque, namedtuple
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.sandbox.values import MAX_DEPTH, MAX_ITERATED, ValueCodecError, decode, encode

Point = namedtuple("Point", "x y")


class Level(IntEnum):
    HIGH = 3


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary()
    | st.fractions(max_denominator=10**9)
    | st.decimals(allow_nan=False)
)
KEYS = st.integers() | st.text() | st.tuples(st.integers(), st.text())
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS, inner) | st.sets(KEYS),
    max_leaves=30,
)


def exact(value: Any) -> Any:
    """The value with the type of everything in it spelt out."""
    if isinstance(value, dict):
        return dict, [(exact(key), exact(item)) for key, item in value.items()]
    if isinstance(value, list | tuple | deque):
        return type(value), [exact(item) for item in value]
    return type(value), value


@settings(deadline=None, max_examples=60)
@given(DATA)
def test_round_trip(value: object) -> None:
    assert exact(decode(encode(value))) == exact(value)


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_an_error(data: bytes) -> None:
    try:
        decode(data)
    except ValueCodecError:
        return


@settings(deadline=None, max_examples=60)
@given(DATA, st.data())
def test_damaged_bytes_are_a_value_or_an_error(value: object, data: st.DataObject) -> None:
    encoded = bytearray(encode(value))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    try:
        decode(bytes(encoded))
    except ValueCodecError:
        return


@pytest.mark.parametrize(
    ("value", "arrives"),
    [
        (Counter("aab"), {"a": 2, "b": 1}),
        (Point(1, 2), (1, 2)),
        (Level.HIGH, 3),
        (deque([1, 2]), deque([1, 2])),
        (range(1, 9, 2), range(1, 9, 2)),
        (frozenset({1}), frozenset({1})),
        (bytearray(b"x"), bytearray(b"x")),
        (1 + 2j, 1 + 2j),
        ("\ud800", "\ud800"),
    ],
)
def test_arrives_as(value: object, arrives: object) -> None:
    assert exact(decode(encode(value))) == exact(arrives)


@pytest.mark.parametrize("value", [iter([1, 2]), (x for x in (1, 2)), {1: 0, 2: 0}.keys(), map(int, "12")])
def test_an_iterator_arrives_as_an_iterator(value: object) -> None:
    arrived = decode(encode(value))
    assert iter(arrived) is arrived
    assert list(arrived) == [1, 2]


@pytest.mark.parametrize(
    "value",
    [object(), len, int, NotImplemented, ..., iter(int, 1), 1 << (1 << 21), memoryview(b"x")],
    ids=[
        "object",
        "function",
        "class",
        "NotImplemented",
        "Ellipsis",
        "endless",
        "huge integer",
        "memoryview",
    ],
)
def test_cannot_be_sent(value: object) -> None:
    with pytest.raises(ValueCodecError):
        encode(value)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_depth_is_bounded_both_ways() -> None:
    assert decode(encode(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(ValueCodecError, match="deeper"):
        encode(nested(MAX_DEPTH + 1))
    with pytest.raises(ValueCodecError, match="deeper"):
        decode((b"l" + struct.pack("<I", 1)) * 100_000 + b"N")


def block(tag: bytes, body: bytes) -> bytes:
    return tag + struct.pack("<I", len(body)) + body


def items(tag: bytes, *encoded: bytes) -> bytes:
    return tag + struct.pack("<I", len(encoded)) + b"".join(encoded)


COLLIDING = [encode(number * (2**61 - 1)) for number in range(1000)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"?",
        b"NN",
        b"i",
        b"f1234",
        block(b"s", b"\xff\xfe"),
        b"s\xff\xff\xff\xffabc",
        b"l\xff\xff\xff\xff",
        b"d\xff\xff\xff\xff",
        items(b"e", items(b"l")),
        b"d" + struct.pack("<I", 1) + items(b"l") + b"N",
        items(b"e", *COLLIDING),
        b"d" + struct.pack("<I", 1000) + b"N".join(COLLIDING) + b"N",
        items(b"R", encode(1), encode(0)),
        items(b"R", encode(1)),
        items(b"R", encode(1), encode(2.0)),
        items(b"R", encode(1 << 100_000), encode(3)),
        items(b"r", encode(0), encode(5), encode(0)),
        block(b"D", b"sNaN"),
        block(b"D", b"one"),
        block(b"D", b"\xff"),
        block(b"i", b"\x01" * (1 << 18)),
        items(b"l", *[b"N"] * 1001),
    ],
    ids=range(23),
)
def test_hostile_bytes(data: bytes) -> None:
    with pytest.raises(ValueCodecError):
        decode(data, max_values=1000)


def test_long_integers() -> None:
    for number in (10**5000, -(10**5000), 255, -128, 1 << 64):
        assert decode(encode(number)) == number


def test_signs_and_specials_of_floats() -> None:
    for value in (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324):
        assert struct.pack("<d", decode(encode(value))) == struct.pack("<d", value)
    for number in (Decimal("1E+1000"), Decimal("NaN"), Decimal("-0"), Fraction(1, 3)):
        assert str(decode(encode(number))) == str(number)


def test_an_iterator_is_consumed_within_bounds() -> None:
    assert len(list(decode(encode(iter(range(MAX_ITERATED)))))) == MAX_ITERATED
    with pytest.raises(ValueCodecError, match="iterator"):
        encode(iter(range(MAX_ITERATED + 1)))
