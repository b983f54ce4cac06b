"""The scoring loop with engines that misbehave; verification is real, in worker processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import numpy as np
import pytest

from curriculum.engines.base import Completion, Request
from curriculum.errors import EngineError
from curriculum.scoring.journal import Journal, judged_keys, read_journal
from curriculum.scoring.loop import Limits, PromptTask, ScoringLoop
from curriculum.scoring.progress import SilentView
from curriculum.scoring.schedule import Ask, FixedSchedule, Outcome
from curriculum.scoring.tally import Tally
from verifiers.shaping import RewardShape
from verifiers.workers import VerifierWorkers

PROMPTS = [f"{number:032x}" for number in range(20)]
ASKS = [Ask(prompt_id, index, 0) for prompt_id in PROMPTS for index in range(8)]


class ScriptedEngine:
    """Answers as `script` says, after a moment; remembers how many requests it had at once."""

    device, devices = "scripted", 1

    def __init__(self, script: Callable[[Request], Completion]) -> None:
        self._script = script
        self.at_once = self.most_at_once = 0

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def generate(self, request: Request) -> Completion:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        # Later indices finish first, as short rollouts do.
        await asyncio.sleep(0.02 / (1 + request.index))
        self.at_once -= 1
        return self._script(request)


def answered(request: Request, text: str = "\\boxed{7}", finish: str = "stop") -> Completion:
    return Completion(request.prompt_id, request.index, text, len(text), finish, -0.5)


def run(folder, script, *, schedule=None, max_in_flight=16, max_pending=1000, max_error_rate=1.0):
    """Runs the loop; gives the engine and the tally."""
    engine = ScriptedEngine(script)
    schedule = schedule or FixedSchedule(ASKS)
    tally = Tally(schedule, prompts_total=len(PROMPTS), rollouts_total=len(ASKS), tol=1e-6)
    reference = json.dumps({"answer": "7"})
    prompts = {p: PromptTask("boxed", reference, np.empty(0, np.int32), 64) for p in PROMPTS}

    async def main() -> None:
        with Journal(folder) as journal:
            loop = ScoringLoop(
                "pass",
                engine=engine,
                prompts=prompts,
                journal=journal,
                tally=tally,
                limits=Limits(
                    max_in_flight=max_in_flight,
                    max_pending=max_pending,
                    max_error_rate=max_error_rate,
                    keep_text=True,
                ),
                view=SilentView(),
            )
            with VerifierWorkers(
                workers=1, rewards=RewardShape(), on_judged=loop.judged, on_failure=loop.fail
            ) as workers:
                tally.begin()
                await loop.run(schedule, workers)

    asyncio.run(main())
    return engine, tally


def test_every_ask_is_answered_judged_and_journaled_once(tmp_path) -> None:
    engine, tally = run(tmp_path, lambda r: answered(r, f"\\boxed{{{7 + r.index % 2}}}"))
    journal = read_journal(tmp_path).collect()
    assert journal.select("prompt_id", "index").rows() == [(a.prompt_id, a.index) for a in ASKS]
    assert journal["correctness"].to_list() == [1.0, 0.0] * 80
    progress = tally.snapshot()
    assert (progress.prompts_done, progress.rollouts_done, progress.varied) == (20, 160, 20)
    assert 1 < engine.most_at_once <= 16


def test_unjudged_rollouts_are_bounded(tmp_path) -> None:
    engine, _ = run(tmp_path, answered, max_in_flight=100, max_pending=10)
    assert engine.most_at_once <= 10
    assert judged_keys(tmp_path).height == len(ASKS)


def test_a_response_cut_off_before_it_earned_anything_is_truncated_not_wrong(tmp_path) -> None:
    def script(request: Request) -> Completion:
        text = {0: "\\boxed{7} and on", 1: "\\boxed{8} and on"}.get(request.index, "so we get")
        return answered(request, text, "length")

    run(tmp_path, script)
    first = read_journal(tmp_path).collect().head(3)
    assert first["outcome"].to_list() == ["correct", "truncated", "truncated"]
    assert first["correctness"].to_list() == [1.0, 0.0, 0.0]
    assert first["detail"][2] == "cut off at 9 tokens"


def test_an_aborted_request_is_a_row_with_its_cause(tmp_path) -> None:
    def script(request: Request) -> Completion:
        if request.index:
            return answered(request)
        return Completion(request.prompt_id, 0, "", None, "abort", error="no room")

    _, tally = run(tmp_path, script)
    rows = read_journal(tmp_path).collect().filter(index=0)
    assert set(rows["outcome"]) == {"verifier_error"}
    assert set(rows["detail"]) == {"no room"}
    assert tally.snapshot().errors == 20


def test_too_many_errors_stop_the_pass_and_name_the_causes(tmp_path) -> None:
    with pytest.raises(EngineError, match="could not be judged") as caught:
        run(
            tmp_path,
            lambda r: Completion(r.prompt_id, r.index, "", None, "abort", error="no room"),
            max_error_rate=0.05,
        )
    assert "no room" in caught.value.where
    assert 64 <= judged_keys(tmp_path).height < len(ASKS)


def test_a_dead_engine_ends_the_pass_and_what_was_judged_is_kept(tmp_path) -> None:
    answers = iter(range(len(ASKS)))

    def script(request: Request) -> Completion:
        if next(answers) == 100:
            raise EngineError("the engine died", do="run the same command to continue")
        return answered(request)

    with pytest.raises(EngineError, match="the engine died"):
        run(tmp_path, script)
    kept = judged_keys(tmp_path)
    assert 100 <= kept.height < len(ASKS)
    judged = set(kept.select("prompt_id", "index").iter_rows())
    run(tmp_path, answered, schedule=FixedSchedule(ASKS, judged=judged))
    assert read_journal(tmp_path).collect().height == len(ASKS)


class StopsEarly:
    """Asks for one more rollout of a prompt until two of its rollouts are known; what rounds will do."""

    def __init__(self) -> None:
        self._asks = [Ask(prompt_id, 0, 0) for prompt_id in PROMPTS]
        self._known = dict.fromkeys(PROMPTS, 0)

    def take(self, room: int) -> list[Ask]:
        taken, self._asks = self._asks[:room], self._asks[room:]
        return taken

    def record(self, outcome: Outcome) -> None:
        self._known[outcome.prompt_id] += 1
        if self._known[outcome.prompt_id] < 2:
            self._asks.append(Ask(outcome.prompt_id, outcome.index + 1, 1))

    def wanted(self, prompt_id: str) -> int:
        return 2

    @property
    def finished(self) -> bool:
        return all(known == 2 for known in self._known.values())


def test_a_schedule_may_wait_for_outcomes(tmp_path) -> None:
    run(tmp_path, answered, schedule=StopsEarly())
    rows = read_journal(tmp_path).collect()
    assert rows.height == 40
    assert set(rows.select("index", "round").rows()) == {(0, 0), (1, 1)}
