"""Reads a response: which calls it makes, and whether it says anything beside thinking.

In: the response, the formats to look for. Out: `Response`.

One pass from left to right, so that what stands inside a call's string is data (a think tag, another format's marker) and
what stands inside thinking is ignored. Thinking is `<think>…</think>`, everything before a `</think>` that
nothing opened (chat templates put the opening tag into the prompt), and everything after one never closed.

Formats with a marker count wherever it stands, because an engine would run the call. Formats without one count only
where no sentence runs around them, and not in a code block beside prose: there they are being talked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from verifiers.tool_calls.call import MAX_CALLS, Broken, Call, Format, Item
from verifiers.tool_calls.formats import FORMATS, openai

MAX_BROKEN = 64
"""Unreadable attempts after which the rest of a response is not looked at."""

ALIASES = {
    "auto": frozenset(form.name for form in FORMATS),
    "hermes": frozenset({"hermes"}),
    "qwen": frozenset({"hermes"}),
    "qwen25": frozenset({"hermes"}),
    "qwen3": frozenset({"hermes"}),
    "llama": frozenset({"llama3_json"}),
    "llama3": frozenset({"llama3_json"}),
    "llama3json": frozenset({"llama3_json"}),
    "pythonic": frozenset({"pythonic"}),
    "llama4pythonic": frozenset({"pythonic"}),
    "mistral": frozenset({"mistral"}),
    "qwen3coder": frozenset({"qwen3_coder"}),
    "qwen3xml": frozenset({"qwen3_coder"}),
    "qwen3coderxml": frozenset({"qwen3_coder"}),
    "deepseek": frozenset({"deepseek_v3", "deepseek_v31", "deepseek_v32"}),
    "deepseekv3": frozenset({"deepseek_v3"}),
    "deepseekr1": frozenset({"deepseek_v3"}),
    "deepseekv31": frozenset({"deepseek_v31"}),
    "deepseekv32": frozenset({"deepseek_v32"}),
    "openai": frozenset({"openai"}),
}

_BY_OPENER: dict[str, list[Format]] = {}
for _form in FORMATS:
    _BY_OPENER.setdefault(_form.opener, []).append(_form)
_OPENERS = list(_BY_OPENER)

_THINKING = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
_MARKS = re.compile(
    "|".join(
        [
            f"(?P<think>{'|'.join(map(re.escape, _THINKING))})",
            f"(?P<thought>{'|'.join(map(re.escape, _THINKING.values()))})",
            *(f"(?P<o{number}>{opener})" for number, opener in enumerate(_OPENERS)),
        ]
    )
)
_STOP_TOKENS = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|python_end|>", "<|eot|>",
    "</s>", "<｜end▁of▁sentence｜>",
)  # fmt: skip
_FENCE_BEFORE = re.compile(r"```[\w+-]*\s*\Z")
_FENCE_AFTER = re.compile(r"\s*```")


@dataclass(frozen=True, slots=True)
class Response:
    """What a response does: the calls and attempts it makes, in order, and whether it says anything."""

    items: tuple[Item, ...]
    says: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """Items that stood at one place, with what decides whether they count."""

    form: Format
    items: tuple[Item, ...]
    start: int
    end: int
    stands: bool
    """No sentence and no code block beside prose runs around it, as far as its own lines tell."""
    fenced: bool


def read(response: str, formats: frozenset[str]) -> Response:
    """The calls of `response` in the named formats; calls written in others are `Broken`."""
    text = _without_stop_tokens(response)
    said = openai.content(text)
    text = text if said is None else said
    found, hidden = _scan(text)
    asked = [place for place in found if place.form.name in formats]
    items = _counted(text, asked, hidden)
    if not items and (others := _counted(text, found, hidden)):
        items = (Broken(f"a call in none of the formats {', '.join(sorted(formats))}"),) * len(others)
    visible = _remainder(text, hidden)
    if not items and visible.startswith(("{", "[{", "[[")):
        items = (Broken("neither a call nor prose"),)
    return Response(items, _has_words(visible))


def _without_stop_tokens(response: str) -> str:
    text = response.rstrip()
    while text.endswith(_STOP_TOKENS):
        text = text[: text.rfind("<")].rstrip()
    return text


def _scan(text: str) -> tuple[list[_Found], list[tuple[int, int]]]:
    """What stands at each opener outside thinking, and the stretches of thinking."""
    found: list[_Found] = []
    hidden: list[tuple[int, int]] = []
    position = count = 0
    while count <= MAX_CALLS + MAX_BROKEN and (mark := _MARKS.search(text, position)):
        kind = mark.lastgroup or ""
        if kind == "think":
            close = text.find(_THINKING[mark[0]], mark.end())
            position = len(text) if close < 0 else close + len(_THINKING[mark[0]])
            hidden.append((mark.start(), position))
        elif kind == "thought":
            position, count = mark.end(), 0
            found, hidden = [], [(0, position)]
        else:
            place = _at(text, mark.start(), _BY_OPENER[_OPENERS[int(kind[1:])]], found, hidden)
            position = max(place.end, mark.start() + 1)
            if place.items:
                found.append(place)
                count += len(place.items)
    return found, hidden


def _at(
    text: str, start: int, forms: Iterable[Format], found: list[_Found], hidden: list[tuple[int, int]]
) -> _Found:
    for form in forms:
        reading = form.read(text, start)
        if reading is None:
            continue
        floor = max(found[-1].end if found else 0, hidden[-1][1] if hidden else 0)
        fenced = bool(_FENCE_BEFORE.search(text, max(floor, start - 40), start)) and bool(
            _FENCE_AFTER.match(text, reading.end)
        )
        stands = fenced or _stands(text, start, reading.end, floor, reading.items)
        if form.place != "anywhere" and not fenced and text.count("```", floor, start) % 2:
            stands = False
        return _Found(form, reading.items, start, reading.end, stands, fenced)
    return _Found(next(iter(forms)), (), start, start + 1, stands=False, fenced=False)


def _stands(text: str, start: int, end: int, floor: int, items: tuple[Item, ...]) -> bool:
    """Whether the call is no part of a sentence.

    It may follow a finished sentence and be followed by a new one; text that cannot be decoded counts as an attempt
    only at the start of a line.
    """
    before = text[max(floor, text.rfind("\n", 0, start) + 1) : start].strip()
    if not any(isinstance(item, Call) for item in items):
        return not before
    line_end = text.find("\n", end)
    after = text[end : line_end if line_end >= 0 else len(text)].strip()
    begins = not before or before[-1] in ".!?:;>"
    return not after or (begins and (after[0].isupper() or after[0] in "<;"))


def _counted(text: str, found: list[_Found], hidden: list[tuple[int, int]]) -> tuple[Item, ...]:
    """The items that count: those with a marker if there are any, else the others where they stand free."""
    marked = [place for place in found if place.form.place == "anywhere" and not _quoted(text, place)]
    if marked:
        return tuple(item for place in marked for item in place.items)
    free = [place for place in found if place.stands and place.form.place != "anywhere"]
    if any(place.fenced or place.form.place == "alone" for place in free):
        spans = sorted([*hidden, *((place.start, place.end) for place in free)])
        if _has_words(re.sub(r"```\w*", "", _remainder(text, spans))):
            free = [place for place in free if not place.fenced and place.form.place == "line"]
    return tuple(item for place in free for item in place.items)


def _quoted(text: str, place: _Found) -> bool:
    """Whether a marked call stands in inline code: between single backticks."""
    before, after = text[max(0, place.start - 2) : place.start], text[place.end : place.end + 2]
    return before.endswith("`") and after.startswith("`") and before != "``" and after != "``"


def _remainder(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, position = [], 0
    for start, end in spans:
        pieces.append(text[position:start])
        position = max(position, end)
    return "".join([*pieces, text[position:]]).strip()


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))
