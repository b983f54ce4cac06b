"""`curriculum verify`: judges a file of responses, or audits a verifier.

In: a file of responses, or the name of a verifier. Out: a table of outcomes on standard output, and the
judged rows with --out; or the report of an audit.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from curriculum.audit import AuditOptions, audit
from curriculum.cli.audit_screen import render_audit
from curriculum.cli.screen import show
from curriculum.summary import duration, figure_table, path_line
from curriculum.verify import VerifyOptions, VerifyResult, verify_responses
from verifiers.audit import KINDS, Kind
from verifiers.verdict import OUTCOMES

BAD_ROWS_SHOWN = 5
PLAIN_INTERVAL_S = 10.0
WRONGLY_ACCEPTED = 1
"""Exit code of `--audit --strict` when there are false accepts."""


@click.command()
@click.argument("file", required=False)
@click.option("--verifier", help="Judge every row with this one.  [default: the column `verifier`]")
@click.option("--response-key", metavar="COLUMN", help="[default: response, text or completion]")
@click.option("--reference-key", metavar="COLUMN", help="[default: reference, answer or ground_truth]")
@click.option("--out", type=click.Path(path_type=Path), help="Write the judged rows, .parquet or .jsonl.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes.  [default: one a core, at most 16]")
@click.option("--allow-unsafe-execution", is_flag=True, help="Run generated code even without a jail.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--audit", "auditing", is_flag=True, help="Audit --verifier; there is no FILE.")
@click.option("--kind", type=click.Choice(KINDS), help="Audit: the battery.  [default: told by the name]")
@click.option(
    "--family", "families", multiple=True, metavar="NAME", help="Audit: only these.  [default: all families]"
)
@click.option("--strict", is_flag=True, help="Audit: exit with 1 if anything is wrongly accepted.")
@click.option("--hostile", is_flag=True, help="Audit: also what hogs a machine without a jail.")
@click.option(
    "--deadline",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Audit: seconds for one response.",
)
@click.option("--data-source", metavar="NAME", help="Audit: what a verl function is told.")
def command(
    file: str | None,
    *,
    verifier: str | None,
    response_key: str | None,
    reference_key: str | None,
    out: Path | None,
    workers: int | None,
    allow_unsafe_execution: bool,
    as_json: bool,
    auditing: bool,
    kind: Kind | None,
    families: tuple[str, ...],
    strict: bool,
    hostile: bool,
    deadline: float,
    data_source: str | None,
) -> None:
    """Judge the responses in FILE (Parquet, JSONL, CSV) with a verifier, or audit a verifier.

    A reference is the JSON text of an object, or a plain answer. Rows without a response or a reference
    are counted, named and left out. A column may be a field of a struct: reward_model.ground_truth.
    A verifier is a registered one, or module:attribute or file.py:attribute, which may also be a function
    f(response, truth), a TRL reward function or a verl compute_score.

    --audit throws a battery of adversarial and of honest responses at a verifier. It reports what is wrongly
    accepted, wrongly refused, raised, hung on (twice --deadline) or answered differently when asked again.

    An audit of unit tests runs the battery's programs through your function, with your rights if it does
    not jail them. They forge verdicts and destroy nothing; fork bombs, memory hogs and the like are left
    out unless --hostile says otherwise or the verifier is our own.

    \b
    Exit codes of an audit: 0 with a report, whatever it says; with --strict 1 if anything was wrongly
    accepted; 2 if the verifier cannot be had, 4 if workers cannot be started.

    \b
    Example:
        curriculum verify responses.jsonl --verifier boxed
        curriculum verify rollouts.parquet --reference-key answer --out judged.parquet
        curriculum verify rollouts.parquet --verifier rewards.py:compute_score
        curriculum verify --audit --verifier rewards.py:compute_score --kind boxed
    """
    if auditing:
        if not verifier or file or response_key or reference_key or out or allow_unsafe_execution:
            raise click.UsageError(
                "--audit needs a --verifier, and brings its own responses: no FILE, no keys, no --out; it "
                "runs generated code as the verifier does"
            )
        asked = AuditOptions(
            verifier=verifier,
            kind=kind,
            families=families,
            hostile=hostile,
            deadline_s=deadline,
            workers=workers or 0,
            data_source=data_source,
        )
        _audit(asked, strict=strict, as_json=as_json)
        return
    if file is None or kind or families or strict or hostile or data_source:
        raise click.UsageError("name a FILE of responses, or --audit a --verifier")
    options = VerifyOptions(
        verifier=verifier,
        response_key=response_key,
        reference_key=reference_key,
        workers=workers or 0,
        allow_unsafe=allow_unsafe_execution,
    )
    with nullcontext() if as_json else _progress() as on_progress:
        result = verify_responses(file, options, out=out, on_progress=on_progress)
    if as_json:
        click.echo(json.dumps(result.to_json(), ensure_ascii=False))
    else:
        show(render(result))


def _audit(options: AuditOptions, *, strict: bool, as_json: bool) -> None:
    with nullcontext() if as_json else _progress() as on_progress:
        report = audit(options, on_progress=on_progress)
    if as_json:
        click.echo(json.dumps(report.to_json(), ensure_ascii=False))
    else:
        show(render_audit(report))
    if strict and report.count("accepted"):
        click.get_current_context().exit(WRONGLY_ACCEPTED)


def render(result: VerifyResult) -> RenderableType:
    """Outcomes per verifier, then what could not be judged, for standard output."""
    seen = [name for name in OUTCOMES if any(name in count.outcomes for count in result.verifiers)]
    table = figure_table("verifier", *(name.replace("_", "\n") for name in seen), "all", "mean\ncorrectness")
    for count in result.verifiers:
        cells = [f"{count.outcomes[name]:,}" if name in count.outcomes else "·" for name in seen]
        mean = "·" if count.mean_correctness is None else f"{count.mean_correctness:.3f}"
        table.add_row(count.verifier, *cells, f"{sum(count.outcomes.values()):,}", mean)
    pace = f"{result.judged:,} verdicts in {duration(result.seconds)}, {result.per_second:,.0f} a second"
    lines = [Text(f"\n{pace}")]
    if result.sandbox is not None:
        lines.append(Text(f"sandbox: {result.sandbox}"))
    for count in result.verifiers:
        lines += [Text(f"{count.verifier}, {rows:,} rows: {cause}") for cause, rows in count.errors.items()]
    if result.bad_rows:
        more = len(result.bad_rows) - BAD_ROWS_SHOWN
        lines.append(Text(f"{len(result.bad_rows):,} of {result.rows:,} rows could not be judged:"))
        lines += [Text(f"  {bad}") for bad in result.bad_rows[:BAD_ROWS_SHOWN]]
        lines += [Text(f"  and {more:,} more; --json names all")] if more > 0 else []
    if result.out is not None:
        lines.append(path_line(result.out))
    return Group(table, *lines)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Shows progress on standard error: a bar on a terminal, else a line every ten seconds."""
    if sys.stderr.isatty():
        columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("judging")
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        yield _plain_lines()


def _plain_lines() -> Callable[[int, int], None]:
    began = shown = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= PLAIN_INTERVAL_S:
            shown = now
            left = duration((now - began) / done * (total - done)) if done else "unknown"
            click.echo(
                f"judged {done:,} of {total:,}, {done / (now - began):,.0f} a second, left: {left}", err=True
            )

    return show
