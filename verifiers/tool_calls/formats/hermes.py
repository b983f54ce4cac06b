"""Hermes and Qwen 2.5: `<tool_call>` around JSON `{"name": …, "arguments": {…}}`.

In: a text and the place of a `<tool_call>`. Out: the calls inside the tag, or one `Broken`.

The JSON is decoded from its first character, so a closing tag inside a string is data. One tag may hold
several objects, each a call. A missing closing tag is forgiven when nothing but white space follows.
"""

from __future__ import annotations

import re

from verifiers.tool_calls.call import MAX_CALLS, Broken, Format, Item, Reading, begins_line
from verifiers.tool_calls.json_text import NotJson, decode, items_of

OPEN, CLOSE = "<tool_call>", "</tool_call>"

_FENCE = re.compile(r"```\w*+\s*+")
_BETWEEN = re.compile(r"[\s,;]*")
_SPACE = re.compile(r"\s*")
_BORDER = re.compile(r"</?tool_call>|</think>|\Z")
_CALL_LIKE = re.compile(r"[\[{(=]")


def read(text: str, start: int) -> Reading | None:
    """What the tag at `start` holds; a tag that a sentence only mentions holds nothing."""
    position = _skip(_SPACE, text, start + len(OPEN))
    if text.startswith("<function=", position):
        return None
    position = _skip(_FENCE, text, position)
    if not text.startswith(("{", "["), position):
        return _unreadable(text, start)
    return _payload(text, position)


def _payload(text: str, position: int) -> Reading:
    items: list[Item] = []
    while text.startswith(("{", "["), position):
        try:
            value, position = decode(text, position)
        except NotJson as error:
            return Reading((Broken(str(error)),), _border(text, max(position, error.position)))
        items += items_of(value) or (Broken("no tool is named"),)
        if len(items) > MAX_CALLS:
            break
        position = _skip(_BETWEEN, text, position)
    position = _skip(_FENCE, text, position)
    if text.startswith(CLOSE, position):
        return Reading(tuple(items), position + len(CLOSE))
    if text.startswith(OPEN, position) or position == len(text):
        return Reading(tuple(items), position)
    return Reading((Broken("text after the call"),), _border(text, position))


def _unreadable(text: str, start: int) -> Reading:
    body = start + len(OPEN)
    border = _BORDER.search(text, body)
    end = border.start() if border else len(text)
    closed = text.startswith(CLOSE, end)
    content = text[body:end]
    alone = begins_line(text, start) and not content.partition("\n")[0].strip()
    if alone or _CALL_LIKE.search(content) or (closed and not content.strip()):
        return Reading((Broken("no JSON object in the tag"),), end + (len(CLOSE) if closed else 0))
    return Reading((), body)


def _border(text: str, position: int) -> int:
    border = _BORDER.search(text, position)
    if border is None:
        return len(text)
    return border.end() if border[0] == CLOSE else border.start()


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


FORMAT = Format("hermes", re.escape(OPEN), read)
