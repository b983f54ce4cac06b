"""Names of sources become files, shards and datasets; a wrong name is answered with what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from curriculum.errors import UsageError
from curriculum.pool.sources import Source, resolve


def touch(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.parquet", "parquet"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.jsonl.gz", "jsonl"),
        ("a.json", "json"),
        ("a.csv", "csv"),
        ("A.v2.JSONL", "jsonl"),
    ],
)
def test_a_file_is_known_by_its_suffix(tmp_path: Path, name: str, kind: str) -> None:
    path = str(touch(tmp_path, name) / name)
    assert resolve([path]) == [Source(kind, path)]


def test_globs_and_folders_are_sorted(tmp_path: Path) -> None:
    touch(
        tmp_path, "b.parquet", "a.parquet", ".hidden.parquet", "_notes.parquet", "manifest.json", "README.md"
    )
    expected = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    assert [source.path for source in resolve([str(tmp_path)])] == expected
    assert [source.path for source in resolve([str(tmp_path / "[ab].parquet")])] == expected
    assert [source.path for source in resolve([str(tmp_path / "b*"), str(tmp_path / "a*")])] == expected[::-1]


@pytest.mark.parametrize(
    ("name", "config", "split"),
    [
        ("gsm8k", None, None),
        ("openai/gsm8k", None, None),
        ("openai/gsm8k:train", None, "train"),
        ("openai/gsm8k[train]", None, "train"),
        ("openai/gsm8k:main:train[:10%]", "main", "train[:10%]"),
    ],
)
def test_other_names_are_datasets(name: str, config: str | None, split: str | None) -> None:
    (source,) = resolve([name])
    assert (source.kind, source.config, source.split) == ("dataset", config, split)
    assert source.path in {"gsm8k", "openai/gsm8k"}


@pytest.mark.parametrize("marker", ["state.json", "dataset_dict.json"])
def test_a_saved_dataset_is_one_source(tmp_path: Path, marker: str) -> None:
    touch(tmp_path, marker, "data.parquet")
    assert resolve([str(tmp_path)]) == [Source("dataset", str(tmp_path))]
    assert resolve([f"{tmp_path}:train"]) == [Source("dataset", str(tmp_path), None, "train")]


@pytest.mark.parametrize(
    ("name", "what", "do"),
    [
        ("trian.parquet", "no such file", "train.parquet"),
        ("sub/absent.parquet", "no such file", "there is no folder"),
        ("*.csv", "no file matches", "train.parquet"),
        ("notes.txt", "not a kind of file", ".parquet"),
        ("mixed", "several kinds", "*.csv"),
        ("outer", "no data files", "inner"),
        ("empty", "no data files", ".parquet"),
    ],
)
def test_a_wrong_name_says_what_is_there(tmp_path: Path, name: str, what: str, do: str) -> None:
    touch(tmp_path, "train.parquet", "notes.txt", "mixed/a.csv", "mixed/b.parquet", "outer/inner/a.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=what) as error:
        resolve([str(tmp_path / name)])
    assert do in error.value.do
    assert name in error.value.where


def test_one_file_under_two_names_is_refused(tmp_path: Path) -> None:
    touch(tmp_path, "a.csv")
    with pytest.raises(UsageError, match="named twice"):
        resolve([str(tmp_path / "a.csv"), str(tmp_path / "*.csv")])


def test_no_name_at_all_is_refused() -> None:
    with pytest.raises(UsageError, match="no pool"):
        resolve([])
