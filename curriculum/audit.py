"""Audits a verifier: `curriculum verify --audit` without the command line.

In: the name of a verifier or reward function. Out: an `AuditReport`: what it wrongly accepts and refuses,
what it raises or hangs on, and what it answers differently when asked again.

    find it -> its battery of cases -> judge them in workers -> judge them again in reverse -> report

Where responses are programs, each family of cases has workers of its own, so that what one program breaks
in the process that judges it does not count against other families.
"""

from __future__ import annotations

import functools
import itertools
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from curriculum.errors import EngineError, UsageError
from curriculum.pool.identity import canonical
from verifiers.adapters import AdapterError, FunctionVerifier, find
from verifiers.audit import KINDS, Case, Kind, battery
from verifiers.registry import BUILT_IN, UnknownVerifierError
from verifiers.shaping import RewardShape
from verifiers.verdict import Verdict, Verifier, verifier_error
from verifiers.workers import Item, Judged, VerifierWorkers, WorkersError

Fault = Literal["accepted", "refused", "raised", "hung", "unstable"]
FAULTS: tuple[Fault, ...] = get_args(Fault)

DATA_SOURCES: Mapping[Kind, str] = {
    "boxed": "lighteval/MATH",
    "unit_tests": "codecontests",
    "tool_calls": "tool_calls",
}
"""What a verl function is told by default: names for which verl's own dispatcher picks a grader."""
_WORDS: Mapping[Kind, tuple[str, ...]] = {
    "boxed": ("boxed", "math", "answer"),
    "unit_tests": ("unit_test", "unittest", "code", "program"),
    "tool_calls": ("tool", "bfcl"),
}
_HUNG = "verification exceeded"
"""How the workers begin the detail of an item that was given up at its deadline."""
_MOST_WORKERS = 16
_POLL_S = 0.05
_SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """What to audit, and how."""

    verifier: str
    """A registered name, `module:attribute` or `file.py:attribute`: a verifier or a reward function."""
    kind: Kind | None = None
    """Which battery; None: told by the name."""
    hostile: bool = False
    """Also responses that hog the machine, for verifiers not known to jail what they run."""
    deadline_s: float = 10.0
    """Wall-clock seconds for one response; twice this before it counts as hung."""
    workers: int = 0
    """Processes; 0 takes one a core, at most sixteen."""
    data_source: str | None = None
    """What a verl function is told; None: one that goes with the kind."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with the verifier."""

    case: str
    """Id of the case, family/name."""
    fault: Fault
    expected: str
    why: str
    """Why the case is to be answered as expected."""
    answered: str
    """What the verifier said, in one line."""


@dataclass(frozen=True, slots=True)
class FamilyCount:
    """One family of cases."""

    family: str
    cases: int
    faults: Mapping[Fault, int]
    """Faults that did not occur are absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The findings, and their numbers."""

    verifier: str
    kind: Kind
    form: str
    """verifier, or of which form the reward function is: plain, trl, verl"""
    families: tuple[FamilyCount, ...]
    findings: tuple[Finding, ...]
    left_out: int
    """Hostile cases that were not run."""
    seconds: float

    @property
    def cases(self) -> int:
        """Cases that were judged."""
        return sum(family.cases for family in self.families)

    def count(self, fault: Fault) -> int:
        """Cases with that fault."""
        return sum(family.faults.get(fault, 0) for family in self.families)

    def to_json(self) -> dict[str, Any]:
        """The same for machines."""
        faults = {fault: self.count(fault) for fault in FAULTS}
        return {**asdict(self), "seconds": round(self.seconds, 3), "cases": self.cases, "faults": faults}


def audit(options: AuditOptions, *, on_progress: Callable[[int, int], None] | None = None) -> AuditReport:
    """Throws the battery at a verifier.

    Args:
        options: what to audit.
        on_progress: called a few times a second with the cases judged and all cases.

    Raises:
        UsageError: the verifier cannot be had, or its kind cannot be told.
        EngineError: workers cannot be started.
    """
    began = time.monotonic()
    target = _absolute(options.verifier)
    verifier = _find(target, options.data_source or "")
    kind = options.kind or kind_of(options.verifier, verifier.name)
    everything = battery(kind)
    jailed = options.hostile or options.verifier in BUILT_IN
    cases = [case for case in everything if jailed or not case.hostile]
    source = options.data_source or DATA_SOURCES[kind]
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory(prefix="curriculum-audit-") as folder:
        posted = _Posted(verifier, target, source, folder if kind == "unit_tests" else "")
        begun = 0
        for group in _groups(kind, cases):
            show = functools.partial(_show, on_progress, begun, len(cases))
            findings += _judge(group, posted, options, show)
            begun += len(group)
    return AuditReport(
        verifier=options.verifier,
        kind=kind,
        form=verifier.form if isinstance(verifier, FunctionVerifier) else "verifier",
        families=_count(cases, findings),
        findings=tuple(sorted(findings, key=lambda finding: (FAULTS.index(finding.fault), finding.case))),
        left_out=len(everything) - len(cases),
        seconds=time.monotonic() - began,
    )


