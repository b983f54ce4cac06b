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


RESULT = ("result", 0.5, "partial", (("one", 1.0),), "half", 0.1, 2.5)


@pytest.mark.parametrize(
    "content",
    [
        True,
        (),
        ("ready", 1),
        ("loading", b"x"),
        RESULT[:-1],
        (*RESULT[:1], 1.5, *RESULT[2:]),
        (*RESULT[:2], "excellent", *RESULT[3:]),
        (*RESULT[:3], (("one",),), *RESULT[4:]),
        (*RESULT[:3], (1.0,), *RESULT[4:]),
    ],
    ids=repr,
)
def test_what_is_no_message_is_refused(content):
    with pytest.raises(pickle.UnpicklingError, match="which is no message"):
        list(take_messages(bytearray(pack(content))))


@pytest.mark.parametrize("body", [b"", b"no pickle", b"\x80\x05.", b"\x80\xff" * 9, b"(" * 99])
def test_what_is_no_pickle_is_refused(body):
    with pytest.raises(pickle.UnpicklingError):
        list(take_messages(bytearray(len(body).to_bytes(8, "little") + body)))


def test_a_message_too_long_to_be_one_is_refused_before_it_has_come():
    with pytest.raises(pickle.UnpicklingError, match="announced"):
        list(take_messages(bytearray((1 << 40).to_bytes(8, "little"))))


def test_batches_are_read_until_the_stream_ends():
    batch = [("boxed", "response", "{}")]
    stream = io.BytesIO(pack(batch) + pack(batch) + pack(batch)[:-1])
    assert [read_message(stream) for _ in range(3)] == [batch, batch, None]
