"""Rows that cannot be read are named with file, row and cause, or left out and counted."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curriculum.errors import UsageError
from curriculum.pool.layouts import ReadOptions
from curriculum.pool.read import read_pool

BOXED = ReadOptions(default_verifier="boxed")
SKIP = ReadOptions(default_verifier="boxed", skip_bad_rows=True)


def write_jsonl(path: Path, rows: list) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def write_parquet(path: Path, rows: list, schema: pa.Schema | None = None) -> str:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return str(path)


def write_bytes(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


BAD_LINES = [
    (b'{"prompt": "p", "answer": "1"', "invalid JSON"),
    (b'{"prompt": "p\xff", "answer": "1"}', "invalid UTF-8 at byte {at} of the file"),
    (b'{"prompt": "p", "answer": NaN}', "NaN is not JSON"),
    (rb'{"prompt": "p\ud800", "answer": "1"}', "surrogate"),
    (b"[1]", "not an object"),
    (b"[" * 100_000, "invalid JSON"),
    (b'{"answer": "1"}', "the prompt is null"),
    (b'{"prompt": null, "answer": "1"}', "the prompt is null"),
    (b'{"prompt": " ", "answer": "1"}', "the prompt is empty"),
    (b'{"prompt": [], "answer": "1"}', "no messages"),
    (b'{"prompt": 7, "answer": "1"}', "the prompt is a int"),
    (b'{"prompt": ["p"], "answer": "1"}', "not an object with role and content"),
    (b'{"prompt": [{"role": "user"}], "answer": "1"}', "message 0 of the prompt has no content"),
    (b'{"prompt": [{"content": "p"}], "answer": "1"}', "message 0 of the prompt has no role"),
    (b'{"prompt": [{"role": "user", "content": [1]}], "answer": "1"}', "its content is a list"),
    (b'{"prompt": [{"role": "user", "content": ""}], "answer": "1"}', "the prompt is empty"),
    (b'{"prompt": "p"}', "the reference is missing"),
    (b'{"prompt": "p", "answer": ""}', "the reference is missing"),
]


@pytest.mark.parametrize(("line", "cause"), BAD_LINES)
def test_a_bad_line_is_named_or_left_out(tmp_path: Path, line: bytes, cause: str) -> None:
    good = b'{"prompt": "good", "answer": "1"}\n'
    path = write_bytes(tmp_path / "a.jsonl", good[:-1] + b"\r\n\n" + line + b"\n" + good)
    with pytest.raises(UsageError, match="1 row cannot be read") as error:
        read_pool([path], BOXED)
    assert f"{path}, line 3: " in error.value.where
    assert cause.replace("{at}", str(Path(path).read_bytes().find(b"\xff"))) in error.value.where
    pool = read_pool([path], SKIP)
    assert pool.frame["prompt"].list.get(0).struct.field("content").to_list() == ["good", "good"]
    assert pool.source.num_rows == 2
    (bad,) = pool.bad_rows
    assert (bad.file, bad.row) == (path, 3)


@pytest.mark.parametrize(
    ("row", "cause"),
    [
        ({"prompt": None, "answer": "1"}, "the prompt is null"),
        ({"prompt": [], "answer": "1"}, "the prompt has no messages"),
        (
            {"prompt": [{"role": "user", "content": None}], "answer": "1"},
            "message 0 of the prompt has no content",
        ),
        ({"prompt": [None], "answer": "1"}, "message 0 of the prompt has no role"),
        ({"prompt": [{"role": "user", "content": "p"}], "answer": None}, "the reference is missing"),
    ],
)
def test_a_bad_row_of_parquet_is_counted_from_0(tmp_path: Path, row: dict, cause: str) -> None:
    good = {"prompt": [{"role": "user", "content": "good"}], "answer": "1"}
    path = write_parquet(tmp_path / "a.parquet", [good, row, good])
    with pytest.raises(UsageError) as error:
        read_pool([path], BOXED)
    assert error.value.where == f"{path}, row 1: {cause}"
    assert read_pool([path], SKIP).frame.height == 2


@pytest.mark.parametrize("column", ["prompt", "answer", "content", "data_source"])
def test_invalid_utf8_in_parquet_is_a_bad_row(tmp_path: Path, column: str) -> None:
    broken = pa.array([b"ok", b"bad\xff", b"ok"]).cast(pa.binary()).view(pa.string())
    fine = pa.array(["a", "b", "c"])
    if column == "content":
        message = pa.StructArray.from_arrays([pa.array(["user"] * 3), broken], names=["role", "content"])
        prompt = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), message)
    else:
        prompt = broken if column == "prompt" else fine
    table = pa.table(
        {
            "prompt": prompt,
            "answer": broken if column == "answer" else fine,
            "data_source": broken if column == "data_source" else fine,
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    pool = read_pool([str(tmp_path / "a.parquet")], SKIP)
    assert [(bad.row, "invalid UTF-8 at byte 3" in bad.cause) for bad in pool.bad_rows] == [(1, True)]


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (b"p,1,2", "3 cells, but the header has 2"),
        (b'"p"x,1', "invalid CSV"),
        (b"p\xff,1", "invalid UTF-8 at byte 28 of the file"),
        (b",1", "the prompt is empty"),
        (b"p,", "the reference is missing"),
    ],
)
def test_a_bad_line_of_csv_is_named(tmp_path: Path, line: bytes, cause: str) -> None:
    path = write_bytes(tmp_path / "a.csv", b'prompt,answer\n"good\none",1\n' + line + b"\ngood,1\n")
    with pytest.raises(UsageError) as error:
        read_pool([path], BOXED)
    assert f"{path}, line 4: " in error.value.where
    assert cause in error.value.where
    assert read_pool([path], SKIP).frame.height == 2


def test_a_bad_element_of_a_json_array_is_counted_from_0(tmp_path: Path) -> None:
    rows = ['{"prompt": "p", "answer": "1"}', '{"prompt": "p", "answer": "1", "x": "\\udc00"}', "3"]
    path = write_bytes(tmp_path / "a.json", f"\ufeff[{', '.join(rows)}]".encode())
    pool = read_pool([path], SKIP)
    assert [(bad.row, bad.unit) for bad in pool.bad_rows] == [(1, "row"), (2, "row")]


@pytest.mark.parametrize(
    ("header", "what"),
    [
        (b"prompt,prompt", "two columns are called 'prompt'"),
        (b"prompt\xff,answer", "invalid UTF-8 at byte 6"),
        (b'"prompt,answer', "the header is not CSV"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused(tmp_path: Path, header: bytes, what: str) -> None:
    path = write_bytes(tmp_path / "a.csv", header + b"\np,1\n")
    with pytest.raises(UsageError, match=what) as error:
        read_pool([path], BOXED)
    assert error.value.where == f"{path}, line 1"


def test_a_byte_order_mark_counts_as_bytes_of_the_file(tmp_path: Path) -> None:
    path = write_bytes(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"prompt": "\xff"}')
    with pytest.raises(UsageError) as error:
        read_pool([path], BOXED)
    assert "invalid UTF-8 at byte 15 of the file" in error.value.where


def test_many_bad_rows_are_counted_and_the_first_five_shown(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"prompt": "p"}] * 7 + [{"prompt": "p", "answer": "1"}])
    with pytest.raises(UsageError, match="7 rows cannot be read; the first 5") as error:
        read_pool([path], BOXED)
    assert [line.split(",")[1] for line in error.value.where.splitlines()] == [
        f" line {i}: the reference is missing" for i in range(1, 6)
    ]
    assert "--skip-bad-rows" in error.value.do
    assert len(read_pool([path], SKIP).bad_rows) == 7


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv", "a.json"])
def test_an_empty_pool_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "a.parquet":
        write_parquet(path, [], pa.schema([("prompt", pa.string()), ("answer", pa.string())]))
    else:
        path.write_text({"a.jsonl": "\n", "a.csv": "prompt,answer\n", "a.json": "[]"}[name])
    with pytest.raises(UsageError, match="the pool is empty"):
        read_pool([str(path)], BOXED)


def test_a_pool_of_bad_rows_only_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no row of the pool can be read"):
        read_pool([write_jsonl(tmp_path / "a.jsonl", [{"prompt": "p", "answer": None}])], SKIP)
    with pytest.raises(UsageError, match="the pool is empty"):
        read_pool([write_bytes(tmp_path / "b.jsonl", b"{")], SKIP)


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl.gz", "a.json"])
def test_a_file_that_is_not_what_it_says_is_refused(tmp_path: Path, name: str) -> None:
    path = write_bytes(tmp_path / name, b"[not that")
    with pytest.raises(UsageError, match=r"cannot be read as|not a JSON array") as error:
        read_pool([path], BOXED)
    assert error.value.where == path
