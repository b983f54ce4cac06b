"""Arguments: what the schema allows, what equals what was wanted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from verifiers.tool_calls import ToolCallsVerifier

RIGHT, OTHER, INVALID = 1.0, 0.6, 0.3


def score(made: Any, wanted: dict[str, Any], schema: Any, **options: Any) -> float:
    """Correctness of a call of `f` with `made` arguments."""
    response = f"<tool_call>{json.dumps({'name': 'f', 'arguments': made})}</tool_call>"
    tool = {"name": "f"} if schema is None else {"name": "f", "parameters": schema}
    reference = {"tools": [tool], "calls": [{"name": "f", **wanted}], **options}
    verdict = ToolCallsVerifier().verify(response, reference)
    assert verdict.outcome != "verifier_error", verdict
    return verdict.correctness


def of_one(schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"] if required else []}


ANY, TEXT, WHOLE, NUMBER, FLAG = (
    {},
    {"type": "string"},
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
)
CENTS = {"type": "number", "multipleOf": 0.01}
UNIQUE = {"type": "array", "uniqueItems": True}
POINT = {
    "type": "object",
    "properties": {"a": WHOLE, "b": {"type": "integer", "default": 0}},
    "required": ["a"],
}
BIG = 2**53

VALUES = [
    (5, 5.0, WHOLE, RIGHT), (5.0, 5, WHOLE, RIGHT), (5, 5.0, NUMBER, RIGHT), (0, -0.0, NUMBER, RIGHT),
    (5.5, 5, WHOLE, INVALID), ("5", 5, WHOLE, INVALID), (True, 1, WHOLE, INVALID),
    (None, 5, WHOLE, INVALID), ([5], 5, WHOLE, INVALID), (6, 5, WHOLE, OTHER), (-5, 5, WHOLE, OTHER),
    (10**400, 5, WHOLE, OTHER), (True, 1, ANY, OTHER), (1, True, ANY, OTHER), (0, False, ANY, OTHER),
    ("5", 5, ANY, OTHER), (5, "5", ANY, OTHER), ([], {}, ANY, OTHER), (None, "", ANY, OTHER),
    (None, False, ANY, OTHER), ("", [], ANY, OTHER), (BIG + 1, float(BIG), ANY, OTHER),
    (0.1 + 0.2, 0.3, ANY, OTHER), ([1, [True]], [1, [1]], ANY, OTHER), (1, True, FLAG, INVALID),
    ("true", True, FLAG, INVALID), (False, True, FLAG, OTHER), ("a", "A", TEXT, OTHER),
    ("a ", "a", TEXT, OTHER), ("a", "\u200fa", TEXT, OTHER), ("5", "-5", TEXT, OTHER),
    ("1.5", "15", TEXT, OTHER), ("x^2", "x*2", TEXT, OTHER), ("/a/b", "ab", TEXT, OTHER),
    ("é", "\u00e9", TEXT, RIGHT), ("2139", "02139", TEXT, OTHER), ("\ud83d", "a", TEXT, OTHER),
    ("b", "a", {"enum": ["a", "b"]}, OTHER), ("A", "a", {"enum": ["a", "b"]}, INVALID),
    (0, 4, {"type": "integer", "minimum": 1}, INVALID),
    ("ab", "a", {"type": "string", "maxLength": 1}, INVALID),
    ("b1", "a1", {"type": "string", "pattern": "^a"}, INVALID), (19.99, 19.99, CENTS, RIGHT),
    (19.995, 19.99, CENTS, INVALID), (10**400, 1.0, CENTS, OTHER), (1e308, 1.0, CENTS, OTHER),
    ([1, 1.0], [1, 2], UNIQUE, INVALID), ([1, True], [1, True], UNIQUE, RIGHT),
    ([{"a": 1}, {"a": 1.0}], [], UNIQUE, INVALID), ({"b": 1, "a": 2.0}, {"a": 2, "b": 1}, POINT, RIGHT),
    ({"a": 2}, {"a": 2, "b": 0}, POINT, RIGHT), ({"a": 2, "b": 0}, {"a": 2}, POINT, RIGHT),
    ({"a": 2, "b": 1}, {"a": 2}, POINT, OTHER), ({"a": True}, {"a": 1}, POINT, INVALID),
    ({"b": 1}, {"a": 1, "b": 1}, POINT, INVALID),
    ([{"a": 1, "b": 0}], [{"a": 1}], {"type": "array", "items": POINT}, RIGHT),
    ([2, 1], [1, 2], {"type": "array"}, OTHER), ([1], [1, 1], {"type": "array"}, OTHER),
    (None, None, {"type": ["string", "null"]}, RIGHT), (None, "a", {"type": ["string", "null"]}, OTHER),
]  # fmt: skip


@pytest.mark.parametrize(("made", "wanted", "schema", "expected"), VALUES)
def test_one_value_against_another(made, wanted, schema, expected):
    assert score({"x": made}, {"arguments": {"x": wanted}}, of_one(schema)) == expected


OPTIONAL = of_one({"type": "string", "default": "c"}, required=False)
NULLABLE = of_one({"type": ["string", "null"], "default": None}, required=False)
CLOSED = {**OPTIONAL, "additionalProperties": False}


@pytest.mark.parametrize(
    ("made", "wanted", "schema", "expected"),
    [
        ({}, {"x": "c"}, OPTIONAL, RIGHT),
        ({"x": "c"}, {}, OPTIONAL, RIGHT),
        ({}, {"x": "f"}, OPTIONAL, OTHER),
        ({"x": "f"}, {}, OPTIONAL, OTHER),
        ({"x": None}, {}, OPTIONAL, INVALID),
        ({"x": None}, {}, NULLABLE, RIGHT),
        ({}, {"x": "c"}, of_one({"type": "string", "default": "c"}), INVALID),
        ({"y": 1}, {}, OPTIONAL, OTHER),
        ({"y": 1}, {}, CLOSED, INVALID),
        ({"y": 1}, {"y": 1}, OPTIONAL, RIGHT),
        ({}, {}, None, RIGHT),
        ({"y": 1}, {}, None, OTHER),
    ],
)
def test_arguments_left_out_or_added(made, wanted, schema, expected):
    assert score(made, {"arguments": wanted}, schema) == expected


TABLE = {
    "type": "object",
    "properties": {
        "place": TEXT,
        "day": TEXT,
        "outdoor": {"type": "boolean", "default": False},
        "guests": WHOLE,
        "options": {"type": "object"},
        "people": {"type": "array"},
    },
    "required": ["place"],
}


@pytest.mark.parametrize(
    ("made", "accepted", "expected"),
    [
        ({"place": "b"}, {"place": ["a", "b"]}, RIGHT),
        ({"place": "c"}, {"place": ["a", "b"]}, OTHER),
        ({"place": ["a"]}, {"place": ["a"]}, INVALID),
        ({"place": "a"}, {"place": ["a"], "day": ["", "x"]}, RIGHT),
        ({"place": "a", "day": "x"}, {"place": ["a"], "day": ["", "x"]}, RIGHT),
        ({"place": "a", "day": "y"}, {"place": ["a"], "day": ["", "x"]}, OTHER),
        ({"place": "a", "day": ""}, {"place": ["a"], "day": ["", "x"]}, OTHER),
        ({"place": "a"}, {"place": ["a"], "day": ["x"]}, OTHER),
        ({}, {"place": ["", "a"]}, RIGHT),
        ({"place": "a", "outdoor": False}, {"place": ["a"]}, RIGHT),
        ({"place": "a", "outdoor": True}, {"place": ["a"]}, OTHER),
        ({"place": "a"}, {"place": ["a"], "outdoor": [False]}, RIGHT),
        ({"place": "a", "outdoor": False}, {"place": ["a"], "outdoor": ["", True]}, RIGHT),
        ({"place": "a", "guests": 2.0}, {"place": ["a"], "guests": [1, 2]}, RIGHT),
        ({"place": "a", "guests": True}, {"place": ["a"], "guests": [1, 2]}, INVALID),
        (
            {"place": "a", "options": {"gear": "b"}},
            {"place": ["a"], "options": [{"gear": ["a", "b"]}]},
            RIGHT,
        ),
        ({"place": "a", "options": {}}, {"place": ["a"], "options": [{"gear": ["", "b"]}]}, RIGHT),
        ({"place": "a", "options": {"gear": ["b"]}}, {"place": ["a"], "options": [{"gear": ["b"]}]}, OTHER),
        (
            {"place": "a", "options": {"gear": "b", "gps": 1}},
            {"place": ["a"], "options": [{"gear": ["b"]}]},
            OTHER,
        ),
        (
            {"place": "a", "options": {"a": {"b": 1}}},
            {"place": ["a"], "options": [{"a": [{"b": [1]}]}]},
            RIGHT,
        ),
        ({"place": "a", "options": {"a": {"b": 1}}}, {"place": ["a"], "options": [{"a": {"b": 1}}]}, RIGHT),
        ({"place": "a", "people": [{"age": 5}]}, {"place": ["a"], "people": [[{"age": [4, 5]}]]}, RIGHT),
        ({"place": "a", "people": ["", "b"]}, {"place": ["a"], "people": [["", "b"]]}, RIGHT),
        ({"place": "a", "people": ["b"]}, {"place": ["a"], "people": [["a-b"], ["b", "a"]]}, OTHER),
    ],
)
def test_accepted_alternatives(made, accepted, expected):
    assert score(made, {"accepted": accepted}, TABLE) == expected


@pytest.mark.parametrize(
    ("made", "wanted", "expected"),
    [
        ("new-york", "New York", RIGHT),
        (" St. John's ", "st johns", RIGHT),
        ("Porto", "Lisbon", OTHER),
        ("1.5", "15", OTHER),
        ("-5", "5", OTHER),
        ("x^2", "x*2", OTHER),
        ("!", "?", OTHER),
    ],
)
def test_strings_normalised_where_the_reference_allows_it(made, wanted, expected):
    assert score({"x": made}, {"arguments": {"x": wanted}}, of_one(TEXT), normalise=True) == expected
    assert score({"x": [made]}, {"accepted": {"x": [[wanted]]}}, of_one(ANY), normalise=True) == expected
    assert score({"x": made}, {"arguments": {"x": wanted}}, of_one(TEXT)) == OTHER


def test_normalising_does_not_excuse_a_value_outside_the_enumeration():
    schema = of_one({"enum": ["celsius"]})
    assert score({"x": "Celsius"}, {"arguments": {"x": "celsius"}}, schema, normalise=True) == INVALID


BFCL = {
    "type": "dict",
    "properties": {
        "p": {"type": "tuple", "items": {"type": "float"}},
        "w": {"type": "float"},
        "l": {"type": "any"},
    },
    "required": ["p"],
}


@pytest.mark.parametrize(
    ("schema", "made", "expected"),
    [
        (BFCL, {"p": [1, 2.5], "w": 3}, RIGHT),
        (BFCL, {"p": [True, 2.5], "w": 3}, INVALID),
        (BFCL, {"p": [1, 2.5], "w": "3"}, INVALID),
        ({"p": {"type": "List[float]"}, "w": {"type": "int, optional"}}, {"p": [1, 2.5], "w": 3}, RIGHT),
        ({"p": {"type": "List[float]"}, "w": {"type": "int, optional"}}, {"p": [1, 2.5], "w": 3.5}, INVALID),
        ({"type": "OBJECT", "properties": {"w": {"type": "INTEGER"}}}, {"p": [1, 2.5], "w": "3"}, INVALID),
        ({"type": "object", "properties": {"p": {"items": [WHOLE, TEXT]}}}, {"p": [1, 2.5], "w": 3}, INVALID),
        ({"properties": {"w": {"minimum": 3, "exclusiveMinimum": True}}}, {"p": [1, 2.5], "w": 3}, INVALID),
        ({"properties": {"w": {"type": "integer", "required": True}}}, {"p": [1, 2.5], "w": 3}, RIGHT),
        ({"description": {"type": "string"}, "properties": {"type": "int"}}, {"p": [1, 2.5], "w": 3}, RIGHT),
    ],
)  # fmt: skip
def test_dialects_of_schemas(schema, made, expected):
    wanted = {"p": [1, 2.5], "w": 3} if expected == RIGHT else {}
    accepted = {name: [value] for name, value in wanted.items()}
    assert score(made, {"accepted": accepted}, schema) == expected


def test_local_references_are_followed_for_types_and_defaults():
    schema = {
        "type": "object",
        "properties": {"to": {"$ref": "#/$defs/pos"}},
        "$defs": {
            "pos": {"type": "object", "properties": {"x": NUMBER, "z": {"type": "number", "default": 0}}}
        },
    }
    assert score({"to": {"x": 1, "z": 0}}, {"arguments": {"to": {"x": 1}}}, schema) == RIGHT
    assert score({"to": {"x": "1"}}, {"arguments": {"to": {"x": 1}}}, schema) == INVALID


def test_a_value_the_reference_lists_is_never_refused_for_its_type():
    assert score({"x": "1"}, {"arguments": {"x": "1"}}, of_one(WHOLE)) == RIGHT
    assert score({"x": 1}, {"arguments": {"x": "1"}}, of_one(WHOLE)) == OTHER
    assert score({"x": False}, {"accepted": {"x": ["no", False]}}, of_one(TEXT)) == RIGHT
    assert score({"x": 0}, {"accepted": {"x": ["no", False]}}, of_one(TEXT)) == INVALID
