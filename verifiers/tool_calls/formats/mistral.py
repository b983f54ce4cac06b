"""Mistral: `[TOOL_CALLS]` before a JSON list of calls (old), or before `name[ARGS]{…}` (version 11 and
later).

In: a text and the place of `[TOOL_CALLS]`. Out: the calls after it. The newer form repeats with or
without the marker, may carry `[CALL_ID]…` and may leave out `[ARGS]`.
"""

from __future__ import annotations

import re

from verifiers.tool_calls.call import MAX_CALLS, Broken, Format, Item, Reading
from verifiers.tool_calls.json_text import NotJson, call, decode, items_of

MARK = "[TOOL_CALLS]"

_HEAD = re.compile(r"\s*([\w.:/-]{1,256})\s*(?:\[CALL_ID\]\s*\w{1,64}\s*)?(?:\[ARGS\])?\s*(?=\{)")
_NAME = re.compile(r"\s*[\w.:/-]{1,256}\[(?:ARGS|CALL_ID)\]")
_SPACE = re.compile(r"\s*")


def read(text: str, start: int) -> Reading | None:
    """The calls after the marker at `start`."""
    position = start + len(MARK)
    body = position + len(text[position : position + 64]) - len(text[position : position + 64].lstrip())
    try:
        if text.startswith(("[", "{"), body):
            value, end = decode(text, body)
            return Reading(items_of(value) or (Broken("no tool is named"),), end)
        return _named(text, position)
    except NotJson as error:
        return Reading((Broken(str(error)),), max(error.position, position))


def _named(text: str, position: int) -> Reading:
    items: list[Item] = []
    while len(items) <= MAX_CALLS and (head := _HEAD.match(text, position)):
        if items and not _NAME.match(text, position):
            break
        arguments, position = decode(text, head.end())
        items.append(call(head[1], arguments))
    return Reading(tuple(items) or (Broken(f"no call after {MARK}"),), position)


FORMAT = Format("mistral", re.escape(MARK), read)
