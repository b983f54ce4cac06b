"""The rows of a trainer's data set as rows of the published set, by prompt id.

In: a published set and the ids of a data set that was read from its shards. Out: the part of the set that the
data set has, and where each of its rows is there. A trainer that drops long prompts, or takes a sample, has
fewer rows than the set and other numbers for them, so position says nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from curriculum.errors import UsageError
from curriculum.hooks.ids import Rows, Words, ids_text, parse_column
from curriculum.hooks.published import PublishedSet


class Matched(NamedTuple):
    """Row i of `part` is row `place[i]` of the data set."""

    part: PublishedSet
    place: Rows


def read_ids(dataset: Any, *, where: str) -> Words:
    """The ids of a Hugging Face `Dataset`, in the order of its rows.

    Raises:
        UsageError: it has no prompt_id column, or something else in it.
    """
    if "prompt_id" not in dataset.column_names:
        raise UsageError(
            "the training data has no prompt_id column",
            where=where,
            do="train on the shards that `curriculum refresh` has published, refreshes/<id>/train/*.parquet",
        )
    table = dataset.select_columns(["prompt_id"]).with_format("arrow")[:]
    column = table["prompt_id"].cast(pa.string()).combine_chunks()
    return parse_column(column, where=where)


def match(published: PublishedSet, ids: Words, *, where: str) -> Matched:
    """The part of the set that has `ids`.

    Raises:
        UsageError: a row is not of the set, or is there twice.
    """
    rows = published.ids.find(ids)
    if strangers := int((rows < 0).sum()):
        raise UsageError(
            f"{strangers} of the {len(rows)} rows of the training data are not of the set "
            f"{published.source.refresh_id}, the first is {ids_text(ids[rows < 0][:1])[0]}",
            where=where,
            do=f"train on {published.source.folder}/train/*.parquet, or name the set of these files as `out`",
        )
    place = np.argsort(rows, kind="stable")
    kept = rows[place]
    if twice := np.flatnonzero(kept[1:] == kept[:-1]).tolist():
        raise UsageError(
            f"prompt_id {ids_text(ids[place[twice[:1]]])[0]} is in the training data twice",
            where=where,
            do="name every shard once",
        )
    return Matched(published.part(kept), place)
