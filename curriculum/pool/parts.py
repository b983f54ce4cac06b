"""Reads a pool part by part, for pools larger than memory.

In: names of sources and `ReadOptions`. Out: `PoolPart`s in the order of the sources, each a frame as in a
`Pool` and its original rows. Joined, they are the pool that `read_pool` reads; only the types of original
columns may be narrower in a part (see `curriculum.pool.arrow.widest`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from curriculum.errors import UsageError
from curriculum.pool.arrow import align, plain_table
from curriculum.pool.formats import BadRow, Loaded, SourceFile, load_parts
from curriculum.pool.layouts import Keys, ReadOptions, find_keys
from curriculum.pool.read import Rows, collector_paused, frame_of, read_rows
from curriculum.pool.sources import Source

PART_BYTES = 32 * 2**20
"""Text of a part; as Python objects it takes about five times as much."""


@dataclass(frozen=True, slots=True)
class PoolPart:
    """Some rows of a pool, in order."""

    frame: pl.DataFrame
    """Columns as in `curriculum.pool.read.FRAME`."""
    source: pa.Table
    """The original rows, in plain types; row i belongs to `frame` row i."""
    keys: Keys | None
    """None where no row has been met so far."""
    file: SourceFile
    """The file, with the number of rows that were read of it here, bad ones included."""
    records: bool
    """Whether the rows are records of a text file, whose types are inferred."""
    bad: tuple[BadRow, ...]


def read_parts(
    sources: Sequence[Source], options: ReadOptions, *, part_bytes: float = PART_BYTES
) -> Iterator[PoolPart]:
    """Reads `sources` one part after the other; rows that cannot be read are left out and listed.

    Raises:
        UsageError: a source cannot be opened; no layout fits; a domain has no verifier or a verifier is
            unknown; a later part has a column that would change how the rows are read.
    """
    columns: list[str] = []
    keys: Keys | None = None
    first_row = 0
    for source in sources:
        for loaded in load_parts(source, part_bytes=part_bytes):
            if len(loaded.rows):
                columns = list(dict.fromkeys([*columns, *loaded.columns]))
                keys = _same_keys(keys, columns, options, loaded)
            with collector_paused():
                part = _part(loaded, keys, options, first_row)
            first_row += part.frame.height
            yield part


def _same_keys(known: Keys | None, columns: Sequence[str], options: ReadOptions, loaded: Loaded) -> Keys:
    found = find_keys(columns, options, where=loaded.file.path)
    if known is None or found == known:
        return found
    raise UsageError(
        "a column that first appears here would change how the rows before it were read",
        where=f"{loaded.file.path}, around {loaded.unit} {loaded.numbers[0]}",
        do="give the first row every column (null where it has none), or name layout, prompt_key, "
        "reference_key and domain_key",
    )


def _part(loaded: Loaded, keys: Keys | None, options: ReadOptions, first_row: int) -> PoolPart:
    rows = read_rows(loaded, keys, options) if keys else Rows()
    return PoolPart(
        frame=frame_of([rows], first_row=first_row),
        source=plain_table(align([(loaded.file.path, loaded.rows, rows.kept)])),
        keys=keys,
        file=loaded.file,
        records=not isinstance(loaded.rows, pa.Table),
        bad=(*loaded.bad, *rows.bad),
    )
