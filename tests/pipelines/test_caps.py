from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from pipelines.caps import length_caps
from pipelines.groups import GroupRule
from pipelines.schemas import ROLLOUTS

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
        "quantile": None,
        "identified": False,
        "cap": None,
        "correct_cut": None,
    }


def simulated(rng: np.random.Generator, caps: np.ndarray, size: int = 60_000) -> tuple[pl.LazyFrame, float]:
    """Rollouts of log-normal length cut at caps drawn from `caps`, and their true 0.9 quantile."""
    length = np.exp(rng.normal(5.5, 0.8, size))
    cap = rng.choice(caps, size)
    rows = {
        "prompt_id": [PROMPT] * size,
        "tokens": np.minimum(length, cap).astype(np.int32),
        "finish": np.where(length > cap, "length", "stop"),
        "correctness": np.zeros(size),
        "outcome": np.where(length > cap, "truncated", "wrong"),
    }
    columns = [
        "prompt_id",
        "tokens",
        "finish",
        "correctness",
        "outcome",
        "parts",
        "mean_logprob",
        "repetition",
    ]
    frame = pl.DataFrame(rows).with_columns(
        pl.lit(None, dtype=ROLLOUTS[name]).alias(name) for name in columns if name not in rows
    )
    return frame.lazy(), float(np.exp(5.5 + 0.8 * 1.2815515655))


@pytest.mark.parametrize("caps", [[10**6], [700, 10**6], [300, 900, 2000], [200, 400, 1500]])
def test_the_true_quantile_is_found_under_censoring(caps, pool_of) -> None:
    rollouts, truth = simulated(np.random.default_rng(3), np.array(caps))
    cap = length_caps(rollouts, pool_of([{"prompt_id": PROMPT}]).lazy(), cap_in_force=2000, rule=RULE)
    assert cap["identified"].item()
    assert cap["quantile"].item() == pytest.approx(truth, rel=0.03)


def test_one_cap_below_the_quantile_is_said_to_hide_it(pool_of) -> None:
    rollouts, truth = simulated(np.random.default_rng(3), np.array([500]))
    assert truth > 500
    caps = length_caps(rollouts, pool_of([{"prompt_id": PROMPT}]).lazy(), cap_in_force=500, rule=RULE)
    assert caps.select("identified", "quantile", "cap").row(0) == (False, None, 500)


def test_a_quantile_is_a_share() -> None:
    with pytest.raises(ValueError, match="quantile must lie in"):
        length_caps(pl.LazyFrame(), pl.LazyFrame(), cap_in_force=1, rule=RULE, quantile=1.0)
