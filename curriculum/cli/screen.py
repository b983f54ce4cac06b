"""How a command shows what it found to a person.

In: renderables. Out: standard output. Imports nothing of ours: `curriculum doctor` needs it where they fail.
"""

from __future__ import annotations

from rich.console import Console, RenderableType


def show(*results: RenderableType) -> None:
    """Prints results to standard output. Lines that may not wrap, such as a path, stay whole."""
    Console(highlight=False).print(*results, sep="\n\n", crop=False)
