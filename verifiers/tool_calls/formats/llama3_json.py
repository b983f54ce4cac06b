"""Llama 3 JSON: bare `{"name": …, "parameters": {…}}`, `; ` between calls, `<|python_tag|>` optional.

In: a text and the place of the tag, of a `{` or of a `[` before one. Out: the calls that follow one
another there. A list of such objects is read too.
"""

from __future__ import annotations

import re

from verifiers.tool_calls.call import MAX_CALLS, Broken, Format, Item, Reading
from verifiers.tool_calls.json_text import NotJson, decode, items_of

TAG = "<|python_tag|>"
_KEYS = "name|arguments|parameters|type|function|id|index|role|content|tool_calls|object|choices"
BARE_OBJECT = rf'\{{\s*+"(?:{_KEYS})"\s*+:'
BARE_LIST = r"\[\s*+" + BARE_OBJECT

_NEXT = re.compile(r'[\s;,]*+(?=\[?\{\s*+")')


def read(text: str, start: int) -> Reading | None:
    """The calls at `start`; JSON that is no call is data and holds nothing."""
    tagged = text.startswith(TAG, start)
    items: list[Item] = []
    end = start + len(TAG) if tagged else start
    following = _NEXT.match(text, end)
    while following and len(items) <= MAX_CALLS:
        try:
            value, after = decode(text, following.end())
        except NotJson as error:
            return Reading((*items, Broken(str(error))), max(error.position, start + 1))
        found = items_of(value)
        if not found:
            end = end if items else after
            break
        items += found
        end = after
        following = _NEXT.match(text, end)
    if tagged and not items:
        items = [Broken(f"no JSON call after {TAG}")]
    return Reading(tuple(items), max(end, start + 1))


TAGGED = Format("llama3_json", re.escape(TAG), read)
OBJECT = Format("llama3_json", BARE_OBJECT, read, bare=True)
LIST = Format("llama3_json", BARE_LIST, read, bare=True)
