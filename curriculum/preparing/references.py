"""Checks that every reference accepts its own answer, and the solution that came with it.

In: the raw pool and the configuration. Out: one row a prompt, schema REFERENCES, sorted by prompt_id.

Judged in the same worker processes as rollouts are. What has been judged is kept every few seconds, so a
killed check goes on where it was.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import polars as pl

from curriculum.config import Config
from curriculum.errors import EngineError, UsageError
from curriculum.pool.columns import values
from curriculum.preparing.probes import Of, Probe, probes
from curriculum.preparing.raw import Raw
from curriculum.preparing.texts import asked
from curriculum.preparing.work import Work, write_table
from curriculum.scoring.judges import verifier_instances, worker_count
from curriculum.scoring.progress import Progress, View
from verifiers.shaping import RewardShape
from verifiers.verdict import Verdict
from verifiers.workers import Item, Judged, VerifierWorkers, WorkersError

KEEP_EVERY_S = 2.0
BATCH = 1024
MAX_PENDING = 8192

REFERENCES = pl.Schema(
    {
        "prompt_id": pl.String,
        "verifier": pl.String,
        "status": pl.String,  # accepted | refused | unusable | contradicted | unchecked
        "checked": pl.String,  # answer | solution | usable: what gave the status
        "cause": pl.String,  # a sentence; empty when accepted
    }
)
SUSPECT = ("refused", "unusable", "contradicted")
_WORST_FIRST = ("unusable", "refused", "accepted", "unchecked")


@dataclass(slots=True)
class _Open:
    """A prompt whose probes are with the workers."""

    verifier: str
    left: int
    found: list[tuple[str, Of, str]] = field(default_factory=list)  # status, of, cause

    def row(self, prompt_id: str) -> tuple[str, ...]:
        """A row of REFERENCES: the worst of what was found."""
        status, of, cause = min(self.found, key=lambda one: (_WORST_FIRST.index(one[0]), one[1]))
        return prompt_id, self.verifier, status, of, cause


def check_references(raw: Raw, config: Config, key: str, work: Work, view: View) -> pl.DataFrame:
    """What every distinct prompt's reference says of itself: schema REFERENCES, sorted by prompt_id.

    Args:
        key: names what decides the verdicts.

    Raises:
        UsageError: there is no column of solutions of the configured name.
        EngineError: the workers cannot go on; what was judged is kept.
    """
    solution_key = config.prepare.solution_key
    _require_solutions(raw, solution_key)
    kept, made = work.growing("references", key)
    done = _pieces(kept)
    total = raw.index["prompt_id"].n_unique()
    if done.height < total:
        check = _Check(made, total, done.height, view)
        try:
            _judge(raw, config, done, check)
        finally:
            check.keep()
    return pl.concat([_pieces(folder) for folder in {kept, made}]).sort("prompt_id")


def _require_solutions(raw: Raw, key: str | None) -> None:
    if key is not None and key.split(".")[0] not in raw.schema.names and key not in raw.schema.names:
        raise UsageError(
            f"there is no column {key!r} of solutions",
            where=f"columns: {', '.join(raw.schema.names)}",
            do="name another one in prepare.solution_key",
        )


def _pieces(folder: Path) -> pl.DataFrame:
    paths = sorted(folder.glob("piece-*.parquet"))
    return pl.concat([pl.read_parquet(path) for path in paths]) if paths else pl.DataFrame(schema=REFERENCES)


class _Check:
    """What is judged and not yet kept; told of verdicts from the workers' thread."""

    def __init__(self, folder: Path, total: int, done: int, view: View) -> None:
        self._folder = folder
        self._piece = len(list(folder.glob("piece-*.parquet")))
        self._view = view
        self._total, self._earlier, self._new = total, done, 0
        self._open: dict[str, _Open] = {}
        self._rows: deque[tuple[str, ...]] = deque()
        self._began = self._kept_at = time.monotonic()

    def ask(self, prompt_id: str, verifier: str, asked_of_it: Sequence[Probe]) -> list[Item]:
        """What the workers have to judge of a prompt."""
        self._open[prompt_id] = _Open(verifier, len(asked_of_it))
        items = []
        for probe in asked_of_it:
            if probe.cause:
                self._take(prompt_id, probe.of, ("unusable", probe.cause))
            else:
                items.append(Item((prompt_id, probe.of), verifier, probe.response, probe.reference))
        return items

    def judged(self, batch: Sequence[Judged]) -> None:
        """Takes verdicts in."""
        for one in batch:
            prompt_id, of = cast("tuple[str, Of]", one.key)  # as in `ask`
            self._take(prompt_id, of, _finding(self._open[prompt_id].verifier, of, one.verdict))

    def _take(self, prompt_id: str, of: Of, finding: tuple[str, str]) -> None:
        prompt = self._open[prompt_id]
        prompt.found.append((finding[0], of, finding[1]))
        prompt.left -= 1
        if prompt.left == 0:
            del self._open[prompt_id]
            self._rows.append(prompt.row(prompt_id))

    def tick(self) -> None:
        """Shows how far it is; every few seconds writes what was judged."""
        now = time.monotonic()
        done = self._new + len(self._rows)
        self._view.progress(
            Progress(
                prompts_done=self._earlier + done,
                prompts_total=self._total,
                rollouts_done=self._earlier + done,
                rollouts_total=self._total,
                rollouts_new=done,
                tokens_new=0,
                varied=None,
                errors=0,
                seconds=now - self._began,
                unit="references",
            )
        )
        if now - self._kept_at >= KEEP_EVERY_S:
            self.keep()

    def keep(self) -> None:
        """Writes what was judged since the last time."""
        rows = [self._rows.popleft() for _ in range(len(self._rows))]
        self._kept_at = time.monotonic()
        if rows:
            frame = pl.DataFrame(rows, schema=REFERENCES, orient="row")
            write_table(self._folder / f"piece-{self._piece:05d}.parquet", frame)
            self._piece += 1
            self._new += len(rows)


