r"""Prompts as they are compared: one spelling for one thing, cut into tokens that know LaTeX.

In: a column of prompts as text. Out: expressions for its normal form, its tokens and its numbers.

Two spellings of one problem (`\dfrac{1}{2}` and `\frac12`, "１２", "١٢" and "12", `$x$` and `\(x\)`) have the
same tokens; what tells problems apart (numbers, operators, brackets, LaTeX commands) is a token of its own.
Only punctuation that carries no meaning is left out. The normal form is for comparing, never for reading.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache

import polars as pl

_MATHS = {
    glyph: rf" \{name} "
    for name, glyphs in (
        ("cdot", "·⋅"), ("times", "×"), ("pm", "±"), ("sqrt", "√"), ("le", "≤⩽"), ("ge", "≥⩾"), ("ne", "≠"),
        ("infty", "∞"), ("circ", "°∘"), ("angle", "∠"), ("in", "∈"), ("to", "→"), ("sum", "∑"), ("prod", "∏"),
        ("int", "∫"), ("triangle", "△"), ("pi", "π"), ("theta", "θ"), ("alpha", "α"), ("beta", "β"),
        ("gamma", "γ"), ("delta", "δ"), ("lambda", "λ"), ("mu", "μ"), ("sigma", "σ"), ("phi", "φϕ"),
        ("omega", "ω"), ("varepsilon", "ε"), ("cup", "∪"), ("cap", "∩"), ("subset", "⊂"), ("equiv", "≡"),
    )
    for glyph in glyphs
}  # fmt: skip


@cache
def _characters() -> dict[str, str]:
    """Characters with an ASCII or LaTeX spelling that NFKC does not give them.

    Decimal digits of every script are among them. Superscripts come before NFKC, which would make x² read
    as x2.
    """
    digits = {
        chr(code): str(unicodedata.decimal(chr(code)))
        for code in range(0x80, sys.maxunicode + 1)
        if unicodedata.category(chr(code)) == "Nd"
    }
    return (
        digits
        | {glyph: f"^{digit}" for digit, glyph in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
        | {glyph: f"_{digit}" for digit, glyph in enumerate("₀₁₂₃₄₅₆₇₈₉")}
        | dict.fromkeys("−–—‐‑", "-")
        | dict.fromkeys("∕÷", "/")
        | dict.fromkeys("∗⋆", "*")
        | _MATHS
    )


_REWRITES = (
    ("⁄", "/"),  # which NFKC makes of ½
    (r"(\d)(?:,|\{,\}|\\[,! ])(\d{3})\b", "$1$2"),  # 1,000  1{,}000  1\,000
    (r"(\d)(?:,|\{,\}|\\[,! ])(\d{3})\b", "$1$2"),  # matches share no digit: 1,000,000 needs the second
    (r"\\([%#&_{}])", "$1"),
    (r"\\[^a-z]|[$~]", " "),  # spaces and mathematics delimiters: \, \; \! \( \) \[ \] \\ $
    (r"\\(?:left|right|big+[lrm]?|displaystyle|quad|qquad|limits|hspace|vspace)\b", " "),
    (r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|operatorname|boldsymbol|mbox|emph)\b", " "),
    (r"\\[dtc]frac\b", r"\frac"),
    (r"\\(leq?|geq?|neq?)(?:slant)?\b", r"\$1"),
    (r"\\(l|g|n)eq\b", r"\${1}e"),
    (r"\\frac\s*(\d)\s*(\d)", r"\frac $1 $2"),  # \frac12
    (r"\{\s*([a-z]+|\d+)\s*\}", " $1 "),  # braces around one word or number group nothing
)

_DIAGRAM = r"(?s)\[asy\].*?\[/asy\]"

_SINGLE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}"  # scripts that put no spaces between words
_TOKEN = (
    r"\\[a-z]+"
    r"|\d+(?:\.\d+)?"
    rf"|[{_SINGLE}]"
    rf"|[\p{{L}}\p{{M}}&&[^{_SINGLE}]]+"
    r"|[^\s\d\p{L}\p{M}\\.,;:?'\"`‘’“”…。，、；：？]"
)

_NUMBER_WORDS = {
    word: str(number)
    for number, words in (
        (0, "zero"), (0.5, "half"), (1, "one"), (2, "two twice double"), (3, "three thrice triple"),
        (4, "four"), (5, "five pentagon"), (6, "six hexagon"), (7, "seven heptagon"), (8, "eight octagon"),
        (9, "nine"), (10, "ten"), (11, "eleven"), (12, "twelve"), (13, "thirteen"), (14, "fourteen"),
        (15, "fifteen"), (16, "sixteen"), (17, "seventeen"), (18, "eighteen"), (19, "nineteen"),
        (20, "twenty"), (30, "thirty"), (40, "forty"), (50, "fifty"), (60, "sixty"), (70, "seventy"),
        (80, "eighty"), (90, "ninety"), (100, "hundred"), (1000, "thousand"), (10**6, "million"),
        (10**9, "billion"),
    )
    for word in words.split()
}  # fmt: skip
_MINUS = r"-\s*(?:\d|\\|[a-z]\b|[(\[{])"  # what a hyphen joins is a word of more than one letter
_NUMBER = rf"\d+(?:\.\d+)?|\b(?:{'|'.join(_NUMBER_WORDS)})\b"


def normalised(text: pl.Expr) -> pl.Expr:
    """The normal form of `text`, from which `tokens` and `numbers` are taken; null stays null."""
    normal = text.str.replace_many(_characters()).str.normalize("NFKC").str.to_lowercase()
    for pattern, by in _REWRITES:
        normal = normal.str.replace_all(pattern, by)
    return normal


def without_diagrams(normal: pl.Expr) -> pl.Expr:
    """The normal form without its Asymptote drawings, in which unlike problems are alike for pages."""
    return normal.str.replace_all(_DIAGRAM, " ")


def tokens(normal: pl.Expr) -> pl.Expr:
    """list[str]: LaTeX commands, numbers, words, and single operators and brackets, in their order."""
    return normal.str.extract_all(_TOKEN)


def numbers(normal: pl.Expr) -> pl.Expr:
    """list[str]: every number, as often as it stands there, sorted; "two" is 2 and "twice" too."""
    return normal.str.extract_all(_NUMBER).list.eval(pl.element().replace(_NUMBER_WORDS)).list.sort()


def minuses(normal: pl.Expr) -> pl.Expr:
    """How many minus signs there are, hyphens between words left out."""
    return normal.str.count_matches(_MINUS)
