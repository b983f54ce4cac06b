"""Copies at URLs: the manifest commits, and nothing that it does not name is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem

from curriculum.config import load_config
from curriculum.errors import EngineError, UsageError
from curriculum.prepare import prepare
from curriculum.preparing.result import Prepared
from curriculum.refresh import refresh
from curriculum.scoring.progress import SilentView
from curriculum.stores import Store, open_store


class Refusing(DirFileSystem):
    """A folder behind fsspec that refuses every put after the first few."""

    protocol = "refusing"

    def __init__(self, path: str, puts: int) -> None:
        super().__init__(path, LocalFileSystem())
        self.puts = puts

    def put_file(self, *args: Any, **options: Any) -> None:
        self.puts -= 1
        if self.puts < 0:
            raise OSError("no more today")
        super().put_file(*args, **options)


class Cutting(DirFileSystem):
    """A folder behind fsspec that loses the end of every file."""

    protocol = "cutting"

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        self.pipe_file(rpath, Path(lpath).read_bytes()[:-1])


@pytest.fixture
def memory() -> Iterator[str]:
    """A URL of an empty store in memory."""
    filesystem = fsspec.filesystem("memory")
    yield "memory://bucket/prepared"
    if filesystem.exists("/bucket"):
        filesystem.rm("/bucket", recursive=True)


@pytest.fixture
def publish(tmp_path: Path) -> Callable[..., Prepared]:
    """Prepares a pool of as many rows as asked for and copies the set to a URL, if there is one."""

    def run(rows: int, url: str | None = None) -> Prepared:
        path = tmp_path / f"raw-{rows}.jsonl"
        problems = [{"prompt": f"{'word ' * i}{i}?", "answer": str(i)} for i in range(rows)]
        path.write_text("".join(json.dumps(problem) + "\n" for problem in problems))
        settings = {"pool.sources": [str(path)], "pool.default_verifier": "boxed", "output.shard_rows": 10}
        settings |= {"prepare.check_references": False, "prepare.sentinel": 2}
        settings |= {"output.dir": str(tmp_path / "out"), "output.url": url}
        return prepare(load_config(None, settings), SilentView())

    return run


def read(url: str, table: str = "train") -> pl.DataFrame:
    """A table of the newest set at a URL, as any reader with fsspec reads it."""
    filesystem, root = fsspec.core.url_to_fs(url)
    folder = f"{root}/refreshes/{filesystem.cat_file(f'{root}/LATEST').decode().strip()}"
    shards = json.loads(filesystem.cat_file(f"{folder}/manifest.json"))["tables"][table]
    frames = []
    for shard in shards:
        with filesystem.open(f"{folder}/{shard['name']}") as file:
            frames.append(pl.from_arrow(pq.read_table(file)))
    return pl.concat(frames)


def test_the_set_at_a_url_is_the_set_in_the_folder(publish, memory, tmp_path) -> None:
    publish(40, memory)
    for table in ("train", "sentinel", "decisions"):
        assert read(memory, table).equals(read(f"file://{tmp_path}/out", table))


def test_datasets_reads_a_set_at_a_url(publish, memory) -> None:
    import datasets

    done = publish(40, memory)
    shards = f"{memory}/refreshes/{done.prepare_id}/train/*.parquet"
    there = datasets.load_dataset("parquet", data_files=shards, split="train")
    assert sorted(there["prompt_id"]) == sorted(read(memory)["prompt_id"])


def test_shards_of_an_earlier_set_are_not_read(publish, memory) -> None:
    publish(60, memory)
    publish(20, memory)
    assert read(memory).height == 18


def test_an_upload_that_breaks_off_shows_nothing_and_is_continued(publish, tmp_path) -> None:
    """What was there before stays the newest set until the manifest of the next one is there."""
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    before = publish(20, f"file://{bucket}")
    after = publish(60)
    with pytest.raises(EngineError, match="no more today"):
        Store("refusing://bucket", Refusing(str(bucket), puts=3), "").put(after.path)
    files = (bucket / "refreshes" / after.prepare_id).rglob("*.parquet")
    assert len(list(files)) == 3
    assert read(f"file://{bucket}").height == before.set_rows == 18
    where = Store("refusing://bucket", Refusing(str(bucket), puts=99), "").put(after.path)
    assert where == f"refusing://bucket/refreshes/{after.prepare_id}"
    assert read(f"file://{bucket}").height == after.set_rows == 58


def test_a_set_that_is_there_is_not_put_again(publish, tmp_path) -> None:
    done = publish(20, f"file://{tmp_path}/bucket")
    (tmp_path / "bucket/LATEST").unlink()
    Store("refusing://bucket", Refusing(str(tmp_path / "bucket"), puts=0), "").put(done.path)
    assert (tmp_path / "bucket/LATEST").read_text() == f"{done.prepare_id}\n"


def test_a_file_that_arrives_cut_short_is_not_committed(publish, tmp_path) -> None:
    done = publish(20)
    with pytest.raises(EngineError, match="bytes there"):
        Store("cut://bucket", Cutting(str(tmp_path), LocalFileSystem()), "").put(done.path)
    assert not (tmp_path / "LATEST").exists()
    assert not list((tmp_path / "refreshes").rglob("manifest.json"))


def test_a_refresh_is_copied_too(recorded, memory, tmp_path) -> None:
    config = recorded.config(tmp_path / "out", output__url=memory)
    done = refresh(config, recorded.sources, SilentView())
    assert read(memory).equals(pl.read_parquet(done.path / "train/*.parquet"))


@pytest.mark.parametrize("url", ["nowhere://bucket", "http//:bucket://"])
def test_a_url_that_cannot_be_opened_is_an_error(url: str) -> None:
    with pytest.raises(UsageError, match="no set can be copied there"):
        open_store(url)
