"""Reads one source into rows, keeping what it was: an Arrow table, or the records of a text file.

In: a `Source`. Out: `Loaded`: the rows, where each stands in its file, the rows that could not be
parsed, and the file's size and hash.

Parquet files and datasets keep their Arrow schema. Text files are parsed row by row in Python, so that
one broken row is one bad row. JSON values keep their types; CSV cells stay text, for "007" and "1.50"
are answers. Rows are counted as a user would look them up: from line 1 in JSONL and CSV, where a row of
several lines counts by its first, and from row 0 in Parquet, JSON arrays and datasets.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from curriculum.errors import UsageError
from curriculum.pool.sources import Source, is_saved

Record = dict[str, object]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """What was read: rows include those that turned out bad; sha256 is of the file's bytes or, for a
    dataset, of its rows as an Arrow stream."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that cannot be read, and why. `row` counts from 1 when `unit` is "line", else from 0."""

    file: str
    row: int
    cause: str
    unit: Literal["line", "row"] = "row"

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.row}: {self.cause}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The rows of one source; `numbers[i]` says where row i stands in it."""

    file: SourceFile
    rows: pa.Table | list[Record]
    numbers: Sequence[int]
    unit: Literal["line", "row"]
    bad: tuple[BadRow, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns; of records, every key in the order of first appearance."""
        if isinstance(self.rows, pa.Table):
            return self.rows.column_names
        return list(dict.fromkeys(key for record in self.rows for key in record))


class _Reader(Protocol):
    """A `csv.reader`, whose own type has no public name."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]: ...
    def __next__(self) -> list[str]: ...


class _Parsed(NamedTuple):
    records: list[Record]
    numbers: list[int]
    bad: list[tuple[int, str]]


def load(source: Source) -> Loaded:
    """Reads a source whole.

    Raises:
        UsageError: it cannot be opened or is not what its name says.
    """
    if source.kind == "dataset":
        return _dataset(source)
    path = Path(source.path)
    try:
        size, sha256 = path.stat().st_size, _sha256(path)
        if source.kind == "parquet":
            table = pq.read_table(path, partitioning=None)
            file = SourceFile(source.path, table.num_rows, size, sha256)
            return Loaded(file, table, range(table.num_rows), "row")
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, pa.ArrowException) as error:
        raise UsageError(f"cannot be read as {source.kind}: {error}", where=source.path) from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    array = source.kind == "json" and data.lstrip().startswith(b"[")
    parsed = (
        _json_array(data, source.path)
        if array
        else _csv(data, source.path)
        if source.kind == "csv"
        else _json_lines(data)
    )
    unit: Literal["line", "row"] = "row" if array else "line"
    file = SourceFile(source.path, len(parsed.records) + len(parsed.bad), size, sha256)
    bad = tuple(BadRow(source.path, number, cause, unit) for number, cause in parsed.bad)
    return Loaded(file, parsed.records, parsed.numbers, unit, bad)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


parse_json = json.JSONDecoder(parse_constant=_refuse_constant).decode
"""The value of a JSON text. Raises ValueError or RecursionError; NaN and infinities are refused."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _json_lines(data: bytes) -> _Parsed:
    parsed = _Parsed([], [], [])
    start = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if line and not line.isspace():
            record = _json_record(line, start)
            if isinstance(record, str):
                parsed.bad.append((number, record))
            else:
                parsed.records.append(record)
                parsed.numbers.append(number)
        start += len(line) + 1
    return parsed


