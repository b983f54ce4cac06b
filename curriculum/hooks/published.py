"""A published set as compact columns: what a sampler needs of 5 million prompts, and nothing of their text.

In: an output folder (its newest set) or a refresh folder. Out: `PublishedSet`, whose row i is row i of
the train shards, read one after the other. About 40 bytes a prompt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from curriculum.errors import UsageError
from curriculum.hooks.ids import IdIndex, Rows, parse_column
from curriculum.hooks.manifest import Source, find_source

Floats: TypeAlias = NDArray[np.float32]

_HARD_RESERVE = "keep_hard_reserve"
_BATCH_ROWS = 2**16
_READERS = 4


@dataclass(frozen=True, kw_only=True)
class PublishedSet:
    """The prompts of one refresh, a row each; arrays of one length, some of them read when first used."""

    source: Source
    ids: IdIndex
    alpha: Floats  # the posterior Beta of a prompt's pass rate
    beta: Floats
    domain: NDArray[np.uint16]  # an index into `domains`
    domains: tuple[str, ...]
    rows: Rows | None = None  # which of the published ones these are, in order; None: all

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def identity(self) -> str:
        """Names these rows: two sets of one identity have one order."""
        if self.rows is None:
            return self.source.manifest_hash
        digest = blake2b(self.rows.astype("<i8").tobytes(), digest_size=16).hexdigest()
        return f"{self.source.manifest_hash}/{digest}"

    def part(self, rows: Rows) -> PublishedSet:
        """The rows `rows` as a set of their own, for a trainer that has only these; they are in order."""
        if rows.size == len(self):
            return self
        return replace(
            self,
            ids=IdIndex(self.ids.words(rows), where=str(self.source.folder)),
            alpha=self.alpha[rows],
            beta=self.beta[rows],
            domain=self.domain[rows],
            rows=rows if self.rows is None else self.rows[rows],
        )

    @cached_property
    def weight(self) -> Floats:
        """Mean 1 in the set."""
        return _number_column(self, "weight", np.float32)

    @cached_property
    def pass_rate(self) -> Floats:
        """The posterior mean."""
        return _number_column(self, "pass_rate", np.float32)

    @cached_property
    def p_mixed(self) -> Floats:
        """The chance that a group of the trainer's size varies."""
        return _number_column(self, "p_mixed", np.float32)

    @cached_property
    def max_tokens(self) -> NDArray[np.int32]:
        """The length cap."""
        return _number_column(self, "max_tokens", np.int32)

    @cached_property
    def hard_reserve(self) -> NDArray[np.bool_]:
        """Kept as likely to be solved, though no rollout was right."""
        return _hard_reserve(self.source, self.ids)

    @property
    def learnability(self) -> Floats:
        """E[p(1-p)] = ab / ((a+b)(a+b+1)); exact, as alpha and beta keep the posterior's two moments."""
        total = self.alpha + self.beta
        return np.asarray(self.alpha * self.beta / (total * (total + 1)), dtype=np.float32)


def open_published(folder: Path) -> PublishedSet:
    """Reads the set of a refresh folder, or the newest set of an output folder.

    Raises:
        UsageError: there is none; a file is missing, cut short or not what the manifest says.
    """
    source = find_source(folder)
    rows = source.rows("train")
    words = np.empty((rows, 2), dtype=np.uint64, order="F")  # the index takes its columns as they are
    domain = np.empty(rows, dtype=np.uint16)
    codes: dict[str, int] = {}
    start = 0
    for batch in _read(source, "train", ["prompt_id", "domain"]):
        here = slice(start, start + batch.num_rows)
        words[here] = parse_column(batch["prompt_id"], where=f"{source.folder}/train")
        domain[here] = _codes(batch["domain"], codes)
        start += batch.num_rows
    ids = IdIndex(words, where=f"{source.folder}/train")
    del words
    alpha, beta = _posteriors(source, ids)
    pa.default_memory_pool().release_unused()  # the trainer needs the memory more than a next reading does
    return PublishedSet(
        source=source,
        ids=ids,
        alpha=alpha,
        beta=beta,
        domain=domain,
        domains=tuple(codes),
    )


def name_only(source: Source) -> PublishedSet:
    """The set without its prompts, for processes that write evidence and draw nothing."""
    none = np.empty(0, dtype=np.float32)
    return PublishedSet(
        source=source,
        ids=IdIndex(np.empty((0, 2), dtype=np.uint64), where=str(source.folder)),
        alpha=none,
        beta=none,
        domain=np.empty(0, dtype=np.uint16),
        domains=(),
    )