def kind_of(*names: str) -> Kind:
    """The kind that a verifier's names tell.

    Raises:
        UsageError: they tell none, or several.
    """
    text = " ".join(names).lower()
    kinds = [kind for kind in KINDS if any(word in text for word in _WORDS[kind])]
    if len(kinds) != 1:
        raise UsageError(
            f"the name does not tell what kind of verifier it is: {names[0]}",
            do=f"say it with --kind: {', '.join(KINDS)}",
        )
    return kinds[0]


class _Posted:
    """A verifier on its way to a worker: what arrives there is found anew, by its name.

    So it need not be picklable. In the worker it prints nothing, since programs that it runs may print
    anything, and the folder it works in, if one is given, is one that nobody misses.
    """

    def __init__(self, verifier: Verifier, target: str, data_source: str, folder: str) -> None:
        self.name = verifier.name
        self.version = verifier.version
        self.verify = verifier.verify
        self._arrival = (target, data_source, folder)

    def __reduce__(self) -> tuple[Callable[..., Verifier], tuple[str, str, str]]:
        return _arrive, self._arrival


def _arrive(target: str, data_source: str, folder: str) -> Verifier:
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
    verifier = find(target, data_source=data_source)
    if folder:
        os.chdir(folder)
    return verifier


def _absolute(target: str) -> str:
    """The target, with the path of a file made independent of the folder one is in."""
    file, _, attribute = target.rpartition(":")
    return f"{Path(file).resolve()}:{attribute}" if file.endswith(".py") else target


def _find(target: str, data_source: str) -> Verifier:
    try:
        return find(target, data_source=data_source)
    except (UnknownVerifierError, AdapterError) as error:
        do = "name another with --verifier: a registered one, module:attribute or file.py:attribute"
        raise UsageError(str(error), do=do) from error


def _count(cases: Sequence[Case], findings: Sequence[Finding]) -> tuple[FamilyCount, ...]:
    sizes = Counter(case.family for case in cases)
    faults: dict[str, Counter[Fault]] = {family: Counter() for family in sizes}
    for finding in findings:
        faults[finding.case.partition("/")[0]][finding.fault] += 1
    return tuple(FamilyCount(family, size, faults[family]) for family, size in sorted(sizes.items()))


# ---- judging


def _groups(kind: Kind, cases: Sequence[Case]) -> list[list[Case]]:
    """The cases that share their workers."""
    if kind != "unit_tests":
        return [list(cases)]
    return [list(group) for _, group in itertools.groupby(cases, key=lambda case: case.family)]


def _show(on_progress: Callable[[int, int], None] | None, begun: int, total: int, judged: int) -> None:
    if on_progress:
        on_progress(begun + judged, total)


def _judge(
    cases: Sequence[Case], verifier: Verifier, options: AuditOptions, show: Callable[[int], None]
) -> list[Finding]:
    """The findings on `cases`, judged twice by the same workers."""
    seen: tuple[dict[Hashable, Verdict], dict[Hashable, Verdict]] = ({}, {})
    first, second = seen

    def take(batch: Sequence[Judged]) -> None:
        for judged in batch:
            into = second if judged.key in first else first
            into[judged.key] = judged.verdict

    count = min(options.workers or os.cpu_count() or 1, _MOST_WORKERS, len(cases))
    items = [Item(case.id, verifier.name, case.response, canonical(dict(case.reference))) for case in cases]
    broken = ""
    try:
        with VerifierWorkers(
            workers=count,
            rewards=RewardShape(),
            on_judged=take,
            deadline_s=options.deadline_s,
            verifiers={verifier.name: verifier},
        ) as workers:
            workers.submit(items)
            while workers.pending:
                time.sleep(_POLL_S)
                show(len(first))
            workers.submit([item for item in reversed(items) if first[item.key].outcome != "verifier_error"])
            while workers.pending:
                time.sleep(_POLL_S)
    except WorkersError as error:
        if not first:
            raise EngineError("the verifier workers cannot go on", where=str(error)) from error
        # An unjailed response may have written to the workers' own pipes.
        broken = str(error)
    lost = verifier_error(broken)
    return [
        finding
        for case in cases
        for finding in _findings(case, first.get(case.id, lost), second.get(case.id))
    ]


def _findings(case: Case, first: Verdict, second: Verdict | None) -> list[Finding]:
    """What is wrong with the answers to one case."""

    def finding(fault: Fault, answered: str) -> Finding:
        return Finding(case.id, fault, case.expected, case.why, answered)

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
