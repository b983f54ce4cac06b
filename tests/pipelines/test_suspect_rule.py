from __future__ import annotations

from fractions import Fraction
from math import comb

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.schemas import ANSWERS, DOUBTS, SUSPECTS, SchemaError
from pipelines.suspects import SuspectRule, doubts, favourite_chance, suspects


def answers(**counts):
    """Rows for prompts a, b, …; each a list of (answer, rollouts), or with pass_id and accepted besides."""
    rows = [
        (prompt, *(row[2:] or ("pass",))[:1], row[0], len(row) > 3, row[1])
        for prompt, given in counts.items()
        for row in given
    ]
    return pl.DataFrame(rows, ANSWERS, orient="row")


ENOUGH = [
    ([("9", 8)], True),
    ([("9", 7), ("8", 1)], True),
    ([("9", 6), ("8", 2)], False),
    ([("9", 6), ("8", 1), ("7", 1)], False),
    ([("9", 6), (None, 2)], True),
    ([("9", 5), (None, 3)], False),  # too small a share
    ([("9", 7)], False),  # too few rollouts
    ([(None, 8)], False),
    ([("9", 12), ("8", 4)], True),
    ([("9", 8, "pass", True)], False),  # an earlier policy was told it is right
    ([("9", 5), ("8", 1), ("9", 7, "earlier"), ("7", 1, "earlier")], True),
    ([("9", 8), ("8", 8, "earlier")], False),
]


@pytest.mark.parametrize(("given", "suspected"), ENOUGH)
def test_how_much_agreement_it_takes(given, suspected) -> None:
    assert suspects(answers(a=given), SuspectRule()).height == suspected


def test_a_suspect_is_told_with_its_figures() -> None:
    rows = answers(a=[("9", 5), ("8", 1), ("9", 7, "earlier"), (None, 1, "earlier")], b=[("1", 3), ("2", 5)])
    found = suspects(rows, SuspectRule())
    assert found.schema == SUSPECTS
    assert found.rows() == [("a", "9", 12, 14, 2, pytest.approx(favourite_chance(12, 1)))]


def test_answers_that_come_first_by_count_then_by_text() -> None:
    rule = SuspectRule(min_rollouts=1, min_share=0.0, min_posterior=0.0)
    assert suspects(answers(a=[("b", 2), ("a", 2), (None, 9)]), rule)["answer"].to_list() == ["a"]


def slow_suspects(rows, rule):
    """What `suspects` says, read off one prompt at a time."""
    found = []
    for prompt_id in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == prompt_id]
        counts, accepted = {}, {row[2] for row in mine if row[3]}
        for _, _, answer, _, rollouts in mine:
            if answer is not None:
                counts[answer] = counts.get(answer, 0) + rollouts
        total = sum(row[4] for row in mine)
        ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        if not ordered or total < rule.min_rollouts or ordered[0][0] in accepted:
            continue
        (answer, agreeing), next_best = ordered[0], ordered[1][1] if len(ordered) > 1 else 0
        chance = favourite_chance(agreeing, next_best)
        if agreeing >= rule.min_share * total and chance > rule.min_posterior:
            passes = len({row[1] for row in mine})
            found.append((prompt_id, answer, agreeing, total, passes, pytest.approx(chance)))
    return found


counted = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from(["now", "earlier"]),
        st.sampled_from([None, "9", "8", "π", ""]),
        st.sampled_from([False, False, False, True]),
        st.integers(1, 9),
    ),
    max_size=12,
)
suspect_rules = st.builds(
    SuspectRule,
    min_rollouts=st.integers(1, 12),
    min_share=st.sampled_from([0.0, 0.5, 0.75, 1.0]),
    min_posterior=st.sampled_from([0.0, 0.5, 0.97, 1.0]),
)


@given(rows=counted, rule=suspect_rules)
@settings(max_examples=60, deadline=None)
def test_suspects_equal_the_reference(rows, rule) -> None:
    assert suspects(pl.DataFrame(rows, ANSWERS, orient="row"), rule).rows() == slow_suspects(rows, rule)


@given(first=st.integers(0, 12), second=st.integers(0, 12))
@settings(max_examples=40, deadline=None)
def test_the_chance_is_the_integral_of_the_beta(first: int, second: int) -> None:
    """By expanding the integrand of Beta(first + 1, second + 1) above one half."""
    total = Fraction(0)
    for k in range(second + 1):
        power = first + k + 1
        total += comb(second, k) * (-1) ** k * (1 - Fraction(1, 2**power)) / power
    constant = (first + second + 1) * comb(first + second, first)
    assert favourite_chance(first, second) == pytest.approx(float(total * constant))


def test_many_rollouts_are_no_trouble() -> None:
    assert favourite_chance(5000, 4000) == pytest.approx(1.0)
    assert favourite_chance(4000, 4000) == pytest.approx(0.5)


def test_doubts_put_the_review_first() -> None:
    found = suspects(answers(b=[("9", 8)], c=[("x" * 99, 8)]), SuspectRule())
    table = doubts(found, ["b", "a"])
    assert table.schema == DOUBTS
    assert table.rows() == [
        ("a", "dropped by review"),
        ("b", "dropped by review"),
        ("c", f"8 of 8 rollouts answer {'x' * 60}, which the reference does not accept"),
    ]


def test_nothing_in_doubt_is_an_empty_table() -> None:
    assert suspects(answers(), SuspectRule()).is_empty()
    assert doubts(suspects(answers(), SuspectRule()), []).is_empty()


@pytest.mark.parametrize("setting", [{"min_rollouts": 0}, {"min_share": 1.5}, {"min_posterior": -0.1}])
def test_a_rule_says_what_is_wrong_with_it(setting) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        SuspectRule(**setting)


def test_a_table_of_another_kind_is_refused() -> None:
    with pytest.raises(SchemaError, match="answers"):
        suspects(pl.DataFrame({"prompt_id": ["a"]}), SuspectRule())
