"""The order that a trainer gets: rows of the shards, epochs, ranks."""

import numpy as np
import pytest

from curriculum.errors import UsageError


def test_rows_are_those_of_the_shards_in_order(small, make):
    run = make(small)
    rows = next(run.batches())
    assert run.prompt_ids(rows) == [small.ids[row] for row in rows]


def test_an_epoch_repeats_nothing_and_loses_nothing(small, make):
    run = make(small)
    first = list(run)
    assert len(first) == len(run) == len(set(first)) == 96
    begins = list(run)[:8]
    assert set(range(103)) - set(first) <= set(begins)


def test_ranks_have_one_order_and_disjoint_slices(small, make):
    whole = [set(rows.tolist()) for rows in make(small).batches()]
    slices = [list(make(small, rank=rank, world_size=4).batches()) for rank in range(4)]
    assert [len(own) for own in slices] == [12] * 4
    for batch, parts in zip(whole, zip(*slices, strict=True), strict=True):
        assert [part.size for part in parts] == [2] * 4
        assert set(np.concatenate(parts).tolist()) == batch


@pytest.mark.parametrize(("rank", "world_size"), [(0, 3), (4, 4), (-1, 2)])
def test_ranks_that_do_not_fit_are_refused(small, rank, world_size, make):
    with pytest.raises(UsageError, match="cannot be split"):
        make(small, rank=rank, world_size=world_size)


def test_a_set_too_small_for_a_batch_is_an_error_at_once(publish, tmp_path, make):
    with pytest.raises(UsageError, match="lower batch_size"):
        make(publish(tmp_path, "tiny", list(range(7))))


def test_a_set_of_one_batch_goes_on_for_ever(publish, tmp_path, make, train):
    run = make(publish(tmp_path, "one", list(range(8))))
    assert len(train(run, 5)) == 5
    assert run.epoch == 4
