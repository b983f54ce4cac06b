"""The block `curriculum` of a trainer's configuration: what it makes, and what is refused."""

import pytest

from curriculum.errors import UsageError
from curriculum.hooks.settings import read_settings

WHERE = "data.curriculum"


def test_the_block_is_a_recipe_and_evidence(small):
    block = {
        "out": str(small.out),
        "mode": "easy_to_hard",
        "domain_quotas": {"sums": 0.5},
        "hard_reserve": 0.1,
        "min_distinct": 4,
        "seed": 3,
        "solved_at": 0.5,
    }
    settings = read_settings(block, where=WHERE)
    recipe = settings.recipe(16)
    made = {name: getattr(recipe, name) for name in block if hasattr(recipe, name)}
    assert made == {name: block[name] for name in made}
    assert (recipe.batch_size, len(made)) == (16, 5)
    assert settings.evidence() is not None


@pytest.mark.parametrize("block", [None, {}, {"mode": "shuffle"}, {"out": ""}])
def test_without_a_set_the_option_to_add_is_named(block):
    with pytest.raises(UsageError) as raised:
        read_settings(block, where=WHERE)
    assert "+data.curriculum.out=FOLDER" in raised.value.do


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("weigh_by", "weight", "do you mean 'weight_by'?"),
        ("colour", "blue", "unknown option 'colour'\n"),
        ("first_step", 10, "unknown option 'first_step'"),
        ("mode", "random", "one of weighted, shuffle, easy_to_hard"),
        ("truncated", "right", "one of wrong, excluded"),
        ("seed", "one", "type int"),
        ("seed", True, "type int"),
        ("hard_reserve", "a tenth", "type int or float or none"),
        ("min_distinct", 0, "give 1 or more"),
        ("epochs", 0, "give 1 or more"),
        ("domain_quotas", {"sums": "half"}, "the quota of sums is 'half'"),
    ],
)
def test_a_wrong_option_says_where_and_what(option, value, expected):
    with pytest.raises(UsageError) as raised:
        read_settings({"out": "out", option: value}, where=WHERE, without=("first_step",))
    assert expected in str(raised.value)
    assert raised.value.where == f"{WHERE}.{option}"
