"""The replay engine: recorded rollouts in place of a policy, to verify and select anew.

In: a Parquet or JSONL file (or the journal folder of a pass) with one row per rollout, keyed by
`prompt_id` or by any column the pool has too. Out: the `Engine` protocol, plus which rollouts are
recorded. Text and length come from the recording; verdicts in it are not used.

Columns read: the key; `index` (position in the group; order of appearance without it); `text`,
`response` or `completion`; optional `tokens`, `finish` (`stop` when absent) and `mean_logprob`.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import polars as pl

from curriculum.engines.base import Completion, Request
from curriculum.errors import UsageError

TEXT_COLUMNS = ("text", "response", "completion")
FINISHES = ("stop", "length", "abort")


class ReplayEngine:
    """Answers requests from a recording; see `load_recording`."""

    device = "replay"
    devices = 0

    def __init__(self, recording: pl.DataFrame) -> None:
        self._completions = {(row[0], row[1]): row for row in recording.select(RECORDING.names()).iter_rows()}

    async def start(self) -> None:
        """Nothing to load."""

    async def generate(self, request: Request) -> Completion:
        recorded = self._completions.get((request.prompt_id, request.index))
        if recorded is None:
            return Completion(
                request.prompt_id, request.index, "", None, "abort", error="not in the recording"
            )
        return Completion(*recorded)

    async def stop(self) -> None:
        """Nothing to release."""


RECORDING = pl.Schema(
    {
        "prompt_id": pl.String,
        "index": pl.Int32,
        "text": pl.String,
        "tokens": pl.Int32,
        "finish": pl.String,
        "mean_logprob": pl.Float64,
    }
)


def load_recording(path: Path, *, key: str, prompt_keys: pl.DataFrame) -> pl.DataFrame:
    """The recording at `path` as RECORDING, sorted, for the prompts of the pool.

    Args:
        path: a Parquet or JSONL file, or a folder of Parquet parts.
        key: the column of the recording that names the prompt.
        prompt_keys: columns `key` (str) and `prompt_id`, one row per distinct prompt.

    Raises:
        UsageError: file or column missing, a rollout recorded twice, a key that names two prompts,
            or no rollout belongs to the pool.
    """
    frame = _read(path)
    text = next((name for name in TEXT_COLUMNS if name in frame.columns), None)
    for missing, wanted in ((key, key not in frame.columns), (" or ".join(TEXT_COLUMNS), text is None)):
        if wanted:
            raise UsageError(
                f"the recording has no column {missing}",
                where=f"{path}: {', '.join(frame.columns)}",
                do="name the column that identifies the prompt with --key",
            )
    _refuse_shared_keys(prompt_keys, key)
    columns = frame.select(
        pl.col(key).cast(pl.String).alias("key"),
        _column(frame, "index", pl.Int32, pl.int_range(pl.len(), dtype=pl.Int32).over(key)),
        pl.col(text or "").cast(pl.String).alias("text"),
        _column(frame, "tokens", pl.Int32, pl.lit(None, pl.Int32)),
        _column(frame, "finish", pl.String, pl.lit("stop")),
        _column(frame, "mean_logprob", pl.Float64, pl.lit(None, pl.Float64)),
    )
    recording = columns.join(prompt_keys, on="key", how="inner").select(RECORDING.names())
    if recording.is_empty():
        raise UsageError(
            "no recorded rollout belongs to a prompt of the pool",
            where=f"{path}: {key} is {columns['key'].head(3).to_list()} there, "
            f"{prompt_keys['key'].head(3).to_list()} in the pool",
            do="name a column that both have with --key",
        )
    _refuse_repeats(recording, path)
    _refuse_unknown_finish(recording, path)
    return recording.sort("prompt_id", "index")


def recording_fingerprint(recording: pl.DataFrame) -> str:
    """A hash of the content of a recording, in place of a checkpoint's fingerprint."""
    digest = blake2b(digest_size=16)
    for row in recording.iter_rows():
        digest.update(repr(row).encode())
    return f"recording-{digest.hexdigest()}"


def _read(path: Path) -> pl.DataFrame:
    try:
        if path.is_dir():
            return pl.read_parquet(sorted(path.glob("*.parquet")))
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        return pl.read_ndjson(path, infer_schema_length=None)
    except FileNotFoundError as error:
        raise UsageError(f"no recording at {path}", do="give a file of rollouts with --rollouts") from error
    except pl.exceptions.PolarsError as error:
        raise UsageError("the recording cannot be read", where=f"{path}: {error}") from error


def _column(frame: pl.DataFrame, name: str, dtype: type[pl.DataType], absent: pl.Expr) -> pl.Expr:
    return (pl.col(name).cast(dtype) if name in frame.columns else absent).alias(name)


def _refuse_shared_keys(prompt_keys: pl.DataFrame, key: str) -> None:
    shared = prompt_keys.filter(pl.col("key").is_duplicated()).sort("key")
    if not shared.is_empty():
        raise UsageError(
            f"{key} does not identify a prompt: {shared['key'].n_unique()} values are shared",
            where=f"for example {shared['key'][0]!r}",
            do="name a column with a value of its own for each prompt with --key",
        )


def _refuse_repeats(recording: pl.DataFrame, path: Path) -> None:
    repeated = recording.filter(pl.struct("prompt_id", "index").is_duplicated())
    if not repeated.is_empty():
        first = repeated.sort("prompt_id", "index").row(0, named=True)
        raise UsageError(
            f"{repeated.height} recorded rollouts share prompt and index",
            where=f"{path}: prompt_id {first['prompt_id']}, index {first['index']}",
            do="number the rollouts of each prompt 0, 1, 2, … in `index`, or leave the column out",
        )


def _refuse_unknown_finish(recording: pl.DataFrame, path: Path) -> None:
    unknown = recording.filter(~pl.col("finish").is_in(FINISHES))
    if not unknown.is_empty():
        raise UsageError(
            f"unknown finish {unknown['finish'][0]!r}",
            where=f"{path}, {unknown.height} rows",
            do=f"use one of {', '.join(FINISHES)}",
        )
