"""The curriculum in a `trl.GRPOTrainer`: one call, after the trainer is made and before it trains.

    trainer = GRPOTrainer(…, train_dataset=train_dataset("curriculum-out"))
    attach(trainer, "curriculum-out")
    trainer.train(resume_from_checkpoint=…)

In: a trainer whose data set is a published set. Out: the same trainer: its sampler yields the curriculum's
batches (trl_rows.py), its reward function is listened to and its checkpoints hold what was trained
(trl_callback.py), and its log has `curriculum/…`. Tested with TRL 1.0.0 and 1.16.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from curriculum.errors import UsageError
from curriculum.hooks.evidence import Evidence
from curriculum.hooks.ids import Rows
from curriculum.hooks.manifest import find_source
from curriculum.hooks.order import Mode, Recipe, WeightBy
from curriculum.hooks.published import open_published
from curriculum.hooks.rows import match, read_ids
from curriculum.hooks.sampler import CurriculumSampler
from curriculum.hooks.signal import OnStale, Stale, StalePolicy
from curriculum.hooks.trl_callback import CurriculumCallback, RewardTap
from curriculum.hooks.trl_rows import TrainRows

if TYPE_CHECKING:
    from datasets import Dataset
    from trl import GRPOTrainer

_DATA = "train_dataset of the trainer"


def train_dataset(published: str | Path) -> Dataset:
    """The train shards of a refresh folder, or of the newest set of an output folder.

    Raises:
        UsageError: nothing is published there.
    """
    from datasets import load_dataset

    files = [str(path) for path, _ in find_source(Path(published)).tables["train"]]
    return load_dataset("parquet", data_files=files, split="train")


def attach(
    trainer: GRPOTrainer,
    published: str | Path,
    *,
    correctness: str | None = None,
    solved_at: float = 1.0,
    mode: Mode = "weighted",
    weight_by: WeightBy = "learnability",
    domain_quotas: Mapping[str, float] | None = None,
    hard_reserve: float | None = None,
    min_distinct: int = 8,
    stale: StalePolicy | None = None,
    on_stale: Iterable[OnStale] = (),
) -> CurriculumSampler:
    """Lets the trainer draw its prompts from a published set, and gives its rollouts back as evidence.

    Every process calls it alike. Batch, group size and seed are the trainer's. See `Recipe` for how prompts
    are drawn and `Evidence` for what counts as solved.

    Args:
        trainer: its train_dataset has rows of the set, all or some, in any order.
        published: an output folder, whose newest set is taken, or a refresh folder.
        correctness: the name of the reward function that gives the raw correctness. Only with several
            reward functions has one to be named.
        solved_at: the reward from which a rollout counts as solved.
        on_stale: called, on every process, when the set has grown stale; without any it is logged.

    Raises:
        UsageError: the data set is another one, or the trainer is set up in a way that cannot work.
    """
    _check(trainer)
    judge = _judge(correctness, trainer)
    part, place = match(
        open_published(Path(published)), read_ids(trainer.train_dataset, where=_DATA), where=_DATA
    )
    recipe = Recipe(
        batch_size=_batch_size(trainer, min_distinct),
        seed=trainer.args.seed,
        mode=mode,
        weight_by=weight_by,
        domain_quotas=domain_quotas or {},
        hard_reserve=hard_reserve,
        min_distinct=min_distinct,
    )
    main = trainer.accelerator.is_main_process
    evidence = Evidence(
        part.source.out / "evidence" if main else None,  # every process has all rollouts, one writes them
        group_size=trainer.num_generations,
        solved_at=solved_at,
        truncated="excluded" if trainer.args.mask_truncated_completions else "wrong",
    )
    tell = list(on_stale) or ([] if main else [_silent])
    sampler = CurriculumSampler(part, recipe, evidence=evidence, stale=stale, on_stale=tell)
    _take_hold(trainer, sampler, place, judge)
    return sampler


def _take_hold(trainer: GRPOTrainer, sampler: CurriculumSampler, place: Rows, judge: int) -> None:
    """Puts the curriculum where the trainer asks for an order, judges, logs and reports events."""
    rows = TrainRows(
        sampler,
        place,
        group_size=trainer.num_generations,
        repeats=trainer.num_iterations * trainer.args.steps_per_generation,
    )
    tap = RewardTap(trainer)
    log = trainer.log

    def log_with_signal(logs: dict[str, float], start_time: float | None = None) -> None:
        if trainer.model.training:  # else it is of an evaluation
            logs.update(sampler.signal.metrics())
        log(logs, start_time)

    trainer.reward_funcs[judge] = tap.listening(trainer.reward_funcs[judge])
    trainer._get_train_sampler = lambda dataset=None: rows  # noqa: ARG005  (TRL's own signature)
    trainer.log = log_with_signal
    trainer.add_callback(CurriculumCallback(trainer, sampler, rows, tap))


def _check(trainer: GRPOTrainer) -> None:
    """Raises UsageError for what would fail, or go wrong unseen, only in training."""
    from datasets import Dataset

    data, args = trainer.train_dataset, trainer.args
    loader = args.accelerator_config
    for wrong, what, where, do in (
        (
            any(isinstance(one, CurriculumCallback) for one in trainer.callback_handler.callbacks),
            "the trainer has a curriculum already",
            "attach()",
            "attach one, once",
        ),
        (
            not isinstance(data, Dataset),
            f"the training data is a {type(data).__name__}, of which no row can be taken by its number",
            _DATA,
            "pass train_dataset(…) of this module, or load the shards without streaming",
        ),
        (
            args.remove_unused_columns,
            "the trainer would remove the prompt_id column",
            "GRPOConfig.remove_unused_columns",
            "leave it False, as it is by default",
        ),
        (
            loader.dispatch_batches or loader.split_batches,
            "the processes would not all draw the order",
            "GRPOConfig.accelerator_config: dispatch_batches, split_batches",
            "leave both out",
        ),
        (
            args.restore_callback_states_from_checkpoint,
            "the trainer would replace the curriculum's callback by another on a resume",
            "GRPOConfig.restore_callback_states_from_checkpoint",
            "leave it False; the curriculum is restored without it",
        ),
    ):
        if wrong:
            raise UsageError(what, where=where, do=do)


def _batch_size(trainer: GRPOTrainer, min_distinct: int) -> int:
    """Prompts of a generation batch, over all processes."""
    rollouts, group = trainer.args.generation_batch_size, trainer.num_generations
    if rollouts // group < min_distinct:
        raise UsageError(
            f"a generation batch has {rollouts // group} prompts ({rollouts} rollouts, {group} of each), "
            f"fewer than {min_distinct}",
            where="GRPOConfig: per_device_train_batch_size, steps_per_generation, num_generations",
            do=f"set generation_batch_size to {min_distinct * group} or more, or pass a lower min_distinct",
        )
    return int(rollouts // group)


def _judge(correctness: str | None, trainer: GRPOTrainer) -> int:
    """The place of the reward function that is listened to."""
    import torch

    names = trainer.reward_func_names
    if correctness is None and len(names) == 1:
        place = 0
    elif names.count(correctness) == 1:
        place = names.index(correctness)
    else:
        raise UsageError(
            "several reward functions, and none is named as the raw correctness"
            if correctness is None
            else f"{names.count(correctness)} reward functions are named {correctness!r}",
            where="attach(correctness=…)",
            do=f"name one of {', '.join(names)}",
        )
    if isinstance(trainer.reward_funcs[place], torch.nn.Module):
        raise UsageError(
            f"{names[place]} is a model, whose scores are no correctness of 0 to 1",
            where="attach(correctness=…)",
            do="name a function that judges by a rule; it may have reward weight 0",
        )
    return place


def _silent(stale: Stale) -> None:
    """For the processes of which another says it."""
