"""Parses text files row by row, so that one broken row is one bad row.

In: a JSONL, JSON or CSV file. Out: `Parsed`: records with the place of each, and the place and cause of
each row that is none; of JSONL and CSV in parts, so that a file may be larger than memory. JSON values
keep their types; CSV cells stay text, for "007" and "1.50" are answers. A byte order mark is skipped.
"""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple, NoReturn, Protocol

from curriculum.errors import UsageError

Record = dict[str, object]

_BOM = b"\xef\xbb\xbf"


class Parsed(NamedTuple):
    """The records of a file, where each stands in it, and the (place, cause) of the rows that are none."""

    records: list[Record]
    numbers: list[int]
    bad: list[tuple[int, str]]


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


parse_json = json.JSONDecoder(parse_constant=_refuse_constant).decode
"""The value of a JSON text. Raises ValueError or RecursionError; NaN and infinities are refused."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def json_lines(file: Iterable[bytes], *, part_bytes: float = math.inf) -> Iterator[Parsed]:
    """One object a line, counted from 1; blank lines are skipped. Gives at least one part.

    Args:
        file: the lines of the file, as an open binary file gives them.
        part_bytes: bytes of text after which a part ends.
    """
    parsed, size = Parsed([], [], []), 0
    for number, start, line in _lines(file):
        if line and not line.isspace():
            record = _json_record(line, start)
            if isinstance(record, str):
                parsed.bad.append((number, record))
            else:
                parsed.records.append(record)
                parsed.numbers.append(number)
        size += len(line)
        if size >= part_bytes:
            yield parsed
            parsed, size = Parsed([], [], []), 0
    yield parsed


def _lines(file: Iterable[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Each line without its end, its number, from 1, and the place of its first byte in the file."""
    start = 0
    for number, line in enumerate(file, 1):
        skipped = len(_BOM) if start == 0 and line.startswith(_BOM) else 0
        yield number, start + skipped, line[skipped:].removesuffix(b"\n")
        start += len(line)


def _json_record(line: bytes, start: int) -> Record | str:
    """The object on a line that starts at byte `start`, or why there is none."""
    try:
        value = parse_json(line.decode())
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 at byte {start + error.start} of the file"
    except (ValueError, RecursionError) as error:
        return f"invalid JSON: {error}"
    return _checked(value, escaped=bool(_SURROGATE.search(line)))


def _checked(value: object, *, escaped: bool) -> Record | str:
    """The value if it is an object of proper text, or why not; `escaped` text may hold half a character."""
    if not isinstance(value, dict):
        return f"a JSON value of type {type(value).__name__}, not an object"
    try:
        if escaped:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "half of a surrogate pair, which is no text"
    return value


def json_array(data: bytes, path: str) -> Parsed:
    """One array of objects, counted from 0.

    Raises:
        UsageError: the file is not JSON; its place in the file is in the message.
    """
    try:
        values = parse_json(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        do = "mend it, or write one object a line"
        raise UsageError(f"not a JSON array: {error}", where=path, do=do) from error
    parsed = Parsed([], [], [])
    escaped = bool(_SURROGATE.search(data))
    for number, value in enumerate(values):
        record = _checked(value, escaped=escaped)
        if isinstance(record, str):
            parsed.bad.append((number, record))
        else:
            parsed.records.append(record)
            parsed.numbers.append(number)
    return parsed


def csv_rows(file: Iterable[bytes], path: str, *, part_bytes: float = math.inf) -> Iterator[Parsed]:
    """One record a row below the header, counted by lines from 1; blank lines are skipped.

    Args:
        file: the lines of the file, as an open binary file gives them.
        path: its name in errors.
        part_bytes: characters in cells after which a part ends. There is at least one part.

    Raises:
        UsageError: the header is not CSV, not UTF-8, or names two columns alike.
    """
    broken: dict[int, str] = {}
    reader = csv.reader(_text_lines(file, broken), strict=True)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield from _rows(reader, _header(reader, broken, path), broken, part_bytes)
    finally:
        csv.field_size_limit(limit)


def _text_lines(file: Iterable[bytes], broken: dict[int, str]) -> Iterator[str]:
    """The lines of a text; those that are not UTF-8 go through escaped and are noted in `broken`."""
    for number, start, line in _lines(file):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            text = line.decode(errors="surrogateescape")
            broken[number] = f"invalid UTF-8 at byte {start + error.start} of the file"
        yield text + "\n"


class _Reader(Protocol):
    """A `csv.reader`, whose own type has no public name."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]: ...
    def __next__(self) -> list[str]: ...


def _header(reader: _Reader, broken: dict[int, str], path: str) -> list[str]:
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise UsageError(f"the header is not CSV: {error}", where=f"{path}, line 1") from error
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise UsageError(f"two columns are called {twice[0]!r}", where=f"{path}, line 1", do="rename one")
    if broken:
        fault = next(iter(broken.values()))
        raise UsageError(f"the header holds {fault}", where=f"{path}, line 1", do="save it as UTF-8")
    return header


def _rows(reader: _Reader, header: list[str], broken: dict[int, str], part_bytes: float) -> Iterator[Parsed]:
    parsed, size = Parsed([], [], []), 0
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            # A quote that is never closed takes all the lines after it along.
            lines = f", up to line {reader.line_num}" if reader.line_num > first else ""
            parsed.bad.append((first, f"invalid CSV: {error}{lines}"))
            continue
        if cells is None:
            break
        faults = [broken.pop(line) for line in range(first, reader.line_num + 1) if line in broken]
        if faults:
            parsed.bad.append((first, faults[0]))
        elif cells and len(cells) != len(header):
            parsed.bad.append((first, f"{len(cells)} cells, but the header has {len(header)}"))
        elif cells:
            parsed.records.append(dict(zip(header, cells, strict=True)))
            parsed.numbers.append(first)
        size += sum(map(len, cells))
        if size >= part_bytes:
            yield parsed
            parsed, size = Parsed([], [], []), 0
    yield parsed
