"""The report of an audit as a person reads it.

In: an `AuditReport`. Out: a renderable for standard output: a table of families, then every finding.
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from curriculum.audit import FAULTS, AuditReport, Fault, Finding
from curriculum.summary import duration, figure_table

_HEADS: Mapping[Fault, str] = {
    "accepted": "wrongly\naccepted",
    "refused": "wrongly\nrefused",
    "raised": "raised",
    "hung": "hung",
    "unstable": "unstable",
}
_TITLES: Mapping[Fault, str] = {
    "accepted": "Wrongly accepted: what a policy would learn to write",
    "refused": "Wrongly refused: right answers that earn nothing",
    "raised": "Raised, died, or gave no verdict",
    "hung": "Hung: no verdict by the deadline, twice",
    "unstable": "Unstable: another answer to the same response when asked again",
}
MOST_SHOWN = 110
"""Characters of what was answered; --json has all of it."""


def render_audit(report: AuditReport) -> RenderableType:
    """The whole report."""
    form = "" if report.form == "verifier" else f", a {report.form} reward function"
    head = Text.assemble((report.verifier, "bold"), f"{form}, judged as {report.kind}\n")
    parts: list[RenderableType] = [head, _families(report)]
    for fault in FAULTS:
        found = [finding for finding in report.findings if finding.fault == fault]
        if found:
            parts.append(Text(f"\n{_TITLES[fault]}", style="bold"))
            parts += [_finding(finding) for finding in found]
    return Group(*parts, Text(f"\n{_conclusion(report)}"))


def _families(report: AuditReport) -> Table:
    table = figure_table("family", "cases", *_HEADS.values())
    for family in report.families:
        counts = [family.faults.get(fault, 0) for fault in FAULTS]
        table.add_row(family.family, f"{family.cases:,}", *map(_figure, counts))
    totals = [report.count(fault) for fault in FAULTS]
    table.add_row("all", f"{report.cases:,}", *map(_figure, totals), style="bold")
    return table


def _figure(count: int) -> str:
    return f"{count:,}" if count else "·"


def _finding(finding: Finding) -> RenderableType:
    answered = finding.answered
    if len(answered) > MOST_SHOWN:
        answered = answered[: MOST_SHOWN - 1] + "…"
    lines = Text.assemble(finding.case, "\n", f"  {finding.why}\n", (f"  answered {answered}", "dim"))
    return Padding(lines, (0, 0, 0, 2))


def _conclusion(report: AuditReport) -> str:
    accepted = report.count("accepted")
    verdict = f"{accepted:,} wrongly accepted" if accepted else "nothing was wrongly accepted"
    text = f"{report.cases:,} cases in {duration(report.seconds)}: {verdict}"
    if report.left_out:
        text += f"; {report.left_out:,} hostile cases were left out, --hostile runs them"
    return text
