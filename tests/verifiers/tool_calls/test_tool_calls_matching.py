"""Several calls: one-to-one matching of greatest total, the price of extra and missing calls."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.tool_calls import ToolCallsVerifier
from verifiers.tool_calls.match import best_pairs
from verifiers.verdict import Verdict

matrices = st.integers(1, 5).flatmap(
    lambda columns: st.lists(
        st.lists(st.sampled_from([0, 3, 6, 10]), min_size=columns, max_size=columns), min_size=1, max_size=5
    )
)


def totals(scores: list[list[int]], *, ordered: bool) -> int:
    """The greatest total by trying every pairing."""
    rows, columns = len(scores), len(scores[0])
    padded = [*range(columns), *[None] * rows]
    return max(
        sum(scores[row][column] for row, column in enumerate(chosen) if column is not None)
        for chosen in set(permutations(padded, rows))
        if not ordered or [c for c in chosen if c is not None] == sorted(c for c in chosen if c is not None)
    )


@settings(max_examples=60, deadline=None)
@given(scores=matrices, ordered=st.booleans())
def test_no_pairing_earns_more(scores, ordered):
    pairs = best_pairs(scores, ordered=ordered)
    assert sum(scores[row][column] for row, column in pairs) == totals(scores, ordered=ordered)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    if ordered:
        assert pairs == sorted(pairs)
        assert [column for _, column in pairs] == sorted(column for _, column in pairs)


ROLL = {"name": "roll", "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}}}
PING = {"name": "ping"}


def judged(made: str, wanted: str, **options: bool) -> Verdict:
    """Calls in brief: `6` rolls six sides, `1|2` accepts either, `p` pings, `x` calls no known tool."""
    response = "\n".join(f"<tool_call>{json.dumps(written(one))}</tool_call>" for one in made.split())
    reference = {"tools": [ROLL, PING], "calls": [expected(one) for one in wanted.split()], **options}
    return ToolCallsVerifier().verify(response, reference)


def written(brief: str) -> dict:
    if brief.isalpha():
        return {"name": {"p": "ping", "x": "invented"}[brief], "arguments": {}}
    return {"name": "roll", "arguments": {"sides": int(brief)}}


def expected(brief: str) -> dict:
    return (
        written(brief)
        if brief == "p"
        else {"name": "roll", "accepted": {"sides": [*map(int, brief.split("|"))]}}
    )


@pytest.mark.parametrize(
    ("made", "wanted", "correctness"),
    [
        ("6", "6", 1.0),
        ("8", "6", 0.6),
        ("p", "6", 0.0),
        ("x", "6", 0.0),
        ("6 8", "8 6", 1.0),
        ("6", "6 8", 0.5),
        ("6 6", "6 8", 0.8),
        ("6 6", "6", 0.5),
        ("6 8 10", "6 8", 2 / 3),
        ("6 x", "6", 0.5),
        ("6 p", "6", 0.5),
        ("1 2", "1|2 1", 1.0),
        ("2 2", "1|2 1", 0.8),
        ("1 2 3", "1|2 2|3 1", 1.0),
    ],
)
def test_parallel_calls(made, wanted, correctness):
    assert judged(made, wanted).correctness == pytest.approx(correctness)


@pytest.mark.parametrize(
    ("made", "wanted", "correctness"),
    [
        ("6 p", "6 p", 1.0),
        ("p 6", "6 p", 0.5),
        ("8 6", "6 8", 0.6),
        ("6 p 8", "6 8 p", 2 / 3),
        ("p p", "p p", 1.0),
    ],
)
def test_calls_in_a_wanted_order(made, wanted, correctness):
    assert judged(made, wanted, ordered=True).correctness == pytest.approx(correctness)


def test_parts_are_averages_that_add_up_to_the_correctness():
    verdict = judged("6 8 x", "6 10")
    parts = {part.name: part.value for part in verdict.parts}
    assert parts == pytest.approx({"tool": 2 / 3, "arguments": 2 / 3, "outcome": 1 / 3})
    weighted = 0.3 * parts["tool"] + 0.3 * parts["arguments"] + 0.4 * parts["outcome"]
    assert verdict.correctness == pytest.approx(weighted)


def test_an_unreadable_attempt_beside_a_call_costs_like_an_extra_call():
    response = '<tool_call>{"name": "ping"}</tool_call><tool_call>{"name": "ping"</tool_call>'
    assert ToolCallsVerifier().verify(response, {"calls": [{"name": "ping"}]}).correctness == 0.5


def test_more_calls_than_are_read_earn_nothing():
    assert judged("6 " * 65, "6").correctness == 0.0
    assert judged("6 " * 64, "6 " * 64).correctness == 1.0
