"""The `boxed` verifier: takes the answer out of a response and compares it with the reference.

In: a response; a reference `{"answer": "…"}` or `{"answers": [...]}` (any of them), with the options
of `BoxedOptions`. Out: a `Verdict`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from verifiers.boxed.equal import Conventions, same
from verifiers.boxed.extract import FORMATS, Extraction, extract
from verifiers.verdict import Verdict, graded, verifier_error


class BadReferenceError(ValueError):
    """The reference gives no usable answer or an unknown option; the message says which."""


class BoxedVerifier:
    """Compares the boxed answer of a response with the reference, exactly and symmetrically."""

    name = "boxed"
    version = "1"

    def verify(self, response: str, reference: Mapping[str, Any]) -> Verdict:
        """The verdict on `response`: correctness 1 or 0."""
        try:
            golds = _golds(reference)
            formats = _formats(reference)
        except BadReferenceError as error:
            return verifier_error(str(error))
        found = extract(response, formats)
        if found.status == "absent":
            return Verdict(0.0, "no_answer", (), found.detail)
        if found.status == "malformed":
            return Verdict(0.0, "malformed", (), found.detail)
        return _judge(found, golds, Conventions())


def _judge(found: Extraction, golds: tuple[str, ...], conventions: Conventions) -> Verdict:
    shown = ", ".join(found.answers)
    for gold in golds:
        if all(same(answer, gold, conventions) for answer in found.answers) or same(shown, gold, conventions):
            return graded(1.0, detail=f"{_short(shown)} equals {_short(gold)}")
    return graded(0.0, detail=f"{_short(shown)} is not {_short(golds[0])}")


def _short(text: str) -> str:
    line = " ".join(text[:200].split())
    return line if len(line) <= 60 else line[:57] + "..."


def _golds(reference: Mapping[str, Any]) -> tuple[str, ...]:
    """The accepted answers as text."""
    if "answers" in reference:
        given = reference["answers"]
        if not isinstance(given, list | tuple) or not given:
            raise BadReferenceError('"answers" must be a list with at least one answer')
        return tuple(_gold(answer) for answer in given)
    if "answer" not in reference:
        raise BadReferenceError('the reference has neither "answer" nor "answers"')
    return (_gold(reference["answer"]),)


def _gold(answer: object) -> str:
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        answer = json.dumps(answer)
    if not isinstance(answer, str):
        raise BadReferenceError(f"an answer must be text or a number, got {type(answer).__name__}")
    if not answer.strip():
        raise BadReferenceError("the answer is empty")
    return answer.strip()


def _formats(reference: Mapping[str, Any]) -> tuple[str, ...]:
    formats = reference.get("formats", ("boxed",))
    if not isinstance(formats, list | tuple) or not formats or not all(name in FORMATS for name in formats):
        raise BadReferenceError(f'"formats" must list some of {", ".join(FORMATS)}')
    return tuple(formats)
