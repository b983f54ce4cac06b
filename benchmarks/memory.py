"""The memory of this process, in bytes: what it holds now, and the most it has held.

`ru_maxrss` is no use for the second: a process inherits that of the one that started it.
"""

from __future__ import annotations

from pathlib import Path


def resident() -> int:
    """What is held now."""
    return _status("VmRSS")


def peak() -> int:
    """The most that was held since the program was started."""
    return _status("VmHWM")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))
