"""The normal form, the tokens and the numbers of prompts."""

from __future__ import annotations

import polars as pl
import pytest

from pipelines.text import minuses, normalised, numbers, tokens

ALIKE = [
    (r"Compute $\dfrac{1}{2}$.", r"compute \(\frac12\)"),
    (r"\[ x^{2} - 5x \]", "$$x^2-5x$$"),
    ("x² ≤ 3", r"$x^{2} \leq 3$"),
    (r"\left( a+b \right)", "(a + b)"),
    (r"1{,}000{,}000 dollars", "1,000,000 dollars"),
    ("10\\,000", "10000"),
    ("５ apples", "5 apples"),
    ("٢٣ تفاحة", "23 تفاحة"),
    (r"$\text{Find } \mathrm{x}$", "find x"),
    ("What is it?", "what is it"),
    ("2–3", "2-3"),
    ("3 × 4", r"$3 \times 4$"),
    (r"a \ge b, \; a \geqslant b", r"a \geq b  a \geq b"),
    ("½ cup", "1/2 cup"),
]
DIFFERENT = [
    ("x^2-5x+6=0", "x^2-7x+6=0"),
    ("(2+3)*4", "2+(3*4)"),
    ("2+3", "2-3"),
    ("1.5", "15"),
    (r"\sin x", r"\cos x"),
    (r"\frac{a+b}{c}", r"\frac{a}{b+c}"),
    ("x < y", "x > y"),
    ("5!", "5"),
]
NUMBERS = [
    ("three times 4, then 3", ["3", "3", "4"]),
    ("Twice ١٢ is 24", ["12", "2", "24"]),
    ("someone won 1,200.50", ["1200.50"]),
    (r"\frac{1}{2}", ["1", "2"]),
    ("none", []),
    ("", []),
]


def cut(text: str | None) -> list[str] | None:
    return one(tokens, text)


def one(what, text):
    return pl.select(what(normalised(pl.lit(text, pl.String)))).item()


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_two_spellings_have_the_same_tokens(one, other):
    assert cut(one).to_list() == cut(other).to_list()


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_two_problems_have_different_tokens(one, other):
    assert cut(one).to_list() != cut(other).to_list()


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_numbers_are_a_sorted_multiset(text, expected):
    assert one(numbers, text).to_list() == sorted(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-1/3 and 3", 1),
        ("x - y − (2)", 2),
        (r"$-\frac12$", 1),
        ("a five-digit number", 0),
        ("a 2-digit x-axis", 0),
    ],
)
def test_minus_signs_are_counted_and_hyphens_are_not(text, expected):
    assert one(minuses, text) == expected


def test_scripts_without_spaces_are_cut_into_characters():
    assert cut("求x的值。").to_list() == ["求", "x", "的", "值"]


def test_null_stays_null():
    assert cut(None) is None
