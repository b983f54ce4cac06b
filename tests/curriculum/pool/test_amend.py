"""Other references put into a pool: identity, frame and original rows follow."""

from __future__ import annotations

import json

import pytest

from curriculum.errors import UsageError
from curriculum.pool.amend import with_references
from curriculum.pool.identity import prompt_id
from curriculum.pool.layouts import ReadOptions
from curriculum.pool.read import read_pool

ROWS = [
    ({"reward_model": {"style": "rule", "ground_truth": "4"}}, "7", {"style": "rule", "ground_truth": "7"}),
    ({"solution": "4"}, "7", "7"),
    ({"answer": 4}, "7", 7),
    ({"solution": "4"}, r"\frac{1}{2}", r"\frac{1}{2}"),
]


def pool_with(truth, tmp_path):
    path = tmp_path / "pool.jsonl"
    prompts = ("one", "two", "one")
    path.write_text("".join(json.dumps({"prompt": text} | truth) + "\n" for text in prompts))
    return read_pool([str(path)], ReadOptions(default_verifier="boxed"))


@pytest.mark.parametrize(("truth", "answer", "written"), ROWS)
def test_every_row_of_the_prompt_has_the_new_reference(truth, answer, written, tmp_path) -> None:
    pool = pool_with(truth, tmp_path)
    amended = with_references(pool, {pool.frame["prompt_id"][0]: {"answer": answer}})
    wanted = prompt_id([("user", "one")], "boxed", {"answer": answer})
    assert amended.frame["prompt_id"].to_list() == [wanted, pool.frame["prompt_id"][1], wanted]
    assert amended.frame["reference"][0] == json.dumps({"answer": answer}, separators=(",", ":"))
    column = next(iter(truth))
    assert amended.source[column].to_pylist() == [written, pool.source[column].to_pylist()[1], written]
    assert amended.source.column_names == pool.source.column_names


def test_an_answer_is_written_where_it_is_read(tmp_path) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text(json.dumps({"prompt": "one", "solution": "2 and 2 make #### 4"}) + "\n")
    options = ReadOptions(default_verifier="boxed", answer_after="####")
    pool = read_pool([str(path)], options)
    amended = with_references(pool, {pool.frame["prompt_id"][0]: {"answer": "7"}}, answer_after="####")
    assert amended.source["solution"].to_pylist() == ["#### 7"]


def test_prompts_that_are_not_there_change_nothing(tmp_path) -> None:
    pool = pool_with({"solution": "4"}, tmp_path)
    assert with_references(pool, {"f" * 32: {"answer": "7"}}) is pool


@pytest.mark.parametrize("truth", [{"solution": ["4", "5"]}, {"answer": 4}])
def test_a_column_that_cannot_hold_it_is_named(truth, tmp_path) -> None:
    pool = pool_with(truth, tmp_path)
    with pytest.raises(UsageError, match="cannot be written into a column of type") as caught:
        with_references(pool, {pool.frame["prompt_id"][0]: {"answer": "seven"}})
    assert next(iter(truth)) in str(caught.value.where)
