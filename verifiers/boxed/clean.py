"""Removes what carries no meaning from an answer's text: fonts of spacing, delimiters, Unicode twins.

In: an answer as written. Out: the same answer in plain LaTeX; nothing is interpreted here.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from verifiers.boxed.symbols import SUBSCRIPTS, SUPERSCRIPTS, UNICODE

_SUPERSCRIPT_RUN = re.compile(f"[{''.join(SUPERSCRIPTS)}]+")
_SUBSCRIPT_RUN = re.compile(f"[{''.join(SUBSCRIPTS)}]+")

_DROPPED = re.compile(
    r"(?<!\\)\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits|mathstrut|strut|,|!|;|:|>|/)"
    r"(?![A-Za-z])|\\[hv]?phantom(?![A-Za-z])\s*(?:\{[^{}]*\}|\S)"
)
_BLANK = re.compile(
    r"(?<!\\)\\(?:quad|qquad|enspace|thinspace|hspace\*?\{[^{}]*\})(?![A-Za-z])|(?<!\\)\\(?=[ \n\t])|~|&nbsp;"
)
_THIN_THOUSANDS = re.compile(
    r"(?<![\d.])(\d{1,3})((?:(?:\{,\}|,\\!|,\s?\\!|\\,|\\;|\\:|\\ |\\!|\{\\,\}|'|_)\s?\d{3})+)(?!\d)"
)
_SPACED_THOUSANDS = re.compile(r"(?<![\d.,/] )(?<![\d.,/])(\d{1,3})((?:[ ~]\d{3})+)(?![\d/])(?! ?/)")
_EUROPEAN = re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+),(\d{1,2}|\d{4,})(?![\d.,])")
_DOTTED_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3}){2,}(?![\d.,])")
_LETTER_TIMES = re.compile(r"(?<=\d) ?[xX] ?(?=10\s?\^)")
_STARS = re.compile(r"(?<=[\w)])\*\*(?=[\w(-])")
_FILLER = re.compile(
    r"(?:\\text\{)?\s*(?:the )?(?:final |correct )?answer(?: is)?\s*[:=]?\s*\}?\s*(?=[^\s}])", re.IGNORECASE
)
_NOT_DIGITS = re.compile(r"\D")
_WRAPPERS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("`", "`"))
_BOX_PREFIX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_MAX_WRAPPERS = 40


def clean(text: str) -> str:
    """`text` without wrappers, spacing commands and Unicode twins, thousands joined."""
    text = text if text.isascii() else _plain_characters(text)
    if "\\\\" in text and "\\begin" not in text:  # escaped once too often, as in JSON: no line breaks here
        text = text.replace("\\\\", "\\")
    text = _unwrapped(text)
    text = _THIN_THOUSANDS.sub(lambda found: found[1] + _NOT_DIGITS.sub("", found[2]), text)
    text = _DROPPED.sub("", text)
    text = _STARS.sub("^", text)
    text = _LETTER_TIMES.sub(r"\\times ", text)
    filler = _FILLER.match(text)
    if filler is not None:
        text = text[filler.end() :]
    text = _BLANK.sub(" ", text)
    text = _SPACED_THOUSANDS.sub(lambda found: found[1] + _NOT_DIGITS.sub("", found[2]), text)
    text = _EUROPEAN.sub(lambda found: found[1].replace(".", "") + "." + found[2], text)
    text = _DOTTED_THOUSANDS.sub(lambda found: found[0].replace(".", ""), text)
    return text.strip()


def _plain_characters(text: str) -> str:
    text = _SUPERSCRIPT_RUN.sub(lambda run: "^{" + "".join(SUPERSCRIPTS[c] for c in run[0]) + "}", text)
    text = _SUBSCRIPT_RUN.sub(lambda run: "_{" + "".join(SUBSCRIPTS[c] for c in run[0]) + "}", text)
    return "".join(_plain_character(character) for character in text)


@lru_cache(maxsize=1024)
def _plain_character(character: str) -> str:
    if character in UNICODE:
        return UNICODE[character]
    if character.isascii():
        return character
    folded = unicodedata.normalize("NFKC", character)
    top, slash, bottom = folded.partition("⁄")
    if slash and top.isdigit() and bottom.isdigit():  # a vulgar fraction such as ½
        return rf"\frac{{{top}}}{{{bottom}}}"
    return folded


def _unwrapped(text: str) -> str:
    """`text` without enclosing math delimiters, boxes, emphasis, and a final full stop."""
    for _ in range(_MAX_WRAPPERS):
        before = text
        text = text.strip()
        if text.endswith((".", ",", ";")) and not text.endswith(("..", "\\,", "\\;", " .")):
            text = text[:-1]
        for left, right in _WRAPPERS:
            inner = text[len(left) : -len(right)]
            if (
                text.startswith(left)
                and text.endswith(right)
                and len(text) > len(left + right)
                and left not in inner
            ):
                text = inner
                break
        text = _unboxed(text)
        if text == before:
            break
    return text


def _unboxed(text: str) -> str:
    prefix = _BOX_PREFIX.match(text)
    if prefix is None or not text.endswith("}"):
        return text
    return text[prefix.end() : -1] if _is_one_group(text, prefix.end()) else text


def _is_one_group(text: str, start: int) -> bool:
    """True when the brace opened just before `start` closes at the end of `text`."""
    depth, at = 1, start
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at == len(text) - 1
        at += 1
    return False


_COSMETIC = re.compile(
    r"\\(?:text(?:bf|it|rm)?|mbox|math(?:rm|bf|it|sf)|operatorname\*?)(?![A-Za-z])\s*|(?<![A-Za-z0-9])\s+|\s+(?![A-Za-z0-9])"
)
_FRACTIONS = re.compile(r"\\[dtc]frac(?![A-Za-z])")


def squeezed(text: str) -> str:
    """The text by which answers nobody can read are compared: without fonts and idle spaces."""
    return _COSMETIC.sub("", _FRACTIONS.sub(r"\\frac", clean(text)))
