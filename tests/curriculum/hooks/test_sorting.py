"""The order of words, against numpy's own."""

import numpy as np
import pytest

from curriculum.hooks.sorting import sorted_keys, sorted_rows

RNG = np.random.default_rng(0)
HIGH = np.uint64(40)
RANDOM = RNG.integers(2**60, 2**64 - 1, 5000, dtype=np.uint64)


def ascending(count):
    return np.arange(count, dtype=np.uint64)


WORDS = {
    "none": ascending(0),
    "one": ascending(1),
    "random": RANDOM,
    "equal": np.full(100, 2**63, dtype=np.uint64),
    "small": RNG.integers(0, 50, 1000, dtype=np.uint64),
    "some differ in low bits only": np.concatenate([RANDOM, (np.uint64(5) << HIGH) + ascending(9)[::-1]]),
    "runs side by side": np.concatenate([RANDOM, np.repeat(ascending(4), 3) << HIGH]),
    "extremes": np.array([2**64 - 1, 0, 2**64 - 1, 1, 0], dtype=np.uint64),
}


@pytest.mark.parametrize("name", WORDS)
def test_rows_are_in_the_order_of_their_words(name):
    words = WORDS[name]
    before = words.copy()
    assert sorted_rows(words).tolist() == np.argsort(words, kind="stable").tolist()
    assert (words == before).all()


def test_keys_are_in_the_order_of_their_values():
    keys = np.concatenate([RNG.standard_exponential(5000), [0.0, 1e-300, 1e300, 5e-324]])
    assert sorted_keys(keys).tolist() == np.argsort(keys, kind="stable").tolist()
