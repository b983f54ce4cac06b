"""All epochs as one sequence: the sampler's order, wherever one begins to read."""

import pytest

from curriculum.hooks import CurriculumSampler, Evidence, Recipe, open_published
from curriculum.hooks.unrolled import Unrolled

EPOCHS = 4


@pytest.fixture
def recipe():
    return Recipe(batch_size=8, hard_reserve=0.125)


@pytest.fixture
def unrolled(small, recipe):
    return Unrolled(open_published(small.folder), recipe, EPOCHS)


def test_it_is_the_order_of_the_sampler(small, recipe, unrolled):
    sampler = CurriculumSampler(small.folder, recipe, evidence=Evidence(None))
    expected = [row for _ in range(EPOCHS) for rows in sampler.batches() for row in rows.tolist()]
    assert [unrolled[place].row for place in range(len(unrolled))] == expected


def test_a_place_is_the_same_prompt_from_wherever_one_comes(small, recipe, unrolled):
    forwards = [unrolled[place] for place in range(len(unrolled))]
    assert [unrolled[place] for place in reversed(range(len(unrolled)))] == forwards[::-1]
    fresh = Unrolled(open_published(small.folder), recipe, EPOCHS)
    assert fresh[len(fresh) - 1] == forwards[-1]


def test_a_place_says_its_batch_and_epoch(unrolled):
    batches = unrolled.epoch_size // 8
    assert unrolled[0][1:] == (0, 0)
    assert unrolled[unrolled.epoch_size][1:] == (batches, 1)
    assert unrolled[len(unrolled) - 1][1:] == (EPOCHS * batches - 1, EPOCHS - 1)


@pytest.mark.parametrize("place", [-1, 100_000])
def test_there_is_nothing_beyond(unrolled, place):
    with pytest.raises(IndexError):
        unrolled[place]
