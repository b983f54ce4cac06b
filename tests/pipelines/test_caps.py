from __future__ import annotations

import polars as pl
import pytest

from pipelines.caps import length_caps
from pipelines.groups import GroupRule

RULE = GroupRule(trainer_group_size=8)
PROMPT = "a" * 32

# Weeks of remission under 6-mercaptopurine, + where observation ended first (Freireich et al., Blood 1963).
REMISSION = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"


def caps_of(rows, rollouts_of, pool_of, **options):
    rollouts = rollouts_of([{"prompt_id": PROMPT} | row for row in rows])
    options = {"cap_in_force": 100, "rule": RULE} | options
    return length_caps(rollouts.lazy(), pool_of([{"prompt_id": PROMPT}]).lazy(), **options).row(0, named=True)


def lengths(text: str, **columns):
    return [
        {"tokens": int(word.rstrip("+")), "finish": "length" if word.endswith("+") else "stop"} | columns
        for word in text.split()
    ]


@pytest.mark.parametrize(
    ("quantile", "expected"), [(0.14, 6), (0.15, 7), (0.24, 10), (0.25, 13), (0.5, 23), (0.56, None)]
)
def test_kaplan_meier_of_the_textbook_example(quantile, expected, rollouts_of, pool_of) -> None:
    caps = caps_of(lengths(REMISSION), rollouts_of, pool_of, quantile=quantile)
    assert (caps["quantile"], caps["rollouts"], caps["truncated"]) == (expected, 21, 12)
    assert caps["identified"] == (expected is not None)
    assert caps["cap"] == (100 if expected is None else expected)


def test_without_truncation_it_is_the_plain_quantile(rollouts_of, pool_of) -> None:
    assert caps_of(lengths("1 2 3 4 5 6 7 8 9 10"), rollouts_of, pool_of)["cap"] == 9


def test_a_cap_is_never_below_the_quantile_of_correct_rollouts(rollouts_of, pool_of) -> None:
    short = lengths("5 " * 95)
    long = lengths("40 50 60 70 80", correctness=1.0, outcome="correct")
    caps = caps_of(short + long, rollouts_of, pool_of, quantile=0.7)
    assert (caps["quantile"], caps["cap"], caps["correct_cut"]) == (5, 70, 0.2)


def test_correct_rollouts_that_were_cut_keep_the_cap_in_force(rollouts_of, pool_of) -> None:
    rows = lengths("5 " * 95) + lengths("60+ 60+", correctness=1.0, outcome="correct")
    caps = caps_of(rows, rollouts_of, pool_of)
    assert (caps["identified"], caps["quantile"], caps["cap"], caps["correct_cut"]) == (True, 5, 100, 0.0)


def test_unknown_lengths_give_no_cap(rollouts_of, pool_of) -> None:
    caps = caps_of([{"tokens": None}, {"tokens": 9, "finish": "abort"}], rollouts_of, pool_of)
    assert caps == {
        "domain": "maths",
        "rollouts": 0,
        "truncated": 0,
        "pooled": True,
        "quantile": None,
        "low": None,
        "high": None,
        "identified": False,
        "cap": None,
        "correct_cut": None,
        "prompt_cap": None,
    }


def test_few_finished_rollouts_take_the_quantile_of_all_domains(rollouts_of, pool_of) -> None:
    pool = pool_of([{"prompt_id": PROMPT}, {"prompt_id": "b" * 32, "domain": "code"}])
    many = [{"prompt_id": PROMPT} | row for row in lengths("10 " * 90 + "30 " * 60)]
    few = [{"prompt_id": "b" * 32} | row for row in lengths("5 " * 49)]
    caps = length_caps(rollouts_of(many + few).lazy(), pool.lazy(), cap_in_force=100, rule=RULE)
    columns = ("domain", "pooled", "quantile", "cap", "rollouts")
    assert caps.select(columns).rows() == [("code", True, 30.0, 30, 49), ("maths", False, 30.0, 30, 150)]
    one_more = rollouts_of([*many, *few, few[0]]).lazy()
    caps = length_caps(one_more, pool.lazy(), cap_in_force=100, rule=RULE)
    assert caps.select(columns).row(0) == ("code", False, 5.0, 5, 50)


def test_a_domain_that_is_cut_off_is_not_given_the_short_lengths_of_others(rollouts_of, pool_of) -> None:
    pool = pool_of([{"prompt_id": PROMPT}, {"prompt_id": "b" * 32, "domain": "proofs"}])
    short = [{"prompt_id": PROMPT} | row for row in lengths("10 " * 200)]
    cut = [{"prompt_id": "b" * 32} | row for row in lengths("90 " * 5 + "100+ " * 15)]
    caps = length_caps(rollouts_of(short + cut).lazy(), pool.lazy(), cap_in_force=100, rule=RULE)
    row = caps.filter(pl.col("domain") == "proofs").row(0, named=True)
    assert (row["pooled"], row["identified"], row["cap"]) == (False, False, 100)


def test_a_window_leaves_prompts_what_the_cap_does_not_take(rollouts_of, pool_of) -> None:
    rows = lengths("1 2 3 4 5 6 7 8 9 10")
    assert caps_of(rows, rollouts_of, pool_of, window=30)["prompt_cap"] == 21
    assert caps_of(rows, rollouts_of, pool_of, window=4)["prompt_cap"] == 0


def test_a_quantile_is_a_share() -> None:
    with pytest.raises(ValueError, match="quantile must lie in"):
        length_caps(pl.LazyFrame(), pl.LazyFrame(), cap_in_force=1, rule=RULE, quantile=1.0)
