"""Judges a file of responses: `curriculum verify` without the command line.

In: a file (any kind that holds a pool) with a response, a reference and perhaps a verifier in each row.
Out: a `VerifyResult`, and a file of the judged rows with `correctness`, `outcome`, `parts` and `detail`.

    resolve and load -> find the columns -> one item a row, or a bad row -> judge in workers -> write

A row that cannot be judged for want of a response or a reference is counted and named, and left out of
the written file.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from curriculum.errors import EngineError, UsageError
from curriculum.pool.columns import Fault, values
from curriculum.pool.formats import BadRow, Loaded, load
from curriculum.pool.identity import canonical
from curriculum.pool.layouts import reference_of
from curriculum.pool.sources import resolve
from curriculum.scoring.judges import unsafe_instances
from curriculum.verdict_file import check_suffix, write_verdicts
from verifiers.registry import UnknownVerifierError, get
from verifiers.shaping import RewardShape
from verifiers.verdict import OUTCOMES, Verdict
from verifiers.workers import Item, Judged, VerifierWorkers, WorkersError

RESPONSES = ("response", "text", "completion")
REFERENCES = ("reference", "answer", "ground_truth")
MOST_WORKERS = 16
MOST_CAUSES = 5
PROGRESS_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """How to read and judge the file; the defaults take the columns that are usually there."""

    verifier: str | None = None
    """Judges every row, whatever its own `verifier` column says."""
    response_key: str | None = None
    reference_key: str | None = None
    """Columns, or fields of structs ("reward_model.ground_truth")."""
    workers: int = 0
    """Processes; 0 takes one a core, at most sixteen."""
    deadline_s: float = 30.0
    allow_unsafe: bool = False
    """Run generated code even where no jail can be had."""


@dataclass(frozen=True, slots=True)
class VerifierCount:
    """What one verifier said."""

    verifier: str
    outcomes: Mapping[str, int]
    """Rows per outcome; outcomes that did not occur are absent."""
    mean_correctness: float | None
    """Over the rows without `verifier_error`; None when there are none."""
    errors: Mapping[str, int]
    """The causes of `verifier_error`, the most frequent ones first, with their rows."""


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The verdicts in total."""

    rows: int
    """Rows of the file, bad ones included."""
    judged: int
    verifiers: tuple[VerifierCount, ...]
    bad_rows: tuple[BadRow, ...]
    seconds: float
    """Of judging, start of the workers included."""
    out: Path | None
    sandbox: str | None
    """The level of the jail that generated code ran in; None where none was run."""

    @property
    def per_second(self) -> float:
        """Verdicts per second."""
        return self.judged / self.seconds

    def to_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "rows": self.rows,
            "judged": self.judged,
            "verifiers": {
                count.verifier: {
                    "mean_correctness": count.mean_correctness,
                    "outcomes": dict(count.outcomes),
                    "errors": dict(count.errors),
                }
                for count in self.verifiers
            },
            "bad_rows": [{"file": bad.file, bad.unit: bad.row, "cause": bad.cause} for bad in self.bad_rows],
            "seconds": round(self.seconds, 3),
            "verdicts_per_s": round(self.per_second, 1),
            "out": None if self.out is None else str(self.out),
            "sandbox": self.sandbox,
        }


@dataclass(slots=True)
class _Rows:
    """The rows of one source that can be judged, and the others."""

    source: Loaded
    kept: list[int] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)


