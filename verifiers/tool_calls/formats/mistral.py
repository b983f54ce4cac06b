"""Mistral: `[TOOL_CALLS]` before a JSON list of calls (old), or before `name[ARGS]{…}` (version 11 on).

In: a text and the place of `[TOOL_CALLS]`. Out: the calls after it. The newer form repeats with or
without the marker, may carry `[CALL_ID]…` and may leave out `[ARGS]`.
"""

from __future__ import annotations

import re

from verifiers.tool_calls.call import MAX_CALLS, Broken, Format, Item, Reading, begins_line
from verifiers.tool_calls.json_text import NotJson, call, decode, items_of

MARK = "[TOOL_CALLS]"

_HEAD = re.compile(r"\s*+([\w.:/-]{1,256}+)\s*+(?:\[CALL_ID\]\s*+\w{1,64}+\s*+)?(?:\[ARGS\]\s*+)?(?=\{)")
_NAME = re.compile(r"\s*+[\w.:/-]{1,256}+\[(?:ARGS|CALL_ID)\]")
_LIST = re.compile(r"\s*+(?=[\[{])")


def read(text: str, start: int) -> Reading | None:
    """The calls after the marker at `start`; a marker that a sentence mentions holds nothing."""
    position = start + len(MARK)
    try:
        if body := _LIST.match(text, position):
            value, end = decode(text, body.end())
            return Reading(items_of(value) or (Broken("no tool is named"),), end)
        items, end = _named(text, position)
    except NotJson as error:
        return Reading((Broken(str(error)),), max(error.position, position))
    if not items and (begins_line(text, start) or _NAME.match(text, position)):
        items = [Broken(f"no call after {MARK}")]
    return Reading(tuple(items), end)


def _named(text: str, position: int) -> tuple[list[Item], int]:
    items: list[Item] = []
    while len(items) <= MAX_CALLS and (head := _HEAD.match(text, position)):
        if items and not _NAME.match(text, position):
            break
        arguments, position = decode(text, head.end())
        items.append(call(head[1], arguments))
    return items, position


FORMAT = Format("mistral", re.escape(MARK), read)
