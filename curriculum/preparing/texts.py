"""Prompts as the text by which they are compared, and other sets of prompts read for comparing with.

In: chats; names of evaluation sets and pools. Out: expressions, and frames of text.

Two prompts are compared by what is asked in them: the messages that are not the system's, which many prompts
of a set share.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from curriculum.errors import UsageError
from curriculum.pool.columns import Fault, Path, chats
from curriculum.pool.formats import Loaded, fingerprint, load_parts
from curriculum.pool.parts import PART_BYTES
from curriculum.pool.sources import Source, resolve
from curriculum.scoring.progress import View

PROMPT_COLUMNS = ("prompt", "question", "problem", "input", "instruction", "query", "text")
"""Where a set without a configured key keeps its prompts: the first of these that it has."""

TEXTS = pl.Schema({"set": pl.String, "place": pl.Int64, "text": pl.String})
"""`place` as in `curriculum.preparing.raw.UNREADABLE`."""


def asked() -> pl.Expr:
    """What the chat in column `prompt` asks; all of it where only the system speaks."""
    message = pl.element().struct
    of_user = pl.element().filter(message.field("role") != "system").struct.field("content")
    texts = pl.col("prompt").list.eval(of_user)
    everything = pl.col("prompt").list.eval(message.field("content"))
    return pl.when(texts.list.len() > 0).then(texts).otherwise(everything).list.join("\n")


def set_inputs(names: Sequence[str], key: str | None) -> list[object]:
    """What decides the texts of other sets, for the key of a stage.

    Raises:
        UsageError: one cannot be opened.
    """
    return [key, *((source.title, fingerprint(source)) for source in resolve(names))]


def read_texts(names: Sequence[str], key: str | None, view: View) -> pl.DataFrame:
    """The prompts of other sets as text, schema TEXTS; rows without a readable prompt are left out and said.

    Raises:
        UsageError: a set cannot be opened, has no column of prompts, or none that can be read.
    """
    frames = [_texts(source, key, view) for source in resolve(names)]
    return pl.concat(frames) if frames else pl.DataFrame(schema=TEXTS)


def _texts(source: Source, key: str | None, view: View) -> pl.DataFrame:
    texts: list[str] = []
    places: list[int] = []
    faults: list[str] = []
    for part in load_parts(source, part_bytes=PART_BYTES):
        faults += [str(row) for row in part.bad]
        if not len(part.rows):
            continue
        for place, chat in zip(part.numbers, chats(part.rows, _column(part, key)), strict=True):
            if isinstance(chat, Fault):
                faults.append(f"{part.file.path}, {part.unit} {place}: {chat.cause}")
                continue
            said = [content for role, content in chat if role != "system"]
            texts.append("\n".join(said or [content for _, content in chat]))
            places.append(place)
    if not texts:
        raise UsageError(
            "no prompt to compare with can be read",
            where=faults[0] if faults else source.title,
            do="name its column with --evaluation-key",
        )
    if faults:
        view.note(f"{source.title}: {len(faults):,} rows have no readable prompt; the first: {faults[0]}")
    return pl.DataFrame({"set": source.title, "place": places, "text": texts}, schema_overrides=dict(TEXTS))


def _column(part: Loaded, key: str | None) -> Path:
    if key is not None:
        return (key,) if key in part.columns else tuple(key.split("."))
    for name in PROMPT_COLUMNS:
        if name in part.columns:
            return (name,)
    raise UsageError(
        f"no column of prompts is among {', '.join(part.columns)}",
        where=part.file.path,
        do="name it with --evaluation-key",
    )
