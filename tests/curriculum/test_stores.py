"""Publishing to a folder and to URLs: the manifest commits, and nothing that it does not name is read."""

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
from curriculum.scoring.progress import SilentView
from curriculum.stores import UrlStore, open_store


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


@pytest.fixture
def memory() -> Iterator[str]:
    """A URL of an empty store in memory."""
    filesystem = fsspec.filesystem("memory")
    yield "memory://bucket/prepared"
    if filesystem.exists("/bucket"):
        filesystem.rm("/bucket", recursive=True)


@pytest.fixture
def publish(tmp_path: Path) -> Callable[..., Prepared]:
    """Prepares a pool of as many rows as asked for and publishes it at a URL."""

    def run(url: str, rows: int, **overrides: object) -> Prepared:
        path = tmp_path / f"raw-{rows}.jsonl"
        path.write_text(
            "".join(
                json.dumps({"prompt": f"{'word ' * i}{i}?", "answer": str(i)}) + "\n" for i in range(rows)
            )
        )
        settings = {"pool.sources": [str(path)], "pool.default_verifier": "boxed"}
        settings |= {"prepare.check_references": False, "output.dir": str(tmp_path / "home")}
        config = load_config(None, {**settings, "output.shard_rows": 10, "prepare.sentinel": 2, **overrides})
        return prepare(config, SilentView(), out=url)

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


def test_a_set_at_a_url_is_the_set_in_a_folder(publish, memory, tmp_path) -> None:
    there, here = publish(memory, 40), publish(str(tmp_path / "out"), 40)
    assert there.where == f"{memory}/refreshes/{there.prepare_id}"
    assert there.prepare_id == here.prepare_id
    for table in ("train", "sentinel", "decisions"):
        assert read(memory, table).equals(read(f"file://{tmp_path}/out", table))


def test_datasets_reads_a_set_at_a_url(publish, memory) -> None:
    import datasets

    done = publish(memory, 40)
    read_there = datasets.load_dataset("parquet", data_files=f"{done.where}/train/*.parquet", split="train")
    assert sorted(read_there["prompt_id"]) == sorted(read(memory)["prompt_id"])


def test_shards_of_an_earlier_set_are_not_read(publish, memory) -> None:
    publish(memory, 60)
    publish(memory, 20)
    assert read(memory).height == 18


def test_an_upload_that_breaks_off_shows_nothing_and_is_continued(publish, tmp_path) -> None:
    """What was published before stays the newest set until the manifest of the next one is there."""
    out = tmp_path / "bucket"
    out.mkdir()
    before = publish(str(out), 20)
    staged = publish(str(tmp_path / "elsewhere"), 60)
    work = tmp_path / "work"
    work.mkdir()
    refusing = UrlStore("refusing://bucket", Refusing(str(out), puts=3), "", work)
    refusing.staging(staged.prepare_id).symlink_to(staged.where)
    with pytest.raises(EngineError, match="no more today"):
        refusing.commit(staged.prepare_id)
    there = (out / "refreshes" / staged.prepare_id).rglob("*.parquet")
    assert len(list(there)) == 3
    assert not refusing.holds(staged.prepare_id)
    assert read(f"file://{out}").height == before.set_rows == 18
    patient = UrlStore("refusing://bucket", Refusing(str(out), puts=99), "", work)
    patient.commit(staged.prepare_id)
    assert patient.holds(staged.prepare_id)
    assert read(f"file://{out}").height == staged.set_rows == 58


def test_a_set_that_is_there_is_not_put_again(publish, tmp_path) -> None:
    out = tmp_path / "bucket"
    done = publish(str(out), 20)
    UrlStore("refusing://bucket", Refusing(str(out), puts=0), "", tmp_path).commit(done.prepare_id)
    assert (out / "LATEST").read_text() == f"{done.prepare_id}\n"


@pytest.mark.parametrize("url", ["nowhere://bucket", "http//:bucket://"])
def test_a_url_that_cannot_be_opened_is_an_error(url: str, tmp_path) -> None:
    with pytest.raises(UsageError, match="cannot publish there"):
        open_store(url, tmp_path)
