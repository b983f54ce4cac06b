"""Reads one source into rows, keeping what it was: an Arrow table, or the records of a text file.

In: a `Source`. Out: `Loaded`: the rows, where each stands in its file, the rows that could not be
parsed, and the file's size and hash; of the whole source, or of one part after the other.

Rows are counted as a user would look them up: from line 1 in JSONL and CSV, where a row of several
lines counts by its first, and from row 0 in Parquet, JSON arrays and datasets.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import pyarrow as pa
import pyarrow.parquet as pq

from curriculum.errors import UsageError
from curriculum.pool.sources import Source, is_saved
from curriculum.pool.text import Record, csv_rows, json_array, json_lines


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
    """The rows of one source, or of a part of it; `numbers[i]` says where row i stands in the source.

    `file.rows` counts the rows that are here."""

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


def load(source: Source) -> Loaded:
    """Reads a source whole.

    Raises:
        UsageError: it cannot be opened or is not what its name says.
    """
    [whole] = load_parts(source, part_bytes=math.inf)
    return whole


def load_parts(source: Source, *, part_bytes: float) -> Iterator[Loaded]:
    """Reads a source in parts of about `part_bytes` of data, at least one; a JSON array is one part.

    Raises:
        UsageError: it cannot be opened or is not what its name says.
    """
    if source.kind == "dataset":
        table = _dataset(source)
        file = SourceFile(source.title, table.num_rows, table.nbytes, _table_sha256(table))
        yield from _slices(table, file, part_bytes)
        return
    path = Path(source.path)
    try:
        file = SourceFile(source.path, 0, path.stat().st_size, _sha256(path))
        if source.kind == "parquet":
            yield from _parquet(path, file, part_bytes)
        else:
            yield from _text(source, path, file, part_bytes)
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise UsageError(f"cannot be read as {source.kind}: {error}", where=source.path) from error


def fingerprint(source: Source) -> str:
    """The SHA-256 of a source, as in its `SourceFile`.

    Raises:
        UsageError: it cannot be opened.
    """
    if source.kind == "dataset":
        return _table_sha256(_dataset(source))
    try:
        return _sha256(Path(source.path))
    except OSError as error:
        raise UsageError(f"cannot be read as {source.kind}: {error}", where=source.path) from error


def _parquet(path: Path, file: SourceFile, part_bytes: float) -> Iterator[Loaded]:
    if part_bytes == math.inf:
        yield from _slices(pq.read_table(path, partitioning=None), file, part_bytes)
        return
    with pq.ParquetFile(path) as opened:
        rows = max(1, opened.metadata.num_rows)
        size = sum(opened.metadata.row_group(i).total_byte_size for i in range(opened.num_row_groups))
        start = 0
        for batch in opened.iter_batches(batch_size=_rows_of(part_bytes, size, rows)):
            yield _part_of_table(pa.Table.from_batches([batch]), file, start)
            start += batch.num_rows
        if start == 0:
            yield _part_of_table(opened.schema_arrow.empty_table(), file, 0)


def _slices(table: pa.Table, file: SourceFile, part_bytes: float) -> Iterator[Loaded]:
    rows = _rows_of(part_bytes, table.nbytes, max(1, table.num_rows))
    for start in range(0, max(1, table.num_rows), rows):
        yield _part_of_table(table.slice(start, rows), file, start)


def _rows_of(part_bytes: float, size: int, rows: int) -> int:
    """How many of `rows`, of `size` bytes in all, make a part."""
    return rows if part_bytes == math.inf else max(1, int(part_bytes * rows / max(1, size)))


def _part_of_table(table: pa.Table, file: SourceFile, start: int) -> Loaded:
    here = SourceFile(file.path, table.num_rows, file.bytes, file.sha256)
    return Loaded(here, table, range(start, start + table.num_rows), "row")


def _text(source: Source, path: Path, file: SourceFile, part_bytes: float) -> Iterator[Loaded]:
    with _opened(path) as data:
        unit: Literal["line", "row"] = "row" if source.kind == "json" and _is_array(data) else "line"
        if source.kind == "csv":
            parts = csv_rows(data, source.path, part_bytes=part_bytes)
        elif unit == "row":
            parts = iter([json_array(data.read(), source.path)])
        else:
            parts = json_lines(data, part_bytes=part_bytes)
        for parsed in parts:
            here = SourceFile(file.path, len(parsed.records) + len(parsed.bad), file.bytes, file.sha256)
            bad = tuple(BadRow(source.path, number, cause, unit) for number, cause in parsed.bad)
            yield Loaded(here, parsed.records, parsed.numbers, unit, bad)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            yield cast(BinaryIO, file)  # it reads like one
    else:
        with path.open("rb") as file:
            yield file


def _is_array(data: BinaryIO) -> bool:
    """Whether the first sign of a JSON file opens an array; the file is where it was."""
    first = next((line for line in data if line.strip(b"\xef\xbb\xbf \t\r\n")), b"")
    data.seek(0)
    return first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _dataset(source: Source) -> pa.Table:
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
    return table


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
