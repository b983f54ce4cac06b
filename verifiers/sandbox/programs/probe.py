"""A probe: tries what a jail has to prevent.

In: PROBE. Out: ESCAPES, the attempts that succeeded.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

from verifiers.sandbox import frames
from verifiers.sandbox.channel import Channel
from verifiers.sandbox.values import encode


def run(channel: Channel) -> int:
    """Sends what this jail fails to prevent; nothing when it holds."""
    channel.send(frames.ESCAPES, encode([what for what, attempt in _ATTEMPTS.items() if _succeeds(attempt)]))
    return 0


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _start_a_process() -> None:
    if os.fork() == 0:
        os._exit(0)


_ATTEMPTS: dict[str, Callable[[], object]] = {
    "read files of the host": Path("/etc/passwd").read_bytes,
    "write to the file system": lambda: Path("/probe").write_bytes(b""),
    "open a socket": socket.socket,
    "start a process": _start_a_process,
    "signal another process": lambda: os.kill(os.getppid() or 2, 0),
}
