"""What a person sees: on a terminal, in a log file, and beside --json."""

import io
import os
import pty
import subprocess
import sys
import time

import pytest
from rich.console import Console

from curriculum import view as views
from curriculum.scoring.progress import Progress
from curriculum.view import NotesView, PlainView, TerminalView, make_view


def snapshot(**changes: float) -> Progress:
    counts = {
        "prompts_done": 1204,
        "prompts_total": 3000,
        "rollouts_done": 9632,
        "rollouts_total": 24000,
        "rollouts_new": 9632,
        "tokens_new": 481_600,
        "varied": 494,
        "errors": 0,
        "seconds": 320.0,
    }
    return Progress(**{**counts, **changes})  # type: ignore[arg-type]


def console(width: int = 80, *, terminal: bool = False) -> Console:
    return Console(file=io.StringIO(), width=width, force_terminal=terminal, highlight=False)


def written(to: Console) -> str:
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that views read, as a one-element list."""
    now = [1000.0]
    monkeypatch.setattr(views.time, "monotonic", lambda: now[0])
    return now


def test_plain_lines_come_ten_seconds_apart(clock: list[float]):
    out = console(120)
    with PlainView(out) as view:
        view.stage("scoring")
        for second in range(25):
            clock[0] = 1000.0 + second
            view.progress(snapshot(prompts_done=second))
    assert [line.split("/")[0] for line in written(out).splitlines()] == [
        "scoring",
        "  0",
        "  10",
        "  20",
        "  24",
    ]


def test_plain_line_has_the_figures():
    out = console(120)
    with PlainView(out) as view:
        view.progress(snapshot())
    assert written(out) == "  1,204/3,000 prompts, 1,505 tokens/s, signal 41%, 7 min 57 s left\n"


@pytest.mark.parametrize(
    ("changes", "has", "lacks"),
    [
        ({"tokens_new": 0}, "30 rollouts/s", "tokens/s"),
        ({"errors": 1}, "1 error", "errors"),
        ({"errors": 1234}, "1,234 errors", "1,234 error,"),
        ({"prompts_done": 0}, "0/3,000 prompts", "signal"),
        ({"rollouts_new": 0, "tokens_new": 0}, "prompts", "left"),
        ({"rollouts_done": 24000, "prompts_done": 3000}, "3,000/3,000", "left"),
    ],
)
def test_figures_are_shown_when_there_is_something_to_say(changes: dict[str, float], has: str, lacks: str):
    out = console(120)
    with PlainView(out) as view:
        view.progress(snapshot(**changes))
    assert has in written(out)
    assert lacks not in written(out)


def test_plain_view_shows_the_last_figures_of_a_stage_before_the_next(clock: list[float]):
    out = console(120)
    with PlainView(out) as view:
        view.stage("scoring")
        view.progress(snapshot(prompts_done=1))
        view.progress(snapshot(prompts_done=3000))
        view.stage("publishing")
    assert [line[:9] for line in written(out).splitlines()] == [
        "scoring",
        "  1/3,000",
        "  3,000/3",
        "publishin",
    ]


def test_notes_are_neither_wrapped_nor_read_as_markup():
    out = console(20)
    with PlainView(out) as view:
        view.note("row 17 of data/train.parquet: [bold]no prompt[/bold]\nsecond line")
    assert written(out) == "row 17 of data/train.parquet: [bold]no prompt[/bold]\nsecond line\n"


def test_json_keeps_to_notes():
    out = console()
    with NotesView(out) as view:
        view.stage("scoring")
        view.progress(snapshot())
        view.note("two rows were skipped")
    assert written(out) == "two rows were skipped\n"


@pytest.mark.parametrize("width", [80, 120])
def test_ended_stages_stay_with_their_time_and_last_figures(clock: list[float], width: int):
    out = console(width)
    with TerminalView(out) as view:
        view.stage("reading the pool")
        view.note("2 rows were skipped")
        clock[0] += 2
        view.stage("scoring")
        view.progress(snapshot())
        clock[0] += 320
    lines = [line.rstrip() for line in written(out).splitlines()]
    assert lines == [
        "reading the pool" + "2.0 s".rjust(width - len("reading the pool")),
        "  2 rows were skipped",
        "scoring" + "5 min 20 s".rjust(width - len("scoring")),
        "  1,204/3,000 prompts   1,505 tokens/s   signal 41%",
    ]


def test_there_is_one_bar_and_it_fits(clock: list[float]):
    out = console(80)
    view = TerminalView(out)
    view.stage("scoring")
    view.progress(snapshot(prompts_done=1_000_000, prompts_total=1_200_000, errors=1234))
    out.print(view._render())
    lines = written(out).splitlines()
    assert ["━" in line for line in lines] == [True, False]
    assert lines[0].endswith("7 min 57 s left")
    assert lines[1].endswith("1,234 errors")
    assert all(len(line) <= 80 for line in lines)


def test_an_exception_closes_the_bar_and_passes_through(clock: list[float]):
    out = console(80, terminal=True)
    view = TerminalView(out)
    with pytest.raises(ZeroDivisionError), view:
        view.stage("loading the engine")
        clock[0] += 41
        raise ZeroDivisionError
    text = written(out)
    assert "stopped after 41 s" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1  # the cursor is shown again


def test_a_log_file_gets_plain_lines(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert type(make_view(json=False)) is PlainView
    assert type(make_view(json=True)) is NotesView


def test_a_terminal_gets_the_bar_and_standard_output_is_left_alone():
    code = (
        "from curriculum.view import make_view, TerminalView\n"
        "view = make_view(json=False)\n"
        "assert type(view) is TerminalView\n"
        "with view:\n"
        "    view.stage('scoring')\n"
        "    print('the result')\n"
    )
    terminal, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    ran = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=end, env=environment)
    os.close(end)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert (ran.returncode, ran.stdout) == (0, b"the result\n")
    assert "scoring" in shown


def test_a_frame_costs_under_five_milliseconds():
    """The bar is drawn four times a second beside the engine."""
    view = TerminalView(console(120, terminal=True))
    view.stage("scoring")
    view.progress(snapshot())
    before = time.process_time()
    for _ in range(50):
        view._console.print(view._render())
    assert (time.process_time() - before) / 50 < 0.005
