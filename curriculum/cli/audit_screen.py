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
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    grid.add_row("why", Text(finding.why))
    for label in ("reference", "response", "answered"):
        grid.add_row(label, Text(_line(getattr(finding, label)), no_wrap=True, overflow="ellipsis"))
    return Group(Text(f"  {finding.case}"), Padding(grid, (0, 0, 0, 4), expand=False))


def _line(text: str) -> str:
    """`text` in one line."""
    return " ".join(text.removeprefix("```python").removesuffix("```").split()) or "(nothing)"


def _conclusion(report: AuditReport) -> str:
    accepted = report.count("accepted")
    verdict = f"{accepted:,} wrongly accepted" if accepted else "nothing was wrongly accepted"
    text = f"{report.cases:,} cases in {duration(report.seconds)}: {verdict}"
    if report.left_out:
        text += f"; {report.left_out:,} hostile cases were left out, --hostile runs them"
    return text
