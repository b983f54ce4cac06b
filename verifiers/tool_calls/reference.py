"""What a response is judged against: the tools there are and the calls that are wanted.

In: the reference mapping of a prompt. Out: `Reference`, compiled once per distinct reference and kept.

Read besides the plain form: OpenAI's `{"type": "function", "function": {…}}` around tools and calls,
arguments as a JSON string, `parameters` for `arguments`, tools or calls given as JSON text, and calls
given as the text of a response that makes them (ToolRL). A tool that only the calls name is known and
takes anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from verifiers.tool_calls import parse
from verifiers.tool_calls.call import MAX_CALLS, Call
from verifiers.tool_calls.dialects import SchemaError
from verifiers.tool_calls.json_text import NotJson, call, loads
from verifiers.tool_calls.schema import Parameters

CACHED_REFERENCES = 1024

MAX_REFERENCE_MARKS = 1_000_000
"""As `MAX_MARKS`, for tools and calls given as JSON text."""

_KEYS = ("tools", "calls", "ordered", "normalise", "format", "environment")


class UnusableReference(ValueError):
    """The reference cannot be used; says what in it is wrong."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One wanted call: exact arguments, or the alternatives accepted for each parameter."""

    name: str
    arguments: dict[str, Any]
    alternatives: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A compiled reference."""

    tools: dict[str, Parameters]
    calls: tuple[Expected, ...]
    ordered: bool
    normalise: bool
    formats: frozenset[str]
    environment: str = ""
    """Source to run the calls in; empty where they are compared as they are."""


def compiled(reference: Mapping[str, Any]) -> Reference:
    """The compiled form of `reference`.

    Raises:
        UnusableReference: something in it is missing, of the wrong kind or contradicts the rest.
    """
    if not isinstance(reference, Mapping):
        raise UnusableReference(f"the reference is a {type(reference).__name__}, not a mapping")
    try:
        known = {key: reference[key] for key in _KEYS if key in reference}
        snapshot = json.dumps(known, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnusableReference(f"the reference is no JSON: {str(error)[:100]}") from None
    return _compiled(snapshot)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON value")


@lru_cache(maxsize=CACHED_REFERENCES)
def _compiled(snapshot: str) -> Reference:
    source = json.loads(snapshot)
    if source.get("calls") is None:
        raise UnusableReference("no calls; give [] where no call must be made")
    tools = _tools(_decoded(source.get("tools")) or [])
    calls = tuple(
        _fitted(wanted, tools.setdefault(wanted.name, Parameters(None)))
        for wanted in _calls(_decoded(source["calls"]))
    )
    flags = _flag(source, "ordered"), _flag(source, "normalise")
    return Reference(tools, calls, *flags, _formats(source), _environment(source, calls))


def _fitted(wanted: Expected, parameters: Parameters) -> Expected:
    """`wanted` with bare text typed; refuses exact arguments that no valid call can equal.

    A value of another type than the schema's is not refused: see `score` for what it means.
    """
    if wanted.alternatives:
        return wanted
    arguments = parameters.typed(wanted.arguments)
    for parameter, reason in parameters.errors(arguments):
        if parameter is None or parameter not in arguments:
            raise UnusableReference(f"the arguments wanted of {wanted.name} break its schema: {reason}")
    return Expected(wanted.name, arguments)


def _decoded(value: Any) -> Any:
    """`value`, decoded when it is JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return loads(value, MAX_REFERENCE_MARKS)
    except NotJson:
        return value


def _flag(source: dict[str, Any], key: str) -> bool:
    value = source.get(key)
    if value is not None and not isinstance(value, bool):
        raise UnusableReference(f"{key} must be true or false")
    return bool(value)


def _environment(source: dict[str, Any], calls: tuple[Expected, ...]) -> str:
    code = source.get("environment") or ""
    if not isinstance(code, str):
        raise UnusableReference("environment must be Python source")
    if code and any(wanted.alternatives for wanted in calls):
        raise UnusableReference("an environment needs exact arguments, not accepted values")
    return code


def _formats(source: dict[str, Any]) -> frozenset[str]:
    name = source.get("format") or "auto"
    known = (
        parse.ALIASES.get("".join(filter(str.isalnum, name.casefold()))) if isinstance(name, str) else None
    )
    if known is None:
        raise UnusableReference(f"no format is called {name!r}; known: {', '.join(sorted(parse.ALIASES))}")
    return known


def _tools(listed: Any) -> dict[str, Parameters]:
    if not isinstance(listed, list):
        raise UnusableReference("tools must be a list")
    tools: dict[str, Parameters] = {}
    for index, entry in enumerate(listed):
        tool = entry.get("function", entry) if isinstance(entry, dict) else entry
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str) or not tool["name"].strip():
            raise UnusableReference(f"tools[{index}] has no name")
        name = tool["name"]
        try:
            parameters = Parameters(_decoded(tool.get("parameters", tool.get("input_schema"))))
        except SchemaError as error:
            raise UnusableReference(f"tools[{index}] {name}: {error}") from None
        if name in tools and tools[name].schema != parameters.schema:
            raise UnusableReference(f"two different tools are called {name}")
        tools[name] = parameters
    return tools


def _calls(listed: Any) -> tuple[Expected, ...]:
    if isinstance(listed, str):
        return _written_calls(listed)
    if not isinstance(listed, list):
        raise UnusableReference("calls must be a list")
    if len(listed) > MAX_CALLS:
        raise UnusableReference(f"more than {MAX_CALLS} calls")
    return tuple(_expected(index, entry) for index, entry in enumerate(listed))


def _written_calls(text: str) -> tuple[Expected, ...]:
    items = parse.read(text, parse.ALIASES["auto"]).items
    calls = [item for item in items if isinstance(item, Call) and not item.flaw]
    if len(calls) != len(items):
        raise UnusableReference("the text given as calls does not parse")
    return tuple(Expected(item.name, item.arguments) for item in calls)


def _expected(index: int, entry: Any) -> Expected:
    entry = entry.get("function", entry) if isinstance(entry, dict) else entry
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"].strip():
        raise UnusableReference(f"calls[{index}] has no name")
    name = entry["name"]
    if "accepted" in entry:
        accepted = _decoded(entry["accepted"])
        if not isinstance(accepted, dict):
            raise UnusableReference(f"calls[{index}] {name}: accepted must map parameters to lists of values")
        for parameter, values in accepted.items():
            if not isinstance(values, list) or not values:
                raise UnusableReference(
                    f"calls[{index}] {name}: accepted.{parameter} must be a list of values"
                )
        return Expected(name, accepted, alternatives=True)
    made = call(name, entry.get("arguments", entry.get("parameters")))
    if made.flaw:
        raise UnusableReference(f"calls[{index}] {name}: {made.flaw}")
    return Expected(name, made.arguments)