def _judge(raw: Raw, config: Config, done: pl.DataFrame, check: _Check) -> None:
    try:
        with VerifierWorkers(
            workers=worker_count(config),
            rewards=RewardShape(),
            on_judged=check.judged,
            deadline_s=config.verification.deadline_s,
            max_pending=MAX_PENDING,
            verifiers=verifier_instances(config),
        ) as workers:
            batch: list[Item] = []
            for prompt_id, verifier, wanted in _asked(raw, config.prepare.solution_key, done):
                batch += check.ask(prompt_id, verifier, wanted)
                if len(batch) >= BATCH:
                    workers.submit(batch)
                    batch = []
                    while not workers.wait_for_room(timeout_s=1.0):
                        check.tick()
                    check.tick()
            workers.submit(batch)
            while workers.pending:
                time.sleep(0.05)
                check.tick()
    except WorkersError as error:
        raise EngineError(
            "the verifier workers cannot go on",
            where=str(error),
            do="what was judged is kept: mend the cause and run the same command to continue",
        ) from error


def _asked(raw: Raw, solution_key: str | None, done: pl.DataFrame) -> Iterator[tuple[str, str, list[Probe]]]:
    """Every distinct prompt that is not done, with what to judge its reference by."""
    firsts = raw.index.unique("prompt_id", keep="first", maintain_order=True)
    owed = firsts.join(done.select("prompt_id"), on="prompt_id", how="anti").select("row")
    for number in range(raw.parts):
        frame = raw.frame(number)
        rows = frame.with_row_index("place").join(owed, on="row", how="semi", maintain_order="left")
        if rows.is_empty():
            continue
        solutions: list[object] = [None] * frame.height
        if solution_key is not None:
            source = raw.source(number)
            path = (solution_key,) if solution_key in source.column_names else tuple(solution_key.split("."))
            solutions = values(source, path)
        columns = rows.select("place", "prompt_id", "verifier", "reference", text=asked())
        for place, prompt_id, verifier, reference, text in columns.iter_rows():
            solution = solutions[place]
            given = solution if isinstance(solution, str) else None
            yield prompt_id, verifier, list(probes(verifier, reference, text, given))


def _finding(verifier: str, of: Of, verdict: Verdict) -> tuple[str, str]:
    """Status and cause."""
    if verdict.outcome == "correct":
        return "accepted", ""
    if verdict.outcome == "verifier_error":
        return "unusable", verdict.detail
    if of == "usable":
        return "unchecked", "the row has no solution to judge it by"
    if verifier == "boxed" and of == "solution" and verdict.outcome in ("no_answer", "malformed"):
        return "unchecked", f"the solution's answer cannot be read: {verdict.detail}"
    what = {"answer": "its own answer", "solution": "the given solution"}[of]
    return "refused", f"{verifier} does not accept {what}: {verdict.detail}"
