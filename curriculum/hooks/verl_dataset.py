"""verl's data set in the order of the curriculum, for verl 0.8 and later, which take no sampler.

In: `data.train_files`, the train shards of a published set, and the block `data.curriculum`. Out: an
`RLHFDataset` whose item i is the same prompt in every data worker and after every resume.

    data.custom_cls.path=pkg://curriculum.hooks.verl_dataset data.custom_cls.name=CurriculumDataset
    data.shuffle=False trainer.total_epochs=1
    +data.curriculum.out=curriculum-out +data.curriculum.epochs=3

verl reads items 0, 1, 2, … and starts over with each of its epochs, in data workers that know nothing of each
other. So all epochs of the curriculum are one of verl's: the index says it all, and the position that verl
saves with a checkpoint is a position in the run.

`TaggedDataset` is for verl 0.7.1 and earlier, beside `curriculum.hooks.verl`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omegaconf import ListConfig, OmegaConf
from verl.utils.dataset.rl_dataset import RLHFDataset

from curriculum.errors import UsageError
from curriculum.hooks import state
from curriculum.hooks.published import open_published
from curriculum.hooks.rows import Matched, match, read_ids
from curriculum.hooks.settings import Settings, read_settings
from curriculum.hooks.unrolled import Unrolled

BLOCK = "data.curriculum"

MARK = "curriculum"
"""The column by which `curriculum.hooks.verl_reward` knows a row to train on: refresh folder and step."""


class TaggedDataset(RLHFDataset):  # type: ignore[misc]  # verl has no types
    """Rows that carry their prompt_id inside `extra_info`, which is what verl hands back after training."""

    def __getitem__(self, item: int) -> dict[str, Any]:
        row: dict[str, Any] = super().__getitem__(int(item))
        if "prompt_id" in row:
            row["extra_info"] = {**row["extra_info"], "prompt_id": row["prompt_id"]}
        return row


class CurriculumDataset(RLHFDataset):  # type: ignore[misc]  # verl has no types
    """The training data in order; any other files, as those of validation, as `RLHFDataset` has them."""

    def __init__(
        self, data_files: Any, tokenizer: Any, config: Any, processor: Any = None, max_samples: int = -1
    ) -> None:
        """Reads the files as verl does, then the set that they belong to.

        Raises:
            UsageError: the configuration, or the files are not those of the set.
        """
        self._run: _Run | None = None
        super().__init__(data_files, tokenizer, config, processor, max_samples)
        if _files(data_files) == _files(config.train_files):
            self._run = _Run(self.dataframe, config)

    def __len__(self) -> int:
        return len(self.dataframe) if self._run is None else len(self._run)

    def __getitem__(self, item: int) -> dict[str, Any]:
        if self._run is None:
            row: dict[str, Any] = super().__getitem__(int(item))
            return row
        at, step = self._run.find(int(item))
        return {**super().__getitem__(at), MARK: {"refresh": self._run.refresh, "step": step}}

    def state_dict(self) -> dict[str, Any]:
        """What the order is a function of; verl's loader saves its position beside it."""
        return {} if self._run is None else self._run.state_dict()

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Makes sure that a position of the saved run is the same one here.

        Raises:
            UsageError: it is not, and no `first_step` says where this set begins.
        """
        if self._run is not None and saved:
            self._run.check(saved)


class _Run:
    """Where each item of verl's only epoch is: items before `first_step` belong to sets trained earlier."""

    def __init__(self, dataframe: Any, config: Any) -> None:
        _check_trainer(config)
        self.settings = settings_of(config)
        self.matched = match_rows(dataframe, self.settings, config)
        self.recipe = self.settings.recipe(int(config.train_batch_size))
        self.unrolled = Unrolled(self.matched.part, self.recipe, self.settings.epochs)
        self.before = self.settings.first_step * self.recipe.batch_size
        self.refresh = str(self.matched.part.source.folder.absolute())

    def __len__(self) -> int:
        return self.before + len(self.unrolled)

    def find(self, item: int) -> tuple[int, int]:
        """The row of the data set, and the step that trains it if verl takes a batch a step."""
        if item < self.before:
            raise UsageError(
                f"training goes on after step {item // self.recipe.batch_size}, before the set begins",
                where=f"{BLOCK}.first_step={self.settings.first_step}",
                do="give the number of the checkpoint that training goes on from",
            )
        row, _, _ = self.unrolled[item - self.before]
        return int(self.matched.place[row]), item // self.recipe.batch_size + 1

    def state_dict(self) -> dict[str, Any]:
        return {**state.order_of(self.matched.part, self.recipe), "first_step": self.settings.first_step}

    def check(self, saved: Mapping[str, Any]) -> None:
        same = state.is_exact(saved, self.matched.part, self.recipe)
        moved = self.settings.first_step - saved["first_step"]
        if moved == 0 if same else moved > 0:
            return
        raise UsageError(
            f"the checkpoint was trained on {saved['refresh_id']} from step {saved['first_step']}, this run "
            f"has {self.matched.part.source.refresh_id} from step {self.settings.first_step}, other rows or "
            "another recipe",
            where=f"{BLOCK}, data.train_files, data.train_batch_size",
            do="go on with the same ones; or begin with this set: "
            f"{BLOCK}.first_step=N, N being the step of the checkpoint",
        )


def settings_of(data_config: Any, *, without: tuple[str, ...] = ()) -> Settings:
    """The block `data.curriculum` of verl's configuration; see `read_settings`."""
    block = data_config.get("curriculum")
    plain: Any = OmegaConf.to_container(block, resolve=True) if OmegaConf.is_config(block) else block
    return read_settings(plain, where=BLOCK, without=without)


def match_rows(dataframe: Any, settings: Settings, data_config: Any) -> Matched:
    """The rows of an `RLHFDataset` as those of the set; it may have dropped prompts that are too long."""
    where = f"data.train_files={_files(data_config.train_files)}"
    ids = read_ids(dataframe, where=where)
    return match(open_published(Path(settings.out)), ids, where=where)


def _files(files: Any) -> list[str]:
    return [str(file) for file in files] if isinstance(files, list | tuple | ListConfig) else [str(files)]


def _check_trainer(config: Any) -> None:
    """Refuses what would break the order: see the module."""
    epochs = OmegaConf.create({"n": "${oc.select:trainer.total_epochs,1}"}, parent=config).n
    for wrong, where, what, do in (
        (
            config.get("shuffle", True),
            "data.shuffle",
            "verl would shuffle the order of the curriculum",
            "set data.shuffle=False",
        ),
        (
            epochs != 1,
            f"trainer.total_epochs={epochs}",
            "the epochs of the curriculum are one epoch of verl, which would begin with the first again",
            f"set trainer.total_epochs=1 and the number of epochs as +{BLOCK}.epochs",
        ),
        (
            _files(config.train_files) == _files(config.get("val_files")),
            "data.val_files",
            "the files to validate on are those to train on",
            "validate on others, such as the set's control/ shards",
        ),
    ):
        if wrong:
            raise UsageError(what, where=where, do=do)
