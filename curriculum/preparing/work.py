"""What a preparation has finished, kept so that the same command continues after a kill.

In: a folder; for each stage its name, a key of all that decides its result, and how to make it. Out: the
result, made once. A stage is there whole or not at all, and another key is another stage.

    work/raw-<key>/             the pool as read, in parts
    work/references-<key>/      the references checked so far
    work/<stage>-<key>.parquet  the table of any other stage
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

import polars as pl

from curriculum.files import TEMPORARY, sync_folder
from curriculum.pool.identity import canonical


def write_table(path: Path, frame: pl.DataFrame) -> None:
    """Writes a Parquet file that is whole under its name, or absent."""
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    with synced(temporary) as file:
        frame.write_parquet(file, compression="lz4")
    temporary.rename(path)
    sync_folder(path.parent)


@contextmanager
def synced(path: Path) -> Iterator[BinaryIO]:
    """A file to write that is on disk when the block ends."""
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def stage_key(*inputs: object) -> str:
    """Names a stage by what decides its result: JSON values, tuples among them, and our own version."""
    ours = importlib.metadata.version("rlvr-curriculum")
    return blake2b(canonical([ours, *inputs]).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Work:
    """The stages that are done, and the place for those that are not.

    In a dry run the place is a temporary folder, and what earlier runs have finished is only read.
    """

    kept: Path
    made: Path
    used: set[str] = field(default_factory=set)

    def table(self, stage: str, key: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        """The table of a stage, made by `make` unless it is there."""
        name = self._use(f"{stage}-{key}.parquet")
        if (path := self.kept / name).is_file():
            return pl.read_parquet(path)
        frame = make()
        write_table(self.made / name, frame)
        return frame

    def folder(self, stage: str, key: str, fill: Callable[[Path], None]) -> Path:
        """The folder of a stage, filled by `fill` unless it is there."""
        name = self._use(f"{stage}-{key}")
        if (path := self.kept / name).is_dir():
            return path
        path = self.made / name
        temporary = path.with_name(f"{TEMPORARY}{name}")
        shutil.rmtree(temporary, ignore_errors=True)  # of a killed run
        temporary.mkdir(parents=True)
        fill(temporary)
        temporary.rename(path)
        sync_folder(self.made)
        return path

    def growing(self, stage: str, key: str) -> tuple[Path, Path]:
        """The folders of a stage that is kept piece by piece: where its pieces are, and where more go."""
        name = self._use(f"{stage}-{key}")
        (self.made / name).mkdir(parents=True, exist_ok=True)
        return self.kept / name, self.made / name

    def aside(self, name: str) -> Path:
        """An empty folder for passing use, removed with the next call of that name or by `tidy`."""
        path = self.made / f"{TEMPORARY}{name}"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def tidy(self) -> None:
        """Removes what the finished preparation did not use: stages of other inputs or settings."""
        for path in self.kept.iterdir():
            if path.name not in self.used:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _use(self, name: str) -> str:
        self.used.add(name)
        return name


@contextmanager
def open_work(folder: Path, *, dry_run: bool, restart: bool) -> Iterator[Work]:
    """The work folder; `restart` forgets what is in it, `dry_run` leaves it as it is."""
    if dry_run:
        with tempfile.TemporaryDirectory(prefix="curriculum-") as made:
            yield Work(Path(made) if restart else folder, Path(made))
        return
    if restart:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    yield Work(folder, folder)
