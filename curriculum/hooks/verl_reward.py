"""verl's reward managers with a tap, for verl 0.8 and later: every judged rollout is evidence as well.

In: rows of `curriculum.hooks.verl_dataset.CurriculumDataset`, in whatever processes verl judges. Out: what
the manager says, unchanged; `<out>/evidence/<refresh>/*.jsonl`, a file a process.

    reward.reward_manager.source=importlib reward.reward_manager.name=ObservedRewardManager
    reward.reward_manager.module.path=pkg://curriculum.hooks.verl_reward

`ObservedDAPORewardManager` is verl's `dapo`; a manager of one's own takes `Observed` as its first base. Rows
of other data sets, those of validation, pass through. Groups that verl filters out afterwards count.
"""

from __future__ import annotations

import atexit
import time
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from verl.experimental.reward_loop.reward_manager.dapo import DAPORewardManager
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

from curriculum.errors import UsageError
from curriculum.hooks.evidence import Evidence
from curriculum.hooks.manifest import find_source
from curriculum.hooks.published import name_only
from curriculum.hooks.settings import Settings
from curriculum.hooks.verl_dataset import BLOCK, MARK, settings_of

_MOST_HELD = 256
_HELD_SECONDS = 1.0


class Rollout(NamedTuple):
    """One judged rollout."""

    prompt_id: str
    correctness: float
    tokens: int
    truncated: bool


class Tap:
    """Rollouts of one set on their way to a file: held for about a second, then written as one line."""

    def __init__(self, refresh: Path, settings: Settings) -> None:
        """Opens nothing but the manifest in the folder `refresh`."""
        source = find_source(refresh)
        folder = source.out / "evidence"
        self._evidence = Evidence(folder, solved_at=settings.solved_at, truncated=settings.truncated)
        self._evidence.use(name_only(source))
        self._held: list[Rollout] = []
        self._step: int | None = None
        self._written = time.monotonic()

    def add(self, rollout: Rollout, step: int) -> None:
        """Takes one rollout.

        Raises:
            UsageError: the evidence cannot be written.
        """
        if step != self._step:
            self.flush()
        self._step = step
        self._held.append(rollout)
        if len(self._held) >= _MOST_HELD or time.monotonic() - self._written > _HELD_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Writes what is held."""
        held, self._held = self._held, []
        self._written = time.monotonic()
        if held:
            ids, marks, lengths, cut = zip(*held, strict=True)
            self._evidence.observe(ids, marks, lengths=lengths, truncated=cut, step=self._step)


class Observed:
    """The tap, for a reward manager of verl to inherit from before its own base."""

    config: Any
    tokenizer: Any

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Judges a rollout; see verl.

        Raises:
            UsageError: there is no correctness by the name that `data.curriculum.correctness` gives, or the
                evidence cannot be written.
        """
        said: dict[str, Any] = await super().run_single(data)  # type: ignore[misc]  # of the manager
        item = data[-1]  # of several sequences of a rollout, verl judges the last
        mark = item.non_tensor_batch.get(MARK)
        if mark is not None:
            step = int(item.non_tensor_batch.get("global_steps", mark["step"]))
            rollout = self._rollout(item, _correctness(said, self._settings))
            _tap(mark["refresh"], self._settings).add(rollout, step)
        return said

    @cached_property
    def _settings(self) -> Settings:
        return settings_of(self.config.data)

    def _rollout(self, item: Any, correctness: float) -> Rollout:
        responses = item.batch["responses"]
        tokens = int(item.batch["attention_mask"][-len(responses) :].sum())
        ended = tokens > 0 and int(responses[tokens - 1]) == self.tokenizer.eos_token_id
        truncated = tokens >= self.config.data.max_response_length and not ended
        return Rollout(str(item.non_tensor_batch["prompt_id"]), correctness, tokens, truncated)


class ObservedRewardManager(Observed, NaiveRewardManager):  # type: ignore[misc]  # verl has no types
    """verl's `naive`, the default, with the tap."""


class ObservedDAPORewardManager(Observed, DAPORewardManager):  # type: ignore[misc]  # verl has no types
    """verl's `dapo` with the tap; its reward is shaped, so name the `correctness`."""


def _correctness(said: dict[str, Any], settings: Settings) -> float:
    if settings.correctness is None:
        return float(said["reward_score"])
    parts = said["reward_extra_info"]
    if settings.correctness not in parts:
        raise UsageError(
            f"the reward function returns no {settings.correctness!r}, only {', '.join(parts)}",
            where=f"{BLOCK}.correctness",
            do="name an entry that it returns, or leave it out to take the reward",
        )
    return float(parts[settings.correctness])


_TAPS: dict[str, Tap] = {}


def _tap(refresh: str, settings: Settings) -> Tap:
    if refresh not in _TAPS:
        _TAPS[refresh] = Tap(Path(refresh), settings)
        atexit.register(_TAPS[refresh].flush)
    return _TAPS[refresh]
