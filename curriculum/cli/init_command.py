"""`curriculum init`: writes the commented configuration.

In: where to. Out: the file, and its path on standard output.
"""

from __future__ import annotations

from pathlib import Path

import click

from curriculum.config import FILE_NAME
from curriculum.template import write_template


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=FILE_NAME)
@click.option("--force", is_flag=True, help="Replace a file that is already there.")
def command(path: Path, force: bool) -> None:
    """Write a commented curriculum.toml.

    Every key is in it at its default. PATH is a file or a folder; without it the file is written here.

    \b
    Example:
        curriculum init
        curriculum init runs/gsm8k/ --force
    """
    click.echo(write_template(path, force=force))
