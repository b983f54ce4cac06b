"""A trainer's data set and the published set, matched by prompt id."""

import re

import numpy as np
import pytest

from curriculum.errors import UsageError
from curriculum.hooks import open_published
from curriculum.hooks.ids import parse_ids
from curriculum.hooks.rows import match, read_ids


def data_set(columns):
    from datasets import Dataset

    return Dataset.from_dict(columns)


def ids(some):
    return parse_ids(some, where="here")


def test_rows_are_found_wherever_they_are(small):
    published = open_published(small.folder)
    order = np.random.default_rng(1).permutation(103)[:60]
    part, place = match(published, ids([small.ids[row] for row in order]), where="here")
    assert order[place].tolist() == sorted(order.tolist())
    assert part.ids.words(np.arange(60)).tolist() == published.ids.words(np.sort(order)).tolist()


def test_a_whole_set_is_the_set_itself(small):
    published = open_published(small.folder)
    assert match(published, ids(small.ids[::-1]), where="here").part is published


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: [*own, "0" * 32], "1 of the 104 rows of the training data are not of the set"),
        (lambda own: [*own, own[5]], "is in the training data twice"),
    ],
)
def test_rows_that_do_not_belong_are_refused(small, change, message):
    with pytest.raises(UsageError, match=message):
        match(open_published(small.folder), ids(change(small.ids)), where="here")


def test_ids_come_in_the_order_of_a_filtered_data_set(small):
    rows = data_set({"prompt_id": small.ids, "number": list(range(103))})
    kept = rows.filter(lambda row: row["number"] % 3 == 0).select(range(20, 0, -1))
    assert read_ids(kept, where="here").tolist() == ids(small.ids[60:0:-3]).tolist()


def test_a_data_set_without_ids_is_refused():
    with pytest.raises(UsageError, match=re.escape("no prompt_id column")):
        read_ids(data_set({"prompt": ["one"]}), where="here")
