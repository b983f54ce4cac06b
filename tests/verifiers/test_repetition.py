"""Repetition: 0 for fresh text, near 1 for a loop, linear in the length."""

from __future__ import annotations

import time

import pytest

from verifiers.repetition import MAX_CHARS, repetition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0.0),
        ("a b c d", 0.0),
        ("a b c d e", 0.0),
        ("a a a a a", 0.5),  # two 4-grams, one distinct
        ("a b c d a b c d", 0.2),  # five, of which the last was seen
        ("a\nb  c\td a b c d", 0.2),
        ("wait " * 1003, 0.999),
        (" ".join(map(str, range(1000))), 0.0),
    ],
)
def test_share_of_repeated_four_grams(text, expected):
    assert repetition(text) == pytest.approx(expected)


def test_a_loop_at_the_end_of_a_huge_text_is_seen():
    fresh = " ".join(map(str, range(100_000)))
    assert repetition(fresh) == 0.0
    assert repetition(fresh + " and so on" * MAX_CHARS) > 0.99


def test_a_huge_text_costs_no_more_than_its_end():
    began = time.process_time()
    repetition("no " * 10_000_000)
    assert time.process_time() - began < 0.5
