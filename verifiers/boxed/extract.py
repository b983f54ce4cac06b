"""Finds the answer a response gives: the last box, a `####` line, an answer line, or all of it.

In: the response and the formats that count. Out: `Extraction`: the answer's text, or why none.
A box is found by a scanner that knows nested and escaped braces. Boxes joined only by connectives
(`\\boxed{3} or \\boxed{4}`) are one answer, the list of them, so that offering two earns nothing.
Work is linear in the last `WINDOW` characters and independent of what comes before them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

MAX_ANSWER = 20_000
"""Characters an answer may have; a longer one is malformed."""
WINDOW = 20_000
"""Characters before the last box in which the boxes joined to it are looked for."""
MAX_BOXES = 32

Status = Literal["found", "absent", "malformed"]

_BOX = r"\\{1,2}(?:boxed|fbox)(?![A-Za-z])[ \t\n]*"
_BOX_START = re.compile(_BOX)
_SCAN = re.compile(rf"(?P<box>{_BOX})|\\.|[{{}}]", re.DOTALL)
_BARE = re.compile(r"[-+−]?[\d.,]*\d|\\[A-Za-z]+(?:\{[^{}]*\})*|[A-Za-z]")
_EMPTY = re.compile(r"(?:\\(?:[,;:!> ]|q?quad(?![a-z]))|[~$\s{}])*")
_GAP_NOISE = re.compile(r"\\(?:text|q?quad)|[A-Za-z](?:_\{?\w\}?)?\s*=|\\[,;:! ()\[\]\\]|[\s${}(),;/|&~*]")
_GAP_WORDS = re.compile(r"(?:and|or|either|maybe|perhaps|possibly|alternatively|also|else|its?|is|be|could)*")
_HASH = re.compile(r"####[ \t]*([^\n]*)")
_ANSWER_LINE = re.compile(
    r"(?:^[ \t>*_#]*(?:the[ \t]+)?(?:final[ \t]+)?(?:answer|ans|a)[ \t*_]*[:=][ \t*_]*"
    r"|\b(?:the|my|our)[ \t]+(?:final[ \t]+|correct[ \t]+)?answer[ \t]+is[ \t]*:?[ \t*_]*)",
    re.IGNORECASE | re.MULTILINE,
)
_SAME_SENTENCE = re.compile(r"(?:[^\n.!?]|[.!?](?!\s))+")
_SENTENCE_END = re.compile(r"[.!?](?:\s+[A-Z(].*)?$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The answer as written (`found`; several texts are one list), or in `detail` why there is none."""

    status: Status
    answers: tuple[str, ...] = ()
    detail: str = ""


def extract(response: str, formats: Sequence[str]) -> Extraction:
    """The answer in the first of `formats` that the response uses, read after the last `</think>`."""
    body = response.rpartition("</think>")[2]
    if "<think>" in body:
        return Extraction("absent", detail="cut off while thinking")
    for name in formats:
        found = _READERS[name](body)
        if found.status != "absent":
            return found
    return Extraction("absent", detail=f"no answer in the form {' or '.join(formats)}")


def _boxed(body: str) -> Extraction:
    starts = _last_starts(body)
    if not starts:
        return Extraction("absent")
    last = starts[-1]
    boxes, open_starts = _scan(body, starts, min(len(body), last + MAX_ANSWER))
    if last in open_starts:
        return Extraction("malformed", detail="the last box is not closed")
    if not boxes or boxes[-1].end <= last:
        return Extraction("malformed", detail="the last box holds no group")
    texts = [body[box.inner : box.stop].strip() for box in _joined(body, boxes)]
    if any(_EMPTY.fullmatch(text) for text in texts):
        return Extraction("malformed", detail="the box is empty")
    return Extraction("found", tuple(dict.fromkeys(texts)))


@dataclass(frozen=True, slots=True)
class _Box:
    start: int
    inner: int
    stop: int
    end: int


def _last_starts(body: str) -> list[int]:
    """Where the last boxes begin, in order; at most `MAX_BOXES` of them, within `WINDOW` of the last."""
    for begin in (max(0, len(body) - 2 * WINDOW), 0):  # the tail alone first: nearly always enough
        starts = [found.start() for found in _BOX_START.finditer(body, begin)][-MAX_BOXES:]
        if starts:
            return [start for start in starts if starts[-1] - start <= WINDOW]
    return []


def _scan(body: str, starts: list[int], limit: int) -> tuple[list[_Box], set[int]]:
    """The complete outermost boxes from the first to the last of `starts`, and the starts left open."""
    stack: list[tuple[int, int]] = []  # (start of the box or -1, start of its content)
    boxes: list[_Box] = []
    at = starts[0]
    while (stack or at <= starts[-1]) and (token := _SCAN.search(body, at, limit)) is not None:
        at = token.end()
        if token["box"] is not None:
            if body[at : at + 1] == "{":
                at += 1
                stack.append((token.start(), at))
            elif (bare := _BARE.match(body, at)) is not None:
                at = bare.end()
                boxes.append(_Box(token.start(), bare.start(), at, at))
        elif token[0] == "{":
            stack.append((-1, at))
        elif token[0] == "}" and stack:
            start, inner = stack.pop()
            if start >= 0:
                while boxes and boxes[-1].start > start:
                    boxes.pop()
                boxes.append(_Box(start, inner, token.start(), at))
    return boxes, {start for start, _ in stack if start >= 0}


def _joined(body: str, boxes: list[_Box]) -> list[_Box]:
    """The last box with those before it that only connectives separate."""
    first = len(boxes) - 1
    while first > 0:
        gap = body[boxes[first - 1].end : boxes[first].start]
        if len(gap) > 60 or not _GAP_WORDS.fullmatch(_GAP_NOISE.sub("", gap).lower()):
            break
        first -= 1
    return boxes[first:]


def _hash(body: str) -> Extraction:
    at = body.rfind("####")
    if at < 0:
        return Extraction("absent")
    line = _HASH.match(body, at)
    return _of_line(line[1] if line else "")


def _answer_line(body: str) -> Extraction:
    tail = body[-MAX_ANSWER:]
    found = list(_ANSWER_LINE.finditer(tail))
    if not found:
        return Extraction("absent")
    last = found.pop()
    while found and _SAME_SENTENCE.fullmatch(tail, found[-1].end(), last.start()):
        last = found.pop()  # "the answer is 3 or the answer is 4" gives both
    return _of_line(_SENTENCE_END.sub("", tail[last.end() :].partition("\n")[0].strip()))


def _plain(body: str) -> Extraction:
    if not body.strip():
        return Extraction("absent")
    return _of_line(body)


def _of_line(text: str) -> Extraction:
    answer = text.strip().strip("*_").strip()
    if not answer:
        return Extraction("malformed", detail="the answer is empty")
    if len(answer) > MAX_ANSWER:
        return Extraction("malformed", detail=f"the answer is longer than {MAX_ANSWER} characters")
    inside = _boxed(answer)
    return inside if inside.status == "found" else Extraction("found", (answer,))


_READERS = {"boxed": _boxed, "hash": _hash, "answer_line": _answer_line, "plain": _plain}
FORMATS = tuple(_READERS)
