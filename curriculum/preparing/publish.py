"""Publishes a prepared pool: the set, the sentinel set, and an account of every row.

In: the raw pool, the decisions and findings. Out: a folder under `refreshes/` that is complete when it has
its name, and LATEST naming it.

    train/shard-…  sentinel/shard-…  decisions.parquet  manifest.json
    duplicates.parquet  contamination.parquet  references.parquet  unreadable.parquet
    groups.parquet      no rows: nothing was sampled
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa

from curriculum.config import Config
from curriculum.errors import NothingError
from curriculum.files import TEMPORARY, sync_folder
from curriculum.manifest import REFRESHES, Manifest, point_latest, write_manifest
from curriculum.pool.write import export
from curriculum.preparing.decide import Findings
from curriculum.preparing.gather import gathered
from curriculum.preparing.raw import Raw
from curriculum.preparing.references import SUSPECT
from curriculum.preparing.work import Work
from pipelines.arrow import to_arrow
from pipelines.order import shuffled
from pipelines.schemas import GROUPS
from pipelines.shards import Shard, write_numbered, write_whole

SHARD_BYTES = 128 * 2**20
"""Most bytes of a shard, by the mean size of a row in memory."""


def publish(
    raw: Raw, decisions: pl.DataFrame, found: Findings, manifest: Manifest, config: Config, work: Work
) -> Path:
    """Writes everything aside, then gives it its name and moves LATEST; gives the folder.

    A set that is published under the same id is left as it is; LATEST moves to it.

    Args:
        manifest: all but `tables`, which is filled in here.

    Raises:
        NothingError: no row is clean.
        OSError: the disk refuses.
    """
    train = _ordered(decisions, "keep_unscored", config)
    sentinel = _ordered(decisions, "hold_sentinel", config)
    if train.is_empty():
        counts = ", ".join(f"{count} {name}" for name, count in sorted(manifest.counts.items()) if count)
        raise NothingError("no row of the pool is clean", where=counts, do=_remedy(found))
    refreshes = config.output.dir / REFRESHES
    folder = refreshes / manifest.refresh_id
    if not folder.is_dir():
        for stale in refreshes.glob(f"{TEMPORARY}*"):  # of a killed run; the folder is locked
            shutil.rmtree(stale)
        aside = refreshes / f"{TEMPORARY}{manifest.refresh_id}"
        aside.mkdir(parents=True)
        tables = {
            "train": _set("train", raw, train, config, work, aside),
            "sentinel": _set("sentinel", raw, sentinel, config, work, aside),
            **_account(raw, decisions, found, aside),
        }
        write_manifest(aside, replace(manifest, tables=tables))
        aside.rename(folder)
        sync_folder(refreshes)
    point_latest(config.output.dir, manifest.refresh_id)
    return folder


def _ordered(decisions: pl.DataFrame, fate: str, config: Config) -> pl.DataFrame:
    """The rows of one fate with the columns of curriculum.pool.write.EXTRA, in shuffled order."""
    rows = decisions.filter(pl.col("decision") == fate)
    unknown = {"pass_rate": pl.Float64, "p_mixed": pl.Float64, "max_tokens": pl.Int32}
    described = rows.select("row", "prompt_id", "domain", weight=pl.lit(1.0)).with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in unknown.items()
    )
    return shuffled(described, config.prepare.seed)


def _set(name: str, raw: Raw, rows: pl.DataFrame, config: Config, work: Work, aside: Path) -> list[Shard]:
    if rows.is_empty():
        return []
    row_bytes = max(1, raw.bytes // raw.rows)
    size = max(1, min(config.output.shard_rows, SHARD_BYTES // row_bytes))
    tables = _exported(raw, rows, size, config, work.aside(name))
    shards = write_numbered(tables, aside / name, count=-(-rows.height // size))
    return [replace(shard, name=f"{name}/{shard.name}") for shard in shards]


def _exported(raw: Raw, rows: pl.DataFrame, size: int, config: Config, aside: Path) -> Iterator[pa.Table]:
    for pool, chosen in zip(gathered(raw, rows, size, aside), rows.iter_slices(size), strict=True):
        here = chosen.with_columns(row=pl.int_range(pl.len()))
        yield export(pool, here, config.output.layout)


def _account(raw: Raw, decisions: pl.DataFrame, found: Findings, aside: Path) -> dict[str, list[Shard]]:
    frames = {
        "decisions": decisions,
        "duplicates": found.duplicates,
        "contamination": found.contamination,
        "references": found.references,
        "unreadable": raw.unreadable,
        "groups": pl.DataFrame(schema=GROUPS),
    }
    return {name: [write_whole(to_arrow(frame), aside, name)] for name, frame in frames.items()}


def _remedy(found: Findings) -> str:
    suspects = found.references.filter(pl.col("status").is_in(SUSPECT))
    if suspects.is_empty():
        return "see the reasons with --dry-run --json, and loosen [prepare]"
    cause = suspects.group_by("cause").len().sort("len", "cause", descending=[True, False])["cause"][0]
    return f"the most frequent cause of suspect references: {cause}"
