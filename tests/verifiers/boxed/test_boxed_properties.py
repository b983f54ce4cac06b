"""Properties over generated answers: never raises, repeatable, symmetric, a sum equals itself reordered."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st

from verifiers.boxed import BoxedVerifier
from verifiers.boxed.equal import Conventions, same
from verifiers.boxed.read import remembered

VERIFIER = BoxedVerifier()
SIGNS = r"""
\frac \sqrt \sqrt[3] \left( \right) \text{ cm} \text{or} \pi \infty \cup \cap \le < > = \ne \pm \circ
^\circ \% \$ \{ \} \begin{pmatrix} \end{pmatrix} & \\ \binom \log_ \ln \sin \cos \tan \lfloor \rfloor
\pmod \overline \boxed { } ( ) [ ] | , ; : . + - * / ^ _ ! ' 0 1 2 3 7 10 12 100 1,000 0.5 1e3 x y n e i
A B ab cm or and ½ ² − ∞ √ ° \mathrm{ \times \cdot \mid \in \mathbb{R} \emptyset \ldots \dot{3} \choose
\circ \to base_8 :30 p.m.
"""
PIECES = SIGNS.split()

answers = st.lists(st.sampled_from([*PIECES, " "]), max_size=14).map("".join)
wild = st.one_of(answers, st.text(max_size=60))
fractions = st.fractions(min_value=-1000, max_value=1000, max_denominator=500)


@settings(max_examples=400, deadline=None)
@given(wild, wild)
@example("\\", "\\")
@example("1\x00", "}{")
@example(r"\log_{10}\sqrt[3]\log_{10}5", "5")
def test_never_raises_and_repeats(one, two):
    response, reference = (
        f"\\boxed{{{one}}}",
        {"answer": two, "formats": ["boxed", "hash", "answer_line", "plain"]},
    )
    first = VERIFIER.verify(response, reference)
    remembered.cache_clear()
    assert VERIFIER.verify(response, reference) == first
    assert "internal fault" not in first.detail


@settings(max_examples=400, deadline=None)
@given(answers, answers)
def test_symmetric(one, two):
    assert same(one, two, Conventions()) == same(two, one, Conventions())


@settings(max_examples=200, deadline=None)
@given(answers)
def test_reflexive(text):
    assert same(text, text + " ", Conventions())


@given(fractions, fractions)
def test_fractions_are_exact(one, two):
    texts = [f"{one.numerator}/{one.denominator}", rf"\frac{{{two.numerator}}}{{{two.denominator}}}"]
    assert same(*texts, Conventions()) == (one == two)


@given(st.decimals(min_value=-1000, max_value=1000, places=3), fractions)
def test_decimals_are_exact(decimal, fraction):
    text = rf"{fraction.numerator * 3}/{fraction.denominator * 3}"
    assert same(str(decimal), text, Conventions()) == (Fraction(decimal) == fraction)


@given(st.integers(2, 60), st.integers(2, 60), st.integers(1, 9))
def test_nested_radicals(a, b, k):
    """sqrt(a) + sqrt(b) is the root of a + b + 2 sqrt(ab), and of nothing else nearby."""
    plain = rf"{k}\sqrt{{{a}}}+{k}\sqrt{{{b}}}"
    nested = rf"\sqrt{{{k * k * (a + b)}+{2 * k * k}\sqrt{{{a * b}}}}}"
    near = rf"\sqrt{{{k * k * (a + b)}+{2 * k * k}\sqrt{{{a * b}}}+10^{{-40}}}}"
    assert same(plain, nested, Conventions())
    assert not same(plain, near, Conventions())


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=4), st.randoms())
def test_polynomials_in_any_order(coefficients, random):
    terms = [f"({c})x^{{{k}}}" for k, c in enumerate(coefficients)]
    shuffled = random.sample(terms, len(terms))
    assert same("+".join(terms), "+".join(shuffled), Conventions())
    assert not same("+".join(terms), "+".join([*shuffled, "x^9"]), Conventions())
