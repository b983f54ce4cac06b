"""verl's reward function with a tap: every rollout that it judges is evidence as well.

In: calls of `compute_score` for rows of `curriculum.hooks.verl_dataset`, in whatever processes verl judges.
Out: what the function says, unchanged; `<out>/evidence/<refresh>/*.jsonl`, a file a process.

    # my_rewards.py, with reward.custom_reward_function.path=my_rewards.py and .name=compute_score
    from curriculum.hooks.verl_reward import observed

    @observed
    def compute_score(data_source, solution_str, ground_truth, extra_info=None): ...

Without a function of one's own, path=pkg://curriculum.hooks.verl_reward taps verl's rules. Rows of other data
sets, those of validation, pass through. Groups that verl filters out afterwards were judged and count.
"""

from __future__ import annotations

import atexit
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, wraps
from pathlib import Path
from typing import Any

from curriculum.errors import UsageError
from curriculum.hooks.evidence import Evidence
from curriculum.hooks.manifest import find_source
from curriculum.hooks.published import name_only

MARK = "curriculum"
"""The key of a row's extra_info that holds what the tap has to know of it."""

_MOST_HELD = 256
_HELD_SECONDS = 1.0


class Tap:
    """Rollouts of one set on their way to a file: held for a second at most, then written as one line."""

    def __init__(self, refresh: Path, solved_at: float) -> None:
        """Opens nothing but the manifest in the folder `refresh`."""
        source = find_source(refresh)
        self._evidence = Evidence(source.out / "evidence", solved_at=solved_at)
        self._evidence.use(name_only(source))
        self._lock = threading.Lock()  # verl judges in threads
        self._held: list[tuple[str, float]] = []
        self._step: int | None = None
        self._written = time.monotonic()

    def add(self, prompt_id: str, reward: float, step: int) -> None:
        """Takes one rollout."""
        with self._lock:
            if step != self._step:
                self._write()
            self._step = step
            self._held.append((prompt_id, reward))
            if len(self._held) >= _MOST_HELD or time.monotonic() - self._written > _HELD_SECONDS:
                self._write()

    def flush(self) -> None:
        """Writes what is held."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        held, self._held = self._held, []
        self._written = time.monotonic()
        if held:
            ids, rewards = zip(*held, strict=True)
            self._evidence.observe(ids, rewards, step=self._step)


def observed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The reward function with a tap; as it is otherwise, a coroutine or not.

    Raises:
        UsageError: when it is called, if it returns no correctness by the name that
            `data.curriculum.correctness` gives, or the evidence cannot be written.
    """
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **more: Any) -> Any:
            said = await _result(function, args, more)
            _report(more.get("extra_info"), said)
            return said

        return awaited

    @wraps(function)
    def called(*args: Any, **more: Any) -> Any:  # verl calls by name, and adds names as it grows
        said = function(*args, **more)
        _report(more.get("extra_info"), said)
        return said

    return called


@observed
def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Any = None, **more: Any
) -> Any:
    """What verl's own rules say, by `data_source`."""
    from verl.utils.reward_score import default_compute_score

    return default_compute_score(data_source, solution_str, ground_truth, extra_info, **more)


async def _result(function: Callable[..., Awaitable[Any]], args: Any, more: Any) -> Any:
    return await function(*args, **more)


def _report(extra_info: Mapping[str, Any] | None, said: Any) -> None:
    mark = (extra_info or {}).get(MARK)
    if mark:
        tap = _tap(mark["refresh"], mark["solved_at"])
        tap.add(mark["prompt_id"], _correctness(said, mark["correctness"]), mark["step"])


def _correctness(said: Any, name: str | None) -> float:
    """The raw correctness in what a reward function returns: a number, or a dictionary with a score."""
    if not isinstance(said, Mapping):
        if name is None:
            return float(said)
        said = {"score": said}
    if (name or "score") not in said:
        raise UsageError(
            f"the reward function returns no {name or 'score'!r}, only {', '.join(map(str, said))}",
            where="data.curriculum.correctness",
            do="name the entry that holds the correctness, or leave it out to take the score",
        )
    return float(said[name or "score"])


@cache
def _tap(refresh: str, solved_at: float) -> Tap:
    tap = Tap(Path(refresh), solved_at)
    atexit.register(tap.flush)
    return tap
