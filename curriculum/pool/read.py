"""Reads a prompt pool: any mix of sources in one schema, checked row by row.

In: names of sources and `ReadOptions`. Out: a `Pool`: the canonical frame, the original rows beside it,
and an account of what was read and what could not be.

    resolve names -> load each source -> recognise the layout -> take prompts, ground truths, domains
      -> name each row's verifier -> hash -> leave out or refuse bad rows -> frame

All sources are one table to the trainer, so they must agree in their columns and types. `large_`
kinds, the order of struct fields and columns that are null throughout a file are storage, not schema.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import polars as pl
import pyarrow as pa

from curriculum.errors import UsageError
from curriculum.pool.arrow import agree, align
from curriculum.pool.columns import Fault, chats, values
from curriculum.pool.formats import BadRow, Loaded, SourceFile, load
from curriculum.pool.identity import Messages, canonical, digest
from curriculum.pool.judges import domain_names, verifier_names
from curriculum.pool.layouts import (
    Keys,
    Layout,
    ReadOptions,
    answer_after,
    find_keys,
    reference_of,
    with_entry_point,
)
from curriculum.pool.sources import resolve

FRAME = pl.Schema(
    [
        ("row", pl.Int64()),  # place in the pool as read, 0..
        ("prompt_id", pl.String()),
        ("prompt", pl.List(pl.Struct({"role": pl.String, "content": pl.String}))),
        ("verifier", pl.String()),
        ("reference", pl.String()),  # canonical JSON of an object
        ("domain", pl.String()),
    ]
)


@dataclass(frozen=True)
class Pool:
    """A pool as read; equal prompts are all there, under one prompt_id."""

    frame: pl.DataFrame
    """Columns as in FRAME, in the order of the sources."""
    source: pa.Table
    """The original rows with their own columns and types; row i belongs to `frame` row i."""
    keys: Keys
    """The layout, and which original columns were understood."""
    files: tuple[SourceFile, ...]
    bad_rows: tuple[BadRow, ...] = ()
    """The rows left out because they could not be read."""

    @property
    def layout(self) -> Layout:
        """The layout of the original rows."""
        return self.keys.layout

    @cached_property
    def distinct(self) -> pl.DataFrame:
        """The first row of every prompt."""
        return self.frame.unique(subset="prompt_id", keep="first", maintain_order=True)

    @cached_property
    def content_hash(self) -> str:
        """The same for any order of rows, any split into files, and any number of repetitions."""
        return content_hash(self.frame)


def content_hash(frame: pl.DataFrame) -> str:
    """SHA-256 over the canonical JSON of the distinct (prompt_id, domain) pairs of `frame`, sorted."""
    pairs = frame.select("prompt_id", "domain").unique().sort("prompt_id", "domain")
    digest = hashlib.sha256(b"[")
    for number, pair in enumerate(pairs.iter_rows()):
        digest.update(f"{',' if number else ''}{canonical(pair)}".encode())
    digest.update(b"]")
    return digest.hexdigest()


@dataclass(slots=True)
class Rows:
    """The good rows of one source, or of a part of it, column by column, and their places in it; messages
    lie flat, `lengths` of them a row."""

    kept: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    contents: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    verifiers: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    bad: list[BadRow] = field(default_factory=list)


def read_pool(sources: Sequence[str], options: ReadOptions) -> Pool:
    """Reads `sources` into one pool.

    Raises:
        UsageError: a source cannot be opened; no layout fits; files differ in schema; a domain has no
            verifier or a verifier is unknown; rows cannot be read (unless `skip_bad_rows`); nothing is left.
    """
    with collector_paused():
        return _read_pool(sources, options)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Millions of small objects are made here and kept: the cyclic collector would walk them over and
    over, which takes a third of the time, to find nothing."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _read_pool(sources: Sequence[str], options: ReadOptions) -> Pool:
    loaded = [load(source) for source in resolve(sources)]
    with_rows = [part for part in loaded if len(part.rows)]
    bad = [row for part in loaded for row in part.bad]
    if not with_rows:
        stop_at(bad, options)
        raise UsageError("the pool is empty", where=", ".join(sources), do="name a source that has rows")
    agree([(part.file.path, part.rows) for part in with_rows if isinstance(part.rows, pa.Table)])
    columns = list(dict.fromkeys(name for part in with_rows for name in part.columns))
    keys = find_keys(columns, options, where=with_rows[0].file.path)
    rows = [read_rows(part, keys, options) for part in with_rows]
    bad += [row for part in rows for row in part.bad]
    stop_at(bad, options)
    if not any(part.kept for part in rows):
        raise UsageError("no row of the pool can be read", where=str(bad[0]), do="mend the rows")
    kept = [(part.file.path, part.rows, good.kept) for part, good in zip(with_rows, rows, strict=True)]
    return Pool(frame_of(rows), align(kept), keys, tuple(part.file for part in loaded), tuple(bad))


def stop_at(bad: Sequence[BadRow], options: ReadOptions) -> None:
    """Refuses a pool with rows that cannot be read, unless they are to be skipped.

    Raises:
        UsageError: names the first of them.
    """
    if bad and not options.skip_bad_rows:
        rows = "row" if len(bad) == 1 else "rows"
        raise UsageError(
            f"{len(bad)} {rows} cannot be read" + ("; the first 5:" if len(bad) > 5 else ""),
            where="\n".join(str(row) for row in bad[:5]),
            do="mend them, or leave them out and count them with --skip-bad-rows",
        )


def read_rows(part: Loaded, keys: Keys, options: ReadOptions) -> Rows:
    """Takes, judges and hashes every row of a source, or of a part of it.

    Raises:
        UsageError: a domain has no verifier, or a verifier is not known or cannot be loaded.
    """
    nothing = [None] * len(part.rows)
    prompts = chats(part.rows, keys.prompt)
    truths = [answer_after(truth, options.answer_after) for truth in values(part.rows, keys.reference)]
    sources = values(part.rows, keys.domain) if keys.domain else nothing
    domains = domain_names(sources, options)
    own = values(part.rows, keys.verifier) if keys.verifier else nothing
    called = values(part.rows, ("entry_point",)) if "entry_point" in part.columns else nothing
    verifiers = verifier_names(own, domains, options, where=part.file.path)
    rows = Rows()
    for i, (prompt, truth, verifier) in enumerate(zip(prompts, truths, verifiers, strict=True)):
        source = sources[i]
        found = source if isinstance(source, Fault) else _hashed(prompt, truth, verifier, called[i])
        if isinstance(found, Fault):
            rows.bad.append(BadRow(part.file.path, part.numbers[i], found.cause, part.unit))
            continue
        messages, reference, identity = found
        rows.kept.append(i)
        rows.ids.append(identity)
        rows.roles.extend([role for role, _ in messages])
        rows.contents.extend([content for _, content in messages])
        rows.lengths.append(len(messages))
        rows.verifiers.append(verifier)
        rows.references.append(reference)
        rows.domains.append(domains[i])
    return rows


def _hashed(
    prompt: Messages | Fault, truth: object, verifier: str, called: object
) -> tuple[Messages, str, str] | Fault:
    """The messages, the reference as canonical JSON and the prompt_id of a row."""
    if isinstance(prompt, Fault):
        return prompt
    if isinstance(truth, Fault):
        return Fault(f"the reference: {truth.cause}")
    try:
        reference = reference_of(truth, verifier, _said_by("system", prompt))
    except ValueError as error:
        return Fault(f"the reference: {error}")
    if reference is None:
        return Fault("the reference is missing")
    if isinstance(called, str) and verifier == "unit_tests":
        reference = with_entry_point(reference, called, _said_by("user", prompt))
    try:
        text = canonical(reference)
        return prompt, text, digest(prompt, verifier, text)
    except (TypeError, ValueError, RecursionError) as error:
        return Fault(f"the reference cannot be written as JSON: {error}")


def _said_by(role: str, prompt: Messages) -> str:
    return "\n".join([content for speaker, content in prompt if speaker == role])


def frame_of(parts: Sequence[Rows], *, first_row: int = 0) -> pl.DataFrame:
    """The canonical frame, rows counted from `first_row`; built from flat columns, since a list of a million
    dicts is slow."""
    roles = pa.array([role for part in parts for role in part.roles], pa.large_string())
    contents = pa.array([content for part in parts for content in part.contents], pa.large_string())
    messages = pa.StructArray.from_arrays([roles, contents], names=["role", "content"])
    offsets = pa.array(accumulate([0, *(length for part in parts for length in part.lengths)]), pa.int64())
    columns = {
        "prompt_id": [identity for part in parts for identity in part.ids],
        "prompt": pl.from_arrow(pa.LargeListArray.from_arrays(offsets, messages)),
        "verifier": [name for part in parts for name in part.verifiers],
        "reference": [text for part in parts for text in part.references],
        "domain": [domain for part in parts for domain in part.domains],
    }
    frame = pl.DataFrame(columns).with_row_index("row", offset=first_row)
    return frame.cast({"row": pl.Int64}).select(list(FRAME)).cast(FRAME)
