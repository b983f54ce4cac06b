"""The `boxed` verifier: takes the answer out of a response and compares it with the reference.

In: a response; a reference `{"answer": "…"}` or `{"answers": […]}` with options (see `reference`).
Out: a `Verdict` of correctness 1 or 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verifiers.boxed.equal import same
from verifiers.boxed.extract import extract
from verifiers.boxed.forms import has_form
from verifiers.boxed.read import is_readable
from verifiers.boxed.reference import BadReferenceError, Reference, read_reference
from verifiers.verdict import Verdict, graded, verifier_error


class BoxedVerifier:
    """Compares the boxed answer of a response with the reference, exactly and symmetrically."""

    name = "boxed"
    version = "2"

    def verify(self, response: str, reference: Mapping[str, Any]) -> Verdict:
        """The verdict on `response`.

        `no_answer` without a box, `malformed` for a box that is empty, unclosed or far too long,
        `verifier_error` for a reference that cannot be used or read.
        """
        try:
            wanted = read_reference(reference)
        except BadReferenceError as error:
            return verifier_error(str(error))
        found = extract(response, wanted.formats)
        if found.status == "absent":
            return Verdict(0.0, "no_answer", (), found.detail)
        if found.status == "malformed":
            return Verdict(0.0, "malformed", (), found.detail)
        try:
            return _judge(found.answers, wanted)
        except (ArithmeticError, LookupError, ValueError, RecursionError) as error:
            # A fault of this package says nothing about the response, and must not end a scoring pass.
            return verifier_error(f"internal fault on {_short(', '.join(found.answers))}: {error!r}")

    def answer(self, response: str, reference: Mapping[str, Any]) -> str | None:
        """The answer of `response` as written; None without one, or with a reference that cannot be used."""
        try:
            formats = read_reference(reference).formats
        except BadReferenceError:
            return None
        return ", ".join(extract(response, formats).answers) or None

    def with_answer(self, reference: Mapping[str, Any], answer: str) -> dict[str, Any]:
        """The reference with its options, and `answer` as the only one accepted."""
        return {key: value for key, value in reference.items() if key != "answers"} | {"answer": answer}


def _judge(answers: tuple[str, ...], wanted: Reference) -> Verdict:
    """Several answers are right when each equals the reference, or when it lists them."""
    shown = ", ".join(answers)
    readable = [gold for gold in wanted.answers if is_readable(gold)]
    for gold in readable:
        if all(same(answer, gold, wanted.conventions) for answer in answers) or (
            len(answers) > 1 and same(shown, gold, wanted.conventions)
        ):
            if wanted.form is not None and not all(has_form(answer, wanted.form) for answer in answers):
                return graded(
                    0.0, detail=f"{_short(shown)} equals {_short(gold)} but is not written as {wanted.form}"
                )
            return graded(1.0, detail=f"{_short(shown)} equals {_short(gold)}")
    if len(readable) < len(wanted.answers):
        unread = next(gold for gold in wanted.answers if gold not in readable)
        return verifier_error(f"the reference {_short(unread)} cannot be read")
    return graded(0.0, detail=f"{_short(shown)} is not {_short(wanted.answers[0])}")


def _short(text: str) -> str:
    line = " ".join(text[:200].split())
    return line if len(line) <= 60 else line[:57] + "..."
