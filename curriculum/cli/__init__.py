"""The `curriculum` command: one module per subcommand, imported only when that one runs.

In: the arguments of a shell. Out: an exit code; the result on standard output, everything else on
standard error. A `CurriculumError` is printed as its lines, without a traceback; any other exception
is a bug and keeps its own.
"""

from __future__ import annotations

import difflib
import importlib
import traceback
from typing import Any

import click

from curriculum.errors import CurriculumError

INTERRUPTED = 130

COMMANDS = {
    "refresh": (
        "curriculum.cli.refresh_command:command",
        "Score the pool with a checkpoint and publish the prompts worth training on.",
    ),
    "prepare": (
        "curriculum.cli.prepare_command:command",
        "Clean a raw prompt set and account for every row.",
    ),
    "verify": (
        "curriculum.cli.verify_command:command",
        "Judge a file of responses with a verifier.",
    ),
    "diff": (
        "curriculum.cli.diff_command:command",
        "Say what moved between two published refreshes, and why.",
    ),
    "doctor": (
        "curriculum.cli.doctor_command:command",
        "Say what is installed here and what stands in the way.",
    ),
    "init": (
        "curriculum.cli.init_command:command",
        "Write a commented curriculum.toml.",
    ),
}
"""Each subcommand: where its click command is, and its line in `curriculum --help`."""


_KEPT = {
    "refresh": "; the pass is kept and the same command continues it",
    "prepare": "; what is finished is kept and the same command continues",
}
"""What an interrupted subcommand leaves behind."""


class LazyGroup(click.Group):
    """A group that imports a subcommand's module only to run it or to show its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(COMMANDS)}"
            ctx.fail(f"no command is called {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the subcommand; turns what a user can cause into lines and an exit code."""
        try:
            return super().invoke(ctx)
        except CurriculumError as error:
            if ctx.params["debug"]:
                traceback.print_exception(error)
            click.echo(f"Error: {error}".replace("\n", "\n  "), err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo(f"\nInterrupted{_KEPT.get(ctx.invoked_subcommand or '', '')}.", err=True)
            ctx.exit(INTERRUPTED)


@click.group(
    cls=LazyGroup,
    context_settings={
        "auto_envvar_prefix": "CURRICULUM",
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
    },
)
@click.version_option(package_name="rlvr-curriculum", prog_name="curriculum")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Choose the prompts worth training on, for the checkpoint that is trained next.

    \b
    Example:
        curriculum init
        curriculum refresh --ckpt step_2000

    Exit codes: 0 done, 2 usage or configuration, 4 engine or disk failed, 5 nothing to publish,
    130 interrupted. After 4 and 130 the same command continues where it stopped.
    """
