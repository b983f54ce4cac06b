"""The curriculum as verl's sampler, for verl 0.5 to 0.7.1; later ones see `curriculum.hooks.verl_dataset`.

In: the data set that verl has read and the block `data.curriculum`. Out: rows of that data set in the
order of the curriculum; what was trained, inside verl's own `data.pt`; evidence from every trained batch.

    data.sampler.class_path=pkg://curriculum.hooks.verl data.sampler.class_name=VerlSampler
    data.custom_cls.path=pkg://curriculum.hooks.verl_dataset data.custom_cls.name=TaggedDataset
    data.dataloader_num_workers=0 +data.curriculum.out=curriculum-out

verl saves a checkpoint after the actor's update and calls `update` only then. It asks for the next batch when
the step is over. So a batch counts as trained when the state is asked for, or the next batch is; `update`
brings evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sized
from typing import Any

from verl.experimental.dataset.sampler import AbstractCurriculumSampler

from curriculum.errors import UsageError
from curriculum.hooks.sampler import CurriculumSampler
from curriculum.hooks.verl_dataset import BLOCK, CurriculumDataset, match_rows, settings_of


class VerlSampler(AbstractCurriculumSampler):  # type: ignore[misc]  # verl has no types
    """See the module; `run` is the `CurriculumSampler` behind it."""

    def __init__(self, data_source: Sized, data_config: Any) -> None:
        """Opens the set that `data_source`, an `RLHFDataset`, was read from.

        Raises:
            UsageError: the configuration, or the rows are not those of the set.
        """
        settings = settings_of(data_config, without=("epochs", "first_step"))
        if isinstance(data_source, CurriculumDataset):
            raise UsageError(
                "the data set is in the curriculum's order already",
                where="data.custom_cls.name, data.sampler",
                do="use TaggedDataset beside the sampler, or CurriculumDataset without it",
            )
        rows: Any = data_source
        part, self._place = match_rows(rows.dataframe, settings, data_config)
        batch_size = int(data_config.get("gen_batch_size") or data_config.train_batch_size)
        self.run = CurriculumSampler(part, settings.recipe(batch_size), evidence=settings.evidence())
        self._correctness = settings.correctness
        self._eos = getattr(rows.tokenizer, "eos_token_id", None)
        self._handed: int | None = None  # number of the batch that verl has

    def __iter__(self) -> Iterator[int]:
        self._settle()
        for batch in self.run.numbered():
            self._handed = batch.number
            yield from self._place[batch.rows].tolist()
            self._settle()

    def __len__(self) -> int:
        return len(self.run)

    def update(self, batch: Any) -> None:
        """Takes a trained `DataProto` as evidence: its rollouts in any order.

        Raises:
            UsageError: its rows do not say which prompts they are, or there is no correctness in it.
        """
        rewards = self._rewards(batch)
        tensors = batch.batch
        width = tensors["responses"].shape[-1]
        lengths = tensors["attention_mask"][:, -width:].sum(-1)
        cut = (lengths == width) & (tensors["responses"][:, -1] != (-1 if self._eos is None else self._eos))
        step = batch.meta_info.get("global_steps") or (self._handed or 0) + 1
        self.run.observe(
            _prompt_ids(batch.non_tensor_batch),
            rewards,
            lengths=lengths.tolist(),
            truncated=cut.tolist(),
            step=int(step),
        )

    def state_dict(self) -> dict[str, Any]:
        """The trained frontier; for verl's loader, which saves it as a part of its own."""
        self._settle()
        return self.run.state_dict()

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Continues from what was trained; see `CurriculumSampler.load_state_dict`."""
        self._handed = None
        self.run.load_state_dict(saved)

    def _settle(self) -> None:
        if self._handed is not None:
            self.run.trained(self._handed)

    def _rewards(self, batch: Any) -> list[float]:
        if self._correctness is None:
            scores: list[float] = batch.batch["token_level_scores"].sum(-1).tolist()
            return scores
        if self._correctness not in batch.non_tensor_batch:
            raise UsageError(
                f"the trained batch has no {self._correctness!r}, only {', '.join(batch.non_tensor_batch)}",
                where=f"{BLOCK}.correctness",
                do="name an entry that the reward function returns, or leave it out to take the reward",
            )
        return [float(value) for value in batch.non_tensor_batch[self._correctness]]


def _prompt_ids(columns: Mapping[str, Any]) -> list[str]:
    if "prompt_id" in columns:
        return [str(one) for one in columns["prompt_id"]]
    try:
        return [str(extra["prompt_id"]) for extra in columns["extra_info"]]
    except (KeyError, TypeError) as error:
        raise UsageError(
            "the trained batch does not say which prompts it has",
            where="extra_info",
            do="set data.custom_cls.path=pkg://curriculum.hooks.verl_dataset and "
            "data.custom_cls.name=TaggedDataset",
        ) from error