def _read(source: Source, table: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The columns of a table, in order, from the files that the manifest names.

    A few threads read ahead: Arrow decodes without the interpreter's lock.
    """
    repeated = [column for column in columns if column in ("domain", "decision")]

    def part(path: Path, metadata: pq.FileMetaData, groups: list[int]) -> list[pa.RecordBatch]:
        with refused(path), pq.ParquetFile(path, metadata=metadata, read_dictionary=repeated) as file:
            return file.read_row_groups(groups, columns=columns).combine_chunks().to_batches()

    with ThreadPoolExecutor(_READERS) as readers:
        ahead: deque[Future[list[pa.RecordBatch]]] = deque()
        for path, rows in source.tables[table]:
            with refused(path):
                metadata = pq.read_metadata(path)
            if metadata.num_rows != rows:
                raise UsageError(
                    f"a shard has {metadata.num_rows} rows, the manifest says {rows}",
                    where=str(path),
                    do="copy the refresh folder again",
                )
            for groups in _row_groups(metadata):
                ahead.append(readers.submit(part, path, metadata, groups))
                if len(ahead) > _READERS:
                    yield from ahead.popleft().result()
        for waiting in ahead:
            yield from waiting.result()


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Turns a file that is missing or damaged into an error that says so."""
    try:
        yield
    except FileNotFoundError as error:
        raise UsageError(
            "a file that the manifest names is missing", where=str(path), do="copy the refresh folder again"
        ) from error
    except (pa.ArrowInvalid, KeyError, OSError) as error:
        raise UsageError(
            "a file of the refresh cannot be read",
            where=f"{path}: {error}",
            do="copy the refresh folder again",
        ) from error


def _row_groups(metadata: pq.FileMetaData) -> Iterator[list[int]]:
    """The row groups of a file in runs of about _BATCH_ROWS rows: many small reads take longer than one."""
    count = metadata.num_row_groups
    run = max(1, _BATCH_ROWS * count // max(1, metadata.num_rows))
    for start in range(0, count, run):
        yield list(range(start, min(start + run, count)))


def _number_column(published: PublishedSet, name: str, dtype: type[np.generic]) -> NDArray[Any]:
    """A column of the train shards, for the rows of the set."""
    source = published.source
    column = np.empty(source.rows("train"), dtype=dtype)
    start = 0
    for batch in _read(source, "train", [name]):
        column[start : start + batch.num_rows] = _numbers(batch[name])
        start += batch.num_rows
    return column if published.rows is None else column[published.rows]


def _codes(column: pa.Array[Any], codes: dict[str, int]) -> NDArray[np.uint16]:
    """The column as indices into `codes`, which grows as domains are met."""
    names, places = _dictionary(column)
    own = np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.uint16)
    return np.asarray(own[places])


def _numbers(column: pa.Array[Any]) -> NDArray[Any]:
    """A column as numpy sees it, null as NaN. Arrow's own to_numpy would import pandas."""
    return np.from_dlpack(column.fill_null(np.nan) if column.null_count else column)


def _dictionary(column: pa.Array[Any]) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct values of a column of strings, and the place of each entry among them."""
    if not isinstance(column, pa.DictionaryArray):
        column = column.dictionary_encode()
    return [str(name) for name in column.dictionary.to_pylist()], _numbers(column.indices)


def _posteriors(source: Source, ids: IdIndex) -> tuple[Floats, Floats]:
    """alpha and beta of every row, from the groups."""
    both = np.full((2, len(ids)), np.nan, dtype=np.float32)
    for batch in _read(source, "groups", ["prompt_id", "alpha", "beta"]):
        rows = ids.find(parse_column(batch["prompt_id"], where=f"{source.folder}/groups.parquet"))
        here = rows >= 0
        for side, name in enumerate(("alpha", "beta")):
            both[side, rows[here]] = _numbers(batch[name])[here]
    if missing := int(np.isnan(both[0]).sum()):
        raise UsageError(
            f"{missing} prompts of the set have no group",
            where=f"{source.folder}/groups.parquet",
            do="publish the set again with `curriculum refresh`",
        )
    return both[0], both[1]


def _hard_reserve(source: Source, ids: IdIndex) -> NDArray[np.bool_]:
    """Which rows are of the hard reserve, from the decisions."""
    hard = np.zeros(len(ids), dtype=np.bool_)
    for batch in _read(source, "decisions", ["prompt_id", "decision"]):
        names, places = _dictionary(batch["decision"])
        if _HARD_RESERVE not in names:
            continue
        words = parse_column(batch["prompt_id"], where=f"{source.folder}/decisions.parquet")
        found = ids.find(words[places == names.index(_HARD_RESERVE)])
        hard[found[found >= 0]] = True
    return hard
