"""Names for prompts other than the prompt_id: any column of the original rows.

In: a pool and a column, or a field of a struct column ("extra_info.index"). Out: which value names
which prompt.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from curriculum.errors import UsageError
from curriculum.pool.read import Pool


def prompt_keys(pool: Pool, column: str) -> pl.DataFrame:
    """Columns `key` (str) and `prompt_id`, one row per distinct prompt, in pool order.

    Raises:
        UsageError: the pool has no such column.
    """
    first = pool.distinct
    if column in first.columns:
        return first.select(pl.col(column).cast(pl.String).alias("key"), "prompt_id")
    values = _column(pool.source, column).take(pa.array(first["row"].to_list(), pa.int64()))
    key = pl.Series("key", values.cast(pa.string()).to_pylist(), dtype=pl.String)
    return pl.DataFrame({"key": key, "prompt_id": first["prompt_id"]})


def _column(source: pa.Table, column: str) -> pa.ChunkedArray[Any]:
    """A column by its whole name, or a field of a struct by a dotted one."""
    if column in source.column_names:
        return source[column]
    name, *fields = column.split(".")
    try:
        found = source[name]
        for field in fields:
            found = pc.struct_field(found, field)
    except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UsageError(
            f"the pool has no column {column!r}",
            where=f"it has {', '.join(source.column_names)}",
            do="name one of them, or a field of a struct such as extra_info.index, with --key",
        ) from error
    return found
