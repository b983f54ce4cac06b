"""One refresh at a time in an output folder.

In: the folder. Out: a lock that the kernel releases when the process ends, however it ends, and that
child processes do not inherit.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from curriculum.errors import UsageError
from curriculum.files import disk_errors

LOCK_NAME = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the lock of `folder`, making the folder if need be.

    Raises:
        UsageError: another process holds it, or the folder cannot be written.
    """
    path = folder / LOCK_NAME
    with disk_errors(folder, during_pass=False):
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    with file:
        try:
            # A POSIX record lock: unlike flock, a forked engine process does not keep it alive.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise UsageError(
                "another refresh is writing to this folder",
                where=f"{path}: {file.read().strip() or 'just started'}",
                do="wait for it, or name another folder with --out",
            ) from error
        file.seek(0)
        file.truncate()
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
        with disk_errors(path, during_pass=False):
            file.flush()
        yield
