"""Verdicts: what can be said of a response, and nothing else."""

from __future__ import annotations

import pickle

import pytest

from verifiers.verdict import OUTCOMES, Part, Verdict, graded, verifier_error


@pytest.mark.parametrize("correctness", [-0.1, 1.1, float("nan"), float("inf")])
def test_correctness_lies_between_0_and_1(correctness):
    with pytest.raises(ValueError, match=r"must lie in 0\.\.1"):
        Verdict(correctness, "partial")


def test_an_unknown_outcome_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown outcome 'right'; known: correct, partial"):
        Verdict(1.0, "right")  # type: ignore[arg-type]


@pytest.mark.parametrize(("correctness", "outcome"), [(1.0, "correct"), (0.5, "partial"), (0.0, "wrong")])
def test_graded_names_the_outcome(correctness, outcome):
    assert graded(correctness).outcome == outcome


def test_a_verifier_error_says_why_and_scores_nothing():
    assert verifier_error("lost") == Verdict(0.0, "verifier_error", (), "lost")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_verdicts_survive_pickling(outcome):
    verdict = Verdict(0.5, outcome, (Part("a", 1.0),), "why")
    assert pickle.loads(pickle.dumps(verdict)) == verdict
