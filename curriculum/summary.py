"""The figures of a refresh as a person reads them: its summary and its forecast.

In: a `RefreshResult` or a `Forecast`. Out: renderables for standard output that fit 80 columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from curriculum.result import Forecast, Observed, RefreshResult
from pipelines.schemas import Decision

MOST_DOMAINS_SIDE_BY_SIDE = 4


def render_summary(result: RefreshResult) -> RenderableType:
    """The summary of a published refresh, for standard output."""
    facts = {"signal": _signal(result), "tokens": _tokens(result), "time": _time(result)}
    if result.observed.prompts:
        facts["observed"] = _observed(result.observed)
    if result.errors:
        facts["errors"] = f"{result.errors:,} of {result.rollouts:,} rollouts could not be judged"
    if result.sandbox:
        facts["sandbox"] = f"{result.sandbox}; generated code ran in it"
    facts["set"] = (
        f"{result.set_rows:,} of {result.pool_rows:,} prompts; {result.control_rows:,} at random as control"
    )
    if result.suspects:
        facts["references"] = (
            f"{result.suspects:,} in doubt: give each a verdict in suspects.csv, see --reviewed"
        )
    if result.short_of_floor:
        facts["floor"] = (
            f"{result.short_of_floor:,} prompts short of selection.min_size: no other prompt varies, "
            "or the quotas leave no room"
        )
    return Group(
        Text.assemble((result.checkpoint, "bold"), f"   refresh {result.refresh_id}\n"),
        decision_table(result.decisions),
        Text(),
        _caps(result.caps),
        Text(),
        *((_rules(result.rules), Text()) if result.rules else ()),
        fact_table(facts),
        path_line(result.path),
    )


def render_forecast(forecast: Forecast) -> RenderableType:
    """What a pass would cost, for `--dry-run`."""
    done = forecast.rollouts - forecast.rollouts_left
    left = f"; {done:,} of them are in the journal" if done else ""
    spared = f"; {forecast.observed:,} more are not sampled, the trainer observed them"
    spared = spared if forecast.observed else ""
    facts = {
        "prompts": f"{forecast.prompts:,}{spared}",
        "rollouts": f"{forecast.rollouts:,}{left}",
        "tokens": "unknown" if forecast.tokens is None else f"{forecast.tokens:,} still to generate",
        "time": "unknown" if forecast.seconds is None else duration(forecast.seconds),
        "engine": "unknown" if forecast.engine_hours is None else f"{forecast.engine_hours:.3g} engine-hours",
        "basis": forecast.basis,
    }
    return Group(Text("Forecast; nothing was generated\n", style="bold"), fact_table(facts))


def _signal(result: RefreshResult) -> str:
    before = "unknown" if result.signal_before is None else f"{result.signal_before:.1%}"
    after = "unknown" if result.signal_after is None else f"{result.signal_after:.1%}"
    return f"{before} of the sampled groups varied; {after} expected in the set"


def _observed(observed: Observed) -> str:
    first, last = observed.first_step, observed.last_step
    steps = f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
    when = "" if first is None else f" ({steps})"
    return f"{observed.prompts:,} prompts by {observed.rollouts:,} rollouts of the trainer{when}, not sampled"


def _tokens(result: RefreshResult) -> str:
    if result.tokens is None:
        return f"unknown; {result.rollouts:,} rollouts"
    rate = "" if result.tokens_per_s is None else f", {result.tokens_per_s:,.0f} tokens/s"
    return f"{result.tokens:,} in {result.rollouts:,} rollouts{rate}"


def _time(result: RefreshResult) -> str:
    unit = "CPU" if result.device == "cpu" else "GPU"
    hours = f", {result.engine_hours:.3g} {unit}-hours" if result.engine_hours else ""
    return f"{duration(result.seconds)} of scoring{hours} on {result.device}"


def path_line(path: Path | str) -> Text:
    """Where the result is, in one line whatever the width: it is copied, and read by scripts."""
    return Text(f"\n{path}", style="bold", no_wrap=True, overflow="ignore")


def fact_table(facts: dict[str, str]) -> Table:
    """Facts line by line, their names to the left."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, fact in facts.items():
        table.add_row(name, Text(fact))
    return table


def decision_table(rows: list[dict[str, Any]]) -> Table:
    """Prompts per decision and domain; the longer of the two goes down, so that it fits a terminal."""
    counts = {(row["decision"], row["domain"]): int(row["prompts"]) for row in rows}
    seen = {row["decision"] for row in rows}
    decisions = [decision for decision in Decision.categories if decision in seen]
    domains = sorted({row["domain"] for row in rows})
    if len(domains) <= MOST_DOMAINS_SIDE_BY_SIDE:
        cells = {(decision, domain): count for (decision, domain), count in counts.items()}
        return _cross_table("decision", decisions, domains, cells)
    cells = {(domain, decision): count for (decision, domain), count in counts.items()}
    return _cross_table("domain", domains, decisions, cells)


def _cross_table(corner: str, down: list[str], across: list[str], cells: dict[tuple[str, str], int]) -> Table:
    table = figure_table(corner, *(name.replace("_", "\n") for name in across), "all")

    def add(label: str, names: Iterable[str], style: str) -> None:
        names = list(names)
        row = [sum(cells.get((name, column), 0) for name in names) for column in across]
        table.add_row(label, *(f"{count:,}" if count else "·" for count in row), f"{sum(row):,}", style=style)

    for name in down:
        add(name, [name], "")
    add("all", down, "bold")
    return table


def _caps(rows: list[dict[str, Any]]) -> Table:
    """Length caps per domain; `> n` where the quantile lies beyond the cap in force."""
    table = figure_table("domain", "length cap", "95% interval", "rollouts", "truncated", "correct ones cut")
    for row in rows:
        cap = "unknown" if row["cap"] is None else f"{row['cap']:,}"
        table.add_row(
            row["domain"],
            cap if row["identified"] or row["cap"] is None else f"> {cap}",
            _interval(row),
            f"{row['rollouts']:,}",
            f"{row['truncated'] / row['rollouts']:.1%}" if row["rollouts"] else "·",
            "·" if row["correct_cut"] is None else f"{row['correct_cut']:.1%}",
        )
    return table


def _interval(row: dict[str, Any]) -> str:
    """The 95% interval of a quantile; `all:` where it is that of all domains together."""
    if row["low"] is None:
        return "·"
    high = "> limit" if row["high"] is None else f"{row['high']:,.0f}"
    return f"{'all: ' if row['pooled'] else ''}{row['low']:,.0f} to {high}"


def _rules(rows: list[dict[str, Any]]) -> Table:
    """The rule of the set, and what the others would have kept of the same pool."""
    table = figure_table("rule", "prompts", "signal expected", "of the pool's signal")
    for row in rows:
        shares = ("·" if row[name] is None else f"{row[name]:.1%}" for name in ("signal", "signal_kept"))
        label = f"{row['rule']}, used" if row["used"] else row["rule"]
        table.add_row(label, f"{row['prompts']:,}", *shares, style="bold" if row["used"] else "")
    return table


def figure_table(label: str, *figures: str) -> Table:
    """An empty table: a column of labels, which alone wraps when room is short, and columns of figures."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(label, overflow="fold", vertical="top")
    for figure in figures:
        table.add_column(figure, justify="right", no_wrap=True)
    return table


def duration(seconds: float) -> str:
    """A length of time as people say it: `0.4 s`, `41 s`, `12 min 3 s`, `3 h 12 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
