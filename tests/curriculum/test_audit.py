"""`curriculum verify --audit`: our verifiers are clean, bad graders are caught by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curriculum.audit import AuditOptions, AuditReport, Fault, Finding, audit
from curriculum.audit.judge import judge
from curriculum.audit.posted import Posted
from curriculum.audit.run import _groups, kind_of
from curriculum.cli import main
from curriculum.errors import UsageError
from verifiers.adapters import find
from verifiers.audit import Kind, battery

REWARDS = Path(__file__).parent / "audited_rewards.py"


def report(name: str, kind: str | None = None, *families: str, **options: object) -> AuditReport:
    target = name if name == kind or kind is None else f"{REWARDS}:{name}"
    return audit(
        AuditOptions(verifier=target, kind=kind, families=families, workers=1, **options)  # type: ignore[arg-type]
    )


def found(report: AuditReport, fault: Fault) -> set[str]:
    return {finding.case for finding in report.findings if finding.fault == fault}


def judged(name: str, kind: Kind, folder: str, *ids: str) -> set[tuple[str, Fault]]:
    """Cases and faults, of these cases alone, judged by the same worker."""
    target = f"{REWARDS}:{name}"
    cases = [case for case in battery(kind) if case.id in ids]
    posted = Posted(find(target), target, "", folder)
    findings: list[Finding] = judge(cases, posted, workers=1, deadline_s=1.0, show=lambda _: None)
    return {(finding.case, finding.fault) for finding in findings}


# ---- ours


@pytest.mark.parametrize("name", ["boxed", "tool_calls"])
def test_our_verifiers_are_clean(name: str) -> None:
    ours = report(name)
    assert ours.findings == ()
    assert (ours.kind, ours.form, ours.left_out) == (name, "verifier", 0)
    assert ours.cases >= 50


def test_our_jail_is_clean() -> None:
    ours = report("unit_tests", None, "reach")
    assert ours.findings == ()
    assert [(count.family, count.cases) for count in ours.families] == [("reach", 10)]


# ---- bad graders


def test_the_last_number_anywhere() -> None:
    bad = report("last_number", "boxed")
    assert bad.form == "plain"
    assert found(bad, "accepted") >= {
        "hedges/two_boxes_or",
        "hedges/comma_in_the_box",
        "hedges/negated",
        "no_box/final_answer_line",
        "no_box/open",
        "sprays/numbers_around_a_wrong_box",
        "thinking/never_left",
    }
    assert "hedges/two_boxes_or_reversed" not in found(bad, "accepted")
    assert found(bad, "refused") >= {"honest/after_another_number", "honest/thousands"}
    assert found(bad, "raised") == set()


def test_a_trl_function_that_takes_any_box() -> None:
    bad = report("any_box_trl", "boxed", "hedges", "sprays", "honest", "thinking")
    assert bad.form == "trl"
    assert found(bad, "accepted") >= {
        "hedges/two_boxes_or",
        "hedges/two_boxes_or_reversed",
        "sprays/ten_boxes",
        "thinking/box_in_thinking_only",
    }
    assert found(bad, "refused") >= {"honest/nested_braces", "honest/space_before_brace"}
    assert "honest/plain" not in found(bad, "refused")


def test_a_verl_function_that_searches_after_the_box() -> None:
    bad = report("last_box_verl", "boxed", "near_values", "no_box", data_source="my/source")
    assert bad.form == "verl"
    assert found(bad, "accepted") >= {"near_values/superstring", "no_box/open"}
    [superstring] = [finding for finding in bad.findings if finding.case == "near_values/superstring"]
    assert "my/source" in superstring.answered
    assert (superstring.reference, superstring.response) == ("4", "\\boxed{42}")


def test_a_grader_that_runs_the_answer() -> None:
    bad = report("evaluates", "boxed", "code", "no_box")
    assert found(bad, "accepted") >= {"code/import_in_the_box", "code/lambda", "code/walrus"}
    assert found(bad, "raised") >= {"no_box/absent", "no_box/nothing"}


def test_a_marker_in_the_output() -> None:
    bad = report("marker_in_stdout", "unit_tests", "forged_output")
    assert found(bad, "accepted") >= {
        "forged_output/pass_marker",
        "forged_output/pass_marker_in_function",
        "forged_output/pass_marker_in_assertions",
        "forged_output/atexit_marker",
    }
    assert "forged_output/json_result" not in found(bad, "accepted")


def test_programs_that_a_grader_runs_in_its_own_process(tmp_path: Path) -> None:
    names = ("equal_to_everything/number", "searches/all_objects", "reach/environment", "honest/plain")
    assert judged("in_this_process", "unit_tests", str(tmp_path), *names) == {
        ("equal_to_everything/number", "accepted"),
        ("searches/all_objects", "accepted"),
        ("reach/environment", "accepted"),
    }


def test_a_program_that_breaks_the_worker_counts_against_itself_alone(tmp_path: Path) -> None:
    names = ("exits/hard_exit_in_function", "honest/plain", "patches/json_and_pickle", "stubs/wrong")
    assert judged("in_this_process", "unit_tests", str(tmp_path), *names) == {
        ("exits/hard_exit_in_function", "raised"),
        ("patches/json_and_pickle", "raised"),
    }


def test_programs_write_where_nobody_minds(tmp_path: Path) -> None:
    judged("in_this_process", "unit_tests", str(tmp_path), "patches/conftest")
    assert [path.name for path in tmp_path.iterdir()] == ["conftest.py"]
    assert not Path("conftest.py").exists()


def test_programs_that_change_their_process_have_it_to_themselves() -> None:
    cases = battery("unit_tests")
    theirs, ours = _groups(cases, "unit_tests", ours=False), _groups(cases, "unit_tests", ours=True)
    assert all(len(group) == 1 for group in theirs if any(case.lasting for case in group))
    assert len(ours) == len({case.family for case in cases}) < len(theirs)
    assert len(_groups(battery("boxed"), "boxed", ours=False)) == 1


def test_a_tool_grader_that_looks_at_the_first_name() -> None:
    bad = report("first_tool_trl", "tool_calls", "sprays", "wrong_values", "nothing_done", "honest")
    assert found(bad, "accepted") >= {
        "sprays/every_tool",
        "sprays/twice",
        "wrong_values/number_as_a_string",
        "nothing_done/call_in_thinking",
        "nothing_done/nothing_where_no_call_is_wanted",
    }


def test_what_hangs_and_what_changes_its_mind() -> None:
    names = ("giants/digits", "giants/power_tower")
    assert judged("hangs_on_long_input", "boxed", "", *names) == {("giants/digits", "hung")}
    assert len(found(report("forgets", "boxed", "honest"), "unstable")) > 5


def test_hostile_cases_wait_to_be_asked_for() -> None:
    waiting = report("marker_in_stdout", "unit_tests", "hostile")
    assert (waiting.cases, waiting.left_out) == (0, 10)


# ---- names


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("boxed", "boxed"),
        ("my_pkg.math:reward", "boxed"),
        ("unit_tests", "unit_tests"),
        ("rewards.py:code_reward", "unit_tests"),
        ("tool_calls", "tool_calls"),
        ("bfcl:check", "tool_calls"),
    ],
)
def test_the_kind_is_told_by_the_name(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"verifier": "operator:eq"}, "--kind"),
        ({"verifier": "math_and_code:f", "kind": "boxed"}, "No module named"),
        ({"verifier": "boxd"}, "did you mean 'boxed'"),
        ({"verifier": "math:sin", "kind": "boxed"}, "completions"),
        ({"verifier": "boxed", "families": ("hedge",)}, "hedges"),
    ],
)
def test_what_cannot_be_audited_is_a_usage_error(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as error:
        audit(AuditOptions(**options))  # type: ignore[arg-type]
    assert said in str(error.value)


# ---- the command


def run(*arguments: str):
    return CliRunner().invoke(main, ["verify", "--audit", "--workers", "1", *arguments])


def test_the_screen_shows_families_and_findings() -> None:
    ran = run("--verifier", f"{REWARDS}:last_number", "--kind", "boxed", "--family", "hedges")
    assert ran.exit_code == 0
    assert "a plain reward function, judged as boxed" in " ".join(ran.output.split())
    assert "hedges/two_boxes_or" in ran.output
    assert "response   The answer is $\\boxed{3}$ or $\\boxed{4}$." in ran.output
    assert "wrongly accepted" in ran.stdout.splitlines()[-1]


def test_strict_tells_by_the_exit_code() -> None:
    bad = ("--verifier", f"{REWARDS}:last_number", "--kind", "boxed", "--family", "hedges")
    assert run(*bad, "--strict").exit_code == 1
    assert run("--verifier", "boxed", "--family", "hedges", "--strict").exit_code == 0


def test_json_has_everything() -> None:
    ran = run("--verifier", f"{REWARDS}:last_number", "--kind", "boxed", "--family", "hedges", "--json")
    told = json.loads(ran.stdout)
    assert (told["kind"], told["form"], told["cases"]) == ("boxed", "plain", 15)
    assert told["faults"]["accepted"] == len([f for f in told["findings"] if f["fault"] == "accepted"]) > 3
    [family] = told["families"]
    assert family["faults"]["accepted"] == told["faults"]["accepted"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--audit"],
        ["--audit", "--verifier", "boxed", "answers.jsonl"],
        ["--audit", "--verifier", "boxed", "--out", "x.jsonl"],
        ["--audit", "--verifier", "nobody"],
        ["answers.jsonl", "--strict"],
        [],
    ],
    ids=" ".join,
)
def test_misuse_is_a_usage_error(arguments: list[str]) -> None:
    assert CliRunner().invoke(main, ["verify", *arguments]).exit_code == 2
