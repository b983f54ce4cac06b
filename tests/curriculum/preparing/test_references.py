"""What the reference check says of good, bad and doubtful references of every verifier."""

from __future__ import annotations

import json
from typing import Any

import pytest

from curriculum.config import load_config
from curriculum.plan import read_options
from curriculum.preparing.raw import read_raw
from curriculum.preparing.references import check_references
from curriculum.preparing.work import Work
from curriculum.scoring.progress import SilentView

TOOL = {
    "name": "weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "where": {"type": "object"}},
        "required": ["city"],
    },
}
ASSERT = {"tests": [{"kind": "assert", "code": "assert double(2) == 4"}]}


def calls(*wanted: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"tools": [TOOL], "calls": list(wanted), **more}


OSLO = {"name": "weather", "arguments": {"city": "Oslo"}}
CHOICE = {"name": "weather", "accepted": {"city": ["Oslo", "OSLO"], "days": ["", 1]}}
NESTED = {"name": "weather", "accepted": {"city": ["Oslo"], "where": [{"lat": [59.9], "lon": ["", 1]}]}}
OPENAI = {"function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
WRITTEN = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
DOUBLE = "def double(n): return 2 * n"

CASES = [
    # verifier, reference, solution, status, checked, part of the cause
    ("boxed", {"answer": "12"}, None, "accepted", "answer", ""),
    ("boxed", {"answer": r"\frac{1}{2}"}, r"so \boxed{0.5}", "accepted", "answer", ""),
    ("boxed", {"answer": "12"}, r"so \boxed{13}", "refused", "solution", "not accept the given solution"),
    ("boxed", {"answer": "12"}, "so 13", "accepted", "answer", ""),
    ("boxed", {"answer": "12", "formats": ["hash"]}, None, "accepted", "answer", ""),
    ("boxed", {"answers": ["12", "3 mod <<"]}, None, "unusable", "answer", "does not parse"),
    ("boxed", {"answer": " Proof "}, None, "unusable", "answer", "'Proof' stands for none"),
    ("boxed", {"answer": "notfound"}, None, "unusable", "answer", "stands for none"),
    ("boxed", {"answer": "{1"}, None, "unusable", "answer", "braces do not match"),
    ("boxed", {"answer": "1", "tolerance": "wide"}, None, "unusable", "answer", "tolerance"),
    ("unit_tests", ASSERT, None, "unchecked", "usable", "no solution to judge it by"),
    ("unit_tests", ASSERT, DOUBLE, "accepted", "solution", ""),
    ("unit_tests", ASSERT, f"```python\n{DOUBLE}\n```", "accepted", "solution", ""),
    ("unit_tests", ASSERT, "def double(n): return 3 * n", "refused", "solution", "0 of 1 tests passed"),
    ("unit_tests", {"tests": []}, "x = 1", "unusable", "solution", "at least one test"),
    ("tool_calls", calls(OSLO), None, "accepted", "answer", ""),
    ("tool_calls", calls(CHOICE), None, "accepted", "answer", ""),
    ("tool_calls", calls(NESTED), None, "accepted", "answer", ""),
    ("tool_calls", calls(OPENAI, format="mistral"), None, "accepted", "answer", ""),
    ("tool_calls", calls(), None, "accepted", "answer", ""),
    ("tool_calls", {"tools": [TOOL], "calls": WRITTEN}, None, "accepted", "answer", ""),
    ("tool_calls", calls({"name": "weather", "arguments": {"days": 1}}), None, "unusable", "answer", "break"),
    ("tool_calls", {"tools": [TOOL]}, None, "unusable", "answer", "no calls"),
    ("tool_calls", calls({"arguments": {}}), None, "unusable", "usable", "has no name"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> list[dict[str, Any]]:
    """What is found of each case, all checked at once."""
    folder = tmp_path_factory.mktemp("references")
    with (folder / "rows.jsonl").open("w") as file:
        for number, (verifier, reference, solution, *_) in enumerate(CASES):
            row = {"prompt": f"case {number}", "verifier": verifier, "reference": json.dumps(reference)}
            file.write(json.dumps(row | {"worked": solution}) + "\n")
    config = load_config(None, {"prepare.solution_key": "worked", "verification.workers": 2})
    work = Work(folder, folder)
    raw = read_raw([str(folder / "rows.jsonl")], read_options(config.pool), work)
    references = check_references(raw, config, "key", work, SilentView())
    assert references.height == len(CASES)
    return raw.index.join(references, on="prompt_id", how="left", maintain_order="left").to_dicts()


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{number}-{CASES[number][0]}")
def test_a_reference_is_what_its_verifier_makes_of_it(found: list[dict[str, Any]], number: int) -> None:
    *_, status, checked, cause = CASES[number]
    assert (found[number]["status"], found[number]["checked"]) == (status, checked), found[number]
    assert cause in found[number]["cause"]
    assert bool(cause) == bool(found[number]["cause"])
