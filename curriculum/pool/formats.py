"""Reads one source into rows, keeping what it was: an Arrow table, or the records of a text file.

In: a `Source`. Out: `Loaded`: the rows, where each stands in its file, the rows that could not be
parsed, and the file's size and hash.

Rows are counted as a user would look them up: from line 1 in JSONL and CSV, where a row of several
lines counts by its first, and from row 0 in Parquet, JSON arrays and datasets.
"""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from curriculum.errors import UsageError
from curriculum.pool.sources import Source, is_saved
from curriculum.pool.text import Parsed, Record, csv_rows, json_array, json_lines


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
    parsed, unit = _parse(source, data)
    file = SourceFile(source.path, len(parsed.records) + len(parsed.bad), size, sha256)
    bad = tuple(BadRow(source.path, number, cause, unit) for number, cause in parsed.bad)
    return Loaded(file, parsed.records, parsed.numbers, unit, bad)


def _parse(source: Source, data: bytes) -> tuple[Parsed, Literal["line", "row"]]:
    if source.kind == "csv":
        return csv_rows(data, source.path), "line"
    if source.kind == "json" and data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return json_array(data, source.path), "row"
    return json_lines(data), "line"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
