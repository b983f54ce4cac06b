"""JSON as models write it: one value at a place in a text, within bounds, nothing repaired.

In: a text and a position. Out: the decoded value and where it ends, or `NotJson`. Duplicate keys, NaN,
infinities and integers too long to handle are kept as `Flaw` in the value, so that the call they belong
to can be named and its arguments refused.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from verifiers.tool_calls.call import MAX_DEPTH, MAX_MARKS, Broken, Call, Flaw, Item

MAX_DIGITS = 4000
"""Python itself refuses to convert integers of more than 4300 digits."""

_STRUCTURE = re.compile(r'[\[\]{},]|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_CALL_KEYS = frozenset({"name", "arguments", "parameters"})


class NotJson(ValueError):
    """No JSON value stands here; `position` is how far the text was understood."""

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.position = position


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        times = Counter(key for key, _ in pairs)
        value.update({key: Flaw(f"{key[:40]!r} is given twice") for key in value if times[key] > 1})
    return value


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= MAX_DIGITS else Flaw(f"an integer of {len(digits)} digits")


def _float(text: str) -> Any:
    number = float(text)
    return number if math.isfinite(number) else Flaw(f"{text[:20]} is no finite number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=lambda name: Flaw(f"{name} is no JSON value"),
)


def decode(text: str, start: int, marks: int = MAX_MARKS) -> tuple[Any, int]:
    """The JSON value at `start` and the position after it.

    Raises:
        NotJson: no value stands there, or it is deeper or has more in it than the limits allow.
    """
    _check_bounds(text, start, marks)
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise NotJson(f"not JSON: {error.msg}", max(error.pos, start + 1)) from None


def _check_bounds(text: str, start: int, marks: int) -> None:
    depth = 0
    for count, match in enumerate(_STRUCTURE.finditer(text, start)):
        mark = match[0]
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
        if depth > MAX_DEPTH or count > marks:
            raise NotJson(f"nested more than {MAX_DEPTH} deep or with more than {marks} parts", len(text))
        if depth <= 0:
            return


def loads(text: str, marks: int = MAX_MARKS) -> Any:
    """The one JSON value that is the whole of `text`.

    Raises:
        NotJson: `text` is not one JSON value.
    """
    stripped = text.strip()
    value, end = decode(stripped, 0, marks)
    if end != len(stripped):
        raise NotJson("text after the value", end)
    return value


def items_of(value: Any) -> tuple[Item, ...]:
    """The calls in a decoded value: one call object, OpenAI's wrapper around one, or a list of them.

    Empty when the value is data or a tool's definition rather than a call.
    """
    if isinstance(value, list):
        return tuple(item for element in value for item in items_of(element))
    if not isinstance(value, dict):
        return ()
    if isinstance(value.get("function"), dict):
        return items_of(value["function"])
    if "name" not in value or _is_definition(value):
        return ()
    name = value["name"]
    if not isinstance(name, str) or not name.strip():
        return (Broken(name.reason if isinstance(name, Flaw) else "the name is no text"),)
    return (_call(name, value),)


def _is_definition(value: dict[str, Any]) -> bool:
    """Whether `value` is a tool's definition: described, or with a schema for parameters."""
    if "arguments" in value:
        return False
    parameters = value.get("parameters")
    is_schema = isinstance(parameters, dict) and isinstance(parameters.get("properties"), dict)
    return "description" in value or is_schema


def _call(name: str, value: dict[str, Any]) -> Call:
    if "arguments" in value and "parameters" in value:
        return Call(name, {}, "both arguments and parameters are given")
    for key, extra in value.items():
        if key not in _CALL_KEYS and isinstance(extra, dict | list):
            return Call(name, {}, f"a second payload under {key!r}")
    return call(name, value.get("arguments", value.get("parameters")))


def call(name: str, arguments: Any) -> Call:
    """The call of `name`, with arguments that may be encoded as a JSON string, even twice.

    Absent, null and empty-string arguments are no arguments.
    """
    for _ in range(2):
        if isinstance(arguments, str) and arguments.strip():
            try:
                arguments = loads(arguments)
            except NotJson as error:
                return Call(name, {}, f"arguments are {error}")
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        arguments = {}
    if not isinstance(arguments, dict):
        return Call(name, {}, "arguments are no object")
    return Call(name, arguments, find_flaw(arguments))


def find_flaw(value: Any) -> str:
    """The reason of a flaw in a value tree, or an empty string."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Flaw):
            return value.reason
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return ""
