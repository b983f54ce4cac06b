"""`curriculum doctor`: what is installed here and what stands in the way.

In: nothing. Out: a line per finding, or JSON, on standard output; exit code 2 when a refresh cannot run.
"""

from __future__ import annotations

import json

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from curriculum.cli.screen import show
from curriculum.doctor import Check, examine, usable
from curriculum.errors import UsageError

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Say what is installed here and what stands in the way.

    Each finding is ok, warn (something is limited) or fail (a refresh cannot run), with what to do. The
    exit code is 0 when a refresh can run and 2 when it cannot.

    \b
    Example:
        curriculum doctor
        curriculum doctor --json | jq '.checks[] | select(.status != "ok")'
    """
    checks = examine()
    if as_json:
        found = {"usable": usable(checks), "checks": [check.to_json() for check in checks]}
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        show(render_checks(checks))
    if not usable(checks):
        ctx.exit(UsageError.exit_code)


def render_checks(checks: list[Check]) -> RenderableType:
    """A line per check, its remedy below it."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        table.add_row(Text(check.status, style=STYLES[check.status]), check.name, Text(check.found))
        if check.do:
            table.add_row("", "", Text(check.do, style="dim"))
    return table
