"""Rows of many parts come out in the order asked for, a small pool at a time."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest

from curriculum.pool.layouts import ReadOptions
from curriculum.pool.read import read_pool
from curriculum.preparing.gather import gathered
from curriculum.preparing.raw import read_raw
from curriculum.preparing.work import Work

ROWS = [{"prompt": f"p {i}", "answer": str(i), "info": {"n": i} if i % 3 else None} for i in range(50)]


@pytest.mark.parametrize(("size", "count"), [(7, 40), (40, 40), (100, 40), (1, 3), (5, 50)])
def test_rows_come_in_the_order_asked_for(tmp_path: Path, size: int, count: int) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    options = ReadOptions(default_verifier="boxed")
    whole = read_pool([str(path)], options)
    raw = read_raw([str(path)], options, Work(tmp_path, tmp_path), part_bytes=400)
    order = random.Random(size).sample(range(50), count)
    aside = tmp_path / "aside"
    aside.mkdir()
    pools = list(gathered(raw, pl.DataFrame({"row": order}), size, aside))
    assert [pool.frame.height for pool in pools[:-1]] == [size] * (len(pools) - 1)
    assert [row for pool in pools for row in pool.frame.rows()] == [whole.frame.rows()[row] for row in order]
    expected = whole.source.to_pylist()
    assert [row for pool in pools for row in pool.source.to_pylist()] == [expected[row] for row in order]
    assert all(pool.source.schema.equals(whole.source.schema) for pool in pools)
    assert not list(aside.iterdir())
