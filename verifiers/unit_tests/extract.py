"""Finds the code in a response.

In: a response, and the name its code has to define (empty for a whole program). Out: a `Found`, or a
`Missing` with the reason.

The rules, in order:
1. Only what follows the last `</think>` counts; a `<think>` that never ends leaves nothing.
2. A block is complete when its fence (three or more backticks or tildes, indented or not) is closed. Complete
   blocks tagged as Python count; where there is none, complete blocks without a tag.
3. Of those, the last one that defines the name; if none does, or there is no name, the last one.
4. Fences, but no complete block: `malformed` when one is left open, otherwise `no_answer`.
5. No fence at all: the whole text is code if a line of it, not indented, defines the name; for a program, if
   a line prints or imports. If that is not Python after all, it was no answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^`]*)")
_TAG = re.compile(r"[\s{.]*([A-Za-z0-9+#]*)")
_LINE_END = re.compile(r"\r\n|\r|\n")
_PROGRAM_LINE = re.compile(r"^[ \t]*(?:print[ \t]*\(|sys\.stdout\b|import[ \t]|from[ \t])", re.MULTILINE)
_PYTHON = {"python", "python3", "py", "py3", "ipython", "pycon"}
_LONGEST_CODE = 1 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """Code to run, and whether it stood in a fenced block."""

    code: str
    fenced: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """No code to run, and why."""

    outcome: Literal["no_answer", "malformed"]
    detail: str


@dataclass(frozen=True, slots=True)
class _Block:
    tag: str
    code: str
    complete: bool


def find_code(response: str, name: str) -> Found | Missing:
    """The code of `response` by the rules above."""
    text = _after_thinking(response)
    if text is None:
        return Missing("no_answer", "the response ends while still thinking")
    blocks = _blocks(text)
    found = _choose(blocks, name) if blocks else _unfenced(text, name)
    if isinstance(found, Found) and len(found.code) > _LONGEST_CODE:
        return Missing("malformed", f"the code is longer than {_LONGEST_CODE} characters")
    return found


def defines(code: str, name: str) -> bool:
    """Whether a line of `code`, not indented, defines `name`; its text alone is looked at."""
    word = re.escape(name)
    pattern = rf"^(?:(?:async[ \t]+)?def[ \t]+{word}\b|class[ \t]+{word}\b|{word}[ \t]*(?::[^=\n]+)?=(?!=))"
    return re.search(pattern, code, re.MULTILINE) is not None


def _after_thinking(response: str) -> str | None:
    _, closing, after = response.rpartition("</think>")
    if closing:
        return after
    return None if "<think>" in response else response


def _choose(blocks: list[_Block], name: str) -> Found | Missing:
    complete = [block for block in blocks if block.complete]
    python = [block for block in complete if block.tag in _PYTHON]
    candidates = python or [block for block in complete if not block.tag]
    if not candidates:
        if not blocks[-1].complete:
            return Missing("malformed", "the code block is never closed")
        return Missing("no_answer", f"no Python code block, only {blocks[-1].tag}")
    defining = [block for block in candidates if name and defines(block.code, name)]
    return Found((defining or candidates)[-1].code, fenced=True)


def _unfenced(text: str, name: str) -> Found | Missing:
    if defines(text, name) if name else _PROGRAM_LINE.search(text):
        return Found(text.strip("\r\n") + "\n", fenced=False)
    return Missing("no_answer", "no code block")


def _blocks(text: str) -> list[_Block]:
    blocks: list[_Block] = []
    lines: list[str] = []
    indent = fence = tag = ""
    for line in _LINE_END.split(text):
        found = _FENCE.fullmatch(line)
        if not fence:
            if found:
                indent, fence, tag, lines = found[1], found[2], _tag(found[3]), []
        elif found and found[2].startswith(fence) and not found[3].strip():
            blocks.append(_Block(tag, "".join(lines), complete=True))
            fence = ""
        else:
            lines.append(line.removeprefix(indent) + "\n")
    if fence:
        blocks.append(_Block(tag, "".join(lines), complete=False))
    return blocks


def _tag(info: str) -> str:
    found = _TAG.match(info)
    return found[1].lower() if found else ""
