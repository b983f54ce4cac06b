"""One run of a pass: engine up, a few prompts end to end, then the rest; engine down, always.

In: a plan. Out: a journal that holds every rollout of the plan, and `ScoringRun`, what it took.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from curriculum.config import Config
from curriculum.engines.base import Engine
from curriculum.engines.replay import ReplayEngine
from curriculum.engines.vllm import VllmEngine
from curriculum.errors import EngineError
from curriculum.plan import Plan
from curriculum.scoring.journal import Journal
from curriculum.scoring.judges import verifier_instances, worker_count
from curriculum.scoring.loop import Limits, ScoringLoop
from curriculum.scoring.progress import View
from curriculum.scoring.schedule import FixedSchedule
from curriculum.scoring.smoke import smoke_prompts, smoke_report
from curriculum.scoring.tally import Tally
from verifiers.shaping import RewardShape
from verifiers.workers import VerifierWorkers, WorkersError


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRun:
    """What one run of a pass took. Rollouts that were in the journal before are not counted."""

    rollouts: int
    tokens: int
    seconds: float  # of scoring; the engine's start is load_seconds
    load_seconds: float
    device: str
    devices: int

    @property
    def tokens_per_s(self) -> float | None:
        """Response tokens per second; None when none were generated."""
        return self.tokens / self.seconds if self.tokens and self.seconds else None

    @property
    def engine_hours(self) -> float:
        """Device hours, loading included."""
        return (self.seconds + self.load_seconds) * self.devices / 3600

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self) | {"tokens_per_s": self.tokens_per_s, "engine_hours": self.engine_hours}


async def score(plan: Plan, view: View) -> ScoringRun:
    """Completes the journal of the plan's pass.

    Raises:
        EngineError: engine, workers or disk failed, or too many rollouts could not be judged.
        KeyboardInterrupt: interrupted or terminated; everything judged is in the journal.
    """
    judged = plan.judged.filter(~pl.col("error"))
    schedule = FixedSchedule(plan.asks, judged=set(judged.select("prompt_id", "index").iter_rows()))
    tally = Tally(
        schedule,
        prompts_total=len({ask.prompt_id for ask in plan.asks}),
        rollouts_total=len(plan.asks),
        tol=plan.config.selection.tol,
    )
    tally.add_earlier(judged)
    engine = make_engine(plan)
    if schedule.finished:
        done = "every rollout of this pass is in its journal already"
        view.note(done if plan.asks else "no prompt is left to sample")
        return _took(tally, engine, load_seconds=0.0)
    began = time.monotonic()
    view.stage(f"loading {plan.policy.name}")
    try:
        # Before any thread or signal handler of ours: vLLM may fork its core, which would inherit them.
        await engine.start()
        load_seconds = time.monotonic() - began
        with _terminated_as_interrupted():
            await _ask_for_all(plan, engine, schedule, tally, view)
    finally:
        await engine.stop()
    return _took(tally, engine, load_seconds=load_seconds)


async def _ask_for_all(plan: Plan, engine: Engine, schedule: FixedSchedule, tally: Tally, view: View) -> None:
    """Until the schedule is done: smoke first where nothing has been scored yet, then the rest."""
    with Journal(plan.journal) as journal:
        loop = ScoringLoop(
            plan.identity.pass_id,
            engine=engine,
            prompts=plan.prompts,
            journal=journal,
            tally=tally,
            limits=_limits(plan.config),
            view=view,
        )
        with _workers(plan.config, loop) as workers:
            tally.begin()
            if plan.judged.is_empty() and plan.policy.renderer is not None:
                schedule = await _smoke(plan, loop, workers, view)
            view.stage("scoring")
            await loop.run(schedule, workers)
            tally.end()


async def _smoke(plan: Plan, loop: ScoringLoop, workers: VerifierWorkers, view: View) -> FixedSchedule:
    """A few prompts of every kind from end to end, shown to a person; gives the schedule of the rest.

    They are rollouts of the pass like all others, so nothing is sampled twice.
    """
    view.stage("smoke: a few prompts end to end")
    chosen = smoke_prompts(plan)
    asks = [ask for ask in plan.asks if ask.prompt_id in chosen]
    await loop.run(FixedSchedule(asks), workers)
    view.note(smoke_report(plan, loop.first, loop.outcomes))
    return FixedSchedule(plan.asks, judged={(ask.prompt_id, ask.index) for ask in asks})


def make_engine(plan: Plan) -> Engine:
    """The engine that the configuration names, not yet started."""
    policy, config = plan.policy, plan.config
    if policy.checkpoint is None or policy.renderer is None:
        return ReplayEngine(policy.recording)
    return VllmEngine(policy.checkpoint.path, policy.renderer, config.sampling, config.engine)


def _limits(config: Config) -> Limits:
    return Limits(
        max_in_flight=config.engine.max_in_flight,
        max_pending=config.verification.max_pending,
        max_error_rate=config.verification.max_error_rate,
        keep_text=config.output.keep_text,
    )


@contextmanager
def _workers(config: Config, loop: ScoringLoop) -> Iterator[VerifierWorkers]:
    """Verifier workers that report to the loop."""
    rewards = RewardShape(**config.rewards.model_dump())
    try:
        with VerifierWorkers(
            workers=worker_count(config),
            rewards=rewards,
            on_judged=loop.judged,
            on_failure=loop.fail,
            deadline_s=config.verification.deadline_s,
            max_pending=config.verification.max_pending,
            verifiers=verifier_instances(config),
        ) as workers:
            yield workers
    except WorkersError as error:
        raise EngineError(
            "the verifier workers cannot go on",
            where=str(error),
            do="what is in the journal is kept: mend the cause and run the same command to continue",
        ) from error


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, which schedulers send before they take the machine, ends the pass like Ctrl-C."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    if task is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    terminated = False

    def terminate() -> None:
        nonlocal terminated
        terminated = True
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        yield
    except asyncio.CancelledError:
        if terminated:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


def _took(tally: Tally, engine: Engine, *, load_seconds: float) -> ScoringRun:
    return ScoringRun(
        rollouts=tally.rollouts_new,
        tokens=tally.tokens_new,
        seconds=tally.seconds,
        load_seconds=load_seconds,
        device=engine.device,
        devices=engine.devices,
    )
