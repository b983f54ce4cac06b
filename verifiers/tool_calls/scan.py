"""Finds where calls stand in a text, and which stretches of it are thinking.

In: a text. Out: `Place`s with what a format's reader found there, and hidden stretches.

One pass from left to right, so that what stands inside a call's string is data (a think tag, another format's
marker) and what stands inside thinking is ignored. Thinking is `<think>…</think>`, everything before a
`</think>` that nothing opened (chat templates put the opening tag into the prompt), and everything after one
never closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from verifiers.tool_calls.call import MAX_CALLS, Broken, Call, Format, Item, Reading
from verifiers.tool_calls.formats import FORMATS

MAX_PLACES = 1000
"""Openers and thoughts looked at in one text; what follows stays unread."""

MAX_BROKEN, MAX_BROKEN_TEXT = 16, 50_000
"""Unreadable attempts, and their characters, after which what follows stays unread."""

Stretch = tuple[int, int]

_THINKING = {"<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]"}
_BY_OPENER: dict[str, list[Format]] = {}
for _form in FORMATS:
    _BY_OPENER.setdefault(_form.opener, []).append(_form)
_OPENERS = list(_BY_OPENER)

_FENCE_BEFORE = re.compile(r"```[\w+-]*+\s*+\Z")
_FENCE_AFTER = re.compile(r"\s*+```")
_SENTENCE_ENDS = ".!?:;>。！？：；"

_SECOND = {"<": "[/tf|｜]", r"\[": r"[\s\w/]|\{[\s\"]", r"\{": r'[\s"]'}
"""What can stand after a first character: refuses long runs of brackets at once."""


def _marks() -> re.Pattern[str]:
    """One expression for all that can begin something, factored by first character, which makes it fast.

    Its groups are named t (thinking opens), c (thinking closes) or o (a format's opener) and a number.
    """
    kinds = [(f"t{number}", re.escape(mark)) for number, mark in enumerate(_THINKING)]
    kinds += [(f"c{number}", re.escape(mark)) for number, mark in enumerate(_THINKING.values())]
    kinds += [(f"o{number}", opener) for number, opener in enumerate(_OPENERS)]
    by_first: dict[str, list[str]] = {}
    for kind, opener in kinds:
        first = opener[: 2 if opener.startswith("\\") else 1]
        by_first.setdefault(first, []).append(f"(?P<{kind}>{opener[len(first) :]})")
    return re.compile(
        "|".join(f"{first}(?={_SECOND[first]})(?:{'|'.join(rest)})" for first, rest in by_first.items())
    )


_MARKS = _marks()


@dataclass(frozen=True, slots=True)
class Place:
    """Items that stand at one place, with what decides whether they count."""

    form: Format
    items: tuple[Item, ...]
    start: int
    end: int
    stands: bool
    """No sentence and no code block beside prose runs around it, as far as its own lines tell."""
    fenced: bool
    """It is all that a code block holds."""


def scan(text: str) -> tuple[list[Place], list[Stretch]]:
    """What stands at each opener outside thinking, and the stretches of thinking."""
    places: list[Place] = []
    hidden: list[Stretch] = []
    position = 0
    for _ in range(MAX_PLACES):
        mark = _MARKS.search(text, position)
        if mark is None or _enough(places):
            break
        kind = mark.lastgroup or ""
        if kind[0] == "t":
            closing = _THINKING[mark[0]]
            close = text.find(closing, mark.end())
            position = len(text) if close < 0 else close + len(closing)
            hidden.append((mark.start(), position))
        elif kind[0] == "c":
            position = mark.end()
            places, hidden = [], [(0, position)]
        else:
            floor = max(places[-1].end if places else 0, hidden[-1][1] if hidden else 0)
            place = _place(text, mark.start(), _BY_OPENER[_OPENERS[int(kind[1:])]], floor)
            position = max(place.end if place else 0, mark.start() + 1)
            if place and place.items:
                places.append(place)
    return places, hidden


def _enough(places: list[Place]) -> bool:
    """Whether there is more than a judgement needs, or too much that cannot be read."""
    broken = [place for place in places if any(isinstance(item, Broken) for item in place.items)]
    return (
        sum(len(place.items) for place in places) > MAX_CALLS
        or len(broken) > MAX_BROKEN
        or sum(place.end - place.start for place in broken) > MAX_BROKEN_TEXT
    )


def _place(text: str, start: int, forms: Iterable[Format], floor: int) -> Place | None:
    """What the first of `forms` that reads it finds at `start`; `floor` is where earlier findings end."""
    for form in forms:
        reading = form.read(text, start)
        if reading is not None:
            return _placed(text, start, form, reading, floor)
    return None


def _placed(text: str, start: int, form: Format, reading: Reading, floor: int) -> Place:
    if not form.bare or not reading.items:
        return Place(form, reading.items, start, reading.end, stands=True, fenced=False)
    before = _FENCE_BEFORE.search(text, max(floor, start - 40), start)
    after = _FENCE_AFTER.match(text, reading.end)
    if before and after:
        return Place(form, reading.items, before.start(), after.end(), stands=True, fenced=True)
    in_code = text.count("```", floor, start) % 2 == 1
    stands = not in_code and _stands(text, start, reading.end, floor, reading.items)
    return Place(form, reading.items, start, reading.end, stands, fenced=False)


def _stands(text: str, start: int, end: int, floor: int, items: tuple[Item, ...]) -> bool:
    """Whether the call is no part of a sentence.

    It may follow a finished sentence and be followed by a new one. Text that cannot be decoded counts as an
    attempt only at the start of a line.
    """
    before = text[max(floor, text.rfind("\n", 0, start) + 1) : start].strip()
    if not any(isinstance(item, Call) for item in items):
        return not before
    line_end = text.find("\n", end)
    after = text[end : line_end if line_end >= 0 else len(text)].strip()
    begins = not before or before[-1] in _SENTENCE_ENDS
    new_sentence = (after[:1].isalpha() and not after[0].islower()) or after[:1] in ("<", ";")
    return not after or (begins and new_sentence)
