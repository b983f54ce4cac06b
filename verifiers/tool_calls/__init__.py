"""Judges tool calls: the right tools, arguments their schemas allow, the values that were wanted.

In: a response, and a reference `{"tools": […], "calls": […]}` with optional `ordered`, `normalise`, `format`,
`environment`.
Out: a `Verdict` with the parts `tool`, `arguments` and `outcome`, each 0..1, worth 0.3, 0.3 and 0.4.

Every wanted call is matched with at most one made call, for the greatest total; parts are averaged over
the wanted or the made calls, whichever are more, so that extra calls cost. Conventions:
docs/verifiers/tool_calls.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verifiers.tool_calls import parse
from verifiers.tool_calls.call import MAX_CALLS, Broken, Item
from verifiers.tool_calls.dialects import SchemaError
from verifiers.tool_calls.reference import Reference, UnusableReference, compiled
from verifiers.tool_calls.score import Score, score
from verifiers.verdict import Part, Verdict, graded, verifier_error

__all__ = ["ToolCallsVerifier"]


class ToolCallsVerifier:
    """Judges the tool calls of a response; see the module for what earns what.

    Args:
        allow_unsafe: run a reference's environment even where no jail can be had.
    """

    name = "tool_calls"
    version = "2"

    def __init__(self, *, allow_unsafe: bool = False) -> None:
        self.allow_unsafe = allow_unsafe

    def verify(self, response: str, reference: Mapping[str, Any]) -> Verdict:
        """The verdict on `response`; an unusable `reference` gives `verifier_error`."""
        try:
            wanted = compiled(reference)
            return _judged(parse.read(response, wanted.formats), wanted, self.allow_unsafe)
        except (UnusableReference, SchemaError) as error:
            return verifier_error(_line(f"reference: {error}"))
        except RecursionError:
            return verifier_error("called with too little stack left")


def _judged(response: parse.Response, wanted: Reference, allow_unsafe: bool) -> Verdict:
    broken = [item.reason for item in response.items if isinstance(item, Broken)]
    if not wanted.calls:
        return _judged_silence(response, broken)
    if not response.items:
        return Verdict(0.0, "no_answer", _parts(0.0, 0.0, 0.0), "no call is made where one is wanted")
    if len(broken) == len(response.items):
        return Verdict(0.0, "malformed", _parts(0.0, 0.0, 0.0), _line(broken[0]))
    if len(response.items) > MAX_CALLS:
        return Verdict(0.0, "wrong", _parts(0.0, 0.0, 0.0), f"more than {MAX_CALLS} calls")
    result = _score(response.items, wanted, allow_unsafe)
    parts = _parts(result.tool / result.calls, result.arguments / result.calls, result.outcome / result.calls)
    return graded(result.points / (10 * result.calls), parts=parts, detail=_line(result.detail))


def _score(items: tuple[Item, ...], wanted: Reference, allow_unsafe: bool) -> Score:
    if not wanted.environment:
        return score(items, wanted)
    from verifiers.tool_calls import final_state  # with the sandbox, which few references need

    return final_state.score_reached(items, wanted, allow_unsafe=allow_unsafe)


def _judged_silence(response: parse.Response, broken: list[str]) -> Verdict:
    if len(broken) < len(response.items):
        return Verdict(0.0, "wrong", _parts(0.0, 0.0, 0.0), "a call is made where none is wanted")
    if broken:
        return Verdict(0.0, "malformed", _parts(0.0, 0.0, 0.0), _line(broken[0]))
    if not response.says:
        return Verdict(0.0, "no_answer", _parts(0.0, 0.0, 0.0), "neither a call nor an answer in words")
    return Verdict(1.0, "correct", _parts(1.0, 1.0, 1.0), "no call, as wanted")


def _parts(tool: float, arguments: float, outcome: float) -> tuple[Part, ...]:
    return Part("tool", tool), Part("arguments", arguments), Part("outcome", outcome)


def _line(text: str) -> str:
    """`text` as one line that any table can hold, at most 200 characters."""
    text = text[:200]
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)
