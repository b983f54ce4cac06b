"""Reads the reference of a boxed answer: the accepted answers and the options.

In: a mapping `{"answer": …}` or `{"answers": […]}`, with the options `formats`, `percent`, `units`,
`tolerance`, `ordered`, `form`. Out: `Reference`. Keys of other names belong to others and are ignored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from verifiers.boxed.braces import balanced
from verifiers.boxed.equal import Conventions
from verifiers.boxed.extract import FORMATS, extract
from verifiers.boxed.forms import FORMS

PERCENT_MODES = ("either", "value", "number")
_MAX_BITS = 3_900
UNIT_MODES = ("optional", "required", "ignored")
_EXACT = (Fraction(0), Fraction(0))
_CONTENT = re.compile(r"[^\s$.,;]")


class BadReferenceError(ValueError):
    """The reference has no usable answer or a wrong option; the message says which and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What a response is judged against."""

    answers: tuple[str, ...]
    formats: tuple[str, ...]
    conventions: Conventions
    form: str | None


def read_reference(reference: Mapping[str, Any]) -> Reference:
    """The reference as data.

    Raises:
        BadReferenceError: no usable answer, or an option with a value that is not allowed.
    """
    relative, absolute = _tolerance(reference["tolerance"]) if "tolerance" in reference else _EXACT
    ordered = reference.get("ordered", False)
    if not isinstance(ordered, bool):
        raise BadReferenceError('"ordered" must be true or false')
    return Reference(
        answers=_answers(reference),
        formats=_formats(reference),
        conventions=Conventions(
            percent=_one_of(reference, "percent", PERCENT_MODES),
            units=_one_of(reference, "units", UNIT_MODES),
            relative=relative,
            absolute=absolute,
            ordered=ordered,
        ),
        form=None if reference.get("form") is None else _one_of(reference, "form", tuple(FORMS)),
    )


def _answers(reference: Mapping[str, Any]) -> tuple[str, ...]:
    if "answers" in reference:
        given = reference["answers"]
        if not isinstance(given, list | tuple) or not given:
            raise BadReferenceError('"answers" must be a list with at least one answer')
        return tuple(_answer(answer) for answer in given)
    if "answer" not in reference:
        raise BadReferenceError('the reference has neither "answer" nor "answers"')
    return (_answer(reference["answer"]),)


def _answer(given: object) -> str:
    """One accepted answer as text; a whole solution that ends in a box counts as what the box holds."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        if isinstance(given, float) and not math.isfinite(given):
            raise BadReferenceError(f"{given} is no answer")
        if isinstance(given, int) and given.bit_length() > _MAX_BITS:
            raise BadReferenceError("the answer is a number with too many digits")
        given = json.dumps(given)
    if not isinstance(given, str):
        raise BadReferenceError(f"an answer must be text or a number, got {type(given).__name__}")
    text = given.strip()
    if "\\boxed" in text or "\\fbox" in text:
        inside = extract(text, ("boxed",))
        if inside.status != "found" or len(inside.answers) != 1:
            raise BadReferenceError(f"the answer's own box cannot be read: {inside.detail or text[:60]!r}")
        text = inside.answers[0]
    if not _CONTENT.search(text):
        raise BadReferenceError("the answer is empty")
    if ("{" in text or "}" in text) and not balanced(text):
        raise BadReferenceError(f"the answer's braces do not match: {text[:60]!r}")
    return text


def _formats(reference: Mapping[str, Any]) -> tuple[str, ...]:
    formats = reference.get("formats", ("boxed",))
    if not isinstance(formats, list | tuple) or not formats or not all(name in FORMATS for name in formats):
        raise BadReferenceError(f'"formats" must list some of {", ".join(FORMATS)}')
    return tuple(formats)


def _one_of(reference: Mapping[str, Any], key: str, allowed: tuple[Any, ...]) -> Any:
    value = reference.get(key, allowed[0])
    if value not in allowed:
        raise BadReferenceError(f'"{key}" must be one of {", ".join(allowed)}, got {value!r}')
    return value


def _tolerance(given: object) -> tuple[Fraction, Fraction]:
    """(relative, absolute) from a number, which is relative, or {"relative": …, "absolute": …}."""
    parts = given if isinstance(given, Mapping) else {"relative": given}
    if not parts or not set(parts) <= {"relative", "absolute"}:
        raise BadReferenceError('"tolerance" must be a number or have the keys "relative", "absolute"')
    found = []
    for key in ("relative", "absolute"):
        value = parts.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e300:
            raise BadReferenceError(
                f'"tolerance": {key} must be a number that is not negative, got {value!r}'
            )
        found.append(Fraction(str(value)))
    return found[0], found[1]
