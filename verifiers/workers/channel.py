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

from verifiers.verdict import OUTCOMES, Outcome

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

MAX_MESSAGE_BYTES = 1 << 26
"""The longest message to the caller."""

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
        pickle.UnpicklingError: the bytes hold something other than messages.
    """
    start = 0
    while len(received) - start >= _LENGTH.size:
        (length,) = _LENGTH.unpack_from(received, start)
        if length > MAX_MESSAGE_BYTES:
            raise pickle.UnpicklingError(f"a worker announced a message of {length:,} bytes")
        body = start + _LENGTH.size
        if len(received) < body + length:
            break
        start = body + length
        yield _message(received[body:start])
    del received[:start]


def _message(body: bytes | bytearray) -> Message:
    try:
        message: Any = _PlainUnpickler(io.BytesIO(body)).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # bytes that are no pickle may raise anything
        raise pickle.UnpicklingError(f"a worker sent no message: {type(error).__name__}") from error
    if not _is_message(message):
        raise pickle.UnpicklingError(f"a worker sent {message!r:.60}, which is no message")
    checked: Message = message
    return checked


def _is_message(content: Any) -> bool:
    match content:
        case ("ready",) | ("loading", str()):
            return True
        case ("result", float(share), str(outcome), tuple(parts), str(), float(), float()):
            named = [isinstance(part, tuple) and list(map(type, part)) == [str, float] for part in parts]
            return all(named) and 0.0 <= share <= 1.0 and outcome in OUTCOMES
    return False


class _PlainUnpickler(pickle.Unpickler):
    """Reads numbers, strings and containers; refuses to look up any class or function."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"a worker sent {module_name}.{global_name}; only plain data is allowed")
