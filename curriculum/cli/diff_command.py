"""`curriculum diff A B`: what moved between two refreshes, and why.

In: two refreshes by path or name. Out: tables, or JSON, on standard output.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from curriculum.cli.screen import show
from curriculum.config import load_config
from curriculum.diff import RefreshDiff, diff_refreshes, find_refresh
from curriculum.summary import figure_table


@click.command()
@click.argument("a")
@click.argument("b")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder that the refreshes were published to  [default: output.dir of curriculum.toml]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(a: str, b: str, out: Path | None, as_json: bool) -> None:
    """Say what moved from refresh A to refresh B, and why.

    A and B are folders of published refreshes, their names under --out, or LATEST.

    \b
    Example:
        curriculum diff step_0-1c9e22ab LATEST
        curriculum diff runs/a/refreshes/step_0-1c9e22ab runs/b/refreshes/step_0-77d0fe31 --json
    """
    out = out or load_config(None).output.dir
    diff = diff_refreshes(find_refresh(a, out), find_refresh(b, out))
    if as_json:
        click.echo(json.dumps(diff.to_json(), indent=2, ensure_ascii=False))
    else:
        show(render_diff(diff))


def render_diff(diff: RefreshDiff) -> RenderableType:
    """The comparison as tables that fit 80 columns."""
    return Group(
        _sides(diff),
        _section("Why: inputs that differ", _inputs(diff)),
        _section("Decisions, over the prompts of both", _moves(diff)),
        _section("Mean pass rate, over the prompts scored in both", _pass_rates(diff)),
        _section("Length caps in tokens", _caps(diff)),
        _section("Prompts that moved most", _examples(diff)),
    )


def _section(title: str, body: RenderableType) -> RenderableType:
    return Group(Text(f"\n{title}", style="bold"), body)


def _sides(diff: RefreshDiff) -> RenderableType:
    a, b = diff.a, diff.b
    table = figure_table("", "A", "B")
    table.add_row("refresh", a.refresh_id, b.refresh_id)
    table.add_row("checkpoint", a.checkpoint, b.checkpoint)
    table.add_row("published", a.created_at, b.created_at)
    table.add_row("prompts in the pool", f"{a.pool_rows:,}", f"{b.pool_rows:,}")
    table.add_row("prompts in the set", f"{a.set_rows:,}", f"{b.set_rows:,}")
    table.add_row("signal as sampled", _share(a.signal_before), _share(b.signal_before))
    table.add_row("signal in the set", _share(a.signal_after), _share(b.signal_after))
    table.add_row("prompts only here", f"{diff.prompts_only_a:,}", f"{diff.prompts_only_b:,}")
    return table


def _inputs(diff: RefreshDiff) -> RenderableType:
    if not diff.inputs:
        return Text("nothing: the same checkpoint, pool, settings and verifiers", style="dim")
    table = figure_table("")
    table.add_column("A", overflow="fold")
    table.add_column("B", overflow="fold")
    for change in diff.inputs:
        table.add_row(f"{change.kind} {change.key}", _value(change.a), _value(change.b))
    return table


def _moves(diff: RefreshDiff) -> RenderableType:
    stayed = sum(move["prompts"] for move in diff.moves if move["a"] == move["b"])
    table = figure_table("A", "B", "prompts")
    table.columns[1].justify = "left"
    for move in diff.moves:
        style = "dim" if move["a"] == move["b"] else ""
        table.add_row(move["a"], move["b"], f"{move['prompts']:,}", style=style)
    return Group(Text(f"{diff.prompts_both - stayed:,} of {diff.prompts_both:,} changed"), table)


def _pass_rates(diff: RefreshDiff) -> RenderableType:
    table = figure_table("domain", "prompts", "A", "B", "change")
    for row in diff.pass_rates:
        change = "·" if row["change"] is None else f"{row['change']:+.3f}"
        table.add_row(row["domain"], f"{row['prompts']:,}", _rate(row["a"]), _rate(row["b"]), change)
    return table


def _caps(diff: RefreshDiff) -> RenderableType:
    table = figure_table("domain", "A", "B")
    for row in diff.caps:
        table.add_row(row["domain"], _cap(row["a"], row["a_identified"]), _cap(row["b"], row["b_identified"]))
    return table


def _examples(diff: RefreshDiff) -> RenderableType:
    if not diff.examples:
        return Text("none", style="dim")
    parts: list[RenderableType] = []
    for row in diff.examples:
        parts.append(Text.assemble(row["prompt_id"], (f"  {row['domain']}", "dim")))
        parts += [
            Padding(Text(f"{side.upper()}: {row[f'decision_{side}']}: {row[f'reason_{side}']}"), (0, 0, 0, 2))
            for side in ("a", "b")
        ]
    return Group(*parts)


def _value(value: Any) -> str:
    return (
        "·" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )


def _share(value: float | None) -> str:
    return "·" if value is None else f"{value:.1%}"


def _rate(value: float | None) -> str:
    return "·" if value is None else f"{value:.3f}"


def _cap(cap: int | None, identified: bool | None) -> str:
    if cap is None:
        return "·"
    return f"{cap:,}" if identified else f"> {cap:,}"
