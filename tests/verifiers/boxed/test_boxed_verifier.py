"""Outcomes, references and options of the boxed verifier."""

from __future__ import annotations

import pickle

import pytest

from verifiers import registry
from verifiers.boxed import BoxedVerifier
from verifiers.verdict import Verifier

VERIFIER = BoxedVerifier()


def outcome(response, **reference):
    return VERIFIER.verify(response, reference).outcome


def test_registered_and_picklable():
    assert isinstance(registry.get("boxed"), Verifier)
    assert pickle.loads(pickle.dumps(VERIFIER)).verify(r"\boxed{4}", {"answer": 4}).correctness == 1.0


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (r"\boxed{4}", "correct"),
        (r"\boxed{5}", "wrong"),
        (r"\boxed{3} or \boxed{4}", "wrong"),
        (r"\boxed{3 \text{ or } 4}", "wrong"),
        (r"\boxed{4 \text{ but maybe } 5}", "wrong"),
        (r"\boxed{}", "malformed"),
        ("4", "no_answer"),
    ],
)
def test_outcomes(response, expected):
    assert outcome(response, answer="4") == expected


def test_several_boxes_are_one_list():
    assert outcome(r"$x=\boxed{1}$ or $x=\boxed{2}$", answer="1, 2") == "correct"
    assert outcome(r"\boxed{x=4} so \boxed{4}", answer="4") == "correct"


@pytest.mark.parametrize("answer", [42, 42.0, "42", "$42$", r"\boxed{42}", r"We get \boxed{42}.", "42.0"])
def test_answer_as_number_text_or_solution(answer):
    assert outcome(r"\boxed{42}", answer=answer) == "correct"


def test_any_of_several_answers():
    assert outcome(r"\boxed{7}", answers=["6", 7]) == "correct"
    assert outcome(r"\boxed{8}", answers=["6", 7]) == "wrong"


@pytest.mark.parametrize(
    "reference",
    [
        {},
        {"answer": ""},
        {"answer": "$ $"},
        {"answer": None},
        {"answer": True},
        {"answer": ["4"]},
        {"answer": float("nan")},
        {"answer": 10**5000},
        {"answer": r"\frac{1}{2"},
        {"answer": r"\boxed{4"},
        {"answers": []},
        {"answers": "4"},
        {"answers": ["4", ""]},
        {"answer": "4", "formats": []},
        {"answer": "4", "formats": ["regex"]},
        {"answer": "4", "percent": "maybe"},
        {"answer": "4", "units": True},
        {"answer": "4", "tolerance": -1},
        {"answer": "4", "tolerance": {"percent": 1}},
        {"answer": "4", "ordered": "yes"},
        {"answer": "4", "form": "roman"},
    ],
)
def test_unusable_reference_is_verifier_error(reference):
    verdict = VERIFIER.verify(r"\boxed{4}", reference)
    assert (verdict.outcome, verdict.correctness) == ("verifier_error", 0.0)
    assert verdict.detail


@pytest.mark.parametrize("answer", [r"\sum_{k=1}^n k^2", "5", ""])
def test_an_unreadable_reference_rewards_nothing(answer):
    reference = {"answer": r"\sum_{k=1}^n k^2"}
    assert VERIFIER.verify(rf"\boxed{{{answer}}}", reference).outcome == (
        "verifier_error" if answer else "malformed"
    )


def test_of_several_answers_those_that_can_be_read_count():
    reference = {"answers": [r"\sum_{k=1}^n k^2", "5"]}
    assert VERIFIER.verify(r"\boxed{5}", reference).outcome == "correct"
    assert VERIFIER.verify(r"\boxed{6}", reference).outcome == "verifier_error"


@pytest.mark.parametrize(
    ("answer", "options", "response", "expected"),
    [
        ("50", {}, r"50\%", "correct"),
        ("0.5", {}, r"50\%", "correct"),
        ("50", {"percent": "value"}, r"50\%", "wrong"),
        ("0.5", {"percent": "number"}, r"50\%", "wrong"),
        (r"5\text{ cm}", {}, "5", "correct"),
        (r"5\text{ cm}", {"units": "required"}, "5", "wrong"),
        (r"5\text{ cm}", {"units": "required"}, r"0.05 \text{ m}", "correct"),
        (r"5\text{ cm}", {"units": "ignored"}, r"5\text{ km}", "correct"),
        ("1/3", {}, "0.333", "wrong"),
        ("1/3", {"tolerance": 0.01}, "0.333", "correct"),
        ("1/3", {"tolerance": 0.0001}, "0.333", "wrong"),
        (r"\pi", {"tolerance": {"absolute": 0.01}}, "3.14", "correct"),
        ("1,2", {}, "2,1", "correct"),
        ("1,2", {"ordered": True}, "2,1", "wrong"),
        ("1/2", {"form": "fraction"}, "2/4", "correct"),
        ("1/2", {"form": "fraction"}, "0.5", "wrong"),
        ("1/2", {"form": "reduced_fraction"}, "2/4", "wrong"),
        ("1/2", {"form": "reduced_fraction"}, r"\frac12", "correct"),
        ("7/3", {"form": "mixed_number"}, r"2\frac{1}{3}", "correct"),
        ("7/3", {"form": "mixed_number"}, "2 1/3", "correct"),
        ("7/3", {"form": "mixed_number"}, "7/3", "wrong"),
        ("1/2", {"form": "decimal"}, "0.5", "correct"),
        ("1/2", {"form": "decimal"}, "1/2", "wrong"),
        ("5", {"form": "integer"}, "10/2", "wrong"),
        ("50", {"form": "percent"}, r"50\%", "correct"),
        ("50", {"form": "percent"}, "50", "wrong"),
        ("320000", {"form": "scientific"}, r"3.2 \times 10^{5}", "correct"),
        ("320000", {"form": "scientific"}, r"32 \times 10^{4}", "wrong"),
        ("(x+1)^2", {"form": "factored"}, "(x+1)(x+1)", "correct"),
        ("(x+1)^2", {"form": "factored"}, "x^2+2x+1", "wrong"),
        ("(x+1)^2", {"form": "expanded"}, "(1+x)^2", "wrong"),
        ("y=(x+1)^2", {"form": "expanded"}, "y = x^2+2x+1", "correct"),
        ("18", {"formats": ["hash"]}, "18", "no_answer"),
    ],
)
def test_options(answer, options, response, expected):
    assert outcome(rf"\boxed{{{response}}}", answer=answer, **options) == expected


def test_formats():
    assert outcome("so\n#### 18", answer="18", formats=["hash"]) == "correct"
    assert outcome("so\nA: 18", answer="18", formats=["answer_line"]) == "correct"
    assert outcome("18", answer="18", formats=["plain"]) == "correct"
    assert outcome("so 17 or 18", answer="18", formats=["plain"]) != "correct"


def test_detail_is_one_short_line():
    verdict = VERIFIER.verify("\\boxed{" + "a\n" * 500 + "}", {"answer": "b" * 500})
    assert "\n" not in verdict.detail
    assert len(verdict.detail) < 200
