"""Reward functions as verifiers: the form is told by the signature, odd returns are no judgement."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verifiers.adapters import AdapterError, adapt, find, ground_truth
from verifiers.boxed import BoxedVerifier
from verifiers.registry import UnknownVerifierError
from verifiers.verdict import Verdict, Verifier

REFERENCE = {"prompt": "What is 2 + 2?", "answer": "4"}


def judged(function: Callable[..., Any], response: str = "4") -> Verdict:
    return adapt(function).verify(response, REFERENCE)


# ---- forms


def plain(response, answer):
    return response == answer


def plain_with_options(response, answer, strict=True):
    return float(response == answer and strict)


def plain_with_mapping(response, reference):
    return float(response == reference["answer"] and reference["prompt"] == "What is 2 + 2?")


def trl_text(completions, answer, **kwargs):
    return [float(c.strip() == a) for c, a in zip(completions, answer, strict=True)]


def trl_text_by_solution(prompts, completions, solution):
    rows = zip(prompts, completions, solution, strict=True)
    return [float(p == "What is 2 + 2?" and c == s) for p, c, s in rows]


def trl_chat(completions, ground_truth, **kwargs):
    return [float(c[0]["content"] == t) for c, t in zip(completions, ground_truth, strict=True)]


def trl_chat_that_catches(completions: list[list[dict[str, str]]], answer, **kwargs):
    try:
        return [float(completions[0][-1]["content"] == answer[0])]
    except TypeError:
        return [0.0]


async def trl_async(completions, answer, **kwargs):
    return [float(completions[0] == answer[0])]


def verl(data_source, solution_str, ground_truth, extra_info=None):
    return float(solution_str == ground_truth and data_source == "math" and "question" in extra_info)


def verl_dict(solution_str, ground_truth, **kwargs):
    return {"score": float(solution_str == ground_truth), "acc": 0.0}


class Scorer:
    def __call__(self, response, answer):
        return response == answer


FORMS = [
    (plain, "plain"),
    (plain_with_options, "plain"),
    (plain_with_mapping, "plain"),
    (Scorer(), "plain"),
    (trl_text, "trl"),
    (trl_text_by_solution, "trl"),
    (trl_chat, "trl"),
    (trl_chat_that_catches, "trl"),
    (trl_async, "trl"),
    (verl, "verl"),
    (verl_dict, "verl"),
]


@pytest.mark.parametrize(("function", "form"), FORMS, ids=lambda value: getattr(value, "__name__", "scorer"))
def test_each_form_is_told_and_called(function: Callable[..., Any], form: str) -> None:
    verifier = adapt(function, data_source="math")
    assert verifier.form == form
    assert isinstance(verifier, Verifier)
    assert verifier.verify("4", REFERENCE).outcome == "correct"
    assert verifier.verify("5", REFERENCE).outcome == "wrong"


@pytest.mark.parametrize(
    "function", [lambda: 1.0, lambda response: 1.0, lambda a, b, c: 1.0, lambda *, a, b: 1]
)
def test_other_functions_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(AdapterError, match="completions"):
        adapt(function)


def test_references_without_an_answer_come_as_json() -> None:
    reference = {"prompt": "p", "calls": [{"name": "ping", "arguments": {}}]}
    assert json.loads(ground_truth(reference)) == {"calls": reference["calls"]}


# ---- what comes back


@pytest.mark.parametrize(
    ("returned", "correctness", "outcome"),
    [
        (True, 1.0, "correct"),
        (1, 1.0, "correct"),
        (3.5, 1.0, "correct"),
        (0.25, 0.25, "partial"),
        (-1.0, 0.0, "wrong"),
        (Verdict(0.5, "partial"), 0.5, "partial"),
        ({"score": 1.0}, 1.0, "correct"),
        ((True, {"logged": 0.0}), 1.0, "correct"),
        ((), 0.0, "verifier_error"),
        (None, 0.0, "verifier_error"),
        ("1.0", 0.0, "verifier_error"),
        (float("nan"), 0.0, "verifier_error"),
        (float("inf"), 0.0, "verifier_error"),
        ([1.0], 0.0, "verifier_error"),
        ({"acc": 1.0}, 0.0, "verifier_error"),
    ],
    ids=str,
)
def test_numbers_are_clamped_and_odd_returns_are_no_judgement(
    returned: object, correctness: float, outcome: str
) -> None:
    verdict = judged(lambda response, answer: returned)
    assert (verdict.correctness, verdict.outcome) == (correctness, outcome)


@pytest.mark.parametrize("rewards", [[], [1.0, 1.0], 1.0, {"a": 1}, "1", [None]], ids=str)
def test_trl_functions_give_one_reward_a_completion(rewards: object) -> None:
    assert judged(lambda completions, **_: rewards).outcome == "verifier_error"


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(0), RecursionError(), AssertionError()])
def test_what_a_function_raises_is_no_judgement(error: BaseException) -> None:
    def raises(response, answer):
        raise error

    verdict = judged(raises)
    assert verdict.outcome == "verifier_error"
    assert type(error).__name__ in verdict.detail


def test_a_text_function_that_fails_is_blamed_for_its_own_error() -> None:
    verdict = judged(lambda completions, **_: [float(completions[0].split("####")[1])])
    assert "list index out of range" in verdict.detail


def test_the_version_changes_with_the_source() -> None:
    assert adapt(plain).version == adapt(plain).version != adapt(trl_text).version


# ---- where it comes from


def test_a_function_in_a_file_is_found_and_imports_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "adapters_neighbour.py").write_text("WORTH = 1.0\n")
    file = tmp_path / "json.py"  # a name that a module of the library has
    file.write_text(
        "from adapters_neighbour import WORTH\n"
        "def score(response, answer):\n    return WORTH * (response == answer)\n"
    )
    assert find(f"{file}:score").verify("4", REFERENCE).outcome == "correct"
    assert json.loads("1") == 1


def test_a_verifier_class_in_a_file_is_found(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from verifiers.verdict import graded\n"
        "class Mine:\n"
        "    name, version = 'mine', '1'\n"
        "    def verify(self, response, reference):\n"
        "        return graded(float(response == reference['answer']))\n"
    )
    verifier = find(f"{file}:Mine")
    assert (verifier.name, verifier.verify("4", REFERENCE).outcome) == ("mine", "correct")


def test_registered_names_and_dotted_paths_are_found() -> None:
    assert isinstance(find("boxed"), BoxedVerifier)
    assert isinstance(find("verifiers.boxed:BoxedVerifier"), BoxedVerifier)
    assert find("operator:eq").verify("4", REFERENCE).outcome == "correct"


@pytest.mark.parametrize(
    "target", ["nowhere", "no_such_module:f", "math:no_such_name", "no/such/file.py:f", "math:pi"]
)
def test_what_cannot_be_found_is_named(target: str) -> None:
    with pytest.raises(UnknownVerifierError, match=target.partition(":")[0]):
        find(target)
