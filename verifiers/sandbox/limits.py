"""What one jailed program may use.

In: numbers. Out: `Limits`, and its bytes for the journey to the zygote.
"""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass

MEGABYTE = 1 << 20
_PACKED = struct.Struct("<5Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Hard limits of one program; a program is one process with threads."""

    memory_bytes: int = 1024 * MEGABYTE
    """Address space."""
    cpu_seconds: int = 60
    file_bytes: int = 16 * MEGABYTE
    """Longest file it may write, its standard output among them; also the size of its /tmp."""
    open_files: int = 64
    threads: int = 64

    def pack(self) -> bytes:
        return _PACKED.pack(*astuple(self))


def unpack(data: bytes) -> Limits:
    memory_bytes, cpu_seconds, file_bytes, open_files, threads = _PACKED.unpack(data)
    return Limits(
        memory_bytes=memory_bytes,
        cpu_seconds=cpu_seconds,
        file_bytes=file_bytes,
        open_files=open_files,
        threads=threads,
    )
