"""slime's samples: one for each row of a published set, and what they say once they are rollouts.

In: slime's arguments and a set. Out: a `Sample` a row, as slime itself reads the shards, with its prompt id;
the rewards of a group.

    --dynamic-sampling-filter-path curriculum.hooks.slime_samples.varies
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from curriculum.errors import UsageError
from curriculum.hooks.ids import ids_text
from curriculum.hooks.published import PublishedSet
from curriculum.hooks.signal import TOLERANCE


class Sample(Protocol):
    """What is used of slime's `Sample`, a rollout of a prompt."""

    group_index: Any  # the number of its group; None before it has one
    index: Any
    metadata: dict[str, Any]
    reward: Any
    response_length: int
    status: Any

    def get_reward_value(self, args: Any) -> float:
        """The reward, or the one under `--reward-key`."""


Group = list[Any]
"""A `Sample` for each rollout of a prompt; a list of them for a rollout that was split into several."""

Reader = Callable[[Any, PublishedSet], Sequence[Sample | None]]
"""From slime's arguments and a set to a sample of each row, None for a prompt that is too long."""


def varies(args: Any, samples: Group, **_: Any) -> bool:
    """For `--dynamic-sampling-filter-path`: whether the rewards of a group differ by more than rounding."""
    judged = [reward for reward in rewards(args, last(samples)) if reward is not None]
    return bool(judged) and max(judged) - min(judged) > TOLERANCE


def read_samples(args: Any, published: PublishedSet) -> list[Sample | None]:
    """slime's sample of each row of a set; None where `--rollout-max-prompt-len` is exceeded.

    Raises:
        UsageError: no prompt is short enough.
    """
    data = importlib.import_module("slime.utils.data")
    processing = importlib.import_module("slime.utils.processing_utils")
    tokenizer = processing.load_tokenizer(args.hf_checkpoint, trust_remote_code=True)
    processor = processing.load_processor(args.hf_checkpoint, trust_remote_code=True)
    samples: list[Sample] = []
    for path, _ in published.source.tables["train"]:
        shard = data.Dataset(
            str(path),
            tokenizer=tokenizer,
            processor=processor,
            max_length=None,  # rows must stay those of the set
            prompt_key=args.input_key,
            multimodal_keys=args.multimodal_keys,
            label_key=args.label_key,
            metadata_key=args.metadata_key,
            tool_key=args.tool_key,
            apply_chat_template=args.apply_chat_template,
            apply_chat_template_kwargs=args.apply_chat_template_kwargs,
            seed=args.rollout_seed,
        )
        samples += shard.samples
    label(samples, published)
    short = {
        id(one) for one in data.filter_long_prompt(samples, tokenizer, processor, args.rollout_max_prompt_len)
    }
    if not short:
        raise UsageError(
            f"no prompt of the set has at most {args.rollout_max_prompt_len} tokens",
            where="--rollout-max-prompt-len",
            do="raise it",
        )
    return [one if id(one) in short else None for one in samples]


def label(samples: Sequence[Sample], published: PublishedSet) -> None:
    """Writes the prompt id, the domain and the length cap of each row into its sample's metadata."""
    ids = ids_text(published.ids.words(np.arange(len(published))))
    for row, (sample, prompt_id) in enumerate(zip(samples, ids, strict=True)):
        sample.metadata = {
            **(sample.metadata or {}),
            "prompt_id": prompt_id,
            "domain": published.domains[published.domain[row]],
            "max_tokens": int(published.max_tokens[row]),
        }


def rewards(args: Any, rollouts: list[Sample]) -> list[float | None]:
    """The reward of each rollout, None where there is none."""
    return [None if one.reward is None else float(one.get_reward_value(args)) for one in rollouts]


def last(group: Group) -> list[Sample]:
    """The sample that carries the reward of each rollout: the last of those it was split into."""
    return [one[-1] if isinstance(one, list) else one for one in group]
