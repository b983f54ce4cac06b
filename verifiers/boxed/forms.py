"""Whether an answer is written in a demanded form: "as a fraction", "factored", "as a decimal".

In: an answer's text and the name of a form. Out: True or False. The value is compared elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import gcd

from verifiers.boxed.clean import clean

_WHOLE = re.compile(r"[-+]?\d+", re.ASCII)
_FRACTION = re.compile(
    r"[-+]?(?:\\[dtc]?frac\{[-+]?(\d{1,900})\}\{(\d{1,900})\}|(\d{1,900})/(\d{1,900}))", re.ASCII
)
_SHORT_FRACTION = re.compile(r"\\([dtc]?frac)\s*(\d)\s*(\d)(?!\d)", re.ASCII)
_MIXED = re.compile(
    r"[-+]?\d+ ?(?:\\[dtc]?frac\{(\d{1,900})\}\{(\d{1,900})\}|(?<= )(\d{1,900})/(\d{1,900}))", re.ASCII
)
_DECIMAL = re.compile(r"[-+]?\d*\.\d+", re.ASCII)
_SCIENTIFIC = re.compile(
    r"[-+]?[1-9](?:\.\d+)?(?:(?:\\times|\\cdot|\*)10\^(?:\{[-+]?\d+\}|\d)|[eE][-+]?\d+)", re.ASCII
)
_NAME = re.compile(r"^[A-Za-z](?:\([A-Za-z]\))?=")


def has_form(answer: str, form: str) -> bool:
    """True when `answer` is written in `form`, a key of `FORMS`; a leading "x =" does not count."""
    text = _SHORT_FRACTION.sub(r"\\\1{\2}{\3}", clean(answer).replace(",", "").removeprefix("\\$").strip())
    named = _NAME.match(re.sub(r"\s", "", text[:20]))
    if named is not None:
        text = text.partition("=")[2].strip()
    return FORMS[form](text)


def _integer(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None


def _terms(pattern: re.Pattern[str], text: str) -> tuple[int, int] | None:
    found = pattern.fullmatch(text.replace(" ", "") if pattern is _FRACTION else text)
    if found is None:
        return None
    top, bottom = (group for group in found.groups() if group is not None)
    return int(top), int(bottom)


def _fraction(text: str) -> bool:
    return _integer(text) or _terms(_FRACTION, text) is not None


def _reduced_fraction(text: str) -> bool:
    terms = _terms(_FRACTION, text)
    return _integer(text) or (terms is not None and gcd(*terms) == 1 and terms[1] != 1)


def _mixed_number(text: str) -> bool:
    terms = _terms(_MIXED, text) or _terms(_FRACTION, text)
    return _integer(text) or (terms is not None and terms[0] < terms[1] and gcd(*terms) == 1)


def _is_product(text: str) -> bool:
    """True when no plus or minus joins two terms outside all brackets."""
    depth, before = 0, ""
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 and sign in "+-" and before and before not in "([{+-*/^=":
            return False
        before = before if sign.isspace() else sign
    return True


FORMS: dict[str, Callable[[str], bool]] = {
    "integer": _integer,
    "fraction": _fraction,
    "reduced_fraction": _reduced_fraction,
    "mixed_number": _mixed_number,
    "decimal": lambda text: _integer(text) or _DECIMAL.fullmatch(text) is not None,
    "percent": lambda text: text.endswith("%") or text.lower().endswith("percent"),
    "scientific": lambda text: _SCIENTIFIC.fullmatch(text.replace(" ", "")) is not None,
    "factored": _is_product,
    "expanded": lambda text: "(" not in text,
}
"""Form -> whether a cleaned text has it."""
