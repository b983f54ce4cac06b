"""Shards: a table as Parquet files that every trainer reads and a manifest can vouch for.

In: an Arrow table and a folder. Out: files `shard-00000-of-00004.parquet` and what the manifest says
of each. One plain schema for all; equal tables give equal bytes.

Each file is complete under its name or absent: written under a temporary name, synced, renamed. The
set as a whole is made atomic by the manifest, not here.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.arrow import plain_schema


@dataclass(frozen=True, slots=True)
class Shard:
    """One Parquet file of a set, as the manifest names it."""

    name: str
    rows: int
    bytes: int
    sha256: str
    row_groups: int


def write_shards(
    table: pa.Table,
    folder: Path,
    *,
    stem: str = "shard",
    max_rows: int = 100_000,
    max_bytes: int = 128 * 2**20,
    row_group_rows: int = 1024,
) -> list[Shard]:
    """Writes `table` to `folder` in shards of about equal size; an empty table is one shard of no rows.

    Args:
        table: any types with a plain form; they are cast to it.
        folder: made when absent. Files of other names are left alone.
        stem: how the file names begin.
        max_rows: most rows a shard.
        max_bytes: most bytes a shard, by the mean size of a row in memory; the compressed file is smaller.
        row_group_rows: rows a row group, the unit of a random read.

    Raises:
        SchemaError: a column has a type without a plain form.
        OSError: the folder cannot be written.
    """
    schema = plain_schema(table.schema)
    folder.mkdir(parents=True, exist_ok=True)
    row_bytes = max(1, table.nbytes // max(1, table.num_rows))
    most = max(1, min(max_rows, max_bytes // row_bytes))
    group = min(row_group_rows, most)
    starts = _starts(table.num_rows, most, group)
    ends = [*starts[1:], table.num_rows]
    shards = []
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        part = table.slice(start, end - start).cast(schema).combine_chunks()
        name = f"{stem}-{number:05d}-of-{len(starts):05d}.parquet"
        shards.append(_write(part, folder / name, group))
    _sync(folder)
    return shards


def write_parts(tables: Iterable[pa.Table], folder: Path, *, row_group_rows: int = 1024) -> list[Shard]:
    """Writes each table as `part-00000.parquet`, `part-00001.parquet` …, holding one at a time in memory.

    Args:
        tables: of one schema, with plain forms of their types.
        folder: made when absent.
        row_group_rows: rows a row group.

    Raises:
        SchemaError: a column has a type without a plain form.
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shards = [
        _write(table.cast(plain_schema(table.schema)), folder / f"part-{number:05d}.parquet", row_group_rows)
        for number, table in enumerate(tables)
    ]
    _sync(folder)
    return shards


def write_numbered(
    tables: Iterable[pa.Table], folder: Path, *, count: int, stem: str = "shard", row_group_rows: int = 1024
) -> list[Shard]:
    """Writes each table as the next of `count` shards, named as `write_shards` names them; one at a time in
    memory.

    Args:
        tables: `count` tables of one schema, with plain forms of their types.
        folder: made when absent.
        count: how many there are.
        stem: how the file names begin.
        row_group_rows: rows a row group.

    Raises:
        SchemaError: a column has a type without a plain form.
        OSError: the folder cannot be written.
        ValueError: there are more or fewer tables.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"{stem}-{number:05d}-of-{count:05d}.parquet" for number in range(count)]
    shards = [
        _write(table.cast(plain_schema(table.schema)).combine_chunks(), folder / name, row_group_rows)
        for name, table in zip(names, tables, strict=True)
    ]
    _sync(folder)
    return shards


def write_whole(table: pa.Table, folder: Path, name: str, *, row_group_rows: int = 1024) -> Shard:
    """Writes the whole of a table as `<name>.parquet`, whatever its size.

    Raises:
        SchemaError: a column has a type without a plain form.
        OSError: the folder cannot be written.
    """
    plain = table.cast(plain_schema(table.schema))
    shard = _write(plain, folder / f"{name}.parquet", row_group_rows)
    _sync(folder)
    return shard


def check_shards(folder: Path, shards: list[Shard]) -> list[str]:
    """What is wrong with the files that `shards` names, one sentence each; empty when all are as written."""
    return [fault for shard in shards for fault in _faults(folder / shard.name, shard)]


def _starts(rows: int, most: int, group: int) -> list[int]:
    """Where each shard begins: on a row group, with about the same number of groups in each shard."""
    groups = -(-rows // group)
    shards = max(1, -(-groups // (most // group)))
    return [number * groups // shards * group for number in range(shards)]


def _write(table: pa.Table, path: Path, row_group_rows: int) -> Shard:
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            pq.write_table(
                table, file, row_group_size=row_group_rows, compression="zstd", write_page_index=True
            )
            file.flush()
            os.fsync(file.fileno())
        shard = Shard(
            name=path.name,
            rows=table.num_rows,
            bytes=part.stat().st_size,
            sha256=_sha256(part),
            row_groups=pq.read_metadata(part).num_row_groups,
        )
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return shard


def _faults(path: Path, shard: Shard) -> list[str]:
    if not path.is_file():
        return [f"{shard.name} is missing"]
    sha256 = _sha256(path)
    if sha256 != shard.sha256:
        return [f"{shard.name} has sha256 {sha256}, the manifest says {shard.sha256}"]
    rows = pq.read_metadata(path).num_rows
    return [] if rows == shard.rows else [f"{shard.name} has {rows} rows, the manifest says {shard.rows}"]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(folder: Path) -> None:
    """Makes the renames in `folder` survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
