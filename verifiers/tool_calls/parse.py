"""Reads a response: which calls it makes, and whether it says anything beside thinking.

In: the response, the formats to look for. Out: `Response`.

A format with a marker counts wherever the marker stands, because an engine would run the call, save in inline
code. Formats without one count only where no sentence runs around them and they do not stand in a code block
beside prose: there they are being talked about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from verifiers.tool_calls.call import MAX_TEXT, Broken, Item
from verifiers.tool_calls.formats import FORMATS, openai, pythonic
from verifiers.tool_calls.json_text import NotJson, loads
from verifiers.tool_calls.scan import Place, Stretch, scan

NAMES = frozenset(form.name for form in FORMATS)

ALIASES = {
    "auto": NAMES,
    "qwen": frozenset({"hermes"}),
    "qwen25": frozenset({"hermes"}),
    "qwen3": frozenset({"hermes"}),
    "llama": frozenset({"llama3_json"}),
    "llama3": frozenset({"llama3_json"}),
    "llama4pythonic": frozenset({"pythonic"}),
    "qwen3xml": frozenset({"qwen3_coder"}),
    "qwen3coderxml": frozenset({"qwen3_coder"}),
    "deepseek": frozenset({"deepseek_v3", "deepseek_v31", "deepseek_v32"}),
    "deepseekr1": frozenset({"deepseek_v3"}),
    **{name.replace("_", ""): frozenset({name}) for name in sorted(NAMES)},
}
"""Names a reference may give as its format, without case and punctuation."""

MAX_STOP_TOKENS = 8
"""Stop tokens taken off the end of one response."""

_STOP_TOKENS = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|python_end|>", "<|eot|>",
    "</s>", "<｜end▁of▁sentence｜>",
)  # fmt: skip
_FENCE = re.compile(r"```[\w+-]*")
_CALL_KEYS = frozenset({"name", "arguments", "parameters", "function", "tool", "tool_name", "tool_calls"})
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Response:
    """What a response does: the calls and attempts it makes, in order, and whether it says anything."""

    items: tuple[Item, ...]
    says: bool


def read(response: str, formats: frozenset[str]) -> Response:
    """The calls of `response` in the named formats; calls written in others are `Broken`."""
    text = _without_stop_tokens(response)
    if len(text) > MAX_TEXT:
        text = text[text.rfind("</think>") + len("</think>") :] if "</think>" in text else text
        if len(text) > MAX_TEXT:
            return Response((Broken(f"more than {MAX_TEXT} characters outside thinking"),), says=False)
    said = openai.content(text)
    text = text if said is None else said
    places, hidden = scan(text)
    visible = _remainder(text, hidden)
    items = _counted(text, [place for place in places if place.form.name in formats], hidden)
    if not items and "pythonic" in formats:
        items = pythonic.read_unbracketed(visible)
    if not items and (others := _counted(text, places, hidden)):
        items = (Broken(f"a call in another format than {', '.join(sorted(formats))}"),) * len(others)
    if not items and visible.startswith(("{", "[{", "[[")) and not _is_data(visible):
        items = (Broken("neither a call nor prose"),)
    return Response(items, _WORD.search(visible) is not None)


def _is_data(text: str) -> bool:
    """Whether `text` is JSON without the keys of a call: an answer that happens to be JSON."""
    try:
        value = loads(text)
    except NotJson:
        return False
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and not _CALL_KEYS & first.keys()


def _without_stop_tokens(response: str) -> str:
    text = response.rstrip()
    for _ in range(MAX_STOP_TOKENS):
        if not text.endswith(_STOP_TOKENS):
            break
        text = text[: text.rfind("<")].rstrip()
    return text


def _counted(text: str, places: list[Place], hidden: list[Stretch]) -> tuple[Item, ...]:
    """The items that count, in order: those with a marker, and the others where they stand free."""
    counted = [place for place in places if place.stands and not _quoted(text, place)]
    if any(place.fenced for place in counted):
        beside = _remainder(text, sorted([*hidden, *((place.start, place.end) for place in counted)]))
        if _WORD.search(_FENCE.sub("", beside)):
            counted = [place for place in counted if not place.fenced]
    return tuple(item for place in counted for item in place.items)


def _quoted(text: str, place: Place) -> bool:
    """Whether a call stands in inline code: between single backticks."""
    before, after = text[max(0, place.start - 2) : place.start], text[place.end : place.end + 2]
    return before.endswith("`") and after.startswith("`") and before != "``" and after != "``"


def _remainder(text: str, stretches: list[Stretch]) -> str:
    """`text` without `stretches`, which are in order."""
    pieces, position = [], 0
    for start, end in stretches:
        pieces.append(text[position:start])
        position = max(position, end)
    return "".join([*pieces, text[position:]]).strip()