def _json_record(line: bytes, start: int) -> Record | str:
    """The object on a line that starts at byte `start`, or why there is none."""
    try:
        record = parse_json(line.decode())
        if _SURROGATE.search(line):
            json.dumps(record, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        return f"invalid UTF-8 at byte {start + error.start} of the file"
    except UnicodeEncodeError:
        return "half of a surrogate pair, which is no text"
    except (ValueError, RecursionError) as error:
        return f"invalid JSON: {error}"
    return record if isinstance(record, dict) else _not_an_object(record)


def _not_an_object(value: object) -> str:
    return f"a JSON value of type {type(value).__name__}, not an object"


def _json_array(data: bytes, path: str) -> _Parsed:
    try:
        values = parse_json(data.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"not a JSON array: {error}", where=path, do="mend it, or write one object a line"
        ) from error
    good = [i for i, value in enumerate(values) if isinstance(value, dict)]
    bad = [
        (i, f"a JSON {type(v).__name__}, not an object")
        for i, v in enumerate(values)
        if not isinstance(v, dict)
    ]
    return _Parsed([values[i] for i in good], good, bad)


def _csv(data: bytes, path: str) -> _Parsed:
    broken: dict[int, str] = {}
    reader = csv.reader(_text_lines(data, broken), strict=True)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        header = next(reader, [])
        twice = sorted({name for name in header if header.count(name) > 1})
        if twice:
            raise UsageError(f"two columns are called {twice[0]!r}", where=f"{path}, line 1", do="rename one")
        if broken:
            raise UsageError(f"the header holds {broken[1]}", where=f"{path}, line 1", do="save it as UTF-8")
        return _csv_rows(reader, header, broken)
    except csv.Error as error:
        raise UsageError(f"the header is not CSV: {error}", where=f"{path}, line 1") from error
    finally:
        csv.field_size_limit(limit)


def _text_lines(data: bytes, broken: dict[int, str]) -> Iterator[str]:
    """The lines of a text; those that are not UTF-8 go through escaped and are noted in `broken`."""
    start = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            text = line.decode(errors="surrogateescape")
            broken[number] = f"invalid UTF-8 at byte {start + error.start} of the file"
        start += len(line) + 1
        yield text + "\n"


def _csv_rows(reader: _Reader, header: list[str], broken: dict[int, str]) -> _Parsed:
    parsed = _Parsed([], [], [])
    while True:
        first = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            parsed.bad.append((first, f"invalid CSV: {error}"))
            continue
        if cells is None:
            return parsed
        faults = [broken[line] for line in range(first, reader.line_num + 1) if line in broken]
        if faults:
            parsed.bad.append((first, faults[0]))
        elif cells and len(cells) != len(header):
            parsed.bad.append((first, f"{len(cells)} cells, but the header has {len(header)}"))
        elif cells:
            parsed.records.append(dict(zip(header, cells, strict=True)))
            parsed.numbers.append(first)


def _dataset(source: Source) -> Loaded:
    """The rows of a `save_to_disk` folder or of `datasets.load_dataset`."""
    import datasets

    folder = Path(source.path).expanduser()
    try:
        if is_saved(folder):
            found = datasets.load_from_disk(str(folder))
        else:
            found = datasets.load_dataset(source.path, source.config, split=source.split)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        do = "name a file, a folder, a `save_to_disk` folder, or name:config:split"
        raise UsageError(f"no file or dataset can be read: {error}", where=source.title, do=do) from error
    if isinstance(found, dict):
        split = source.split or (next(iter(found)) if len(found) == 1 else "")
        if split not in found:
            problem = f"a dataset has no split {split!r}" if split else "a dataset has several splits"
            do = f"name one: {' or '.join(f'{source.path}:{name}' for name in found)}"
            raise UsageError(problem, where=source.title, do=do)
        found = found[split]
    table: pa.Table = found.with_format("arrow")[:]
    file = SourceFile(source.title, table.num_rows, table.nbytes, _table_sha256(table))
    return Loaded(file, table, range(table.num_rows), "row")


class _Hashing(io.RawIOBase):
    """A file that keeps nothing but the hash of what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.sha256 = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return len(data)


def _table_sha256(table: pa.Table) -> str:
    """Of the rows as an Arrow stream, independent of how they were chunked."""
    sink = _Hashing()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks(), max_chunksize=10_000)
    return sink.sha256.hexdigest()
