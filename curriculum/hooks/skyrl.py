"""SkyRL: its trainer draws from the newest published set, and what it generates becomes evidence.

In: SkyRL's configuration, with the train shards of a refresh as `data.train_data`. Out: a trainer whose data
loader has the order of the sampler and saves the trained frontier in SkyRL's own `data.pt`.

    # train.py, in place of `-m skyrl.train.entrypoints.main_base`, with the same arguments
    from curriculum.hooks import Recipe
    from curriculum.hooks.skyrl import run

    if __name__ == "__main__":
        run("curriculum-out", Recipe(batch_size=256))

Written for SkyRL 0.3.0 (skyrl/train/trainer.py and skyrl/train/entrypoints/main_base.py); SkyRL, ray and
torchdata are imported only when a run begins.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from curriculum.errors import UsageError
from curriculum.hooks.evidence import Evidence
from curriculum.hooks.ids import ids_text
from curriculum.hooks.loader import LoaderSampler
from curriculum.hooks.order import Recipe
from curriculum.hooks.published import open_published
from curriculum.hooks.rows import match, read_ids
from curriculum.hooks.sampler import CurriculumSampler

_MAIN = "skyrl.train.entrypoints.main_base"
_DATA = "data.train_data"


class CurriculumTrainer:
    """Goes before SkyRL's `RayPPOTrainer` among the bases of a trainer, which sets `published` and `recipe`.

    The asynchronous trainers, which keep an account of their own of what was consumed, are not served.
    """

    published: str | Path
    recipe: Recipe
    evidence: Evidence | None = None
    # Of RayPPOTrainer:
    cfg: Any
    train_dataset: Any
    global_step: int
    all_metrics: dict[str, Any]

    def _build_train_dataloader_and_compute_training_steps(self) -> None:
        """SkyRL's hook, called when the trainer is made."""
        loaders = importlib.import_module("torchdata.stateful_dataloader")
        trainer, data = self.cfg.trainer, self.cfg.data.dataloader
        _check_batch(self.recipe, trainer.train_batch_size)
        words = read_ids(self.train_dataset.dataframe, where=_DATA)
        part, place = match(open_published(Path(self.published)), words, where=_DATA)
        evidence = self.evidence or Evidence(
            part.source.out / "evidence", group_size=self.cfg.generator.n_samples_per_prompt
        )
        self.sampler = CurriculumSampler(part, self.recipe, evidence=evidence)
        self._ids = ids_text(words)  # of SkyRL's rows, which leave out prompts that are too long
        self._drawn: dict[int, set[str]] = {}  # step to the prompts that were generated for it
        self.train_dataloader = loaders.StatefulDataLoader(
            self.train_dataset,
            batch_size=trainer.train_batch_size,
            sampler=LoaderSampler(self.sampler, place),
            collate_fn=self.train_dataset.collate_fn,
            num_workers=data.num_workers,
            persistent_workers=data.persistent_workers,
            multiprocessing_context="spawn" if data.num_workers else None,  # as SkyRL, which runs under ray
        )
        steps = len(self.train_dataloader) * trainer.epochs
        limit = trainer.max_training_steps
        self.total_training_steps = steps if limit is None else min(steps, limit)

    def load_checkpoints(self) -> Any:
        """SkyRL's resume, which by itself begins the epoch again where the loader's state cannot be read.

        Raises:
            UsageError: the checkpoint has no such state.
        """
        step, path, *more = super().load_checkpoints()  # type: ignore[misc]  # RayPPOTrainer's
        if step and self.train_dataloader.next_iter_state is None:
            raise UsageError(
                "the checkpoint has no state of the data loader that can be read",
                where=f"{path}/data.pt",
                do="resume from another one (trainer.resume_path), or start from its weights",
            )
        return (step, path, *more)

    async def generate(self, input_batch: Any) -> Any:
        """SkyRL's generation; all of it is evidence, also what dynamic sampling goes on to drop."""
        output = await super().generate(input_batch)  # type: ignore[misc]  # RayPPOTrainer's
        self._observe(input_batch, output)
        self.all_metrics.update(self.sampler.signal.metrics())
        return output

    def train_critic_and_policy(self, data: Any) -> Any:
        """SkyRL's training step, after which all that was generated for it is done with."""
        status = super().train_critic_and_policy(data)  # type: ignore[misc]  # RayPPOTrainer's
        for step in [step for step in self._drawn if step <= self.global_step]:
            self.sampler.trained(prompt_ids=sorted(self._drawn.pop(step)))
        return status

    def _observe(self, asked: Any, output: Any) -> None:
        """A prompt's `uid` is its row at SkyRL; a trajectory of several steps counts by its last."""
        trajectories = output.get("trajectory_ids") or asked["trajectory_ids"]
        count = len(output["response_ids"])
        last = output.get("is_last_step") or [True] * count
        here = [at for at in range(count) if last[at]]
        ids = [self._ids[int(trajectories[at].instance_id)] for at in here]
        stops = output.get("stop_reasons")
        step = asked["batch_metadata"].global_step
        self._drawn.setdefault(step, set()).update(ids)
        self.sampler.observe(
            ids,
            [_reward(output["rewards"][at]) for at in here],
            lengths=[len(output["response_ids"][at]) for at in here],
            truncated=None if stops is None else [stops[at] == "length" for at in here],
            step=step,
        )


def run(published: str | Path, recipe: Recipe, *, evidence: Evidence | None = None) -> None:
    """SkyRL's entry point, with a `CurriculumTrainer`: the command line is SkyRL's.

    Args:
        published: an output folder, or a refresh folder, on a disk that the ray cluster shares.
        evidence: where the rollouts go; None writes to `<out>/evidence`.
    """
    main, ray = importlib.import_module(_MAIN), importlib.import_module("ray")
    cfg = main.SkyRLTrainConfig.from_cli_overrides(sys.argv[1:])
    main.validate_cfg(cfg)
    main.initialize_ray(cfg)
    ray.get(ray.remote(num_cpus=1)(_train).remote(cfg, published, recipe, evidence))


def _train(cfg: Any, published: str | Path, recipe: Recipe, evidence: Evidence | None) -> None:
    main = importlib.import_module(_MAIN)
    made = {"published": published, "recipe": recipe, "evidence": evidence}
    trainer = type("Trainer", (CurriculumTrainer, main.RayPPOTrainer), made)

    class Experiment(main.BasePPOExp):  # type: ignore[misc, name-defined]  # SkyRL has no types here
        get_trainer = staticmethod(trainer)  # takes what RayPPOTrainer takes

    Experiment(cfg).run()


def _reward(reward: Any) -> float:
    """A reward for the response, or one for each of its tokens."""
    return float(sum(reward)) if isinstance(reward, list) else float(reward)


def _check_batch(recipe: Recipe, batch_size: int) -> None:
    if recipe.batch_size != batch_size:
        raise UsageError(
            f"the recipe has batches of {recipe.batch_size} prompts, the trainer of {batch_size}",
            where="Recipe.batch_size, trainer.train_batch_size",
            do="make them the same",
        )
