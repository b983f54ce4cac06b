"""What trainers observed, read once for a pass and kept with it.

In: `<out>/evidence/`, which `curriculum.hooks` writes (its format: `curriculum/hooks/evidence.py`). Out:
visits, schema `pipelines.observed.VISITS`: one row per prompt and training step.

A trainer may go on writing while a pass runs or waits to be continued. So a pass decides by what was there
when it began, which it keeps as `passes/<pass_id>/visits.parquet`.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import polars as pl

from curriculum.errors import UsageError
from curriculum.files import disk_errors, write_atomic
from curriculum.hooks.evidence import FORMAT, VERSION
from curriculum.manifest import latest_refresh
from pipelines.observed import VISITS

NAME = "visits.parquet"
_FOLDER = "evidence"
_REMEDY = "restore the file or remove it, or refresh with --ignore-evidence"

_COLUMNS = pl.Schema(
    {
        "prompt_id": pl.String,
        **dict.fromkeys(("n", "s", "unjudged", "truncated", "tokens", "longest"), pl.Int64),
        **dict.fromkeys(("low", "high", "total"), pl.Float64),
    }
)
"""Columns of a line, an entry a prompt."""


def read_visits(out: Path) -> pl.DataFrame:
    """All visits that were reported to an output folder: schema VISITS, sorted.

    The rollouts of a prompt in a step are put together, whatever processes reported them. The last line of
    a process that was killed may be cut short and is left out.

    Raises:
        UsageError: a file is of another version or damaged, or LATEST names a refresh that is not there.
    """
    newest = latest_refresh(out)
    files = [_read_file(path) for path in sorted((out / _FOLDER).glob("*/*.jsonl"))]
    key = ["prompt_id", "refresh_id", "checkpoint", "step", "masked"]
    told = [pl.col(name).null_count() == 0 for name in ("tokens", "longest")]
    return (
        pl.concat([pl.DataFrame(schema=VISITS), *files])
        .group_by(key)
        .agg(
            pl.col("n", "s", "unjudged", "truncated").sum(),
            pl.col("low").min(),
            pl.col("high").max(),
            pl.col("total").sum().round(9),  # the order of a sum shows in its last bits
            tokens=pl.when(told[0]).then(pl.col("tokens").sum()),
            longest=pl.when(told[1]).then(pl.col("longest").max()),
        )
        .with_columns(newest=pl.col("refresh_id") == (newest.name if newest else ""))
        .select(VISITS.names())
        .sort(key, nulls_last=True)
    )


def pass_visits(pass_folder: Path, out: Path, prompts: pl.Series, *, anew: bool) -> pl.DataFrame:
    """The visits of `prompts` that a pass decides by: those it keeps, else (or `anew`) those there now.

    Raises:
        UsageError: see `read_visits`; or what the pass keeps cannot be read.
    """
    path = pass_folder / NAME
    if anew or not path.is_file():
        return read_visits(out).filter(pl.col("prompt_id").is_in(prompts.implode()))
    try:
        return pl.read_parquet(path, schema=VISITS)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(
            "what the pass was begun with cannot be read", where=f"{path}: {error}", do=_REMEDY
        ) from error


def keep_visits(pass_folder: Path, visits: pl.DataFrame) -> None:
    """Keeps what a pass decides by; a pass that has it already goes on with the same.

    Raises:
        UsageError: the disk refuses.
    """
    encoded = io.BytesIO()
    visits.write_parquet(encoded)
    with disk_errors(pass_folder, during_pass=False):
        pass_folder.mkdir(parents=True, exist_ok=True)
        write_atomic(pass_folder / NAME, encoded.getvalue())


def _read_file(path: Path) -> pl.DataFrame:
    lines = _lines(path)
    if not lines:
        return pl.DataFrame(schema=VISITS)
    header, *calls = lines
    if (header.get("format"), header.get("version")) != (FORMAT, VERSION):
        raise UsageError(
            f"this is not evidence of version {VERSION}",
            where=f"{path}: format {header.get('format')}, version {header.get('version')}",
            do="use the version of rlvr-curriculum that wrote it, or refresh with --ignore-evidence",
        )
    try:
        return _visits(header, calls)
    except (KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise UsageError("evidence is damaged", where=f"{path}: {error}", do=_REMEDY) from error


def _lines(path: Path) -> list[dict[str, Any]]:
    """The parsed lines of a file, without a last one that was cut short."""
    lines = path.read_bytes().splitlines()
    parsed = []
    for number, line in enumerate(lines, start=1):
        try:
            parsed.append(json.loads(line))
        except ValueError as error:
            if number < len(lines):
                raise UsageError("evidence is damaged", where=f"{path}, line {number}", do=_REMEDY) from error
    return parsed


def _visits(header: dict[str, Any], calls: list[dict[str, Any]]) -> pl.DataFrame:
    """The rows of a file. Rewards become correctness: `solved_at` is full marks, 0 and less is none."""
    rows = [
        {"step": call["step"], **{name: call[name] or [None] * len(call["prompt_id"]) for name in _COLUMNS}}
        for call in calls
    ]
    lists = {name: pl.List(dtype) for name, dtype in _COLUMNS.items()}
    solved_at = pl.lit(float(header["solved_at"]))
    table = pl.DataFrame(rows, schema={"step": pl.Int64, **lists}).explode(_COLUMNS.names())
    if sum(table.select("prompt_id", "n", "s", "unjudged", "truncated").null_count().row(0)):
        raise TypeError("a count is missing, or is no number")
    return (
        table.with_columns(pl.col("low", "high", "total") / solved_at)
        .with_columns(
            pl.col("low", "high").clip(0.0, 1.0),
            pl.col("total").fill_null(0.0).clip(pl.col("s"), pl.col("n")),
            refresh_id=pl.lit(header["refresh_id"]),
            checkpoint=pl.lit(header["checkpoint"]),
            newest=pl.lit(value=False),
            masked=pl.lit(header["truncated"] == "excluded"),
        )
        .select(pl.col(name).cast(dtype) for name, dtype in VISITS.items())
    )
