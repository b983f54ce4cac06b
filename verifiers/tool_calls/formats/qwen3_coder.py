"""Qwen3-Coder XML: `<function=name>` with `<parameter=key>` values as text, in `<tool_call>` or without.

In: a text and the place of either tag. Out: one call per `<function=…>`, its values as `Text`, typed later
by the tool's schema. A value ends at the closing tag that another tag follows, so that a closing tag
inside a value is data; where closing tags are missing the next tag ends it.
"""

from __future__ import annotations

import re
from typing import Any

from verifiers.tool_calls.call import (
    MAX_CALLS,
    MAX_PARAMETERS,
    Broken,
    Call,
    Flaw,
    Format,
    Item,
    Reading,
    Text,
    begins_line,
)
from verifiers.tool_calls.json_text import find_flaw

_NAME = r"\s*+[\"']?([^\s<>\"']{1,256}+(?: [^\s<>\"']{1,256}+){0,15}+)[\"']?\s*+>"
_FUNCTION = re.compile(rf"\s*+<function={_NAME}")
_PARAMETER = re.compile(rf"\s*+<parameter={_NAME}")
_VALUE_END = re.compile(
    r"(?P<close></parameter>)(?=\s*+(?:<parameter=|</function>|</tool_call>|\Z))|(?=\n[ \t]*+<parameter=)"
)
_FUNCTION_END = re.compile(r"\s*+(?:</function>\s*+(?:</tool_call>)?|</tool_call>|\Z)")
_INSIDE = re.compile(r"\s*+(?:<parameter|</function>|\Z)")
_OPEN = re.compile(r"\s*+(?:<tool_call>\s*+)?(?=<function=)")


def read(text: str, start: int) -> Reading | None:
    """The calls at `start`, or None when the tag holds something else."""
    items: list[Item] = []
    position = start
    while len(items) <= MAX_CALLS and (opened := _OPEN.match(text, position)):
        head = _FUNCTION.match(text, opened.end())
        if head is None:
            items.append(Broken("the function tag has no name"))
            position = opened.end() + len("<function=")
            break
        item, position = _function(text, head[1], head.end())
        if isinstance(item, Broken) and not items and _is_mention(text, start, head.end()):
            break
        items.append(item)
    if not items and text.startswith("<function=", start):
        return Reading((), start + 1)
    return Reading(tuple(items), max(position, start + 1)) if items else None


def _is_mention(text: str, start: int, end: int) -> bool:
    """Whether a sentence runs through a function tag that nothing belonging to a call follows."""
    return not begins_line(text, start) and not _INSIDE.match(text, end)


def _function(text: str, name: str, position: int) -> tuple[Item, int]:
    arguments: dict[str, Any] = {}
    for _ in range(MAX_PARAMETERS):
        head = _PARAMETER.match(text, position)
        if head is None:
            break
        key, start = head[1], head.end()
        found = _value_end(text, start)
        if found is None:
            return Broken(f"parameter {key} is not closed"), len(text)
        end, position = found
        value = Text(text[start:end].removeprefix("\n").removesuffix("\n"))
        arguments[key] = Flaw(f"{key!r} is given twice") if key in arguments else value
    closed = _FUNCTION_END.match(text, position)
    if closed is None:
        return Broken(f"function {name} is not closed"), position
    return Call(name, arguments, find_flaw(arguments)), closed.end()


def _value_end(text: str, start: int) -> tuple[int, int] | None:
    """Where the value that begins at `start` ends, and where reading goes on."""
    end = _VALUE_END.search(text, start)
    if end and end["close"]:
        return end.span()
    place = text.find("</function>", start, end.start() if end else len(text))
    place = end.start() if end and place < 0 else place
    return (place, place) if place >= 0 else None


TAGGED = Format("qwen3_coder", re.escape("<tool_call>"), read)
FORMAT = Format("qwen3_coder", "<function=", read)
