"""The raw pool on disk: every row as read, in parts, so that no stage needs all of it in memory.

In: names of sources and `ReadOptions`. Out: `Raw`, a folder of the work folder.

    frame-00000.parquet      columns of curriculum.pool.read.FRAME
    source-00000.parquet     the original rows, row by row beside them
    schema.parquet           no rows; the one schema that all original rows fit
    unreadable.parquet       file, unit, place and cause of each row that could not be read
    raw.json                 layout and columns that were understood, files, number of parts
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from curriculum.errors import UsageError
from curriculum.files import write_json
from curriculum.pool.arrow import agree, conform, widest
from curriculum.pool.formats import BadRow, SourceFile, fingerprint
from curriculum.pool.layouts import Keys, ReadOptions
from curriculum.pool.parts import PART_BYTES, PoolPart, read_parts
from curriculum.pool.read import content_hash, stop_at
from curriculum.pool.sources import Source, resolve
from curriculum.preparing.work import Work, stage_key, synced, write_table

_VERSION = 1  # a change of what is kept here makes another key

UNREADABLE = pl.Schema({"file": pl.String, "unit": pl.String, "place": pl.Int64, "cause": pl.String})
"""`place` counts from 1 where `unit` is "line", else from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A raw pool that was read."""

    folder: Path
    key: str
    keys: Keys
    files: tuple[SourceFile, ...]
    parts: int
    rows: int
    bytes: int  # of the original rows, in memory
    schema: pa.Schema  # of the original rows
    index: pl.DataFrame  # row, prompt_id, verifier, domain of every row
    unreadable: pl.DataFrame  # UNREADABLE

    @property
    def content_hash(self) -> str:
        """As of a `Pool`."""
        return content_hash(self.index)

    def frame(self, part: int) -> pl.DataFrame:
        """The rows of a part as in `curriculum.pool.read.FRAME`."""
        return pl.read_parquet(self.folder / f"frame-{part:05d}.parquet")

    def source(self, part: int) -> pa.Table:
        """The original rows of a part, in the schema of all."""
        return conform(pq.read_table(self.folder / f"source-{part:05d}.parquet"), self.schema)


def read_raw(
    names: Sequence[str], options: ReadOptions, work: Work, *, part_bytes: float = PART_BYTES
) -> Raw:
    """Reads the sources into the work folder, unless they were read before with the same options.

    Raises:
        UsageError: a source cannot be opened; no layout fits; files differ in schema; a domain has no
            verifier; rows cannot be read (unless `skip_bad_rows`); nothing is left.
    """
    sources = resolve(names)
    inputs = [(source.title, fingerprint(source)) for source in sources]
    key = stage_key(_VERSION, inputs, asdict(replace(options, skip_bad_rows=False)))
    folder = work.folder("raw", key, lambda into: _read(sources, options, part_bytes, into))
    unreadable = pl.read_parquet(folder / "unreadable.parquet")
    stop_at([_bad_row(row) for row in unreadable.iter_rows()], options)
    about = json.loads((folder / "raw.json").read_text(encoding="utf-8"))
    if not about["parts"]:
        raise UsageError("the pool is empty", where=", ".join(names), do="name a source that has rows")
    return _open(folder, key, about, unreadable)


def _read(sources: Sequence[Source], options: ReadOptions, part_bytes: float, into: Path) -> None:
    files: dict[str, SourceFile] = {}
    schemas: dict[str, list[pa.Schema]] = {}
    records: set[str] = set()
    bad: list[BadRow] = []
    keys: Keys | None = None
    count = size = 0
    for part in read_parts(sources, options, part_bytes=part_bytes):
        path = part.file.path
        known = files.get(path)
        files[path] = replace(part.file, rows=part.file.rows + (known.rows if known else 0))
        bad += part.bad
        keys = part.keys or keys
        if part.frame.is_empty():
            continue
        schemas.setdefault(path, []).append(part.source.schema)
        if part.records:
            records.add(path)
        _write(part, into, count)
        count, size = count + 1, size + part.source.nbytes
    schema = _schema(schemas, records)
    with synced(into / "schema.parquet") as file:
        pq.write_table(schema.empty_table(), file)
    rows = [(row.file, row.unit, row.row, row.cause) for row in bad]
    write_table(into / "unreadable.parquet", pl.DataFrame(rows, schema=UNREADABLE, orient="row"))
    about = {"keys": asdict(keys) if keys else None, "parts": count, "bytes": size}
    write_json(into / "raw.json", {**about, "files": [asdict(file) for file in files.values()]})


def _write(part: PoolPart, into: Path, number: int) -> None:
    write_table(into / f"frame-{number:05d}.parquet", part.frame)
    with synced(into / f"source-{number:05d}.parquet") as file:
        pq.write_table(part.source, file, compression="lz4")


def _schema(schemas: dict[str, list[pa.Schema]], records: set[str]) -> pa.Schema:
    """The one schema of all sources: records share one inference of types, tables have their own."""
    inferred = widest(schema for path in schemas if path in records for schema in schemas[path])
    tables = [
        (path, (inferred if path in records else of_file[0]).empty_table())
        for path, of_file in schemas.items()
    ]
    return agree(tables)


def _open(folder: Path, key: str, about: dict[str, Any], unreadable: pl.DataFrame) -> Raw:
    paths = [folder / f"frame-{part:05d}.parquet" for part in range(about["parts"])]
    wanted = ["row", "prompt_id", "verifier", "domain"]
    index = pl.concat([pl.read_parquet(path, columns=wanted) for path in paths])
    return Raw(
        folder=folder,
        key=key,
        keys=_keys(about["keys"]),
        files=tuple(SourceFile(**file) for file in about["files"]),
        parts=about["parts"],
        rows=index.height,
        bytes=about["bytes"],
        schema=pq.read_schema(folder / "schema.parquet"),
        index=index,
        unreadable=unreadable,
    )


def _keys(about: dict[str, Any]) -> Keys:
    domain, verifier = (tuple(about[name]) if about[name] else None for name in ("domain", "verifier"))
    return Keys(about["layout"], tuple(about["prompt"]), tuple(about["reference"]), domain, verifier)


def _bad_row(row: tuple[str, str, int, str]) -> BadRow:
    file, unit, place, cause = row
    return BadRow(file, place, cause, "line" if unit == "line" else "row")
