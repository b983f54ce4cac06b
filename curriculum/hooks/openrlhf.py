"""OpenRLHF: it trains on the published file, and a reward function tells what the rollouts said.

In: a reward function of OpenRLHF's form, and the set whose train folder is `--data.prompt_dataset`. Out: the
same function, which takes prompt ids for labels and writes evidence.

    # reward.py, for --reward.remote_url reward.py --data.label_key prompt_id
    from curriculum.hooks.openrlhf import tap
    from my_rewards import judge

    reward_func = tap(judge, "curriculum-out", label="label")

OpenRLHF has no place for a sampler: it draws in an order of its own, so weights and quotas have no effect.
Written for OpenRLHF 0.11.2 (openrlhf/utils/agent.py and openrlhf/datasets/prompts_dataset.py), of which
nothing is imported. It calls the function in threads, a rollout at a time, in each of its engines' processes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from curriculum.errors import UsageError
from curriculum.hooks.evidence import Evidence
from curriculum.hooks.ids import parse_ids
from curriculum.hooks.published import PublishedSet, open_published

_ID = re.compile("[0-9a-f]{32}")
_log = logging.getLogger(__name__)

RewardFunction = Callable[[list[str], list[str], list[str]], Mapping[str, Any]]
"""`reward_func(queries, prompts, labels)`, with `rewards` and, for a filter, `scores` in what it returns."""


def tap(
    reward_func: RewardFunction,
    published: str | Path,
    *,
    label: str = "label",
    score: str = "scores",
    evidence: Evidence | None = None,
) -> RewardFunction:
    """The reward function, with prompt ids for labels; a label that is no id, of an evaluation, stays one.

    Args:
        reward_func: gets the labels that the ids stand for.
        published: an output folder, or the refresh folder that is trained on. The newest set is taken when
            the process starts, so name the folder where another set may be published meanwhile.
        label: the column of the train shards that has the labels; a field of a struct as "a.b".
        score: what of the returned is the correctness, from 0 to 1; `rewards` where it is missing.
        evidence: where the rollouts go; None writes to `<out>/evidence`.

    Raises:
        UsageError: no set, or it has no such column. On a call, a label that is no prompt of the set.
    """
    known = open_published(Path(published))
    labels = _column(known, label)
    kept = evidence or Evidence(known.source.out / "evidence")
    kept.use(known)
    lock = Lock()

    @wraps(reward_func)
    def tapped(queries: list[str], prompts: list[str], ids: list[str]) -> Mapping[str, Any]:
        texts = list(ids)
        here = [at for at, text in enumerate(ids) if _ID.fullmatch(str(text))]
        for at, row in zip(here, _rows(known, [ids[at] for at in here]), strict=True):
            texts[at] = labels[row].as_py()
        result = reward_func(queries, prompts, texts)
        if not here:
            return result
        rewards = _each(result["rewards"] if result.get(score) is None else result[score])
        try:
            with lock:
                kept.observe([ids[at] for at in here], [float(rewards[at]) for at in here])
        except UsageError as error:  # OpenRLHF would drop the reward and go on
            _log.error("curriculum: %s", error)
        return result

    return tapped


def _rows(published: PublishedSet, ids: list[str]) -> list[int]:
    """The row of each prompt; raises UsageError for one that the set does not have."""
    rows: list[int] = published.ids.find(parse_ids(ids, where="--data.label_key")).tolist()
    if -1 in rows:
        raise UsageError(
            f"{ids[rows.index(-1)]} is no prompt of the set {published.source.refresh_id}",
            where="--data.prompt_dataset",
            do="train on the train folder of that refresh",
        )
    return rows


def _column(published: PublishedSet, name: str) -> pa.ChunkedArray[Any]:
    """A column of the train shards, row by row, or a field of one."""
    column, *fields = name.split(".")
    try:
        parts = [
            pq.read_table(path, columns=[column])[column] for path, _ in published.source.tables["train"]
        ]
        found = pa.chunked_array([chunk for part in parts for chunk in part.chunks])
        for field in fields:
            found = pc.struct_field(found, field)
    except (KeyError, pa.ArrowInvalid) as error:
        raise UsageError(
            f"the train shards have no {name!r}",
            where=str(published.source.folder / "train"),
            do="name the column of the ground truth: tap(…, label=…)",
        ) from error
    return found


def _each(rewards: Any) -> Sequence[float]:
    """A list, a tensor, or one number for the one rollout that OpenRLHF passes at a time."""
    values = rewards.tolist() if hasattr(rewards, "tolist") else rewards
    return values if isinstance(values, list) else [values]
