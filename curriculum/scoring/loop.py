"""The scoring loop: asks the engine for rollouts, has them judged, and journals every verdict.

In: an engine, a schedule, verifier workers, a journal. Out: rows in the journal, progress on the way.
Generation and verification overlap: a finished rollout goes to the workers at once and its place is
given to the next request; the engine waits only when `max_pending` rollouts are unjudged.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from curriculum.engines.base import Completion, Engine, Request
from curriculum.errors import EngineError
from curriculum.scoring.journal import Journal, Row
from curriculum.scoring.progress import View
from curriculum.scoring.schedule import Ask, FixedSchedule, Outcome, Schedule
from curriculum.scoring.tally import Tally
from curriculum.seeds import rollout_seed
from verifiers.verdict import Verdict, verifier_error
from verifiers.workers import Item, Judged, VerifierWorkers, WorkersError

ERROR_RATE_AFTER = 64
"""Rollouts of this run before the error rate is looked at: a few early failures prove nothing."""

TICK_S = 0.25
POLL_S = 0.02
WIND_DOWN_S = 10.0


@dataclass(frozen=True, slots=True)
class PromptTask:
    """What the loop needs to know of a prompt."""

    verifier: str
    reference: str
    token_ids: npt.NDArray[np.int32]
    max_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of a pass."""

    max_in_flight: int
    max_pending: int
    max_error_rate: float
    keep_text: bool


