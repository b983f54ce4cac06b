"""OpenAI: a chat message `{"role": …, "content": …, "tool_calls": [{"type": "function", "function": {…}}]}`.

In: a text and the place of a `{`, or of a `[` before one. Out: the message's calls.

A bare list of `tool_calls` entries, one entry alone, a chat completion around the message and the older
`function_call` key are read too. Arguments are a JSON string; an object in its place is accepted.
"""

from __future__ import annotations

import re
from typing import Any

from verifiers.tool_calls.call import Broken, Format, Item, Reading
from verifiers.tool_calls.formats.llama3_json import BARE_LIST, BARE_OBJECT
from verifiers.tool_calls.json_text import NotJson, decode, items_of, loads

_MESSAGE_KEYS = frozenset({"role", "content", "tool_calls", "function_call"})
_MESSAGE = re.compile(r'\s*+\{\s*+"(?:role|content|tool_calls|function_call|refusal|id|object|choices)"')


def read(text: str, start: int) -> Reading | None:
    """The message or `tool_calls` entries at `start`, or None when the JSON there is neither."""
    try:
        value, end = decode(text, start)
    except NotJson as error:
        return Reading((Broken(str(error)),), max(error.position, start + 1))
    value = _unpacked(value)
    if _is_message(value):
        return Reading(_message_items(value), end)
    entries = value if isinstance(value, list) else [value]
    if all(isinstance(entry, dict) and isinstance(entry.get("function"), dict) for entry in entries):
        return Reading(items_of(value), end)
    return None


def content(text: str) -> str | None:
    """What a message without calls says, or None when `text` is no such message."""
    if not _MESSAGE.match(text):
        return None
    try:
        value = _unpacked(loads(text))
    except NotJson:
        return None
    if not _is_message(value) or _message_items(value):
        return None
    said = value.get("content") or value.get("refusal")
    parts = said if isinstance(said, list) else [{"text": said}]
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and part.get("text"))


def _unpacked(value: Any) -> Any:
    """The message in a chat completion's first choice; any other value as it is."""
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return first["message"] if isinstance(first, dict) and isinstance(first.get("message"), dict) else value


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and bool(_MESSAGE_KEYS & value.keys()) and "name" not in value


def _message_items(message: dict[str, Any]) -> tuple[Item, ...]:
    entries = [message["function_call"]] if message.get("function_call") else message.get("tool_calls") or []
    if not isinstance(entries, list):
        return (Broken("tool_calls is no list"),)
    return tuple(
        item for entry in entries for item in (items_of(entry) or (Broken("a tool call without a name"),))
    )


OBJECT = Format("openai", BARE_OBJECT, read, bare=True)
LIST = Format("openai", BARE_LIST, read, bare=True)
