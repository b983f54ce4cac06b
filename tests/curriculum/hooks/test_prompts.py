"""Rows of the published shards by number, before and after a swap."""

import pickle
import random

import pytest

from curriculum.errors import UsageError
from curriculum.hooks.prompts import PublishedRows


def test_row_i_is_row_i_of_the_shards(small, make):
    rows = PublishedRows(make(small))
    assert len(rows) == 103
    assert [row["prompt_id"] for row in rows] == small.ids
    assert rows[7]["prompt"].startswith("prompt ")


def test_a_batch_comes_in_the_order_asked_for(small, make):
    run = make(small)
    rows = PublishedRows(run, columns=["prompt_id"])
    order = random.Random(0).choices(range(103), k=200)
    assert [row["prompt_id"] for row in rows.__getitems__(order)] == [small.ids[row] for row in order]
    assert rows[3] == {"prompt_id": small.ids[3]}
    assert rows.__getitems__([]) == []


def test_rows_follow_a_swap(small, make, publish):
    run = make(small)
    rows = PublishedRows(run)
    assert rows[0]["prompt_id"] == small.ids[0]
    new = publish(small.out, "new", list(range(60, 130)))
    run.swap(new.folder)
    assert len(rows) == 70
    assert [row["prompt_id"] for row in rows] == new.ids


def test_few_row_groups_are_kept(small, make, monkeypatch):
    monkeypatch.setattr("curriculum.hooks.prompts._KEPT", 2)
    rows = PublishedRows(make(small))
    assert [rows[row]["prompt_id"] for row in (0, 100, 50, 0)] == [small.ids[row] for row in (0, 100, 50, 0)]
    assert len(rows._kept) == 2


@pytest.mark.parametrize("row", [-1, 103])
def test_a_row_that_is_not_there_is_an_index_error(small, make, row):
    with pytest.raises(IndexError, match="of a set of 103"):
        PublishedRows(make(small))[row]


def test_a_part_of_a_set_has_other_numbers(small, make):
    run = make(small)
    run.published = run.published.part(run.published.ids.find(run.published.ids.words(range(50))))
    with pytest.raises(UsageError, match="part of the set"):
        PublishedRows(run)


def test_a_missing_shard_says_so(small, make):
    run = make(small)
    next((small.folder / "train").iterdir()).unlink()
    with pytest.raises(UsageError, match="missing"):
        list(PublishedRows(run))


def test_workers_get_a_copy_of_their_own(small, make):
    rows = pickle.loads(pickle.dumps(PublishedRows(make(small))))
    assert rows[5]["prompt_id"] == small.ids[5]
