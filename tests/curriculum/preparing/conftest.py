"""A raw pool with one row for every fate, and how to prepare it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from curriculum.config import Config, load_config
from curriculum.manifest import read_manifest
from curriculum.prepare import prepare
from curriculum.preparing.result import Prepared
from curriculum.scoring.progress import SilentView

FARM = (
    "A farmer has {} hens and {} geese. Every hen lays {} eggs a week. How many eggs does she collect in all?"
)
TOWN = (
    "In a town of {} people, {} percent own a bicycle and {} own two. How many bicycles are there together?"
)


def question(i: int) -> str:
    """A problem like no other: two templates, and names of its own for what they ask about."""
    words = [f"{name}{i}" for name in ("alder", "birch", "cedar", "dahlia", "elm", "fir")]
    return f"{(FARM, TOWN)[i % 2].format(i + 3, i * 7 + 1, i + 11)} She calls them {', '.join(words)}."


def rows_of_every_fate() -> list[tuple[dict[str, Any], str]]:
    """Rows, each with the decision that is due to it; the clean ones are many."""
    clean = [({"prompt": question(i), "answer": str(i)}, "keep_unscored") for i in range(30)]
    special = [
        ({"prompt": question(3), "answer": "3"}, "drop_duplicate"),  # the same prompt
        ({"prompt": question(4).replace("hens", "HENS"), "answer": "4.0"}, "drop_duplicate"),  # the same text
        ({"prompt": question(5).replace("together", "overall"), "answer": "5"}, "drop_duplicate"),  # alike
        ({"prompt": question(101), "answer": "1"}, "drop_contaminated"),
        ({"prompt": question(102), "answer": "proof"}, "suspect_reference"),
        ({"prompt": question(103), "answer": "3 mod <<"}, "suspect_reference"),
    ]
    return [*clean[:15], *special, *clean[15:]]


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(name="question")
def _question() -> Callable[[int], str]:
    return question


@pytest.fixture
def fates() -> list[str]:
    """The decision due to each row of `raw`."""
    return [fate for _, fate in rows_of_every_fate()]


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[[str, list[dict[str, Any]]], Path]:
    """Writes rows to a file of some name."""
    return lambda name, rows: write_jsonl(tmp_path / name, rows)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "raw.jsonl", [row for row, _ in rows_of_every_fate()])


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "evaluation.jsonl", [{"question": question(i)} for i in (101, 201, 202)])


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Config]:
    """The configuration of a preparation under `tmp_path`; keys with __ for dots."""

    def made(*sources: Path, **overrides: object) -> Config:
        dotted = {key.replace("__", "."): value for key, value in overrides.items()}
        return load_config(
            None,
            {
                "pool.sources": [str(source) for source in sources],
                "pool.default_verifier": "boxed",
                "verification.workers": 1,
                "prepare.sentinel": 0.0,
                "output.dir": str(tmp_path / "out"),
                **dotted,
            },
        )

    return made


@pytest.fixture
def prepared() -> Callable[..., Prepared]:
    """`prepare` without a view."""

    def run(config: Config, **options: Any) -> Prepared:
        return prepare(config, SilentView(), **options)

    return run


@pytest.fixture
def table() -> Callable[[Prepared, str], pl.DataFrame]:
    """A table of a published set, from the files that its manifest names."""

    def read(done: Prepared, name: str) -> pl.DataFrame:
        assert done.path is not None
        return pl.read_parquet([done.path / shard.name for shard in read_manifest(done.path).tables[name]])

    return read
