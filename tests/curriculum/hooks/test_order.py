"""The order of an epoch: every prompt once, by weight, with quotas in every batch."""

import numpy as np
import pytest

from curriculum.errors import UsageError
from curriculum.hooks.order import Recipe, apportion, draw
from curriculum.hooks.published import open_published


@pytest.fixture
def published(small):
    return open_published(small.folder)


@pytest.mark.parametrize("mode", ["weighted", "shuffle", "easy_to_hard"])
def test_an_epoch_has_every_prompt_once_or_hands_it_on(published, mode):
    drawn = draw(published, Recipe(batch_size=8, mode=mode), 0)
    assert drawn.batches.shape == (12, 8)
    assert sorted([*drawn.batches.ravel().tolist(), *drawn.carried.tolist()]) == list(range(103))


def test_what_would_have_made_a_partial_batch_begins_the_next_epoch(published):
    recipe = Recipe(batch_size=8)
    first = draw(published, recipe, 0)
    second = draw(published, recipe, 1, carried=first.carried)
    assert set(first.carried) <= set(second.batches[0])


def test_the_order_depends_on_seed_epoch_and_set_only(published):
    recipe = Recipe(batch_size=8, seed=3)
    same = draw(published, recipe, 2).batches
    np.testing.assert_array_equal(draw(published, Recipe(batch_size=8, seed=3), 2).batches, same)
    for other in (draw(published, Recipe(batch_size=8, seed=4), 2), draw(published, recipe, 3)):
        assert not np.array_equal(other.batches, same)


def test_an_order_is_the_same_tomorrow(published):
    """Saved states rely on it: numpy keeps the streams of its generators."""
    assert draw(published, Recipe(batch_size=8, seed=1), 0).batches[0].tolist() == GOLDEN


GOLDEN = [2, 0, 74, 71, 73, 81, 96, 59]


@pytest.mark.parametrize("weight_by", ["learnability", "weight", "p_mixed"])
def test_the_first_place_falls_in_proportion_to_weight(published, weight_by):
    draws = 2000
    recipes = (Recipe(batch_size=8, seed=seed, weight_by=weight_by) for seed in range(draws))
    first = np.array([draw(published, recipe, 0).batches[0, 0] for recipe in recipes])
    weight = getattr(published, weight_by).astype(float)
    expected = weight / weight.sum() * draws
    seen = np.bincount(first, minlength=len(published))
    chi2 = ((seen - expected) ** 2 / expected).sum()
    assert chi2 < 102 + 4 * np.sqrt(2 * 102)


def test_easy_prompts_come_first(published):
    rates = published.pass_rate[draw(published, Recipe(batch_size=8, mode="easy_to_hard"), 0).batches.ravel()]
    assert (np.diff(rates) <= 0).all()


def test_easy_to_hard_does_not_always_leave_the_hardest_out(published):
    recipe = Recipe(batch_size=8, mode="easy_to_hard")
    left = {row for epoch in range(30) for row in draw(published, recipe, epoch).carried.tolist()}
    assert published.pass_rate[sorted(left)].max() > np.median(published.pass_rate)


QUOTAS = [
    ({"sums": 0.75, "more": 0.25}, None, {"sums": 6, "more": 2}, None),
    ({"sums": 0.25}, None, {"sums": 2, "more": 6}, None),
    ({"sums": 1.0, "more": 0.0}, None, {"sums": 8, "more": 0}, None),
    ({}, 0.125, None, 1),
    ({}, 0.0, None, 0),
    ({"sums": 0.5, "more": 0.5}, 0.125, {"sums": 4, "more": 4}, 1),
    ({"sums": 0.25, "more": 0.75}, 0.25, {"sums": 2, "more": 6}, 2),
]


@pytest.mark.parametrize(("domains", "hard", "domain_places", "hard_places"), QUOTAS)
@pytest.mark.parametrize("mode", ["weighted", "easy_to_hard"])
def test_quotas_hold_in_every_batch(published, mode, domains, hard, domain_places, hard_places):
    drawn = draw(published, Recipe(batch_size=8, mode=mode, domain_quotas=domains, hard_reserve=hard), 0)
    assert len(drawn.batches)
    for batch in drawn.batches:
        assert len(set(batch.tolist())) == 8
        if domain_places is not None:
            for name, places in domain_places.items():
                assert (published.domain[batch] == published.domains.index(name)).sum() == places
        if hard_places is not None:
            assert published.hard_reserve[batch].sum() == hard_places


def test_strata_are_spread_over_the_places_of_a_batch(published):
    """Ranks take fixed places, so no rank may get all of one domain."""
    drawn = draw(published, Recipe(batch_size=8, domain_quotas={"sums": 0.5, "more": 0.5}), 0)
    share = (published.domain[drawn.batches] == 0).mean(axis=0)
    assert ((share > 0) & (share < 1)).all()


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        ({"batch_size": 4}, "min_distinct"),
        ({"batch_size": 128}, "lower batch_size"),
        ({"batch_size": 64, "hard_reserve": 0.5}, "hard reserve"),
        ({"batch_size": 8, "hard_reserve": 0.01}, "raise batch_size to 100"),
        ({"batch_size": 8, "domain_quotas": {"algebra": 0.5}}, "more, sums"),
        ({"batch_size": 8, "domain_quotas": {"sums": 1.0}}, "name every domain"),
        ({"batch_size": 8, "domain_quotas": {"sums": 0.5, "more": 0.1}}, "name every domain"),
        ({"batch_size": 8, "domain_quotas": {"sums": 0.9, "more": 0.9}}, "add up to at most 1"),
        ({"batch_size": 8, "domain_quotas": {"sums": -0.1}}, "between 0 and 1"),
        ({"batch_size": 8, "mode": "hardest"}, "easy_to_hard"),
    ],
)
def test_what_cannot_be_is_an_error_that_says_what_to_change(published, recipe, says):
    with pytest.raises(UsageError) as error:
        draw(published, Recipe(**recipe), 0)
    assert says in str(error.value)


def test_excluded_rows_do_not_come_and_an_epoch_may_be_over(published):
    drawn = draw(published, Recipe(batch_size=8), 0, excluded=np.arange(50))
    assert drawn.batches.min() >= 50
    assert len(draw(published, Recipe(batch_size=8), 0, excluded=np.arange(100)).batches) == 0


@pytest.mark.parametrize(
    ("total", "shares", "counts"),
    [(8, [0.5, 0.5], [4, 4]), (8, [0.33, 0.33, 0.34], [3, 2, 3]), (3, [0.9, 0.1], [3, 0]), (0, [1.0], [0])],
)
def test_apportion(total, shares, counts):
    assert apportion(total, shares) == counts
