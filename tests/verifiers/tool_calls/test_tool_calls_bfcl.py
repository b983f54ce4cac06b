"""BFCL: every accepted answer is accepted, and mutations of them earn what they should.

A mutation gives the made calls and the range correctness must lie in, or None where it does not apply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from verifiers.tool_calls import ToolCallsVerifier

DATA = Path(__file__).resolve().parents[3] / "../shared/data/bfcl"
CATEGORIES = ("simple_python", "multiple", "parallel")

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the shared data is not beside this checkout")

Calls = list[dict[str, Any]]
Made = tuple[Calls | str, float, float] | None

FULL, WRONG_VALUE, INVALID, NOTHING = (1.0, 1.0), (0.6, 0.6), (0.3, 0.3), (0.0, 0.0)
NOT_ALL = (0.0, 0.999)


@dataclass(frozen=True)
class Entry:
    """One BFCL question: its tools and its accepted calls."""

    id: str
    tools: list[dict[str, Any]]
    calls: Calls

    @property
    def reference(self) -> dict[str, Any]:
        return {"tools": self.tools, "calls": self.calls}

    def answer(self, pick: int = 0) -> Calls:
        """The accepted answer that takes the `pick`-th alternative, counted round, of every parameter."""
        return [{"name": call["name"], "arguments": chosen(call["accepted"], pick)} for call in self.calls]

    def parameters(self, position: int = 0) -> dict[str, Any]:
        name = self.calls[position]["name"]
        return next(tool["parameters"] for tool in self.tools if tool["name"] == name)


def chosen(accepted: dict[str, Any], pick: int) -> dict[str, Any]:
    picked = {name: values[pick % len(values)] for name, values in accepted.items()}
    return {name: plain(value) for name, value in picked.items() if value != ""}


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(next(one for one in listed if one != "")) for key, listed in value.items()}
    return [plain(element) for element in value] if isinstance(value, list) else value


def lines(path: Path) -> Iterator[dict[str, Any]]:
    yield from map(json.loads, path.read_text().splitlines())


def entries(category: str) -> list[Entry]:
    tools = {row["id"]: row["function"] for row in lines(DATA / f"{category}.jsonl")}
    return [
        Entry(
            row["id"],
            tools[row["id"]],
            [
                {"name": name, "accepted": accepted}
                for call in row["ground_truth"]
                for name, accepted in call.items()
            ],
        )
        for row in lines(DATA / f"possible_answer_{category}.jsonl")
    ]


def hermes(calls: Calls) -> str:
    return "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)


def verdict(calls: Calls | str, reference: dict[str, Any]) -> Any:
    return ToolCallsVerifier().verify(calls if isinstance(calls, str) else hermes(calls), reference)


@pytest.mark.parametrize("category", CATEGORIES)
def test_accepted_answers_are_accepted(category):
    refused = [
        (entry.id, pick)
        for entry in entries(category)
        for pick in range(6)
        if verdict(entry.answer(pick), entry.reference).correctness != 1.0
    ]
    assert refused == []


# ---------------------------------------------------------------------- mutations of one argument

KINDS = {"integer": int, "float": float, "string": str, "boolean": bool, "array": list}
ARGUMENT_MUTATIONS: dict[str, tuple[str, Callable[[Any], Any], tuple[float, float]]] = {
    "string for integer": ("integer", str, INVALID),
    "boolean for integer": ("integer", bool, INVALID),
    "fraction for integer": ("integer", lambda value: value + 0.5, INVALID),
    "whole float for integer": ("integer", float, FULL),
    "integer for whole float": ("float", lambda value: int(value) if value.is_integer() else value, FULL),
    "another number": ("integer float", lambda value: value + 1, WRONG_VALUE),
    "the negative": ("integer float", lambda value: -value - (not value), WRONG_VALUE),
    "null for a value": ("integer string array", lambda _: None, INVALID),
    "value in a list": ("integer string boolean", lambda value: [value], INVALID),
    "number for string": ("string", lambda _: 7, INVALID),
    "near string": ("string", lambda value: value + "s", WRONG_VALUE),
    "string in another case": ("string", str.swapcase, WRONG_VALUE),
    "string with a hyphen": ("string", lambda value: f"-{value}", WRONG_VALUE),
    "the other boolean": ("boolean", lambda value: not value, WRONG_VALUE),
    "string for boolean": ("boolean", lambda value: str(value).lower(), INVALID),
    "number for boolean": ("boolean", int, INVALID),
    "element for list": ("array", lambda value: value[0], INVALID),
    "list without its last": ("array", lambda value: value[:-1], WRONG_VALUE),
    "list with one twice": ("array", lambda value: [*value, value[-1]], WRONG_VALUE),
}


def with_changed_argument(entry: Entry, mutation: str) -> Made:
    """The answer with the first fitting argument changed; not where the change is accepted or the default."""
    types, change, score = ARGUMENT_MUTATIONS[mutation]
    calls, accepted = entry.answer(), entry.calls[0]["accepted"]
    declared = entry.parameters()["properties"]
    for name, value in calls[0]["arguments"].items():
        kind = declared[name]["type"]
        if kind not in types.split() or type(value) is not KINDS[kind] or "" in accepted[name]:
            continue
        changed = change(value)
        if score == WRONG_VALUE and (changed in accepted[name] or changed == declared[name].get("default")):
            return None
        if score == WRONG_VALUE and changed not in declared[name].get("enum", [changed]):
            score = INVALID
        calls[0]["arguments"][name] = changed
        return calls, *(score if len(calls) == 1 or score == FULL else NOT_ALL)
    return None


# ---------------------------------------------------------------------- mutations of one call


def required_dropped(entry: Entry) -> Made:
    required = entry.parameters().get("required", [])
    must = [name for name in required if "" not in entry.calls[0]["accepted"][name]]
    if not must or len(entry.calls) > 1:
        return None
    calls = entry.answer()
    del calls[0]["arguments"][must[0]]
    return calls, *INVALID


def extra_argument(entry: Entry) -> Made:
    calls = entry.answer()
    calls[0]["arguments"]["no_such_parameter"] = 1
    return calls, 0.3, 0.999


def arguments_in_reverse(entry: Entry) -> Made:
    calls = entry.answer()
    calls[0]["arguments"] = dict(reversed(calls[0]["arguments"].items()))
    return calls, *FULL


def arguments_called_parameters(entry: Entry) -> Made:
    return [{"name": call["name"], "parameters": call["arguments"]} for call in entry.answer()], *FULL


def arguments_encoded_twice(entry: Entry) -> Made:
    calls = [{**call, "arguments": json.dumps(json.dumps(call["arguments"]))} for call in entry.answer()]
    return calls, *FULL


def tool_misspelt(entry: Entry) -> Made:
    if len(entry.calls) > 1:
        return None
    return [{**entry.answer()[0], "name": entry.calls[0]["name"] + "_"}], *NOTHING


def another_tool(entry: Entry) -> Made:
    others = [tool["name"] for tool in entry.tools if tool["name"] != entry.calls[0]["name"]]
    if not others or len(entry.calls) > 1:
        return None
    return [{**entry.answer()[0], "name": others[0]}], 0.0, 0.3


def two_values_swapped(entry: Entry) -> Made:
    calls, accepted = entry.answer(), entry.calls[0]["accepted"]
    arguments = calls[0]["arguments"]
    names = [name for name, value in arguments.items() if type(value) is int and "" not in accepted[name]]
    if len(names) < 2 or len(entry.calls) > 1:
        return None
    first, second = names[:2]
    if arguments[second] in accepted[first] or arguments[first] in accepted[second]:
        return None
    arguments[first], arguments[second] = arguments[second], arguments[first]
    return calls, *WRONG_VALUE


# ---------------------------------------------------------------------- mutations of the whole answer


def call_made_twice(entry: Entry) -> Made:
    calls = entry.answer()
    return [*calls, calls[0]], *NOT_ALL


def wrong_call_beside(entry: Entry) -> Made:
    calls = entry.answer()
    return [*calls, {"name": calls[0]["name"], "arguments": {}}], *NOT_ALL


def every_tool_called(entry: Entry) -> Made:
    if len(entry.tools) == 1:
        return None
    called = {call["name"] for call in entry.calls}
    rest = [{"name": tool["name"], "arguments": {}} for tool in entry.tools if tool["name"] not in called]
    return (entry.answer() + rest, *NOT_ALL) if rest else None


def one_call_missing(entry: Entry) -> Made:
    return (entry.answer()[1:], 0.0, 0.999) if len(entry.calls) > 1 else None


def calls_in_reverse(entry: Entry) -> Made:
    return (entry.answer()[::-1], *FULL) if len(entry.calls) > 1 else None


def first_call_for_all(entry: Entry) -> Made:
    calls = entry.answer()
    return ([calls[0]] * len(calls), *NOT_ALL) if len({json.dumps(call) for call in calls}) > 1 else None


def only_thought(entry: Entry) -> Made:
    return f"<think>{hermes(entry.answer())}</think>\nDone.", *NOTHING


def only_told(entry: Entry) -> Made:
    return f"I called {entry.calls[0]['name']} with the right arguments.", *NOTHING


def cut_off(entry: Entry) -> Made:
    text = hermes(entry.answer()[:1])
    return text[: text.rindex("}}")], *NOTHING


def nothing_said(_: Entry) -> Made:
    return "", *NOTHING


ANSWER_MUTATIONS = [
    required_dropped, extra_argument, arguments_in_reverse, arguments_called_parameters,
    arguments_encoded_twice, tool_misspelt, another_tool, two_values_swapped, call_made_twice,
    wrong_call_beside, every_tool_called, one_call_missing, calls_in_reverse, first_call_for_all,
    only_thought, only_told, cut_off, nothing_said,
]  # fmt: skip
MUTATIONS = {name: partial(with_changed_argument, mutation=name) for name in ARGUMENT_MUTATIONS}
MUTATIONS |= {mutation.__name__: mutation for mutation in ANSWER_MUTATIONS}


@pytest.fixture(scope="module")
def every_entry() -> list[Entry]:
    return [entry for category in CATEGORIES for entry in entries(category)]


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
def test_mutations_earn_what_they_should(mutation, every_entry):
    judged, misjudged = 0, []
    for entry in every_entry:
        made = mutation(entry)
        if made is None:
            continue
        calls, low, high = made
        found = verdict(calls, entry.reference)
        judged += 1
        if not low - 1e-9 <= found.correctness <= high + 1e-9:
            misjudged.append((entry.id, found))
    assert judged >= 5
    assert misjudged == []


def test_order_matters_where_the_reference_says_so(every_entry):
    for entry in every_entry:
        calls = entry.answer()
        ordered = {**entry.reference, "ordered": True}
        assert verdict(calls, ordered).correctness == 1.0
        if len({json.dumps(call) for call in calls}) == len(calls) > 1:
            reverse = verdict(calls[::-1], entry.reference).correctness
            assert reverse == 1.0
            assert verdict(calls[::-1], ordered).correctness < 1.0


def test_calls_are_refused_where_none_is_wanted(every_entry):
    for entry in every_entry:
        assert verdict(entry.answer(), {"tools": entry.tools, "calls": []}).correctness == 0.0
        assert (
            verdict("None of my tools can do that.", {"tools": entry.tools, "calls": []}).correctness == 1.0
        )
