"""Scores made calls against wanted ones: 3 points for the tool, 3 for valid arguments, 4 for the values.

In: the items of a response, the compiled reference. Out: `Score`.

Arguments count only for the matched tool, values only for valid arguments. What the reference itself
lists as a value is never refused for its type: datasets contradict their own schemas, and then the
reference is what was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verifiers.tool_calls.call import Call, Item
from verifiers.tool_calls.compare import Comparison
from verifiers.tool_calls.match import best_pairs
from verifiers.tool_calls.reference import Expected, Reference

TOOL, ARGUMENTS, OUTCOME = 3, 3, 4


@dataclass(frozen=True, slots=True)
class Score:
    """Sums over matched calls. `points` is in tenths of a call, `calls` what to average over."""

    tool: int
    arguments: int
    outcome: int
    calls: int
    detail: str

    @property
    def points(self) -> int:
        return TOOL * self.tool + ARGUMENTS * self.arguments + OUTCOME * self.outcome


def score(items: tuple[Item, ...], wanted: Reference) -> Score:
    """The score of the best one-to-one matching of made and wanted calls.

    Raises:
        SchemaError: a tool's schema turned out unusable.
    """
    made = [Made(item, wanted) for item in items]
    results = [[one.against(expected) for one in made] for expected in wanted.calls]
    pairs = best_pairs([[points for points, _ in row] for row in results], ordered=wanted.ordered)
    earned = [results[row][column] for row, column in pairs]
    return Score(
        tool=sum(points >= TOOL for points, _ in earned),
        arguments=sum(points >= TOOL + ARGUMENTS for points, _ in earned),
        outcome=sum(points == TOOL + ARGUMENTS + OUTCOME for points, _ in earned),
        calls=max(len(items), len(wanted.calls)),
        detail=_detail(items, wanted, earned),
    )


class Made:
    """One made call, its arguments typed and validated once for all the wanted calls it is held against."""

    def __init__(self, item: Item, wanted: Reference) -> None:
        self._call = item if isinstance(item, Call) and item.name in wanted.tools else None
        if self._call is None:
            return
        self._parameters = wanted.tools[self._call.name]
        self._comparison = Comparison(self._parameters, wanted.normalise)
        self._exact = Comparison(self._parameters)
        if self._call.flaw:
            return
        self._arguments: dict[str, Any] = self._parameters.typed(self._call.arguments)
        self._errors = list(self._parameters.errors(self._arguments))

    @property
    def known(self) -> bool:
        """Whether its tool exists."""
        return self._call is not None

    @property
    def executable(self) -> tuple[str, dict[str, Any]] | None:
        """Name and arguments, where both are as the tool's schema says."""
        if self._call is None or self._call.flaw or self._errors:
            return None
        return self._call.name, self._arguments

    def against(self, expected: Expected) -> tuple[int, str]:
        """The points of this call as an answer to `expected`, and what is wrong with it."""
        if self._call is None or self._call.name != expected.name:
            return 0, ""
        if self._call.flaw:
            return TOOL, f"{expected.name}: {self._call.flaw}"
        for parameter, reason in self._errors:
            if parameter is None or not self._listed(parameter, expected):
                return TOOL, f"{expected.name}: {reason}"
        same = self._comparison.accepted if expected.alternatives else self._comparison.equal
        if not same(self._arguments, expected.arguments, self._parameters.schema):
            return TOOL + ARGUMENTS, f"{expected.name}: other arguments than wanted"
        return TOOL + ARGUMENTS + OUTCOME, ""

    def _listed(self, parameter: str, expected: Expected) -> bool:
        """Whether the reference itself gives this value to `parameter`, or says it may be left out."""
        if parameter not in expected.arguments:
            return False
        if parameter not in self._arguments:
            return expected.alternatives and "" in expected.arguments[parameter]
        same = self._exact.alternative if expected.alternatives else self._exact.equal
        return same(self._arguments[parameter], expected.arguments[parameter], None)


def _detail(items: tuple[Item, ...], wanted: Reference, earned: list[tuple[int, str]]) -> str:
    reasons = [reason for _, reason in earned if reason]
    if len(earned) < len(wanted.calls):
        unknown = [item.name for item in items if isinstance(item, Call) and item.name not in wanted.tools]
        reasons.append(f"no tool is called {unknown[0]}" if unknown else "a wanted call is not made")
    if len(items) > len(earned):
        reasons.append(f"{len(items) - len(earned)} calls beside those wanted")
    return f"{len(earned)} of {len(wanted.calls)} wanted calls matched" + "".join(
        f"; {one}" for one in reasons
    )
