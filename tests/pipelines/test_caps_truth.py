"""Caps of simulated rollouts, whose true quantile is known."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from pipelines.caps import length_caps
from pipelines.groups import NEEDED, GroupRule

RULE = GroupRule(trainer_group_size=8)
NORMAL_P90 = 1.2815515655446004
BEYOND = 10**6


def lognormal(rng: np.random.Generator, prompts: int) -> np.ndarray:
    """Prompts differ, and so do the rollouts of one."""
    return np.exp(5.5 + 0.6 * rng.normal(size=(prompts, 1)) + 0.5 * rng.normal(size=(prompts, 8)))


def weibull(rng: np.random.Generator, prompts: int) -> np.ndarray:
    return 300 * rng.weibull(1.4, size=(prompts, 8))


def two_kinds(rng: np.random.Generator, prompts: int) -> np.ndarray:
    """Short answers, and one in four that thinks for long."""
    long = rng.random((prompts, 8)) < 0.25
    return np.where(long, rng.normal(1200, 150, (prompts, 8)), rng.normal(150, 30, (prompts, 8))).clip(1)


TRUTH = {
    lognormal: math.exp(5.5 + math.hypot(0.6, 0.5) * NORMAL_P90),
    weibull: 300 * math.log(10) ** (1 / 1.4),
    two_kinds: 1200 + 150 * 0.2533471031357997,  # the 0.6 quantile of the long ones
}


def measured(length: np.ndarray, cap: np.ndarray, pool_of, in_force: int = 4096) -> dict[str, object]:
    prompts = [f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}" * 2 for number in range(len(length))]
    flat, limit = length.ravel(), np.broadcast_to(cap, length.shape).ravel()
    frame = pl.DataFrame(
        {
            "prompt_id": np.repeat(prompts, 8),
            "tokens": np.minimum(flat, limit).astype(np.int32),
            "finish": np.where(flat > limit, "length", "stop"),
            "correctness": np.zeros(flat.size),
            "outcome": np.where(flat > limit, "truncated", "wrong"),
        }
    )
    blank = [pl.lit(None, dtype).alias(name) for name, dtype in NEEDED.items() if name not in frame.columns]
    pool = pool_of([{"prompt_id": prompt_id} for prompt_id in prompts]).lazy()
    caps = length_caps(frame.lazy().with_columns(blank), pool, cap_in_force=in_force, rule=RULE)
    return caps.row(0, named=True) | {"censored": float(np.mean(flat > limit))}


def some_cut(length: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Random limits, independent of the lengths, that cut off about `share` of the rollouts."""
    limits = np.where(rng.random(length.shape) < 0.5, rng.choice(length.ravel(), length.shape), BEYOND)
    cut = float(np.mean(length > limits))
    return np.where(rng.random(length.shape) < min(share / cut, 1), limits, BEYOND) if cut else limits


@pytest.mark.parametrize("shape", TRUTH)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.1, 0.2, 0.25])
def test_the_quantile_is_within_three_percent_under_random_censoring(shape, share, pool_of) -> None:
    rng = np.random.default_rng(3)
    length = shape(rng, 4000)
    caps = measured(length, some_cut(length, share, rng), pool_of)
    assert caps["censored"] == pytest.approx(share, abs=0.02)
    assert caps["identified"]
    assert caps["quantile"] == pytest.approx(TRUTH[shape], rel=0.03)
    assert caps["low"] < caps["quantile"] < caps["high"]


@pytest.mark.parametrize("shape", TRUTH)
def test_forty_percent_cut_off_by_limits_of_different_passes(shape, pool_of) -> None:
    rng = np.random.default_rng(4)
    length = shape(rng, 6000)
    limits = np.quantile(length, [0.3, 0.55, 0.97])[rng.integers(0, 3, size=(6000, 1))]
    caps = measured(length, limits, pool_of)
    assert caps["censored"] == pytest.approx(0.4, abs=0.02)
    assert caps["identified"]
    assert caps["quantile"] == pytest.approx(TRUTH[shape], rel=0.03)


@pytest.mark.parametrize("shape", TRUTH)
@pytest.mark.parametrize("share", [0.12, 0.2, 0.4])
def test_one_limit_below_the_quantile_is_said_to_hide_it(shape, share, pool_of) -> None:
    length = shape(np.random.default_rng(5), 2000)
    limit = int(np.quantile(length, 1 - share))
    caps = measured(length, np.array(limit), pool_of, in_force=limit)
    assert caps["censored"] == pytest.approx(share, abs=0.02)
    assert (caps["identified"], caps["quantile"], caps["high"], caps["cap"]) == (False, None, None, limit)


def test_the_interval_covers_the_truth_as_often_as_it_says(pool_of) -> None:
    rng = np.random.default_rng(6)
    covered = []
    for _ in range(40):
        length = lognormal(rng, 300)
        caps = measured(length, some_cut(length, 0.1, rng), pool_of)
        covered.append(caps["low"] <= TRUTH[lognormal] <= caps["high"])
    assert 0.85 <= np.mean(covered) <= 0.99


def test_rollouts_of_one_prompt_are_not_taken_for_independent(pool_of) -> None:
    rng = np.random.default_rng(7)
    alike = np.repeat(np.exp(rng.normal(5.5, 0.7, size=(400, 1))), 8, axis=1)
    apart = np.exp(rng.normal(5.5, 0.7, size=(400, 8)))
    widths = [
        caps["high"] - caps["low"]
        for caps in (measured(length, np.array(BEYOND), pool_of) for length in (alike, apart))
    ]
    assert widths[0] > 1.5 * widths[1]
