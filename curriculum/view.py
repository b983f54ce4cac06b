"""What a person sees while a command runs: its stages, its notes and one bar.

In: stages, notes and `Progress` snapshots. Out: standard error. On a terminal the bar is live;
elsewhere progress is a plain line every ten seconds at most; with --json only notes are shown.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from curriculum.scoring.progress import Progress, View
from curriculum.summary import duration

PLAIN_INTERVAL_S = 10.0


class OpenView(View, Protocol):
    """A view that is open inside a `with` block; leaving it closes the bar, also on an exception."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def make_view(*, json: bool) -> OpenView:
    """The view that suits where standard error goes; `json` keeps it to notes."""
    console = Console(stderr=True, highlight=False)
    if json:
        return NotesView(console)
    if console.is_terminal and not console.is_dumb_terminal:
        return TerminalView(console)
    return PlainView(console)


class NotesView:
    """Notes only: for a machine that reads standard output."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def stage(self, name: str) -> None: ...

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def progress(self, now: Progress) -> None: ...


class PlainView(NotesView):
    """Plain lines: a stage when it begins, progress every ten seconds at most, and once at its end."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._unshown: Progress | None = None
        self._shown_at = float("-inf")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()

    def stage(self, name: str) -> None:
        self._flush()
        self.note(name)

    def progress(self, now: Progress) -> None:
        self._unshown = now
        if time.monotonic() - self._shown_at >= PLAIN_INTERVAL_S:
            self._flush()

    def _flush(self) -> None:
        if self._unshown is not None:
            self.note("  " + ", ".join([*_figures(self._unshown), *_left(self._unshown)]))
            self._unshown = None
            self._shown_at = time.monotonic()


class TerminalView(NotesView):
    """The stage at work on a live line, its bar and its notes below it; ended stages stay above."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._stage = ""
        self._began = 0.0
        self._now: Progress | None = None
        self._notes: list[Padding] = []
        self._spinner = Spinner("line", style="dim")
        # Standard output is left alone: the result goes there.
        self._live = Live(console=console, transient=True, redirect_stdout=False, get_renderable=self._render)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_stage("stopped after" if kind else "")
        self._live.stop()

    def stage(self, name: str) -> None:
        self._end_stage()
        self._stage, self._began = name, time.monotonic()

    def progress(self, now: Progress) -> None:
        self._now = now

    def note(self, text: str) -> None:
        if not self._stage:
            super().note(text)
        else:
            self._notes.append(Padding(Text(text), (0, 0, 0, 2)))

    def _end_stage(self, how: str = "") -> None:
        if not self._stage:
            return
        took = duration(time.monotonic() - self._began)
        self._console.print(self._render_stage(Text(), f"{how} {took}".strip()))
        self._stage, self._now, self._notes = "", None, []

    def _render(self) -> RenderableType:
        """The live region: a spinner until there is progress, then the bar and the time left."""
        elapsed = duration(time.monotonic() - self._began)
        if not self._stage:
            return Text()
        if self._now is None:
            return self._render_stage(self._spinner, elapsed)
        bar = ProgressBar(total=max(self._now.rollouts_total, 1), completed=self._now.rollouts_done)
        return self._render_stage(bar, "".join(_left(self._now)) or elapsed)

    def _render_stage(self, middle: RenderableType, at_right: str) -> RenderableType:
        head = Table.grid(padding=(0, 1), expand=True)
        head.add_column(no_wrap=True)
        head.add_column(ratio=1)
        head.add_column(justify="right", style="dim", no_wrap=True)
        head.add_row(Text(self._stage), middle, at_right)
        figures = [_figure_line(self._now)] if self._now is not None else []
        return Group(head, *figures, *self._notes)


def _figures(now: Progress) -> list[str]:
    """The figures of a snapshot in the words of both views, the most telling first."""
    figures = [f"{now.prompts_done:,}/{now.prompts_total:,} prompts"]
    if now.tokens_new and now.seconds > 0:
        figures.append(f"{now.tokens_new / now.seconds:,.0f} tokens/s")
    elif now.rollouts_new and now.seconds > 0:
        figures.append(f"{now.rollouts_new / now.seconds:,.0f} {now.unit}/s")
    if now.signal_ratio is not None:
        figures.append(f"signal {now.signal_ratio:.0%}")
    if now.errors:
        figures.append(f"{now.errors:,} error{'s' if now.errors > 1 else ''}")
    return figures


def _left(now: Progress) -> list[str]:
    """The time left, in the last place of a line; nothing while it is not known, and at the end."""
    if now.eta_s is None or now.rollouts_done >= now.rollouts_total:
        return []
    return [f"{duration(now.eta_s)} left"]


def _figure_line(now: Progress) -> Text:
    line = Text("  ", no_wrap=True, overflow="ellipsis")
    for position, figure in enumerate(_figures(now)):
        line.append("   " if position else "")
        line.append(figure, style="yellow" if "error" in figure else "dim")
    return line
