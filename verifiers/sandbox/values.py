"""Plain data as bytes, for two processes that do not trust each other.

In: a value of builtin types, or bytes from a peer that may lie. Out: bytes, or a value of exact builtin
types.

A value is a tag byte and its body; lengths are 32 bits, little endian. Nothing in it can name a class or run
code, and reading is bounded in depth, number of values, size of numbers and colliding hashes. What a subclass
holds is sent as its base (Counter, namedtuple and IntEnum arrive as dict, tuple and int); an iterator is
consumed, at most `MAX_ITERATED` items, and arrives as an iterator.
"""

from __future__ import annotations

import struct
from collections import Counter, deque
from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, KeysView, ValuesView
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

MAX_DEPTH = 100
MAX_VALUES = 1_000_000
MAX_BYTES = 64 << 20
MAX_ITERATED = 100_000
_MAX_INT_BYTES = 128 << 10
_MAX_FRACTION_BITS = 8_192  # reducing a fraction costs the square of its length
_MAX_DECIMAL_CHARACTERS = 4_096
_MAX_SAME_HASH = 64  # more values of one hash make a set quadratic

_LENGTH = struct.Struct("<I")
_DOUBLE = struct.Struct("<d")
_COMPLEX = struct.Struct("<dd")


class ValueCodecError(ValueError):
    """The value is not plain data within the limits, or the bytes are not a value; says which."""


def encode(value: object) -> bytes:
    """The bytes of `value`.

    Raises:
        ValueCodecError: a type that is not data, deeper than `MAX_DEPTH`, or longer than `MAX_BYTES`.
    """
    out = bytearray()
    _write(value, out, 0)
    return bytes(out)


def decode(data: bytes, *, max_values: int = MAX_VALUES) -> Any:  # any builtin value
    """The value that `data` encodes; every object in it has an exact builtin type.

    Raises:
        ValueCodecError: the bytes are not one value, or exceed a limit.
    """
    reader = _Reader(data, max_values)
    value = reader.value(0)
    if reader.at != len(data):
        raise ValueCodecError("bytes follow the value")
    return value


# ------------------------------------------------------------------------------------------ writing