def verify_responses(
    name: str,
    options: VerifyOptions,
    *,
    out: Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> VerifyResult:
    """Judges the responses in `name` (a file, a glob, a folder or a dataset).

    Args:
        name: what to read.
        options: columns, verifier, workers.
        out: where the judged rows go, `.parquet` or `.jsonl`.
        on_progress: called a few times a second with the rows judged and all to judge.

    Raises:
        UsageError: the file cannot be read or written, a column or verifier is missing, or no row can
            be judged.
        EngineError: the workers cannot go on.
    """
    if out is not None:
        check_suffix(out)
    parts = [_rows(load(source), options) for source in resolve([name])]
    items = [item for part in parts for item in part.items]
    bad = [row for part in parts for row in sorted((*part.source.bad, *part.bad), key=lambda bad: bad.row)]
    if not items:
        where, do = (str(bad[0]), "mend the rows") if bad else (name, "name a file that has rows")
        raise UsageError("there is no row to judge", where=where, do=do)
    began = time.monotonic()
    verdicts = _judge(items, options, on_progress)
    seconds = time.monotonic() - began
    if out is not None:
        kept = [(part.source.file.path, part.source.rows, part.kept) for part in parts if part.kept]
        write_verdicts(out, kept, verdicts)
    counts = _count(items, verdicts)
    jail = _sandbox(counts, allow_unsafe=options.allow_unsafe)
    return VerifyResult(len(items) + len(bad), len(items), counts, tuple(bad), seconds, out, jail)


def _rows(source: Loaded, options: VerifyOptions) -> _Rows:
    """One item for every row that has what it takes."""
    rows = _Rows(source)
    if not len(source.rows):
        return rows
    where = source.file.path
    response = _find("response", options.response_key, RESPONSES, source.columns, where)
    reference = _find("reference", options.reference_key, REFERENCES, source.columns, where)
    own = values(source.rows, ("verifier",))
    asked = [options.verifier] * len(own) if options.verifier else own
    _check_verifiers(asked, where)
    columns = zip(values(source.rows, response), values(source.rows, reference), asked, strict=True)
    for place, (text, truth, verifier) in enumerate(columns):
        item = _item((where, place), text, truth, verifier)
        if isinstance(item, Item):
            rows.kept.append(place)
            rows.items.append(item)
        else:
            rows.bad.append(BadRow(where, source.numbers[place], item.cause, source.unit))
    return rows


def _item(key: Hashable, text: object, truth: object, verifier: object) -> Item | Fault:
    if not isinstance(verifier, str):
        return Fault("it names no verifier")
    for part, value in (("response", text), ("reference", truth)):
        if isinstance(value, Fault):
            return Fault(f"the {part}: {value.cause}")
    if not isinstance(text, str):
        return Fault(
            "the response is missing"
            if text is None
            else f"the response is a {type(text).__name__}, not text"
        )
    reference = reference_of(truth, verifier)
    if reference is None:
        return Fault("the reference is missing")
    try:
        return Item(key, verifier, text, canonical(reference))
    except (TypeError, ValueError, RecursionError) as error:
        return Fault(f"the reference cannot be written as JSON: {error}")


def _find(
    what: str, asked: str | None, usual: Sequence[str], columns: Sequence[str], where: str
) -> tuple[str, ...]:
    """The path of the column that holds the `what`."""
    flag = f"--{what}-key"
    if asked:
        path = (asked,) if asked in columns else tuple(asked.split("."))
        if path[0] not in columns:
            raise UsageError(
                f"there is no column {path[0]!r}",
                where=where,
                do=f"name one with {flag}: {', '.join(columns)}",
            )
        return path
    found = [name for name in usual if name in columns]
    if len(found) != 1:
        problem = f"several columns could hold the {what}" if found else f"no column holds the {what}"
        do = f"name one with {flag}: {', '.join(found or columns)}"
        raise UsageError(problem, where=where, do=do)
    return (found[0],)


def _check_verifiers(asked: Sequence[object], where: str) -> None:
    """Every verifier that is named can be had, and there is one."""
    names = {name for name in asked if isinstance(name, str)}
    if not names:
        raise UsageError(
            "no row names a verifier",
            where=where,
            do="name one for all rows with --verifier, or in a column `verifier`",
        )
    try:
        for name in sorted(names):
            get(name)
    except UnknownVerifierError as error:
        raise UsageError(str(error), where=where, do="name another with --verifier") from error


def _judge(
    items: Sequence[Item], options: VerifyOptions, on_progress: Callable[[int, int], None] | None
) -> list[Verdict]:
    """The verdicts on `items`, in their order."""
    verdicts: dict[Hashable, Verdict] = {}

    def take(batch: Sequence[Judged]) -> None:
        verdicts.update((judged.key, judged.verdict) for judged in batch)

    count = options.workers or min(os.cpu_count() or 1, MOST_WORKERS)
    try:
        with VerifierWorkers(
            workers=count,
            rewards=RewardShape(),
            on_judged=take,
            deadline_s=options.deadline_s,
            verifiers=unsafe_instances() if options.allow_unsafe else {},
        ) as workers:
            workers.submit(items)
            while pending := workers.pending:
                if on_progress:
                    on_progress(len(items) - pending, len(items))
                time.sleep(PROGRESS_S)
    except WorkersError as error:
        raise EngineError(
            "the verifier workers cannot go on", where=str(error), do="mend the cause and run it again"
        ) from error
    return [verdicts[item.key] for item in items]


def _sandbox(counts: Sequence[VerifierCount], *, allow_unsafe: bool) -> str | None:
    """The jail's level, where solutions were run."""
    if all(count.verifier != "unit_tests" for count in counts):
        return None
    from verifiers import sandbox

    return sandbox.level(allow_unsafe=allow_unsafe).name


def _count(items: Sequence[Item], verdicts: Sequence[Verdict]) -> tuple[VerifierCount, ...]:
    by_verifier: dict[str, list[Verdict]] = {}
    for item, verdict in zip(items, verdicts, strict=True):
        by_verifier.setdefault(item.verifier, []).append(verdict)
    counts = []
    for name, group in sorted(by_verifier.items()):
        seen = Counter(verdict.outcome for verdict in group)
        scored = [verdict.correctness for verdict in group if verdict.outcome != "verifier_error"]
        mean = sum(scored) / len(scored) if scored else None
        errors = Counter(verdict.detail for verdict in group if verdict.outcome == "verifier_error")
        outcomes: dict[str, int] = {outcome: seen[outcome] for outcome in OUTCOMES if seen[outcome]}
        counts.append(VerifierCount(name, outcomes, mean, dict(errors.most_common(MOST_CAUSES))))
    return tuple(counts)
