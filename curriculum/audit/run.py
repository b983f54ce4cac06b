"""Audits a verifier: `curriculum verify --audit` without the command line.

In: the name of a verifier or reward function. Out: an `AuditReport`: what it wrongly accepts and refuses,
what it raises or hangs on, and what it answers differently when asked again.

    find it -> the battery of its kind -> groups that share workers -> judge them twice -> report

Where responses are programs, each family has workers of its own, and a case that would change the process it
runs in has them to itself: what one program breaks does not count against the others.
"""

from __future__ import annotations

import functools
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from curriculum.audit.judge import judge
from curriculum.audit.posted import Posted
from curriculum.audit.report import FAULTS, AuditReport, FamilyCount, Fault, Finding
from curriculum.errors import UsageError
from verifiers.adapters import AdapterError, FunctionVerifier, find
from verifiers.audit import KINDS, Case, Kind, battery
from verifiers.registry import BUILT_IN, UnknownVerifierError
from verifiers.verdict import Verifier

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """What to audit, and how."""

    verifier: str
    """A registered name, `module:attribute` or `file.py:attribute`: a verifier or a reward function."""
    kind: Kind | None = None
    """Which battery; None: told by the name."""
    families: tuple[str, ...] = ()
    """Only these families of cases; empty: all."""
    hostile: bool = False
    """Also responses that hog the machine, for verifiers not known to jail what they run."""
    deadline_s: float = 10.0
    """Wall-clock seconds for one response; a second attempt has the same before it counts as hung."""
    workers: int = 0
    """Processes; 0 takes one a core, at most sixteen."""
    data_source: str | None = None
    """What a verl function is told; None: one that goes with the kind."""


def audit(options: AuditOptions, *, on_progress: Callable[[int, int], None] | None = None) -> AuditReport:
    """Throws the battery at a verifier.

    Args:
        options: what to audit.
        on_progress: called a few times a second with the cases judged and all cases.

    Raises:
        UsageError: the verifier cannot be had, its kind cannot be told, or there is no such family.
        EngineError: workers cannot be started.
    """
    began = time.monotonic()
    ours = options.verifier in BUILT_IN
    target = _absolute(options.verifier)
    verifier = _find(target)
    kind = options.kind or kind_of(options.verifier, verifier.name)
    everything = _chosen(battery(kind), options.families)
    cases = [case for case in everything if ours or options.hostile or not case.hostile]
    findings: list[Finding] = []
    begun = 0
    with tempfile.TemporaryDirectory(prefix="curriculum-audit-") as folder:
        source = options.data_source or DATA_SOURCES[kind]
        posted = Posted(verifier, target, source, folder if kind == "unit_tests" else "")
        for group in _groups(cases, kind, ours=ours):
            show = functools.partial(_show, on_progress, begun, len(cases))
            findings += judge(
                group, posted, workers=options.workers, deadline_s=options.deadline_s, show=show
            )
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


def _absolute(target: str) -> str:
    """The target, with the path of a file made independent of the folder one is in."""
    file, _, attribute = target.rpartition(":")
    return f"{Path(file).resolve()}:{attribute}" if file.endswith(".py") else target


def _find(target: str) -> Verifier:
    try:
        return find(target)
    except (UnknownVerifierError, AdapterError) as error:
        do = "name another with --verifier: a registered one, module:attribute or file.py:attribute"
        raise UsageError(str(error), do=do) from error


def _chosen(cases: list[Case], families: Sequence[str]) -> list[Case]:
    known = sorted({case.family for case in cases})
    for family in families:
        if family not in known:
            raise UsageError(f"no family of cases is called {family!r}", do=f"known: {', '.join(known)}")
    return [case for case in cases if case.family in (families or known)]


def _groups(cases: Sequence[Case], kind: Kind, *, ours: bool) -> list[list[Case]]:
    """The cases that share their workers."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        alone = case.lasting and not ours
        name = "" if kind != "unit_tests" else case.id if alone else case.family
        groups.setdefault(name, []).append(case)
    return list(groups.values())


def _show(on_progress: Callable[[int, int], None] | None, begun: int, total: int, judged: int) -> None:
    if on_progress:
        on_progress(begun + judged, total)


def _count(cases: Sequence[Case], findings: Sequence[Finding]) -> tuple[FamilyCount, ...]:
    sizes = Counter(case.family for case in cases)
    faults: dict[str, Counter[Fault]] = {family: Counter() for family in sizes}
    for finding in findings:
        faults[finding.case.partition("/")[0]][finding.fault] += 1
    return tuple(FamilyCount(family, size, dict(faults[family])) for family, size in sorted(sizes.items()))
