from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest

from pipelines.order import control_sample, shuffled
from pipelines.schemas import SchemaError

IDS = [hashlib.sha256(str(number).encode()).hexdigest()[:32] for number in range(2000)]
FRAME = pl.DataFrame({"row": range(2000), "prompt_id": IDS, "domain": ["a"] * 1000 + ["b"] * 1000})


def test_a_seed_gives_one_order_whatever_the_order_before() -> None:
    assert shuffled(FRAME, 7).equals(shuffled(FRAME.reverse(), 7))
    assert not shuffled(FRAME, 7).equals(shuffled(FRAME, 8))


def test_the_order_is_the_same_in_every_release() -> None:
    assert shuffled(FRAME, 7)["row"].head(5).to_list() == [1725, 23, 1809, 974, 564]
    assert control_sample(FRAME, 5, 7)["row"].to_list() == [1487, 178, 1642, 1795, 343]


def test_ids_alike_in_their_first_half_have_one_order_too() -> None:
    alike = pl.DataFrame({"prompt_id": ["a" * 16 + letter * 16 for letter in "cbd"]})
    assert shuffled(alike, 7).equals(shuffled(alike.reverse(), 7))


def test_neighbours_under_one_seed_are_strangers_under_the_next() -> None:
    place = [np.argsort(shuffled(FRAME, seed)["row"].to_numpy()) for seed in (0, 1)]
    order = shuffled(FRAME, 0)["row"].to_numpy()
    distance = np.abs(np.diff(place[1][order]))
    assert abs(np.corrcoef(*place)[0, 1]) < 0.1
    assert distance.mean() == pytest.approx(2000 / 3, rel=0.1)


def test_domains_mix_all_along() -> None:
    halves = shuffled(FRAME, 3)["domain"].to_numpy().reshape(10, 200)
    assert ((halves == "a").mean(axis=1) > 0.35).all()


def test_a_new_prompt_moves_no_other() -> None:
    without = shuffled(FRAME.filter(pl.col("row") != 5), 7)
    assert shuffled(FRAME, 7).filter(pl.col("row") != 5).equals(without)


def test_a_control_is_distinct_random_and_at_most_the_pool() -> None:
    doubled = pl.concat([FRAME, FRAME.with_columns(pl.col("row") + 2000)])
    control = control_sample(doubled, 500, 1)
    assert control["prompt_id"].n_unique() == 500
    assert (control["row"] < 2000).all(), "the first of equal rows stands for them"
    assert control_sample(doubled, 10_000, 1).height == 2000
    assert set(control["prompt_id"]) != set(shuffled(FRAME, 1)["prompt_id"].head(500))


def test_an_id_that_is_no_hash_is_named() -> None:
    with pytest.raises(SchemaError, match="prompt_id 'p1' is not a hexadecimal hash"):
        shuffled(pl.DataFrame({"prompt_id": [IDS[0], "p1"]}), 0)
