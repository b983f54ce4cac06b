"""Length-prefixed messages over pipes between the caller's process and one worker.

In: plain data (tuples, lists, strings, numbers). Out: the same on the other side.

    caller -> worker   Given once, then list[Request] again and again, each a batch
    worker -> caller   Ready | Loading | Result, one message each

Messages to the caller are read with every class refused, so that bytes written by a hijacked worker
remain data: they can be wrong, but they cannot run code in the caller's process.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, Literal, NoReturn, TypeAlias

from verifiers.verdict import Outcome

Given: TypeAlias = dict[str, bytes]
"""Pickled verifiers by name, to be used in place of what the registry finds under these names."""
Request: TypeAlias = tuple[str, str, str]
"""verifier, response, reference."""
Ready: TypeAlias = tuple[Literal["ready"]]
"""The worker has started, or has imported a verifier, and can judge."""
Loading: TypeAlias = tuple[Literal["loading"], str]
"""The worker begins to import the named verifier, on behalf of its current item."""
Result: TypeAlias = tuple[
    Literal["result"], float, Outcome, tuple[tuple[str, float], ...], str, float, float
]  # correctness, outcome, parts, detail, repetition, verify_ms
Message: TypeAlias = Ready | Loading | Result

_LENGTH = struct.Struct("<Q")


def pack(content: object) -> bytes:
    """One message, ready to be written."""
    body = pickle.dumps(content, protocol=5)
    return _LENGTH.pack(len(body)) + body


def read_message(stream: BinaryIO) -> Any:
    """The next message from the caller; None at the end, also when it ends inside a message."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    if len(body) < length:
        return None
    return pickle.loads(body)  # noqa: S301 - written by the process that started this one


def take_messages(received: bytearray) -> Iterator[Message]:
    """The whole messages at the start of `received`, which keeps only what is left over.

    Raises:
        pickle.UnpicklingError: a message holds something other than plain data.
    """
    start = 0
    while len(received) - start >= _LENGTH.size:
        (length,) = _LENGTH.unpack_from(received, start)
        body = start + _LENGTH.size
        if len(received) < body + length:
            break
        start = body + length
        message: Message = _PlainUnpickler(io.BytesIO(received[body:start])).load()
        yield message
    del received[:start]


class _PlainUnpickler(pickle.Unpickler):
    """Reads numbers, strings and containers; refuses to look up any class or function."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"a worker sent {module_name}.{global_name}; only plain data is allowed")
