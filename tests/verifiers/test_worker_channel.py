"""The channel: messages survive any cut, and only plain data gets through to the caller."""

from __future__ import annotations

import io
import os
import pickle

import pytest

from verifiers.workers.channel import pack, read_message, take_messages

MESSAGES = [
    ("ready",),
    ("loading", "a:B"),
    ("result", 0.5, "partial", (("one", 1.0), ("two", 0.0)), "half", 0.1, 2.5),
]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_messages_survive_any_cut(size):
    stream = b"".join(map(pack, MESSAGES))
    received, taken = bytearray(), []
    for start in range(0, len(stream), size):
        received += stream[start : start + size]
        taken += take_messages(received)
    assert taken == MESSAGES
    assert received == b""


class Attack:
    def __reduce__(self):
        return os.system, ("touch hacked",)


@pytest.mark.parametrize("content", [Attack(), ValueError("x"), ("result", io.BytesIO())])
def test_classes_are_refused(content):
    with pytest.raises(pickle.UnpicklingError, match="only plain data is allowed"):
        list(take_messages(bytearray(pack(content))))


def test_batches_are_read_until_the_stream_ends():
    batch = [("boxed", "response", "{}")]
    stream = io.BytesIO(pack(batch) + pack(batch) + pack(batch)[:-1])
    assert [read_message(stream) for _ in range(3)] == [batch, batch, None]
