"""Writes judged rows: their own columns, and the verdict beside them.

In: the rows of sources and their verdicts. Out: a Parquet or JSONL file, whole or not at all.

    correctness double, outcome string, parts list<struct<name string, value double>>, detail string

are appended, and replace columns of these names. In JSONL the values of JSON rows stay as they were.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from curriculum.errors import UsageError
from curriculum.files import disk_errors, write_atomic
from curriculum.pool.arrow import Part, align, plain_table
from verifiers.verdict import Verdict

_PART = pa.struct([pa.field("name", pa.string()), pa.field("value", pa.float64())])
_COLUMNS: dict[str, pa.DataType] = {
    "correctness": pa.float64(),
    "outcome": pa.string(),
    "parts": pa.list_(_PART),
    "detail": pa.string(),
}
VERDICT = pa.schema(_COLUMNS)
"""The columns of a verdict."""

_BATCH_ROWS = 4096


def check_suffix(path: Path) -> None:
    """Refuses a name that says no format, before any work is done.

    Raises:
        UsageError: it does not end in `.parquet` or `.jsonl`.
    """
    if path.suffix not in (".parquet", ".jsonl"):
        raise UsageError(
            "verdicts are written as Parquet or JSONL", where=str(path), do="end it in .parquet or .jsonl"
        )
    if not path.parent.is_dir():
        raise UsageError(
            "there is no such folder", where=str(path.parent), do="make it, or name another with --out"
        )


def write_verdicts(path: Path, parts: Sequence[Part], verdicts: Sequence[Verdict]) -> None:
    """Writes the kept rows of `parts`, in order, each with its verdict.

    Raises:
        UsageError: the file cannot be written, or the sources cannot share one table.
    """
    records = [_record(verdict) for verdict in verdicts]
    data = _parquet(parts, records) if path.suffix == ".parquet" else _jsonl(parts, records)
    with disk_errors(path, during_pass=False):
        write_atomic(path, data)


def _record(verdict: Verdict) -> dict[str, Any]:
    return {
        "correctness": verdict.correctness,
        "outcome": verdict.outcome,
        "parts": [{"name": part.name, "value": part.value} for part in verdict.parts],
        "detail": verdict.detail,
    }


def _parquet(parts: Sequence[Part], records: list[dict[str, Any]]) -> bytes:
    rows = plain_table(align(parts))
    rows = rows.drop_columns([name for name in VERDICT.names if name in rows.column_names])
    verdicts = pa.Table.from_pylist(records, VERDICT)
    for name in VERDICT.names:
        rows = rows.append_column(VERDICT.field(name), verdicts[name])
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def _jsonl(parts: Sequence[Part], records: list[dict[str, Any]]) -> bytes:
    rows = (row for part in parts for row in _dicts(part))
    lines = [
        json.dumps({**row, **record}, ensure_ascii=False, default=str) + "\n"
        for row, record in zip(rows, records, strict=True)
    ]
    return "".join(lines).encode()


def _dicts(part: Part) -> Iterator[dict[str, Any]]:
    """The kept rows as Python values."""
    _, rows, kept = part
    if isinstance(rows, pa.Table):
        for batch in rows.take(pa.array(kept, pa.int64())).to_batches(_BATCH_ROWS):
            yield from batch.to_pylist()
    else:
        yield from (rows[place] for place in kept)