def _write(value: object, out: bytearray, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueCodecError(f"value is nested deeper than {MAX_DEPTH}")
    if len(out) > MAX_BYTES:
        raise ValueCodecError(f"value is longer than {MAX_BYTES} bytes")
    writer = _WRITERS.get(type(value)) or _writer_of_base(value)
    writer(value, out, depth + 1)


def _writer_of_base(value: object) -> _Writer:
    for base, writer in _WRITERS.items():
        if isinstance(value, base):
            return writer
    if isinstance(value, Iterator | KeysView | ValuesView | ItemsView):
        return _write_iterator
    raise ValueCodecError(f"a {type(value).__name__} is not plain data")


def _write_block(tag: bytes, body: bytes, out: bytearray) -> None:
    out += tag + _LENGTH.pack(len(body))
    out += body


def _write_items(tag: bytes, items: Collection[object], out: bytearray, depth: int) -> None:
    out += tag + _LENGTH.pack(len(items))
    for item in items:
        _write(item, out, depth)


def _write_int(value: Any, out: bytearray, _: int) -> None:
    size = int.bit_length(value) // 8 + 1
    if size > _MAX_INT_BYTES:
        raise ValueCodecError(f"an integer is longer than {_MAX_INT_BYTES} bytes")
    _write_block(b"i", int.to_bytes(value, size, "little", signed=True), out)


def _write_dict(value: Any, out: bytearray, depth: int) -> None:
    items = list(dict.items(value))
    out += b"d" + _LENGTH.pack(len(items))
    for key, item in items:
        _write(key, out, depth)
        _write(item, out, depth)


def _write_iterator(value: Any, out: bytearray, depth: int) -> None:
    items: list[object] = []
    for item in value:
        if len(items) == MAX_ITERATED:
            raise ValueCodecError(f"an iterator gave more than {MAX_ITERATED} items")
        items.append(item)
    _write_items(b"I", items, out, depth)


def _items_writer(tag: bytes, contents: Callable[[Any], Iterable[object]]) -> _Writer:
    def write(value: object, out: bytearray, depth: int) -> None:
        _write_items(tag, list(contents(value)), out, depth)

    return write


def _block_writer(tag: bytes, body: Callable[[Any], bytes]) -> _Writer:
    def write(value: object, out: bytearray, _: int) -> None:
        _write_block(tag, body(value), out)

    return write


def _write_bool(value: object, out: bytearray, _: int) -> None:
    out += b"T" if value else b"F"


def _write_float(value: Any, out: bytearray, _: int) -> None:
    out += b"f" + _DOUBLE.pack(value)


def _write_complex(value: Any, out: bytearray, _: int) -> None:
    out += b"c" + _COMPLEX.pack(value.real, value.imag)


_Writer = Callable[[Any, bytearray, int], None]

# The contents are asked of the base type, so that a subclass cannot answer for itself.
_WRITERS: dict[type, _Writer] = {
    type(None): lambda _, out, __: out.extend(b"N"),
    bool: _write_bool,
    int: _write_int,
    float: _write_float,
    complex: _write_complex,
    str: _block_writer(b"s", lambda value: str.encode(value, "utf-8", "surrogatepass")),
    bytes: _block_writer(b"b", lambda value: bytes(memoryview(value))),
    bytearray: _block_writer(b"y", lambda value: bytes(memoryview(value))),
    list: _items_writer(b"l", list.__iter__),
    tuple: _items_writer(b"t", tuple.__iter__),
    set: _items_writer(b"e", set.__iter__),
    frozenset: _items_writer(b"z", frozenset.__iter__),
    deque: _items_writer(b"q", deque.__iter__),
    range: _items_writer(b"r", lambda value: (value.start, value.stop, value.step)),
    Fraction: _items_writer(b"R", lambda value: (value.numerator, value.denominator)),
    Decimal: _block_writer(b"D", lambda value: str(value).encode()),
    dict: _write_dict,
}


# ------------------------------------------------------------------------------------------ reading


class _Reader:
    """Reads one value from bytes of which nothing is taken on trust."""

    def __init__(self, data: bytes, max_values: int) -> None:
        self.data = data
        self.at = 0
        self.values_left = max_values

    def value(self, depth: int) -> Any:
        self.values_left -= 1
        if self.values_left < 0:
            raise ValueCodecError("too many values")
        if depth > MAX_DEPTH:
            raise ValueCodecError(f"value is nested deeper than {MAX_DEPTH}")
        tag = self._take(1)
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag == b"f":
            return _DOUBLE.unpack(self._take(8))[0]
        if tag == b"c":
            return complex(*_COMPLEX.unpack(self._take(16)))
        length: int = _LENGTH.unpack(self._take(4))[0]
        if tag in _BLOCKS:
            return _BLOCKS[tag](self._take(length))
        if tag == b"d":
            return self._dict(length, depth + 1)
        if tag in _CONTAINERS:
            return _CONTAINERS[tag](self._items(length, depth + 1))
        raise ValueCodecError(f"unknown tag {tag!r}")

    def _take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise ValueCodecError("the value is cut off")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def _items(self, count: int, depth: int) -> list[Any]:
        if count > self.values_left:
            raise ValueCodecError("too many values")
        return [self.value(depth) for _ in range(count)]

    def _dict(self, count: int, depth: int) -> dict[Any, Any]:
        flat = self._items(2 * count, depth)
        _check_hashes(flat[::2])
        return dict(zip(flat[::2], flat[1::2], strict=True))


def _check_hashes(keys: list[Any]) -> None:
    try:
        counts = Counter(sorted(map(hash, keys)))
    except TypeError as error:
        raise ValueCodecError(f"a key or member cannot be hashed: {error}") from error
    if counts and max(counts.values()) > _MAX_SAME_HASH:
        raise ValueCodecError(f"more than {_MAX_SAME_HASH} keys or members share a hash")


def _read_text(body: bytes) -> str:
    try:
        return body.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueCodecError("text is not UTF-8") from error


def _read_int(body: bytes) -> int:
    if len(body) > _MAX_INT_BYTES:
        raise ValueCodecError("an integer is too long")
    return int.from_bytes(body, "little", signed=True)


def _read_decimal(body: bytes) -> Decimal:
    try:
        number = Decimal(body[:_MAX_DECIMAL_CHARACTERS].decode("ascii"))
    except (InvalidOperation, UnicodeDecodeError) as error:
        raise ValueCodecError("not a decimal number") from error
    if number.is_snan():
        raise ValueCodecError("a signalling NaN cannot be compared")
    return number


def _read_fraction(items: list[Any]) -> Fraction:
    numerator, denominator = _ints(items, 2)
    if max(numerator.bit_length(), denominator.bit_length()) > _MAX_FRACTION_BITS or denominator == 0:
        raise ValueCodecError("a fraction is out of bounds")
    return Fraction(numerator, denominator)


def _read_range(items: list[Any]) -> range:
    start, stop, step = _ints(items, 3)
    if step == 0:
        raise ValueCodecError("a range has step 0")
    return range(start, stop, step)


def _ints(items: list[Any], count: int) -> list[int]:
    if len(items) != count or any(type(item) is not int for item in items):
        raise ValueCodecError(f"expected {count} integers")
    return items


def _read_set(items: list[Any]) -> set[Any]:
    _check_hashes(items)
    return set(items)


_CONSTANTS: dict[bytes, Any] = {b"N": None, b"T": True, b"F": False}
_BLOCKS: dict[bytes, Callable[[bytes], Any]] = {
    b"i": _read_int,
    b"s": _read_text,
    b"b": bytes,
    b"y": bytearray,
    b"D": _read_decimal,
}
_CONTAINERS: dict[bytes, Callable[[list[Any]], Any]] = {
    b"l": list,
    b"t": tuple,
    b"e": _read_set,
    b"z": lambda items: frozenset(_read_set(items)),
    b"q": deque,
    b"I": iter,
    b"r": _read_range,
    b"R": _read_fraction,
}
