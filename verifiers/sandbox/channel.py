"""Framed messages over a stream socket, read and written against a deadline.

In: a socket, a kind and a body. Out: the peer's frames, in order.

A frame is a 32-bit length, a kind byte and a body of at most `MAX_BODY` bytes. Both sides of a jail use this;
the trusted side always names a deadline on the monotonic clock.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from typing import NamedTuple

MAX_BODY = 64 << 20
_HEAD = struct.Struct("<IB")
_CHUNK = 1 << 20


class ClosedError(Exception):
    """The peer is gone."""


class DeadlineError(Exception):
    """The peer neither read nor answered in time."""


class OversizeError(Exception):
    """The peer announced a frame longer than allowed."""


class Frame(NamedTuple):
    """One message: what it is, and its body (usually `values.encode` of something)."""

    kind: bytes
    body: bytes


class Channel:
    """One end of a conversation. Owns its socket; not for use by two threads at once."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._poll = select.poll()

    def send(self, kind: bytes, body: bytes = b"", *, deadline: float | None = None) -> None:
        """Sends one frame.

        Raises:
            ClosedError: the peer is gone.
            DeadlineError: `deadline` (seconds of `time.monotonic`) passed first.
        """
        left = memoryview(_HEAD.pack(len(body), kind[0]) + body)
        while left:
            try:
                left = left[self._socket.send(left, socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)
            except OSError as error:
                raise ClosedError(str(error)) from error

    def receive(self, *, deadline: float | None = None, max_body: int = MAX_BODY) -> Frame:
        """The next frame.

        Raises:
            ClosedError: the peer is gone, between frames or within one.
            DeadlineError: `deadline` (seconds of `time.monotonic`) passed first.
            OversizeError: the frame is longer than `max_body`.
        """
        length, kind = _HEAD.unpack(self._exactly(_HEAD.size, deadline))
        if length > max_body:
            raise OversizeError(f"a message of {length} bytes, where {max_body} are allowed")
        return Frame(bytes((kind,)), self._exactly(length, deadline))

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, count: int, deadline: float | None) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                chunk = self._socket.recv(min(count - len(data), _CHUNK))
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
                continue
            except OSError as error:
                raise ClosedError(str(error)) from error
            if not chunk:
                raise ClosedError("end of stream")
            data += chunk
        return bytes(data)

    def _wait(self, event: int, deadline: float | None) -> None:
        self._poll.register(self._socket, event)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if not self._poll.poll(left) and left is not None:
            raise DeadlineError("no answer in time")
