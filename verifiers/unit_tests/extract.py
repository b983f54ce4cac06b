"""Finds the code in a response.

In: a response and the name its code has to define (empty for a whole program). Out: a `Found`, or
why there is none.

The rules, in order:
1. Only what follows the last `</think>` counts; a `<think>` that never ends leaves nothing.
2. Fenced blocks (three or more backticks or tildes) tagged as Python; if there is none, blocks without a tag.
3. Of those, the last one that defines the name; if none does, or there is no name, the last one.
4. A last fence that is never closed is `malformed`, unless rule 3 found a closed block that defines the name.
5. Without any fence, the whole text is code if a line of it defines the name; for programs, if it prints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)$")
_PYTHON = {"python", "py", "python3", "python2", "py3", "pycon", "ipython"}
_PRINTS = re.compile(r"^\s*(print\s*\(|sys\.stdout\b|import\s|from\s)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Found:
    """Code to run."""

    code: str
    fenced: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """No code to run: nothing offered, or something that was cut off."""

    outcome: Literal["no_answer", "malformed"]
    detail: str


@dataclass(frozen=True, slots=True)
class _Block:
    tag: str
    code: str
    closed: bool


def find_code(response: str, name: str) -> Found | Missing:
    """The code of `response` by the rules above."""
    text = _after_thinking(response)
    if text is None:
        return Missing("no_answer", "the response ends while still thinking")
    blocks = _blocks(text)
    if not blocks:
        return _unfenced(text, name)
    candidates = [block for block in blocks if block.tag in _PYTHON] or [
        block for block in blocks if not block.tag
    ]
    if not candidates:
        return Missing(
            "no_answer", f"no Python code block, only {', '.join(sorted({b.tag for b in blocks}))}"
        )
    defining = [block for block in candidates if block.closed and name and defines(block.code, name)]
    chosen = (defining or candidates)[-1]
    if not chosen.closed:
        return Missing("malformed", "the last code block is never closed")
    return Found(chosen.code, fenced=True)


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


def _blocks(text: str) -> list[_Block]:
    blocks: list[_Block] = []
    lines: list[str] = []
    fence, tag = "", ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if not fence:
            if found:
                fence, tag, lines = found[1], (found[2].split() or [""])[0].lower(), []
        elif found and found[1].startswith(fence) and not found[2].strip():
            blocks.append(_Block(tag, "\n".join(lines) + "\n", closed=True))
            fence = ""
        else:
            lines.append(line)
    if fence:
        blocks.append(_Block(tag, "\n".join(lines) + "\n", closed=False))
    return blocks


def _unfenced(text: str, name: str) -> Found | Missing:
    if defines(text, name) if name else _PRINTS.search(text):
        return Found(text.strip("\n") + "\n", fenced=False)
    return Missing("no_answer", "no code block")
