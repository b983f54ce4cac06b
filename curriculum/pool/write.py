"""Writes chosen prompts in a trainer's own schema, with what was measured of them beside.

In: a `Pool`, the chosen rows with their weights and caps, a layout. Out: an Arrow table in the order
of the choice, of plain types, whose schema depends on the pool and the layout and never on the rows.

    prompt_id string, weight, pass_rate, p_mixed double, max_tokens int32, domain string

are appended, and replace original columns of these names. In the pool's own layout ("same", or its name
where its prompt and reference are where the layout has them) every other original column stays as it
was. Else prompt, reference and domain move to the layout's columns and all others are carried along.

    verl       data_source, prompt, ability (the domain), reward_model{style, ground_truth},
               extra_info{split, index (the row in the pool)}
    trl        prompt, solution
    openrlhf   input, label, datasource   (a chat: set --data.apply_chat_template)
    skyrl      data_source, prompt, reward_spec{method, ground_truth}, extra_info{split, index}
    slime      prompt, label, metadata{prompt_id, domain}
    nemo_rl    input (the text of the only message, of the user), output
    native     prompt, verifier, reference (JSON), domain

Prompts are written as chats but for nemo_rl. A ground truth is the bare answer where reading it back gives
the same reference, else the reference as JSON. `ability`, `extra_info` and `metadata` of the original row are
kept.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import polars as pl
import pyarrow as pa

from curriculum.errors import UsageError
from curriculum.pool.arrow import in_one_piece, plain_table
from curriculum.pool.layouts import Layout, ground_truth_of
from curriculum.pool.read import Pool

_EXTRA: dict[str, pa.DataType] = {
    "prompt_id": pa.string(),
    "weight": pa.float64(),
    "pass_rate": pa.float64(),
    "p_mixed": pa.float64(),
    "max_tokens": pa.int32(),
    "domain": pa.string(),
}
EXTRA = pa.schema(_EXTRA)
"""The columns every published row carries."""

CHAT = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))

Target = Literal["same", "verl", "trl", "openrlhf", "skyrl", "nemo_rl", "slime", "native"]

_ROWS = 10_000
"""Rows written at a time: plain types hold at most 2 GiB of text in one piece."""

_YIELDING = {"ability", "extra_info", "metadata"}
"""Made only where the original rows have no such column of their own."""


def check(pool: Pool, layout: Target) -> None:
    """Refuses, before anything is scored, a pool that cannot be written in `layout`.

    Raises:
        UsageError: a prompt has a form that the layout has no place for.
    """
    if layout != "nemo_rl" or pool.layout == layout:
        return
    messages = pl.col("prompt").list
    single = (messages.len() == 1) & (messages.first().struct.field("role") == "user")
    if (others := pool.frame.filter(~single)).height:
        raise UsageError(
            f"{others.height} prompts are not a single message of the user, which is all that nemo_rl holds",
            where=f'output.layout = "nemo_rl"; row {others["row"][0]} is the first',
            do='publish as "native", with a processor of your own in NeMo-RL, or leave these prompts out',
        )


def export(pool: Pool, chosen: pl.DataFrame, layout: Target) -> pa.Table:
    """The rows of `chosen`, in its order, in `layout` ("same" is the pool's own).

    Args:
        pool: where the rows come from.
        chosen: one row a prompt: `row`, its place in the pool, and the columns of EXTRA.
        layout: the schema to write.
    """
    source = in_one_piece(pool.source)
    parts = list(chosen.iter_slices(_ROWS)) or [chosen]
    return pa.concat_tables([_export(pool, source, part, layout) for part in parts])


def _export(pool: Pool, source: pa.Table, chosen: pl.DataFrame, layout: Target) -> pa.Table:
    rows = chosen["row"].cast(pl.Int64)
    table = plain_table(source.take(pa.array(rows.to_list(), pa.int64())))
    if layout != "same" and not (layout == pool.layout and pool.keys.customary):
        table = _converted(pool, rows, table, layout)
    table = table.drop_columns([name for name in EXTRA.names if name in table.column_names])
    for field in EXTRA:
        table = table.append_column(field, chosen[field.name].to_arrow().cast(field.type))
    return table


def _converted(pool: Pool, rows: pl.Series, source: pa.Table, layout: Layout) -> pa.Table:
    """The rows in another layout, followed by the columns whose meaning was not known."""
    made = _columns(pool.frame[rows], layout)
    rest = [
        name
        for name in source.column_names
        if name not in pool.keys.replaced and (name not in made or name in _YIELDING)
    ]
    table = pa.table({name: column for name, column in made.items() if name not in rest})
    for name in rest:
        table = table.append_column(source.schema.field(name), source[name])
    return table


def _columns(frame: pl.DataFrame, layout: Layout) -> dict[str, pa.Array[Any]]:
    """The columns of a layout, in its customary order."""
    prompt = frame["prompt"].to_arrow().cast(CHAT)
    domain = frame["domain"].to_arrow().cast(pa.string())
    if layout == "native":
        texts = {name: frame[name].to_arrow().cast(pa.string()) for name in ("verifier", "reference")}
        return {"prompt": prompt, **texts}
    truth = pa.array(
        [
            ground_truth_of(json.loads(reference), reference, verifier)
            for reference, verifier in frame.select("reference", "verifier").iter_rows()
        ],
        pa.string(),
    )
    if layout == "trl":
        return {"prompt": prompt, "solution": truth}
    if layout == "openrlhf":
        return {"input": prompt, "label": truth, "datasource": domain}
    if layout == "slime":
        metadata = frame.select(pl.struct("prompt_id", "domain").alias("metadata"))["metadata"]
        kinds = pa.struct([("prompt_id", pa.string()), ("domain", pa.string())])
        return {"prompt": prompt, "label": truth, "metadata": metadata.to_arrow().cast(kinds)}
    if layout == "nemo_rl":
        text = frame["prompt"].list.first().struct.field("content")
        return {"input": text.to_arrow().cast(pa.string()), "output": truth}
    rule, train = (pa.array([text] * frame.height, pa.string()) for text in ("rule", "train"))
    model = pa.StructArray.from_arrays([rule, truth], names=["style", "ground_truth"])
    info = pa.StructArray.from_arrays([train, frame["row"].to_arrow()], names=["split", "index"])
    if layout == "skyrl":
        spec = pa.StructArray.from_arrays([rule, truth], names=["method", "ground_truth"])
        return {"data_source": domain, "prompt": prompt, "reward_spec": spec, "extra_info": info}
    return {
        "data_source": domain,
        "prompt": prompt,
        "ability": domain,
        "reward_model": model,
        "extra_info": info,
    }
