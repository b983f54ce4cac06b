"""Chosen rows of a pool that is larger than memory, in an order that no part of it has.

In: the raw pool, and rows in the order wanted. Out: small pools, one after the other, that together are the
rows in that order.

Every part deals its rows out to one file for each small pool; each file is then read and put in order. Two
passes over the chosen rows, with one part or one small pool in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pyarrow as pa

from curriculum.pool.read import FRAME, Pool
from curriculum.preparing.raw import Raw


def gathered(raw: Raw, rows: pl.DataFrame, size: int, aside: Path) -> Iterator[Pool]:
    """Pools of at most `size` rows; row i of all of them is the row that `rows` (column row) has at i.

    Args:
        raw: where the rows come from.
        rows: in the order wanted, no row twice.
        size: rows a pool.
        aside: an empty folder for passing use.
    """
    order = rows.select("row").with_row_index("position").with_columns(pile=pl.col("position") // size)
    paths = [aside / f"{pile:05d}.arrow" for pile in range(-(-rows.height // size))]
    _deal(raw, order, paths)
    for path in paths:
        with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as stream:
            table = stream.read_all()
        yield _pool(raw, table.sort_by("position").combine_chunks())
        del table
        path.unlink()


def _deal(raw: Raw, order: pl.DataFrame, paths: list[Path]) -> None:
    with ExitStack() as stack:
        writers: dict[int, pa.RecordBatchStreamWriter] = {}
        for part in range(raw.parts):
            frame = raw.frame(part).with_row_index("place").join(order, on="row")
            if frame.is_empty():
                continue
            source = raw.source(part).take(frame["place"].to_arrow())
            table = pa.table(
                {
                    "position": frame["position"].to_arrow(),
                    "pile": frame["pile"].to_arrow(),
                    "frame": frame.select(list(FRAME)).to_arrow().to_struct_array(),
                    "source": source.to_struct_array(),
                }
            )
            for pile in frame["pile"].unique().sort():
                if pile not in writers:
                    sink = stack.enter_context(pa.OSFile(str(paths[pile]), "wb"))
                    writers[pile] = stack.enter_context(pa.ipc.new_stream(sink, table.schema))
                writers[pile].write_table(table.filter(pa.compute.field("pile") == pile))


def _pool(raw: Raw, table: pa.Table) -> Pool:
    frame = pl.from_arrow(pa.Table.from_struct_array(table["frame"]))
    source = pa.Table.from_struct_array(table["source"]).replace_schema_metadata(raw.schema.metadata)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError("an Arrow table did not become a frame")
    return Pool(frame.cast(FRAME), source, raw.keys, raw.files)
