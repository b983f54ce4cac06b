r"""The responses that a reference must accept: its own answer, and the solution that came with the row.

In: the reference, the verifier's name and the solution of a row. Out: `Probe`s, each a response to have
judged, or a cause that needs no judge.

    boxed         \boxed{the answer}              the solution, where it has a box
    tool_calls    the wanted calls, written out
    unit_tests    nothing (are the tests usable?)  the solution as a program
    others        the answer, bare and boxed       the solution
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from curriculum.pool.identity import canonical
from verifiers.boxed.read import is_readable
from verifiers.boxed.reference import BadReferenceError, read_reference

Of = Literal["answer", "solution", "usable"]
"""What is judged: the reference's own answer, the given solution, or whether the reference can be used."""

SENTINELS = frozenset(
    [
        *("proof", "notfound", "not found", "not available", "n/a", "na", "nan", "null", "unknown", "tbd"),
        *("todo", "no answer", "see solution", "?", "-"),
    ]
)
"""Answers, in lower case, by which data sets say that they have none."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One response to judge a reference by; with `cause`, the reference is refused unjudged."""

    of: Of
    response: str = ""
    reference: str = ""  # JSON text, with options that hinder writing the response taken out
    cause: str = ""


def probes(verifier: str, reference_text: str, prompt: str, solution: str | None) -> Iterator[Probe]:
    """What to judge a reference by.

    Args:
        verifier: name of the row's verifier.
        reference_text: JSON text of an object.
        prompt: what is asked, which a solution in code may go on from.
        solution: of the row, where it has one.
    """
    reference: Mapping[str, Any] = json.loads(reference_text)
    if verifier == "boxed":
        yield _boxed(reference)
        if solution and "\\boxed" in solution:
            yield Probe("solution", solution, _with(reference, formats=["boxed"]))
    elif verifier == "tool_calls":
        yield _calls(reference)
    elif verifier == "unit_tests":
        yield Probe("usable", "", reference_text)
        if solution and solution.strip():
            yield Probe("solution", _program(prompt, solution), reference_text)
    else:
        answer = reference.get("answer")
        yield Probe("usable", f"{answer}\n\\boxed{{{answer}}}" if answer else "", reference_text)
        if solution and solution.strip():
            yield Probe("solution", solution, reference_text)


def _with(reference: Mapping[str, Any], **options: object) -> str:
    return canonical({**reference, **options})


def _boxed(reference: Mapping[str, Any]) -> Probe:
    try:
        answers = read_reference(reference).answers
    except BadReferenceError as error:
        return Probe("answer", cause=str(error))
    for answer in answers:
        if answer.strip().casefold() in SENTINELS:
            return Probe("answer", cause=f"the answer {answer.strip()!r} stands for none")
        if not is_readable(answer):
            return Probe("answer", cause=f"the answer {_short(answer)!r} does not parse")
    return Probe("answer", f"\\boxed{{{answers[0]}}}", _with(reference, formats=["boxed"]))


def _calls(reference: Mapping[str, Any]) -> Probe:
    """The wanted calls as Hermes writes them, whatever format the reference asks for."""
    judged = _with(reference, format="auto")
    calls = reference.get("calls")
    if isinstance(calls, str) and not calls.lstrip().startswith("["):
        return Probe("answer", calls, judged)
    try:
        wanted = json.loads(calls) if isinstance(calls, str) else calls
        written = [_written(call) for call in wanted or ()]
    except (ValueError, TypeError, AttributeError, LookupError):
        return Probe("usable", "", judged)  # the verifier says what is wrong with them
    return Probe("answer", "\n".join(written) or "No tool is needed here.", judged)


def _written(call: Mapping[str, Any]) -> str:
    call = call.get("function", call)
    if "accepted" in call:
        accepted = call["accepted"]
        arguments = _first(json.loads(accepted) if isinstance(accepted, str) else accepted)
    else:
        arguments = call.get("arguments", call.get("parameters")) or {}
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    return f"<tool_call>\n{canonical({'name': call['name'], 'arguments': arguments})}\n</tool_call>"


def _first(accepted: Any) -> Any:
    """Of each parameter the first value accepted, at every depth; what may be left out is left out."""
    if isinstance(accepted, dict):
        return {name: _first(values[0]) for name, values in accepted.items() if "" not in values}
    return [_first(value) for value in accepted] if isinstance(accepted, list) else accepted


def _program(prompt: str, solution: str) -> str:
    """A solution as a response: code in a fence; one that begins indented goes on from the prompt's code."""
    if "```" in solution:
        return solution
    code = f"{prompt.rstrip()}\n{solution}" if solution.lstrip("\n")[:1].isspace() else solution
    return f"```python\n{code.strip()}\n```"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."
