"""The journal of a pass: every judged rollout, written in small parts that survive a kill.

In: rows, as they are judged. Out: a folder of Parquet parts, each complete on disk before it has its
name, and a scan of them with one row per (prompt_id, index).

    passes/<pass_id>/pass.json            the settings this pass is the hash of
    passes/<pass_id>/journal/part-000000.parquet …

Parts are written by a thread of their own, so that the event loop never waits for a disk. A rollout
that is not yet in a part when the process dies is sampled again with the same seed. A rollout that
ended in an engine or verifier error is asked for again when an unfinished pass is continued; the
newest row of a rollout counts.
"""

from __future__ import annotations

import io
import os
import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from curriculum.errors import EngineError
from curriculum.files import TEMPORARY, disk_errors, sync_folder
from pipelines.schemas import JOURNAL_ONLY, ROLLOUTS

Row = tuple[Any, ...]
"""One rollout: the values of SCHEMA in order."""

SCHEMA = pl.Schema({**ROLLOUTS, **JOURNAL_ONLY})

PART_ROWS = 4096
PART_SECONDS = 10.0
QUEUED_PARTS = 64
PART_GLOB = "part-*.parquet"


class Journal:
    """Appends rows to the journal in `folder`; use as a context manager.

    Leaving the context writes what is pending, also on an exception, so that an interrupted run
    keeps everything judged so far.
    """

    def __init__(
        self, folder: Path, *, part_rows: int = PART_ROWS, part_seconds: float = PART_SECONDS
    ) -> None:
        self._folder = folder
        self._part_rows = part_rows
        self._part_seconds = part_seconds
        self._rows: list[Row] = []
        self._oldest = 0.0
        self._queue: queue.Queue[list[Row] | None] = queue.Queue(QUEUED_PARTS)
        self._failure: BaseException | None = None
        self._next = _open_folder(folder)
        self._writer = threading.Thread(target=self._write_parts, name="journal", daemon=True)

    def __enter__(self) -> Journal:
        self._writer.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._hand_over()
        self._queue.put(None)
        self._writer.join()
        self.check()

    def append(self, rows: Sequence[Row]) -> None:
        """Takes rows over; they are on disk within `part_seconds`, provided `tick` is called."""
        if not self._rows:
            self._oldest = time.monotonic()
        self._rows += rows
        if len(self._rows) >= self._part_rows:
            self._hand_over()

    def tick(self) -> None:
        """Call now and then: hands over rows that have waited long enough."""
        self.check()
        if self._rows and time.monotonic() - self._oldest >= self._part_seconds:
            self._hand_over()

    def check(self) -> None:
        """Raises what stopped the writer, if anything did.

        Raises:
            EngineError: the disk refused a part.
        """
        if self._failure is not None:
            raise self._failure

    def _hand_over(self) -> None:
        if self._rows:
            self._queue.put(self._rows)
            self._rows = []

    def _write_parts(self) -> None:
        """Until told to stop; after a failure it only empties the queue, so that nobody blocks."""
        while (rows := self._queue.get()) is not None:
            if self._failure is not None:
                continue
            try:
                with disk_errors(self._folder, during_pass=True):
                    _write_part(self._folder, self._next, rows)
            except BaseException as error:  # noqa: BLE001 - re-raised in the thread that owns the pass
                self._failure = error
            self._next += 1


def read_journal(folder: Path, *, prompts: tuple[str, str] | None = None) -> pl.LazyFrame:
    """Every rollout of the journal once, the newest row of each, sorted by prompt_id and index.

    Args:
        folder: the journal.
        prompts: only prompt_ids from the first to the second of these, both included.
    """
    paths = parts(folder)
    if not paths:
        return pl.LazyFrame(schema=SCHEMA)
    frames = [
        pl.scan_parquet(path, schema=SCHEMA).with_columns(part=pl.lit(i)) for i, path in enumerate(paths)
    ]
    rows = pl.concat(frames)
    if prompts is not None:
        first, last = (pl.lit(prompt_id) for prompt_id in prompts)
        rows = rows.filter(pl.col("prompt_id").is_between(first, last))
    newest = (
        # Within a part a rollout occurs once: a run asks for each but once.
        rows.sort("prompt_id", "index", "part").unique(
            ["prompt_id", "index"], keep="last", maintain_order=True
        )
    )
    return newest.select(SCHEMA.names())


def judged_keys(folder: Path) -> pl.DataFrame:
    """What the journal holds: prompt_id, index, correctness, tokens, error; one row per rollout.

    `error` marks rollouts no judgement was possible for.
    """
    for path in parts(folder):
        _check_part(path)
    return (
        read_journal(folder)
        .select(
            "prompt_id",
            "index",
            "correctness",
            "tokens",
            error=(pl.col("outcome") == "verifier_error") | (pl.col("finish") == "abort"),
        )
        .collect()
    )


def parts(folder: Path) -> list[Path]:
    """The complete parts, oldest first."""
    return sorted(folder.glob(PART_GLOB))


def _open_folder(folder: Path) -> int:
    """Removes what a killed run left half-written; gives the number of the next part."""
    with disk_errors(folder, during_pass=False):
        folder.mkdir(parents=True, exist_ok=True)
        for stale in folder.glob(f"{TEMPORARY}*"):
            stale.unlink()
    existing = parts(folder)
    return int(existing[-1].stem.removeprefix("part-")) + 1 if existing else 0


def _write_part(folder: Path, number: int, rows: list[Row]) -> None:
    name = f"part-{number:06d}.parquet"
    temporary = folder / f"{TEMPORARY}{name}"
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    encoded = io.BytesIO()  # so that what a disk refuses arrives as an OSError, not as the codec's own
    frame.write_parquet(encoded, compression="zstd", compression_level=1, statistics=False)
    with temporary.open("wb") as file:
        file.write(encoded.getbuffer())
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(folder / name)
    sync_folder(folder)


def _check_part(path: Path) -> None:
    try:
        pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise EngineError(
            "a part of the journal cannot be read",
            where=f"{path}: {error}",
            do="delete that file and run the same command: its rollouts are sampled again",
        ) from error
