"""The identity of a prompt: golden values, and what changes it."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curriculum.pool.identity import canonical, digest, prompt_id

CHAT = [("system", "Be brief."), ("user", 'Say "π" \\ \n 漢字 \u2028')]


def test_the_hash_is_what_the_docstring_says() -> None:
    text = '[[["user","1+1="]],"boxed",{"answer":"2"}]'
    expected = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    assert prompt_id([("user", "1+1=")], "boxed", {"answer": "2"}) == expected


def test_stored_identities_never_change() -> None:
    assert prompt_id([("user", "1+1=")], "boxed", {"answer": "2"}) == "8ce6eba2a22d5f591bab5faee518c454"
    assert (
        prompt_id(CHAT, "tool_calls", {"calls": [{"b": 1.5, "a": None}]})
        == "d5ae8c9a75d8330395c31dbeccfd475d"
    )


def test_the_order_of_keys_does_not_count() -> None:
    assert prompt_id(CHAT, "v", {"a": 1, "b": {"c": 2, "d": 3}}) == prompt_id(
        CHAT, "v", {"b": {"d": 3, "c": 2}, "a": 1}
    )


@pytest.mark.parametrize(
    ("messages", "verifier", "reference"),
    [
        ([("user", "q ")], "v", {"a": 1}),
        ([("system", "q")], "v", {"a": 1}),
        ([("user", "q"), ("user", "")], "v", {"a": 1}),
        ([("user", "q")], "w", {"a": 1}),
        ([("user", "q")], "v", {"a": 1.0}),
        ([("user", "q")], "v", {"a": [1]}),
    ],
)
def test_everything_that_is_asked_counts(messages, verifier, reference) -> None:
    assert prompt_id(messages, verifier, reference) != prompt_id([("user", "q")], "v", {"a": 1})


@given(st.lists(st.tuples(st.text(), st.text())), st.text(), st.dictionaries(st.text(), st.integers()))
def test_the_lean_path_writes_canonical_json(messages, verifier, reference) -> None:
    def hashed() -> str:
        value = [[list(message) for message in messages], verifier, reference]
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    assert digest(messages, verifier, canonical(reference)) == hashed()


@pytest.mark.parametrize("reference", [{"a": float("nan")}, {"a": {1, 2}}, {"a": "\ud800"}])
def test_what_json_cannot_hold_is_refused(reference) -> None:
    with pytest.raises((TypeError, ValueError)):
        prompt_id([("user", "q")], "v", reference)
