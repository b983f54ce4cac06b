"""Publishing: the tables of a refresh, written aside and made visible in one step.

In: the plan, the rollouts, groups, decisions and caps of a finished pass. Out: a folder under
`refreshes/` that is complete when it has its name, and LATEST pointing to it.

    refreshes/<id>/train/shard-…  control/shard-…  rollouts/part-…
    refreshes/<id>/decisions.parquet  groups.parquet  suspects.csv  manifest.json

Every table is a function of the pass and the configuration: the same pass gives the same bytes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import polars as pl
import pyarrow as pa

from curriculum.errors import NothingError
from curriculum.files import TEMPORARY, disk_errors, sync_folder
from curriculum.manifest import REFRESHES, Manifest, point_latest, write_manifest
from curriculum.plan import Plan
from curriculum.pool.write import export
from curriculum.reviews import FILE_NAME as SUSPECTS_FILE
from curriculum.reviews import Reviews, review_table
from curriculum.scoring.journal import read_journal
from pipelines.arrow import to_arrow
from pipelines.order import control_sample, shuffled
from pipelines.schemas import DECISIONS, GROUPS, ROLLOUTS
from pipelines.shards import Shard, write_parts, write_shards

ROLLOUT_PART_ROWS = 100_000
WHOLE = 2**62
"""Rows and bytes of a table that is one file whatever its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What a refresh publishes."""

    rollouts: pl.DataFrame  # pipelines.groups.NEEDED and index, sorted by prompt_id and index
    groups: pl.DataFrame  # GROUPS
    decisions: pl.DataFrame  # DECISIONS
    caps: pl.DataFrame  # CAPS
    rules: pl.DataFrame  # RULE_TABLE
    suspects: pl.DataFrame  # SUSPECTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Where the set is and how large."""

    path: Path
    manifest: Manifest
    set_rows: int
    control_rows: int


def refresh_id(plan: Plan, suspects: pl.DataFrame, attempt: int) -> str:
    """`<checkpoint>-<8 hex digits>`: the same pass and selection give the same id.

    A restarted pass may differ in its rollouts, so its attempt is part of the id; so is what was observed,
    which references are in doubt, and what a review said of them.
    """
    what = f"{plan.identity.pass_id}/{plan.pool.content_hash}/{plan.config.selection.model_dump_json()}"
    what += f"/{plan.config.output.model_dump_json(exclude={'dir', 'url'})}/{attempt}"
    if not plan.observed.is_empty():
        what += f"/{plan.observed.rows()}"
    if plan.reviews != Reviews() or not suspects.is_empty():
        reviewed = (sorted(plan.reviews.accepted), sorted(plan.reviews.dropped), sorted(plan.reviews.fixed))
        what += f"/{suspects.rows()}{reviewed}"
    return f"{plan.policy.name}-{blake2b(what.encode(), digest_size=4).hexdigest()}"


def publish(plan: Plan, tables: Tables, manifest: Manifest) -> Published:
    """Writes everything aside, then gives it its name and moves LATEST.

    A refresh that is already published under the same id is left as it is; LATEST moves to it.

    Args:
        manifest: all but `tables`, which is filled in here.

    Raises:
        NothingError: no prompt was kept.
        EngineError: the disk refuses.
    """
    chosen = _chosen(tables, plan)
    if chosen.is_empty():
        counts = ", ".join(f"{count} {name}" for name, count in sorted(manifest.counts.items()) if count)
        raise NothingError(
            "no prompt of the pool is worth training on",
            where=counts,
            do="use a harder or an easier pool, more rollouts a prompt (--n), or another checkpoint; "
            "the published set is left as it was",
        )
    control = _control(tables, plan, chosen.height)
    refreshes = plan.config.output.dir / REFRESHES
    folder = refreshes / manifest.refresh_id
    if not folder.is_dir():
        with disk_errors(refreshes, during_pass=True):
            manifest = _write_aside(refreshes, plan, tables, chosen, control, manifest)
    with disk_errors(plan.config.output.dir, during_pass=True):
        point_latest(plan.config.output.dir, manifest.refresh_id)
    return Published(path=folder, manifest=manifest, set_rows=chosen.height, control_rows=control.height)


