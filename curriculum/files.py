"""Writing files so that a reader sees the old one or the new one, and disks that cannot be written.

In: bytes or a folder. Out: files that are on disk when the call returns. Local file systems only.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from curriculum.errors import CurriculumError, EngineError, UsageError

TEMPORARY = ".tmp-"
"""Prefix of names that are being written; readers pass them over, the next run removes them."""


def write_atomic(path: Path, data: bytes) -> None:
    """Writes `data` to `path` by temporary file, fsync and rename."""
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
    sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """`write_atomic` of indented JSON with sorted keys."""
    write_atomic(path, (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode())


def sync_folder(folder: Path) -> None:
    """Makes renames in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def disk_errors(where: Path, *, during_pass: bool) -> Iterator[None]:
    """Turns what a disk can refuse into an error with a remedy; other OSErrors pass through.

    Raises:
        UsageError: before a pass. EngineError: during one, what is in the journal is kept.
    """
    try:
        yield
    except OSError as error:
        causes = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EROFS: "the file system is read-only",
            errno.EACCES: "no permission to write",
            errno.EPERM: "no permission to write",
            errno.EIO: "the disk reports an error",
        }
        if error.errno not in causes:
            raise
        kind: type[CurriculumError] = EngineError if during_pass else UsageError
        remedy = "make room or name another folder with --out"
        if during_pass:
            remedy = "what is in the journal is kept: mend the disk, then run the same command to continue"
        raise kind(causes[error.errno], where=f"writing {error.filename or where}", do=remedy) from error
