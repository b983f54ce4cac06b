"""What a `trl.GRPOTrainer` tells the curriculum while it trains, and what it saves of it.

In: the calls of one reward function, and the trainer's events. Out: rollouts as evidence, the trained
frontier, and its state in the `trainer_state.json` of each checkpoint.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from accelerate.utils import gather_object
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from curriculum.hooks.sampler import CurriculumSampler
from curriculum.hooks.trl_rows import TrainRows

if TYPE_CHECKING:
    from trl import GRPOTrainer

_log = logging.getLogger(__name__)

_Rollout = tuple[str, float | None, int, bool]
"""Prompt id, reward, tokens, whether it was cut off."""


class RewardTap:
    """The rollouts of this process that a reward function has judged in training since `take`."""

    def __init__(self, trainer: GRPOTrainer) -> None:
        tokenizer = getattr(trainer.processing_class, "tokenizer", trainer.processing_class)
        self._trainer = trainer
        self._ends = {tokenizer.eos_token_id, tokenizer.pad_token_id}  # as TRL tells truncated ones
        self._rollouts: list[_Rollout] = []

    def take(self) -> list[_Rollout]:
        """The rollouts so far, once."""
        taken, self._rollouts = self._rollouts, []
        return taken

    def listening(self, judge: Callable[..., Any]) -> Callable[..., Any]:
        """`judge`, called as before, with what it says noted; its columns are whatever TRL passes."""
        if any(map(inspect.iscoroutinefunction, (judge, type(judge).__call__))):

            async def judged_later(**columns: Any) -> Any:
                rewards = await judge(**columns)
                self._note(rewards, columns)
                return rewards

            return judged_later

        def judged(**columns: Any) -> Any:
            rewards = judge(**columns)
            self._note(rewards, columns)
            return rewards

        return judged

    def _note(self, rewards: Sequence[Any], columns: Mapping[str, Any]) -> None:
        if not self._trainer.model.training:  # an evaluation
            return
        for prompt_id, reward, tokens in zip(
            columns["prompt_id"], rewards, columns["completion_ids"], strict=True
        ):
            cut_off = not len(tokens) or tokens[-1] not in self._ends
            self._rollouts.append(
                (prompt_id, None if reward is None else float(reward), len(tokens), cut_off)
            )


class CurriculumCallback(TrainerCallback, ExportableState):  # type: ignore[misc]
    """Moves the trained frontier, passes rollouts on, saves and restores."""

    def __init__(
        self, trainer: GRPOTrainer, sampler: CurriculumSampler, rows: TrainRows, tap: RewardTap
    ) -> None:
        self._trainer = trainer
        self._sampler = sampler
        self._rows = rows
        self._tap = tap
        self._micro_steps = 0
        """Taken of the oldest generation batch in flight."""
        self._said = False

    def state(self) -> dict[str, Any]:
        """What the trainer writes into the checkpoint."""
        return {"args": {}, "attributes": {"curriculum": self._sampler.state_dict()}}

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:  # noqa: ARG002
        """Restores the frontier of a checkpoint, and says which batches the trainer will skip over."""
        updates = math.ceil(len(others["train_dataloader"]) / args.gradient_accumulation_steps)
        skipped = state.global_step % max(updates, 1) * args.gradient_accumulation_steps
        self._rows.begin(0 if args.ignore_data_skip else skipped)
        self._micro_steps = 0
        self._tap.take()
        if not state.global_step:
            return
        name = type(self).__name__
        if name in state.stateful_callbacks:
            self._sampler.load_state_dict(state.stateful_callbacks[name]["attributes"]["curriculum"])
            return
        state.stateful_callbacks[name] = {}  # the trainer saves over what is there
        _log.warning(
            "curriculum: the checkpoint of step %d was saved without a curriculum; it begins with epoch 0",
            state.global_step,
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:  # noqa: ARG002
        """The optimizer step is done: all processes are here, so rollouts are gathered now."""
        rollouts = gather_object(self._tap.take())
        if rollouts:
            prompt_ids, rewards, lengths, truncated = zip(*rollouts, strict=True)
            self._sampler.observe(
                prompt_ids, rewards, lengths=lengths, truncated=truncated, step=state.global_step - 1
            )
        self._micro_steps += self._trainer.current_gradient_accumulation_steps
        while self._micro_steps >= self._rows.repeats:
            self._sampler.trained()
            self._micro_steps -= self._rows.repeats

    def on_save(self, args: Any, state: Any, control: Any, **others: Any) -> None:  # noqa: ARG002
        """Says once that a resume from here repeats something: TRL keeps no rollouts in a checkpoint."""
        if self._micro_steps and state.is_world_process_zero and not self._said:
            self._said = True
            whole = self._rows.repeats // math.gcd(self._rows.repeats, args.gradient_accumulation_steps)
            _log.warning(
                "curriculum: checkpoint-%d lies inside a generation batch, which a resume from it generates "
                "and trains anew; with save_steps a multiple of %d none does",
                state.global_step,
                whole,
            )
