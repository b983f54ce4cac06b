"""Has cases judged in workers, twice, and says what is wrong with the answers.

In: cases, and a verifier that can be sent to workers. Out: findings.

The second time goes backwards, so a verifier that remembers is asked in another order.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Sequence

from curriculum.audit.report import Fault, Finding
from curriculum.errors import EngineError
from curriculum.pool.identity import canonical
from verifiers.audit import Case
from verifiers.shaping import RewardShape
from verifiers.verdict import Verdict, Verifier
from verifiers.workers import Item, Judged, VerifierWorkers, WorkersError

_HUNG = "verification exceeded"
"""How the workers begin the detail of an item that was given up at its deadline."""
_MOST_WORKERS = 16
_POLL_S = 0.05
_SAME = 1e-9
_SHOWN_CHARS = 2_000

Verdicts = dict[Hashable, Verdict]


def judge(
    cases: Sequence[Case],
    verifier: Verifier,
    *,
    workers: int,
    deadline_s: float,
    show: Callable[[int], None],
) -> list[Finding]:
    """The findings on `cases`, which share their workers.

    Args:
        cases: what to judge.
        verifier: goes to the workers by pickling.
        workers: processes; 0 takes one a core, at most sixteen.
        deadline_s: wall-clock seconds for one response.
        show: called with the number of cases judged so far.

    Raises:
        EngineError: workers cannot be started.
    """
    first: Verdicts = {}
    second: Verdicts = {}

    def take(batch: Sequence[Judged]) -> None:
        for judged in batch:
            into = second if judged.key in first else first
            into[judged.key] = judged.verdict

    items = [Item(case.id, verifier.name, case.response, canonical(dict(case.reference))) for case in cases]
    try:
        with VerifierWorkers(
            workers=min(workers or os.cpu_count() or 1, _MOST_WORKERS, len(cases)),
            rewards=RewardShape(),
            on_judged=take,
            deadline_s=deadline_s,
            verifiers={verifier.name: verifier},
        ) as processes:
            processes.submit(items)
            _wait(processes, lambda: show(len(first)))
            again = [item for item in reversed(items) if first[item.key].outcome != "verifier_error"]
            processes.submit(again)
            _wait(processes, lambda: None)
    except WorkersError as error:
        raise EngineError("the verifier workers cannot go on", where=str(error)) from error
    return [finding for case in cases for finding in _findings(case, first[case.id], second.get(case.id))]


def _wait(workers: VerifierWorkers, tick: Callable[[], None]) -> None:
    while workers.pending:
        time.sleep(_POLL_S)
        tick()


def _findings(case: Case, first: Verdict, second: Verdict | None) -> list[Finding]:
    """What is wrong with the answers to one case."""

    def finding(fault: Fault, answered: str) -> Finding:
        return Finding(
            case.id, fault, case.expected, case.why, _wanted(case), _shortened(case.response), answered
        )

    if first.outcome == "verifier_error":
        return [finding("hung" if first.detail.startswith(_HUNG) else "raised", first.detail)]
    found = []
    accepted = first.correctness > case.bar
    if case.expected == "refuse" and accepted:
        found.append(finding("accepted", _said(first)))
    if case.expected == "accept" and not accepted:
        found.append(finding("refused", _said(first)))
    if second is not None and _differ(first, second):
        found.append(finding("unstable", f"first {_said(first)}; then {_said(second)}"))
    return found


def _differ(first: Verdict, second: Verdict) -> bool:
    failed = second.outcome == "verifier_error"
    return failed or abs(first.correctness - second.correctness) > _SAME


def _said(verdict: Verdict) -> str:
    detail = f": {verdict.detail}" if verdict.detail else ""
    return f"{verdict.correctness:g} {verdict.outcome}{detail}"


def _wanted(case: Case) -> str:
    wanted = {"boxed": "answer", "unit_tests": "tests", "tool_calls": "calls"}[case.kind]
    value = case.reference[wanted]
    return value if isinstance(value, str) else canonical(value)


def _shortened(text: str) -> str:
    half = _SHOWN_CHARS // 2
    return text if len(text) <= _SHOWN_CHARS else f"{text[:half]} … {text[-half:]}"
