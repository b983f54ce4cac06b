"""The rows of the published train shards by number, for a trainer's data set.

In: a sampler. Out: `PublishedRows`, whose item i is row i of the set that the sampler draws from, also after
a `swap`: a data set of the trainer's own would go on with the rows of the old one.

A random read decodes one row group, 1,024 rows; the rows of a call are read group by group, and the latest
groups are kept. Loader workers have a copy of it from when they were started, so start a new iteration of the
loader after a swap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from curriculum.errors import UsageError
from curriculum.hooks.published import PublishedSet, refused
from curriculum.hooks.sampler import CurriculumSampler

_KEPT = 32
"""Decoded row groups."""


class PublishedRows:
    """A map-style data set; see the module."""

    def __init__(self, sampler: CurriculumSampler, columns: Sequence[str] | None = None) -> None:
        """Opens the shards.

        Args:
            sampler: whose rows these are.
            columns: those of the shards to read; all when not given.

        Raises:
            UsageError: a shard is missing or damaged, or the sampler draws from a part of the set.
        """
        self._sampler = sampler
        self._columns = list(columns) if columns is not None else None
        self._open(sampler.published)

    def __len__(self) -> int:
        return len(self._sampler.published)

    def __getitem__(self, row: int) -> dict[str, Any]:
        [found] = self.__getitems__([row])
        return found

    def __getitems__(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """The rows of a batch; torch's loaders call it where it is there."""
        if self._sampler.published is not self._published:
            self._open(self._sampler.published)
        wanted = np.asarray(rows, dtype=np.int64)
        if wanted.size and not 0 <= wanted.min() <= wanted.max() < len(self):
            raise IndexError(f"rows {wanted.min()} to {wanted.max()} of a set of {len(self)}")
        groups = np.searchsorted(self._ends, wanted, side="right")
        found: list[dict[str, Any]] = [{}] * len(rows)
        for group in np.unique(groups).tolist():
            here = np.flatnonzero(groups == group)
            offsets = wanted[here] - self._ends[group] + self._sizes[group]
            taken = self._group(group).take(pa.array(offsets)).to_pylist()
            for place, row in zip(here.tolist(), taken, strict=True):
                found[place] = row
        return found

    def _open(self, published: PublishedSet) -> None:
        if published.rows is not None:
            raise UsageError(
                "the sampler draws from a part of the set, whose rows have other numbers",
                where=str(published.source.folder),
                do="read the rows from the data set that the part was made for",
            )
        places, sizes = [], []
        for path, _ in published.source.tables["train"]:
            with refused(path):
                metadata = pq.read_metadata(path)
            for group in range(metadata.num_row_groups):
                places.append((path, group))
                sizes.append(metadata.row_group(group).num_rows)
        self._published, self._places = published, places
        self._sizes = np.array(sizes, dtype=np.int64)
        self._ends = np.cumsum(self._sizes)
        self._kept: dict[int, pa.Table] = {}

    def _group(self, group: int) -> pa.Table:
        table = self._kept.pop(group, None)
        if table is None:
            path, place = self._places[group]
            with refused(path), pq.ParquetFile(path) as file:
                table = file.read_row_group(place, columns=self._columns, use_threads=False)
        self._kept[group] = table
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return table
