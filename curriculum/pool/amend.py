"""Puts other references into a pool, in its own columns too, so that a trainer is given them as well.

In: a pool, and for some of its prompts another reference. Out: the pool with these, under new prompt_ids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from curriculum.errors import UsageError
from curriculum.pool.arrow import in_one_piece
from curriculum.pool.identity import canonical, digest
from curriculum.pool.layouts import ground_truth_of
from curriculum.pool.read import Pool

Place = tuple[int, str]
"""A row, and the ground truth to write there."""


def with_references(
    pool: Pool, references: Mapping[str, Mapping[str, object]], *, answer_after: str | None = None
) -> Pool:
    """The pool with other references for some prompts; ids that it does not have are left aside.

    Args:
        pool: as read.
        references: prompt_id to the new reference.
        answer_after: the mark behind which the answer stands in the original rows, see `ReadOptions`.

    Raises:
        UsageError: the pool keeps its references in something other than text.
    """
    chosen = pool.frame.filter(pl.col("prompt_id").is_in(list(references)))
    if chosen.is_empty():
        return pool
    changes, places = [], []
    for row, prompt_id, prompt, verifier in chosen.select(
        "row", "prompt_id", "prompt", "verifier"
    ).iter_rows():
        text = canonical(dict(references[prompt_id]))
        messages = [(message["role"], message["content"]) for message in prompt]
        changes.append((row, digest(messages, verifier, text), text))
        truth = ground_truth_of(json.loads(text), text, verifier)
        places.append((row, f"{answer_after} {truth}" if answer_after else truth))
    schema = {"row": pl.Int64, "prompt_id": pl.String, "reference": pl.String}
    frame = pool.frame.update(pl.DataFrame(changes, schema, orient="row"), on="row")
    return replace(pool, frame=frame, source=_written(pool, places))


def _written(pool: Pool, places: list[Place]) -> pa.Table:
    """The original rows with these ground truths in the column of the reference."""
    name, *fields = pool.keys.reference
    table = in_one_piece(pool.source)
    index = table.schema.get_field_index(name)
    column = pa.concat_arrays(table.column(index).chunks)
    changed = _put(column, tuple(fields), sorted(places), ".".join(pool.keys.reference))
    return table.set_column(index, table.schema.field(index), changed)


def _put(array: pa.Array[Any], fields: tuple[str, ...], places: list[Place], where: str) -> pa.Array[Any]:
    if fields and pa.types.is_struct(array.type):
        children = cast(pa.StructArray, array).flatten()
        at = array.type.get_field_index(fields[0])
        children[at] = _put(children[at], fields[1:], places, where)
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=array.is_null())
    refusal = UsageError(
        f"a reviewed reference cannot be written into a column of type {array.type}",
        where=f"column {where} of the pool",
        do="mend these references in the pool itself, and take them out of the review",
    )
    if fields:  # inside JSON text
        raise refusal
    try:
        changed = pa.array([text for _, text in places]).cast(array.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise refusal from error
    mask = np.zeros(len(array), dtype=bool)
    mask[[row for row, _ in places]] = True
    return cast("pa.Array[Any]", pc.replace_with_mask(array, pa.array(mask), changed))
