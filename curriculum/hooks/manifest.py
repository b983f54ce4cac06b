"""What a published refresh says of itself, as far as a trainer needs it.

In: an output folder or a refresh folder. Out: `Source`: the files to open, and the hash that names the set.
The manifest is written last and LATEST is replaced atomically, so whatever is found here is complete.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from curriculum.errors import UsageError

SCHEMA_VERSION = 1
TABLES = ("train", "groups", "decisions")
_NAME = "manifest.json"
_LATEST = "LATEST"
_REFRESHES = "refreshes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A published refresh and the files that belong to it."""

    folder: Path
    refresh_id: str
    manifest_hash: str  # SHA-256 of the manifest's bytes, in hex
    checkpoint: str
    tables: dict[str, list[tuple[Path, int]]]  # table to its files, each with its number of rows

    def rows(self, table: str) -> int:
        """How many rows a table has."""
        return sum(rows for _, rows in self.tables[table])

    @property
    def out(self) -> Path:
        """The output folder that the refresh was published in."""
        return self.folder.parent.parent


def newest_folder(out: Path) -> Path:
    """The refresh folder that LATEST names.

    Raises:
        UsageError: nothing has been published there.
    """
    pointer = out / _LATEST
    try:
        name = pointer.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(
            "nothing is published here",
            where=str(out),
            do=f"run `curriculum refresh --out {out}`, or name the folder that has LATEST in it",
        ) from error
    return out / _REFRESHES / name


def find_source(folder: Path) -> Source:
    """The refresh that `folder` is, or the newest one of an output folder.

    Raises:
        UsageError: there is none, or its manifest cannot be read.
    """
    if not (folder / _NAME).is_file():
        folder = newest_folder(folder)
    path = folder / _NAME
    try:
        data = path.read_bytes()
        content = json.loads(data)
        if content["schema_version"] != SCHEMA_VERSION:
            raise UsageError(
                f"the refresh has manifest version {content['schema_version']}, "
                f"this program reads {SCHEMA_VERSION}",
                where=str(path),
                do="use the version of rlvr-curriculum that wrote it",
            )
        files = {table: content["tables"][table] for table in TABLES}
        return Source(
            folder=folder,
            refresh_id=content["refresh_id"],
            manifest_hash=hashlib.sha256(data).hexdigest(),
            checkpoint=str(content["checkpoint"].get("name", "")),
            tables={
                table: [(folder / file["name"], int(file["rows"])) for file in named]
                for table, named in files.items()
            },
        )
    except FileNotFoundError as error:
        raise UsageError(
            "not a published refresh: it has no manifest",
            where=str(path),
            do="restore that folder, or name another one under refreshes/",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            "the manifest cannot be read", where=f"{path}: {error!r}", do="publish the set again"
        ) from error