def _write_aside(
    refreshes: Path,
    plan: Plan,
    tables: Tables,
    chosen: pl.DataFrame,
    control: pl.DataFrame,
    manifest: Manifest,
) -> Manifest:
    aside = refreshes / f"{TEMPORARY}{manifest.refresh_id}"
    for stale in refreshes.glob(f"{TEMPORARY}*"):  # of a killed run; the folder is locked
        shutil.rmtree(stale)
    aside.mkdir(parents=True)
    rows, layout = plan.config.output.shard_rows, plan.config.output.layout
    shards = {
        "train": _named(
            "train", write_shards(export(plan.pool, chosen, layout), aside / "train", max_rows=rows)
        ),
        "control": _named(
            "control", write_shards(export(plan.pool, control, layout), aside / "control", max_rows=rows)
        ),
        "rollouts": _named("rollouts", write_parts(_rollout_parts(plan, tables), aside / "rollouts")),
        "decisions": [_one(aside, "decisions", to_arrow(tables.decisions, DECISIONS))],
        "groups": [_one(aside, "groups", to_arrow(tables.groups, GROUPS))],
    }
    if not tables.suspects.is_empty():
        review_table(tables.suspects, plan.pool).write_csv(aside / SUSPECTS_FILE)
    manifest = replace(manifest, tables=shards)
    write_manifest(aside, manifest)
    aside.rename(refreshes / manifest.refresh_id)
    sync_folder(refreshes)
    return manifest


def _named(folder: str, shards: list[Shard]) -> list[Shard]:
    """Shards of a folder, named relative to the refresh."""
    return [replace(shard, name=f"{folder}/{shard.name}") for shard in shards]


def _rollout_parts(plan: Plan, tables: Tables) -> Iterator[pa.Table]:
    """The rollouts with their text, sorted, whole prompts together; one part at a time in memory."""
    counts = tables.rollouts.group_by("prompt_id").len().sort("prompt_id")
    part = (pl.col("len").cum_sum() - 1) // ROLLOUT_PART_ROWS
    bounds = counts.group_by(part.alias("part")).agg(
        first=pl.col("prompt_id").min(), last=pl.col("prompt_id").max()
    )
    for _, first, last in bounds.sort("part").iter_rows():
        rows = read_journal(plan.journal, prompts=(first, last)).select(ROLLOUTS.names())
        yield to_arrow(rows.collect(), ROLLOUTS)


def _one(aside: Path, table: str, rows: pa.Table) -> Shard:
    """The whole table as `<table>.parquet`."""
    [shard] = write_shards(rows, aside, stem=table, max_rows=WHOLE, max_bytes=WHOLE)
    (aside / shard.name).rename(aside / f"{table}.parquet")
    return replace(shard, name=f"{table}.parquet")


def _chosen(tables: Tables, plan: Plan) -> pl.DataFrame:
    """The kept rows with what a trainer gets to know of them, in shuffled order."""
    kept = tables.decisions.filter(pl.col("decision").cast(pl.String).str.starts_with("keep_"))
    return shuffled(_described(kept, tables, plan), plan.config.sampling.seed)


def _control(tables: Tables, plan: Plan, size: int) -> pl.DataFrame:
    """As many prompts as the set has, drawn from all that fit the window: what training without a
    curriculum would see."""
    rows = control_sample(plan.table.filter(~pl.col("overlong")), size, plan.config.sampling.seed)
    caps = tables.caps.select("domain", "cap")
    plain = rows.join(caps, on="domain", how="left", maintain_order="left").with_columns(weight=pl.lit(1.0))
    return _described(plain, tables, plan)


def _described(rows: pl.DataFrame, tables: Tables, plan: Plan) -> pl.DataFrame:
    """Columns row, prompt_id, weight, pass_rate, p_mixed, max_tokens, domain; order kept."""
    groups = tables.groups.select("prompt_id", "pass_rate", "p_mixed")
    cap = pl.col("cap").fill_null(plan.config.sampling.max_tokens).cast(pl.Int32)
    return rows.join(groups, on="prompt_id", how="left", maintain_order="left").select(
        "row", "prompt_id", "weight", "pass_rate", "p_mixed", cap.alias("max_tokens"), "domain"
    )
