"""Removes what carries no meaning from an answer's text: fonts of spacing, delimiters, Unicode twins.

In: an answer as written. Out: the same answer in plain LaTeX; nothing is interpreted here.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from verifiers.boxed.braces import balanced, group_end
from verifiers.boxed.symbols import SUBSCRIPTS, SUPERSCRIPTS, UNICODE

_SUPERSCRIPT_RUN = re.compile(f"[{''.join(SUPERSCRIPTS)}]+")
_SUBSCRIPT_RUN = re.compile(f"[{''.join(SUBSCRIPTS)}]+")

_DROPPED = re.compile(
    r"(?<!\\)\\(?:(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits|mathstrut|strut"
    r"|tiny|small|normalsize|large|Large|LARGE|huge|Huge|checkmark|blacksquare|(?:text)?color\s*\{\w*\})(?![A-Za-z])"
    r"|[,!;:>/])|\\[hv]?phantom(?![A-Za-z])\s*(?:\{[^{}]*\}|\S)"
)
_THIN = re.compile(r"(?<=\d)\s?(?<!\\)\\[,;:>/]\s?(?=\d)")
"""Between digits a thin space separates: 2\\,1/3 is a mixed number, 4\\,5 no number at all."""
_SWITCH = re.compile(r"\{\s*\\(?:rm|bf|it|sf|tt)(?![A-Za-z])([^{}]*)\}")
_BLANK = re.compile(
    r"(?<!\\)\\(?:quad|qquad|enspace|thinspace|hspace\*?\{[^{}]*\})(?![A-Za-z])|(?<!\\)\\(?=[ \n\t])|~|&nbsp;"
)
_THIN_THOUSANDS = re.compile(
    r"(?<![\d.])([1-9]\d{0,2})((?:(?:\{,\}|,\\!|,\s?\\!|\\,|\\;|\\:|\\ |\\!|\{\\,\}|'|_)\s?\d{3})+)(?!\d)"
)
_DECIMAL_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d)")
_THIN_DECIMALS = re.compile(r"(?<=\d\.)\d{3}(?:\\[,;: ]\d{3})*\\[,;: ]\d{1,3}(?!\d)")
_SPACED_THOUSANDS = re.compile(r"(?<![\d.,/] )(?<![\d.,/])([1-9]\d{0,2})((?:[ ~]\d{3})+)(?![\d/])(?! ?/)")
_EUROPEAN = re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+),(\d{1,2}|\d{4,})(?![\d.,])")
_DOTTED_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3}){2,}(?![\d.,])")
_LETTER_TIMES = re.compile(r"(?<=\d) ?[xX] ?(?=10\s?\^)")
_STARS = re.compile(r"(?<=[\w)])\*\*(?=[\w(-])")
_FILLER = re.compile(
    r"(?:\\text\{)?\s*+(?:(?:the )?(?:final |correct )?answer(?: is)?\s*+[:=]?"
    r"|(?:approximately|approx\.?|about|roughly)(?= |\}))\s*+\}?\s*+(?=[^\s}])",
    re.IGNORECASE,
)
"""Words before an answer that leave it as it is."""
_ORDINAL = re.compile(
    r"(?<=\d)(?:\^\{(?:\\(?:text|mathrm)\{)?(?:st|nd|rd|th)\}+|\^?\\(?:text|mathrm)\{(?:st|nd|rd|th)\})"
    r"|(?<=\\text\{)(\d+)(?:st|nd|rd|th)(?=\})"
)
"""4th; without a font 2nd would be the product 2 n d."""
_UNIT_IN_BRACKETS = re.compile(
    r"(?<=[\d}])\s?(?:[(\[] ?\\(?:text|mathrm)\{([A-Za-z^/23 ]+)\} ?[)\]]"
    r"|\\text\{ ?\(([A-Za-z^/23 ]+)\) ?\})$"
)
_CURRENCY = re.compile(
    r"(?<![A-Za-z])(?:\\(?:text|mathrm)\{ ?)?(Rs|INR|USD|US(?= ?\\?\$)|EUR|GBP)(?![A-Za-z])"
    r"\.?\s*+\}?\s*+(?=[\d\\$])"
)
_CURRENCY_SIGNS = {"Rs": "₹", "INR": "₹", "USD": "\\$", "US": "", "EUR": "€", "GBP": "£"}
_NEXT_UNKNOWN = re.compile(r"(?<!_\{[A-Za-z])(=[^=,;]*?[\d}]) +(?=[A-Za-z](?:_\{?\w\}?)?\s*=)")
"""x=1 y=2: two equations, no product."""
_LINES = re.compile(
    r"(?:\\\{)?\s*\\begin\{(cases|aligned|align\*?|gathered|array)\}(?:\{[lcr|]*\})?(.*)\\end\{\1\}\s*\.?",
    re.DOTALL,
)
_ALIGNMENT = re.compile(r"&\s*(?=[=<>]|\\[lg]e)|(?<=[=<>])\s*&")
_EXCEPT = re.compile(
    r"(?:\\text\{)? ?all real(?:s| numbers)(?: except(?: for)?| other than) ?\}? ?(?=[^\s}])", re.IGNORECASE
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
    text = _DECIMAL_COMMA.sub(".", text)
    text = _THIN_DECIMALS.sub(lambda found: _NOT_DIGITS.sub("", found[0]), text)
    text = _DROPPED.sub("", _THIN.sub(" ", text))
    text = _SWITCH.sub(r"\\text{\1}", text)
    text = _STARS.sub("^", text)
    text = _LETTER_TIMES.sub(r"\\times ", text)
    filler = _FILLER.match(text)
    if filler is not None:
        text = _rest(text, filler)
    text = _UNIT_IN_BRACKETS.sub(
        lambda found: rf"\text{{ {found[1] or found[2]}}}", _ORDINAL.sub(r"\1", text)
    )
    text = _CURRENCY.sub(lambda found: _CURRENCY_SIGNS[found[1]], text, count=1)
    text = _NEXT_UNKNOWN.sub(r"\1, ", _BLANK.sub(" ", text))
    text = _SPACED_THOUSANDS.sub(lambda found: found[1] + _NOT_DIGITS.sub("", found[2]), text)
    text = _EUROPEAN.sub(lambda found: found[1].replace(".", "") + "." + found[2], text)
    text = _DOTTED_THOUSANDS.sub(lambda found: found[0].replace(".", ""), text)
    excepted = _EXCEPT.match(text)
    if excepted is not None:
        text = r"x \ne " + _rest(text, excepted)
    return _one_line(_inward(text.strip()))


def _rest(text: str, words: re.Match[str]) -> str:
    """What follows `words`, without the brace that closed a group they opened."""
    rest = text[words.end() :].strip()
    return rest[:-1] if rest.endswith("}") and not balanced(rest) else rest


def _inward(text: str) -> str:
    """An interval with its open ends as (1,2) instead of ]1,2[."""
    left, inner, right = text[:1], text[1:-1], text[-1:]
    if left not in ("[", "]", "(") or right not in ("[", "]", ")"):
        return text
    if any(bracket in inner for bracket in "[]()") or not ("," in inner or ";" in inner):
        return text
    return ("(" if left == "]" else left) + inner + (")" if right == "[" else right)


def _one_line(text: str) -> str:
    """A system of equations, one below the other, as a list."""
    found = _LINES.fullmatch(text) if "\\begin" in text else None
    if found is None or (found[1] == "array" and not text.startswith("\\{")):
        return text
    lines = _ALIGNMENT.sub("", found[2])
    return text if "&" in lines else ", ".join(line.strip() for line in lines.split("\\\\") if line.strip())


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
    return text[prefix.end() : -1] if group_end(text, prefix.end()) == len(text) - 1 else text


_COSMETIC = re.compile(
    r"\\(?:text(?:bf|it|rm)?|mbox|math(?:rm|bf|it|sf)|operatorname\*?)(?![A-Za-z])\s*|(?<![A-Za-z0-9])\s+|\s+(?![A-Za-z0-9])"
)
_FRACTIONS = re.compile(r"\\[dtc]frac(?![A-Za-z])")


def squeezed(text: str) -> str:
    """The text by which answers nobody can read are compared: without fonts and idle spaces."""
    return _COSMETIC.sub("", _FRACTIONS.sub(r"\\frac", clean(text)))
