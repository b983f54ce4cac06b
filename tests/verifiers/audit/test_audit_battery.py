"""The batteries: enough cases, each with its reason, and our own verifiers answer all of them rightly."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from verifiers.audit import KINDS, Case, battery
from verifiers.registry import get

PAGE = (Path(__file__).resolve().parents[3] / "docs/verifiers/audit.md").read_text(encoding="utf-8")
LEAST = {"boxed": 60, "unit_tests": 60, "tool_calls": 50}
TRICKS = {
    "boxed": {"hedges", "sprays", "no_box", "giants", "thinking", "claims", "code"},
    "unit_tests": {
        "exits",
        "equal_to_everything",
        "searches",
        "forged_output",
        "patches",
        "reach",
        "hostile",
    },
    "tool_calls": {"sprays", "nothing_done", "wrong_tools", "wrong_values", "broken"},
}


def cases(*kinds: str) -> list[object]:
    return [pytest.param(case, id=f"{case.kind}-{case.id}") for kind in kinds for case in battery(kind)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_battery_is_large_sorted_and_without_twins(kind: str) -> None:
    ids = [case.id for case in battery(kind)]
    assert len(ids) >= LEAST[kind]
    assert ids == sorted(set(ids))
    responses = {(case.response, str(case.reference)) for case in battery(kind)}
    assert len(responses) == len(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_a_battery_tries_what_it_is_for_and_has_honest_answers(kind: str) -> None:
    families = {case.family for case in battery(kind)}
    assert TRICKS[kind] <= families
    assert sum(case.expected == "accept" for case in battery(kind)) >= 15
    assert all(len(case.why) > 5 and case.why[-1] != "." for case in battery(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_has_the_numbers_and_families(kind: str) -> None:
    [(cases, families)] = re.findall(rf"^\| `{kind}` \| (\d+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert int(cases) == len(battery(kind))
    assert set(families.split(", ")) == {case.family for case in battery(kind)}


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match="no battery for 'essays'"):
        battery("essays")  # type: ignore[arg-type]


def test_tests_are_there_in_the_form_of_apps_too() -> None:
    [case] = [case for case in battery("unit_tests") if case.id == "honest/plain"]
    assert case.reference["inputs"] == ["2\n3", "10\n-4", "123\n456"]
    assert case.reference["outputs"] == ["5", "6", "579"]
    assert case.reference["fn_name"] == "add"


@pytest.mark.parametrize("case", cases("boxed", "tool_calls"))
def test_our_verifiers_answer_rightly(case: Case) -> None:
    verdict = get(case.kind).verify(case.response, case.reference)
    assert verdict.outcome != "verifier_error"
    if case.expected != "either":
        assert (verdict.correctness > case.bar) == (case.expected == "accept"), verdict


@pytest.mark.parametrize(
    "case", [case for case in cases("unit_tests") if case.values[0].family not in ("endless", "hostile")]
)
def test_our_jail_answers_rightly(case: Case) -> None:
    verdict = get("unit_tests").verify(case.response, case.reference)
    assert verdict.outcome != "verifier_error"
    if case.expected != "either":
        assert (verdict.correctness == 1.0) == (case.expected == "accept"), verdict


@pytest.mark.parametrize(
    "case", [case for case in cases("unit_tests") if case.values[0].family in ("endless", "hostile")]
)
def test_our_jail_ends_what_does_not_end(case: Case) -> None:
    verdict = get("unit_tests").verify(case.response, case.reference)
    assert verdict.outcome in ("wrong", "timeout", "malformed")
