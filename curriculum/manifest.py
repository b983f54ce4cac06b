"""The manifest of a published refresh: what it is made of, and which files belong to it.

In: a refresh folder. Out: `Manifest`, read and written as JSON. It is written last, so a folder with
a manifest is complete, and readers open only the files it names.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from curriculum.errors import UsageError
from curriculum.files import write_atomic, write_json
from pipelines.shards import Shard

SCHEMA_VERSION = 1
NAME = "manifest.json"
LATEST = "LATEST"
REFRESHES = "refreshes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Everything about a refresh but its rows. File names are relative to the refresh folder."""

    refresh_id: str
    pass_id: str
    created_at: str  # UTC, ISO 8601
    checkpoint: dict[str, Any]  # name, fingerprint, step
    pool: dict[str, Any]  # content_hash, rows, files, skipped rows
    config: dict[str, Any]  # resolved
    verifiers: dict[str, str]  # name to version
    counts: dict[str, int]  # rows of the pool per decision
    signal: dict[str, float | None]  # before, after
    caps: list[dict[str, Any]]  # pipelines.schemas.CAPS
    run: dict[str, Any]  # how the pass ran: seconds, tokens_per_s, devices, sandbox, library versions
    tables: dict[str, list[Shard]]  # table to files: train, control, decisions, groups, rollouts
    rules: list[dict[str, Any]] = field(default_factory=list)  # pipelines.schemas.RULE_TABLE
    observed: dict[str, Any] = field(default_factory=dict)  # curriculum.result.Observed
    schema_version: int = SCHEMA_VERSION


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes it atomically; call when everything it names is on disk."""
    write_json(folder / NAME, asdict(manifest))


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a refresh folder.

    Raises:
        UsageError: there is none, it cannot be parsed, or a newer version wrote it.
    """
    path = folder / NAME
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        tables = {table: [Shard(**shard) for shard in shards] for table, shards in data.pop("tables").items()}
        version = data["schema_version"]
        if version != SCHEMA_VERSION:
            raise UsageError(
                f"the refresh has manifest version {version}, this program reads {SCHEMA_VERSION}",
                where=str(path),
                do="use the version of rlvr-curriculum that wrote it",
            )
        return Manifest(**data, tables=tables)
    except FileNotFoundError as error:
        raise UsageError(
            "not a published refresh: it has no manifest",
            where=str(path),
            do="name a folder under refreshes/",
        ) from error
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise UsageError("the manifest cannot be read", where=f"{path}: {error!r}") from error


def latest_refresh(out: Path) -> Path | None:
    """The folder that LATEST names; None when nothing has been published.

    Raises:
        UsageError: LATEST names a folder that is not there.
    """
    pointer = out / LATEST
    if not pointer.is_file():
        return None
    folder = out / REFRESHES / pointer.read_text(encoding="utf-8").strip()
    if not (folder / NAME).is_file():
        raise UsageError(
            "LATEST names a refresh that is not there",
            where=f"{pointer} -> {folder}",
            do="restore that folder, or delete LATEST to start without earlier evidence",
        )
    return folder


def point_latest(out: Path, refresh_id: str) -> None:
    """Makes LATEST name `refresh_id`, atomically."""
    write_atomic(out / LATEST, f"{refresh_id}\n".encode())
