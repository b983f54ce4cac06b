"""References: the forms that are read, and what is refused as unusable."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType

import pytest

from verifiers.tool_calls import ToolCallsVerifier, toolrl

PARAMETERS = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
TOOL = {"name": "f", "parameters": PARAMETERS}
CALL = {"name": "f", "arguments": {"x": 1}}
RIGHT, WRONG = "[f(x=1)]", '[f(x="1")]'

READ = {
    "plain": {"tools": [TOOL], "calls": [CALL]},
    "wrapped as OpenAI does": {
        "tools": [{"type": "function", "function": TOOL}],
        "calls": [{"type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}],
    },
    "parameters for arguments": {"tools": [TOOL], "calls": [{"name": "f", "parameters": {"x": 1}}]},
    "JSON text": {"tools": json.dumps([TOOL]), "calls": json.dumps([CALL])},
    "accepted as JSON text": {"tools": [TOOL], "calls": [{"name": "f", "accepted": '{"x": [1]}'}]},
    "tuples": {"tools": (TOOL,), "calls": (CALL,)},
    "read-only mappings": {"tools": [MappingProxyType(TOOL)], "calls": [MappingProxyType(CALL)]},
    "calls as a response": {"tools": [TOOL], "calls": f"<think>So.</think>[TOOL_CALLS][{json.dumps(CALL)}]"},
    "input_schema": {"tools": [{"name": "f", "input_schema": PARAMETERS}], "calls": [CALL]},
    "keys of others": {"tools": [TOOL], "calls": [CALL], "index": 7, "note": object()},
    "a format by another name": {"tools": [TOOL], "calls": [CALL], "format": "Llama4_Pythonic"},
}  # fmt: skip


@pytest.mark.parametrize("reference", READ.values(), ids=READ)
def test_forms_that_are_read(reference):
    verify = ToolCallsVerifier().verify
    assert verify(RIGHT, reference).correctness == 1.0
    assert verify(RIGHT, MappingProxyType(reference)).correctness == 1.0
    assert verify(WRONG, reference).correctness == 0.3


def test_without_tools_the_wanted_ones_are_known_and_take_anything():
    verify = ToolCallsVerifier().verify
    assert verify(RIGHT, {"calls": [CALL]}).correctness == 1.0
    assert verify(WRONG, {"calls": [CALL]}).correctness == 0.6
    assert verify("[g(x=1)]", {"calls": [CALL]}).correctness == 0.0


def tools(**parameters: object) -> dict:
    return {"tools": [{"name": "f", "parameters": {"type": "object", **parameters}}], "calls": []}


UNUSABLE = {
    "no mapping": None,
    "a list": [CALL],
    "empty": {},
    "calls null": {"calls": None},
    "calls a number": {"calls": 5},
    "a call no object": {"calls": [1]},
    "a call without a name": {"calls": [{"arguments": {}}]},
    "a call with an empty name": {"calls": [{"name": " "}]},
    "arguments a list": {"calls": [{"name": "f", "arguments": [1]}]},
    "arguments no JSON": {"calls": [{"name": "f", "arguments": "{"}]},
    "accepted a list": {"calls": [{"name": "f", "accepted": []}]},
    "accepted no lists": {"calls": [{"name": "f", "accepted": {"x": 1}}]},
    "accepted nothing": {"calls": [{"name": "f", "accepted": {"x": []}}]},
    "too many calls": {"calls": [CALL] * 65},
    "calls as a broken response": {"calls": '<tool_call>{"name"'},
    "tools a number": {"tools": 5, "calls": []},
    "a tool without a name": {"tools": [{}], "calls": []},
    "two tools of one name": {"tools": [TOOL, {"name": "f", "parameters": {"type": "object"}}], "calls": []},
    "unknown format": {"calls": [], "format": "morse"},
    "ordered no flag": {"calls": [], "ordered": "yes"},
    "NaN": {"calls": [{"name": "f", "arguments": {"x": float("nan")}}]},
    "a set": {"calls": [{"name": "f", "arguments": {"x": {1}}}]},
    "parameters a list": {"tools": [{"name": "f", "parameters": []}], "calls": []},
    "properties a list": tools(properties=[]),
    "a schema no object": tools(properties={"x": 5}),
    "a type no name": tools(properties={"x": {"type": 5}}),
    "a bad pattern": tools(properties={"x": {"pattern": "("}}),
    "a bad bound": tools(properties={"x": {"minimum": "1"}}),
    "a bad enumeration": tools(properties={"x": {"enum": "ab"}}),
    "a bad factor": tools(properties={"x": {"multipleOf": 0}}),
    "a bad reference": tools(properties={"x": {"$ref": 5}}),
    "required argument not wanted": {"tools": [TOOL], "calls": [{"name": "f", "arguments": {}}]},
}  # fmt: skip


@pytest.mark.parametrize("reference", UNUSABLE.values(), ids=UNUSABLE)
@pytest.mark.parametrize("response", [RIGHT, "Some words."])
def test_an_unusable_reference_is_an_error_of_the_verifier(reference, response):
    verdict = ToolCallsVerifier().verify(response, reference)
    assert (verdict.outcome, verdict.correctness) == ("verifier_error", 0.0)
    assert verdict.detail.startswith("reference: ")


@pytest.mark.parametrize("target", ["#/$defs/none", "https://example.invalid/schema.json", "#"])
def test_a_reference_that_leads_nowhere_is_an_error_and_never_fetched(target):
    schema = {"type": "object", "properties": {"x": {"allOf": [{"$ref": target}]}}}
    if target == "#":
        schema = {"$ref": "#"}
    reference = {
        "tools": [{"name": "f", "parameters": schema}],
        "calls": [{"name": "f", "accepted": {"x": [1]}}],
    }
    assert ToolCallsVerifier().verify(RIGHT, reference).outcome == "verifier_error"


def test_the_reference_is_not_held_on_to():
    reference = {"tools": [TOOL], "calls": [{"name": "f", "arguments": {"x": 1}}]}
    assert ToolCallsVerifier().verify(RIGHT, reference).correctness == 1.0
    reference["calls"][0]["arguments"]["x"] = 2
    assert ToolCallsVerifier().verify(RIGHT, reference).correctness == 0.6


TOOLRL = Path(__file__).resolve().parents[3] / "../shared/data/toolrl_test_verl.parquet"


@pytest.mark.skipif(not TOOLRL.exists(), reason="the shared data is not beside this checkout")
def test_toolrl_prompts_are_read_and_accept_their_own_answers():
    import pyarrow.parquet as pq

    for row in pq.read_table(TOOLRL).to_pylist():
        system, truth = row["prompt"][0]["content"], row["reward_model"]["ground_truth"]
        reference = toolrl.reference(system, truth)
        assert len(reference["tools"]) == system.count(". Name: ")
        assert ToolCallsVerifier().verify(truth, reference).correctness == 1.0
        other = "I cannot do that." if "<tool_call>" in truth else '<tool_call>{"name": "none"}</tool_call>'
        assert ToolCallsVerifier().verify(other, reference).correctness == 0.0