class ScoringLoop:
    """Runs schedules of one pass, from within an event loop.

    `judged` and `fail` are for the workers, which call them from a thread of their own.
    """

    first: tuple[Completion, Verdict] | None = None
    """The first judged rollout, to show a person."""

    def __init__(
        self,
        pass_id: str,
        *,
        engine: Engine,
        prompts: Mapping[str, PromptTask],
        journal: Journal,
        tally: Tally,
        limits: Limits,
        view: View,
    ) -> None:
        self._pass_id = pass_id
        self._engine = engine
        self._prompts = prompts
        self._journal = journal
        self._tally = tally
        self._limits = limits
        self._view = view
        self.outcomes: Counter[str] = Counter()
        self._schedule: Schedule = FixedSchedule(())
        self._completions: dict[Hashable, tuple[Ask, Request, Completion]] = {}
        self._fresh: list[Item] = []
        self._sampling: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def run(self, schedule: Schedule, workers: VerifierWorkers) -> None:
        """Until everything the schedule asks for is judged and journaled.

        Raises:
            EngineError: the engine died, a worker or the disk failed, or too many rollouts failed.
        """
        self._schedule = schedule
        ticker = self._loop.create_task(self._tick())
        try:
            while not self._done():
                self._ask_for_more()
                self._submit(workers)
                await self._wake.wait()
                self._wake.clear()
                self._check()
        finally:
            ticker.cancel()
            await self._wind_down(workers)
        self._check(final=True)
        self._view.progress(self._tally.snapshot())

    async def _wind_down(self, workers: VerifierWorkers) -> None:
        """Gives up what is being sampled; what has been sampled was paid for and is judged still."""
        for task in self._sampling:
            task.cancel()
        await asyncio.gather(*self._sampling, return_exceptions=True)
        deadline = self._loop.time() + WIND_DOWN_S
        with suppress(WorkersError):  # then nothing more can be judged
            self._submit(workers)
            while self._completions and workers.pending and self._loop.time() < deadline:
                await asyncio.sleep(POLL_S)
        await asyncio.sleep(0)  # the last verdicts are handed over, but not taken yet

    def judged(self, batch: Sequence[Judged]) -> None:
        """Takes verdicts from the workers' thread."""
        self._loop.call_soon_threadsafe(self._take, batch)

    def fail(self, error: BaseException) -> None:
        """Ends the run with `error`; called from the workers' thread."""
        self._loop.call_soon_threadsafe(self._fail, error)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._wake.set()

    def _done(self) -> bool:
        return self._schedule.finished and not self._sampling and not self._completions

    def _ask_for_more(self) -> None:
        sampling, unjudged = len(self._sampling), len(self._completions)
        room = min(self._limits.max_in_flight - sampling, self._limits.max_pending - sampling - unjudged)
        for ask in self._schedule.take(room):
            task = self._loop.create_task(self._sample(ask))
            self._sampling.add(task)
            task.add_done_callback(self._sampled)
        if self._done():  # a schedule may finish without asking
            self._wake.set()

    async def _sample(self, ask: Ask) -> None:
        prompt = self._prompts[ask.prompt_id]
        seed = rollout_seed(self._pass_id, ask.prompt_id, ask.index)
        request = Request(ask.prompt_id, ask.index, seed, prompt.token_ids, prompt.max_tokens)
        completion = await self._engine.generate(request)
        key = (ask.prompt_id, ask.index)
        self._completions[key] = (ask, request, completion)
        if completion.finish == "abort":
            self._take([Judged(key, verifier_error(completion.error), 0.0, 0.0, 0.0)])
        else:
            self._fresh.append(Item(key, prompt.verifier, completion.text, prompt.reference))

    def _sampled(self, task: asyncio.Task[None]) -> None:
        self._sampling.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)
        self._wake.set()

    def _submit(self, workers: VerifierWorkers) -> None:
        if self._fresh:
            workers.submit(self._fresh)
            self._fresh = []

    def _take(self, batch: Sequence[Judged]) -> None:
        rows = []
        for judged in batch:
            ask, request, completion = self._completions.pop(judged.key)
            verdict = _with_truncation(judged.verdict, completion)
            error = verdict.detail if verdict.outcome == "verifier_error" else None
            rows.append(self._row(ask, request, completion, judged, verdict))
            self.outcomes[verdict.outcome] += 1
            self.first = self.first or (completion, verdict)
            self._tally.add(ask.prompt_id, verdict.correctness, tokens=completion.tokens or 0, error=error)
            self._schedule.record(
                Outcome(ask.prompt_id, ask.index, verdict.correctness, judged=error is None)
            )
        self._journal.append(rows)
        self._wake.set()

    def _row(
        self, ask: Ask, request: Request, completion: Completion, judged: Judged, verdict: Verdict
    ) -> Row:
        """A row of the journal's schema."""
        return (
            self._pass_id,
            ask.prompt_id,
            ask.index,
            ask.round,
            request.seed,
            completion.text if self._limits.keep_text else None,
            completion.tokens,
            completion.finish,
            verdict.correctness,
            judged.reward,
            verdict.outcome,
            [{"name": part.name, "value": part.value} for part in verdict.parts],
            completion.mean_logprob,
            judged.repetition,
            verdict.detail,
            judged.verify_ms,
        )

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._view.progress(self._tally.snapshot())
            self._wake.set()

    def _check(self, *, final: bool = False) -> None:
        """Raises what makes it pointless to go on."""
        if self._failure is not None:
            raise self._failure
        self._journal.tick()
        tally = self._tally
        enough = tally.rollouts_new >= ERROR_RATE_AFTER or (final and tally.rollouts_new)
        if enough and tally.errors_new > self._limits.max_error_rate * tally.rollouts_new:
            causes = "; ".join(f"{count} × {cause}" for cause, count in tally.causes.most_common(3))
            raise EngineError(
                f"{tally.errors_new} of {tally.rollouts_new} rollouts could not be judged",
                where=causes,
                do="mend the cause and run the same command to continue (these rollouts are asked for "
                "again), or allow more with --max-error-rate",
            )


def _with_truncation(verdict: Verdict, completion: Completion) -> Verdict:
    """A response that was cut off before it earned anything is truncated, not wrong."""
    if completion.finish == "length" and verdict.outcome in {"wrong", "no_answer", "malformed"}:
        return Verdict(0.0, "truncated", verdict.parts, f"cut off at {completion.tokens} tokens")
    return verdict
