"""A pool read in parts is the pool read whole, whatever its file and wherever the parts end."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curriculum.errors import UsageError
from curriculum.pool.layouts import ReadOptions
from curriculum.pool.read import read_pool
from curriculum.preparing.raw import Raw, read_raw
from curriculum.preparing.work import Work

BOXED = ReadOptions(default_verifier="boxed")
SKIP = ReadOptions(default_verifier="boxed", skip_bad_rows=True)
MIXED = [1, 2.5, "three", [4], {"five": 5}, None, True]
"""Values that no one type holds."""

NUMBERS = '{"prompt": "p", "answer": "1", "n": 0.5}\n{"prompt": "q", "answer": "2", "n": 9007199254740993}\n'

ROWS = [
    {"prompt": f"p {i}", "answer": str(i), "n": i, "x": i + (0.5 if i > 20 else 0), "mixed": MIXED[i % 7]}
    | ({"late": {"a": i}} if i > 25 else {})
    | ({"late": {"a": i, "b": "text"}} if i > 33 else {})
    for i in range(40)
]


def jsonl(path: Path) -> Path:
    path = path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def zipped(path: Path) -> Path:
    into = path / "rows.jsonl.gz"
    into.write_bytes(gzip.compress(jsonl(path).read_bytes()))
    return into


def table(path: Path) -> Path:
    with (path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "answer", "note"])
        writer.writerows([f"p {i}", str(i), f'"quoted"\nover {i} lines'] for i in range(40))
    return path / "rows.csv"


def parquet(path: Path) -> Path:
    rows = [{"prompt": row["prompt"], "answer": row["answer"], "info": {"n": row["n"]}} for row in ROWS]
    pq.write_table(pa.Table.from_pylist(rows), path / "rows.parquet", row_group_size=7)
    return path / "rows.parquet"


def raw_of(path: Path, folder: Path, *, part_bytes: float, options: ReadOptions = BOXED) -> Raw:
    folder.mkdir(exist_ok=True)
    return read_raw([str(path)], options, Work(folder, folder), part_bytes=part_bytes)


@pytest.mark.parametrize("write", [jsonl, zipped, table, parquet], ids=lambda write: write.__name__)
@pytest.mark.parametrize("part_bytes", [700, 10**6])
def test_parts_join_to_the_whole(tmp_path: Path, write: Callable[[Path], Path], part_bytes: int) -> None:
    path = write(tmp_path)
    whole = read_pool([str(path)], BOXED)
    raw = raw_of(path, tmp_path / "work", part_bytes=part_bytes)
    frames = [raw.frame(part) for part in range(raw.parts)]
    sources = [raw.source(part) for part in range(raw.parts)]
    assert (raw.parts > 1) == (part_bytes < 10**6)
    assert [row for frame in frames for row in frame.rows()] == whole.frame.rows()
    assert pa.concat_tables(sources).to_pylist() == whole.source.to_pylist()
    assert raw.schema.equals(whole.source.schema)
    assert raw.content_hash == whole.content_hash
    assert raw.files == whole.files


def test_files_of_one_pool_are_read_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"prompt": "second", "answer": "2", "n": 0.5}\n')
    (tmp_path / "a.jsonl").write_text('{"prompt": "first", "answer": "1", "n": 1}\n')
    raw = raw_of(tmp_path / "*.jsonl", tmp_path / "work", part_bytes=1)
    whole = read_pool([str(tmp_path / "*.jsonl")], BOXED)
    assert raw.index["prompt_id"].to_list() == whole.frame["prompt_id"].to_list()
    assert raw.schema.equals(whole.source.schema)


def broken(path: Path) -> Path:
    lines = [json.dumps(row).encode() for row in ROWS]
    lines[20] = b'{"prompt": "cut'
    lines[30] = b'{"prompt": "", "answer": "1"}'
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_a_bad_row_in_the_middle_stops_with_its_place(tmp_path: Path) -> None:
    path = broken(tmp_path / "broken.jsonl")
    with pytest.raises(UsageError, match="2 rows cannot be read") as raised:
        raw_of(path, tmp_path / "work", part_bytes=500)
    assert f"{path}, line 21: invalid JSON" in raised.value.where
    assert f"{path}, line 31: the prompt is empty" in raised.value.where


def test_bad_rows_that_are_skipped_are_listed(tmp_path: Path) -> None:
    path = broken(tmp_path / "broken.jsonl")
    raw = raw_of(path, tmp_path / "work", part_bytes=500, options=SKIP)
    assert raw.unreadable.select("file", "unit", "place").rows() == [
        (str(path), "line", 21),
        (str(path), "line", 31),
    ]
    assert raw.rows == 38
    assert raw.files[0].rows == 40


def test_a_first_part_without_a_good_row_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("{broken\n{broken too\n" + json.dumps(ROWS[0]) + "\n")
    raw = raw_of(path, tmp_path / "work", part_bytes=1, options=SKIP)
    assert (raw.rows, raw.unreadable["place"].to_list()) == (1, [1, 2])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('{"prompt": "p", "answer": "1"}\n{"prompt": "q", "reference": "2"}\n', "would change how the rows"),
        (NUMBERS, "do not fit"),
        ("", "the pool is empty"),
        ("{\n", "cannot be read"),
    ],
)
def test_what_cannot_be_one_pool_is_an_error(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(lines)
    with pytest.raises(UsageError, match=said):
        raw = raw_of(path, tmp_path / "work", part_bytes=1)
        [raw.source(part) for part in range(raw.parts)]


def test_a_damaged_archive_is_an_error(tmp_path: Path) -> None:
    path = zipped(tmp_path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(UsageError, match="cannot be read"):
        raw_of(path, tmp_path / "work", part_bytes=1)


def test_a_quote_that_is_never_closed_says_how_much_it_took(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('prompt,answer\np,1\n"q,2\nr,3\ns,4\n')
    raw = raw_of(path, tmp_path / "work", part_bytes=10**6, options=SKIP)
    assert raw.unreadable["cause"].to_list() == ["invalid CSV: unexpected end of data, up to line 5"]
