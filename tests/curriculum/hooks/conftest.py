"""Small published sets, written as `curriculum.publish` writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curriculum.hooks import CurriculumSampler, Evidence, Recipe, open_published

EIGHT = Recipe(batch_size=8)
opened = cache(open_published)


def prompt_id(number: int) -> str:
    return hashlib.blake2b(str(number).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Written:
    """A set on disk, and the ids of its train rows in order."""

    folder: Path
    ids: list[str]

    @property
    def out(self) -> Path:
        return self.folder.parent.parent

    def order(self, recipe: Recipe, steps: int) -> list[list[str]]:
        """The prompt ids of the first batches of a run."""
        run, batches = CurriculumSampler(self.folder, recipe, evidence=Evidence(None)), []
        while len(batches) < steps:
            batches += [run.prompt_ids(rows) for rows in run.batches()]
        return batches[:steps]

    def evidence(self) -> list[dict[str, object]]:
        """What was observed: the lines of all files but their first ones."""
        files = sorted((self.out / "evidence").rglob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()[1:]]


def write_set(
    out: Path,
    refresh_id: str,
    numbers: list[int],
    *,
    domains: tuple[str, ...] = ("sums", "more"),
    hard_every: int = 10,
    shards: int = 2,
) -> Written:
    """Prompts by number: n is of domain n % len(domains), and every `hard_every`-th is hard reserve."""
    folder = out / "refreshes" / refresh_id
    (folder / "train").mkdir(parents=True)
    order = np.random.default_rng(7).permutation(numbers).tolist()
    alpha = {n: 0.5 + n % 7 for n in numbers}
    beta = {n: 0.5 + n % 5 for n in numbers}
    tables: dict[str, list[dict[str, object]]] = {"train": [], "groups": [], "decisions": []}

    def put(table: str, name: str, columns: dict[str, object]) -> None:
        written = pa.table(columns)
        pq.write_table(written, folder / name, row_group_size=16)
        tables[table].append({"name": name, "rows": written.num_rows, "bytes": 0, "sha256": ""})

    for shard, part in enumerate(np.array_split(order, shards)):
        rows = part.tolist()
        put(
            "train",
            f"train/shard-{shard:05d}-of-{shards:05d}.parquet",
            {
                "prompt": [f"prompt {n}" for n in rows],
                "prompt_id": [prompt_id(n) for n in rows],
                "weight": pa.array([0.5 + n % 3 for n in rows], pa.float64()),
                "pass_rate": pa.array([alpha[n] / (alpha[n] + beta[n]) for n in rows], pa.float64()),
                "p_mixed": pa.array([0.5] * len(rows), pa.float64()),
                "max_tokens": pa.array([64] * len(rows), pa.int32()),
                "domain": pa.array([domains[n % len(domains)] for n in rows], pa.string()),
            },
        )
    by_id = sorted(numbers, key=prompt_id)
    put(
        "groups",
        "groups.parquet",
        {
            "prompt_id": [prompt_id(n) for n in by_id],
            "alpha": pa.array([alpha[n] for n in by_id], pa.float64()),
            "beta": pa.array([beta[n] for n in by_id], pa.float64()),
        },
    )
    kinds = ["keep_hard_reserve" if n % hard_every == 0 else "keep_mixed" for n in numbers]
    put(
        "decisions",
        "decisions.parquet",
        {
            "prompt_id": [prompt_id(n) for n in [*numbers, -1]],
            "decision": pa.array([*kinds, "drop_solved"], pa.string()),
        },
    )
    manifest = {
        "schema_version": 1,
        "refresh_id": refresh_id,
        "checkpoint": {"name": "step_0"},
        "tables": tables,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (out / "LATEST").write_text(f"{refresh_id}\n")
    return Written(folder, [prompt_id(n) for n in order])


@pytest.fixture(scope="session")
def publish() -> Callable[..., Written]:
    """Writes a set; see `write_set`."""
    return write_set


@pytest.fixture(scope="session")
def ids_of() -> Callable[[list[int]], list[str]]:
    """The ids of prompts by number."""
    return lambda numbers: [prompt_id(number) for number in numbers]


@pytest.fixture
def small(tmp_path: Path) -> Written:
    """103 prompts of two domains, eleven of them hard reserve."""
    return write_set(tmp_path, "step_0-00000000", list(range(103)))


def make_sampler(written: Written, recipe: Recipe = EIGHT, **more: Any) -> CurriculumSampler:
    """A sampler that keeps no evidence."""
    return CurriculumSampler(opened(written.folder), recipe, evidence=Evidence(None), **more)


def endless_batches(run: CurriculumSampler) -> Iterator[tuple[int, list[str]]]:
    """Numbers and ids of batches, epoch after epoch."""
    while True:
        for number, rows in run.numbered():
            yield number, run.prompt_ids(rows)


def train_steps(run: CurriculumSampler, steps: int, *, ahead: int = 0) -> list[list[str]]:
    """What a trainer trains in `steps` steps whose loader fetches `ahead` batches early."""
    source, queue, trained = endless_batches(run), [], []
    for _ in range(steps):
        while len(queue) <= ahead:
            queue.append(next(source))
        number, ids = queue.pop(0)
        run.trained(number)
        trained.append(ids)
    return trained


@pytest.fixture(scope="session")
def make() -> Callable[..., CurriculumSampler]:
    """Makes a sampler; see `make_sampler`."""
    return make_sampler


@pytest.fixture(scope="session")
def endless() -> Callable[..., Iterator[tuple[int, list[str]]]]:
    """Draws for ever; see `endless_batches`."""
    return endless_batches


@pytest.fixture(scope="session")
def train() -> Callable[..., list[list[str]]]:
    """Trains; see `train_steps`."""
    return train_steps
