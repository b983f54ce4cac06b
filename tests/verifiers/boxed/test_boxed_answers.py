"""The answer that is taken, and references that ask for another one."""

import pytest

from verifiers.boxed import BoxedVerifier
from verifiers.verdict import AnswerVerifier

VERIFIER = BoxedVerifier()

TAKEN = [
    (r"so \boxed{ \frac12 }", {"answer": "1"}, r"\frac12"),
    (r"\boxed{3} or \boxed{4}", {"answer": "3"}, "3, 4"),
    (r"first \boxed{3}, later on \boxed{4}", {"answer": "3"}, "4"),
    ("so be it", {"answer": "3"}, None),
    (r"\boxed{}", {"answer": "3"}, None),
    (r"<think>\boxed{3}", {"answer": "3"}, None),
    ("#### 12", {"answer": "3", "formats": ["hash"]}, "12"),
    ("#### 12", {"answer": "3"}, None),
    (r"\boxed{3}", {}, None),
    (r"\boxed{3}", {"answer": "4:30p.."}, "3"),
]


@pytest.mark.parametrize(("response", "reference", "answer"), TAKEN)
def test_the_answer_is_what_is_compared(response, reference, answer):
    assert VERIFIER.answer(response, reference) == answer


def test_boxed_is_a_verifier_that_takes_answers():
    assert isinstance(VERIFIER, AnswerVerifier)


def test_another_answer_is_asked_for_with_the_same_options():
    reference = {"answers": ["1", "2"], "units": "required", "formats": ["hash"]}
    asked = VERIFIER.with_answer(reference, "3 cm")
    assert asked == {"answer": "3 cm", "units": "required", "formats": ["hash"]}
    assert VERIFIER.verify("#### 3 cm", asked).outcome == "correct"
    assert VERIFIER.verify("#### 3", asked).outcome == "wrong"
    assert "answers" in reference
