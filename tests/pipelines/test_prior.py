from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from pipelines.prior import SPIKE, WEAK, Prior, fit_prior, posterior_columns, posteriors

COLUMNS = ("alpha", "beta", "pass_rate", "p_mixed", "learnability")


def counts(p: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    s, count = np.unique(rng.binomial(n, p), return_counts=True)
    return s.astype(np.int64), np.full(len(s), n, dtype=np.int64), count.astype(np.int64)


def u_shaped(rng: np.random.Generator, prompts: int) -> np.ndarray:
    kind = rng.choice(3, size=prompts, p=[0.45, 0.2, 0.35])
    return np.choose(
        kind, [rng.beta(*SPIKE, prompts), rng.beta(*SPIKE[::-1], prompts), rng.beta(1.5, 2.5, prompts)]
    )


def test_a_u_shaped_pool_gives_back_its_spikes() -> None:
    fitted = fit_prior(*counts(u_shaped(np.random.default_rng(5), 40_000), 8, np.random.default_rng(6)))
    low, high, low_shoulder, high_shoulder, broad = fitted.weights
    assert (low, high, broad) == pytest.approx((0.45, 0.2, 0.35), abs=0.02)
    assert low_shoulder + high_shoulder < 0.03
    assert fitted.betas[-1] == pytest.approx((1.5, 2.5), rel=0.15)


def test_a_pool_without_spikes_gets_none() -> None:
    rng = np.random.default_rng(7)
    fitted = fit_prior(*counts(rng.beta(4, 4, 20_000), 8, rng))
    assert fitted.weights[-1] > 0.98
    assert fitted.betas[-1] == pytest.approx((4, 4), rel=0.15)


def test_prompts_solved_once_in_a_while_are_told_from_those_in_between() -> None:
    """Of groups that vary, many do by chance: what they are expected to do next must allow for that."""
    rng = np.random.default_rng(11)
    p = np.where(rng.random(60_000) < 0.4, rng.beta(1, 20, 60_000), u_shaped(rng, 60_000))
    s = rng.binomial(8, p)
    varied = (s > 0) & (s < 8)
    table = posteriors(pl.DataFrame({"s": s, "n": np.full(len(s), 8)}), 8)
    chance = dict(table.select("s", "p_mixed").iter_rows())
    predicted = np.mean([chance[value] for value in s[varied]])
    assert predicted == pytest.approx(np.mean(1 - p[varied] ** 8 - (1 - p[varied]) ** 8), abs=0.02)


def test_predictions_are_calibrated_where_a_uniform_prior_is_not() -> None:
    rng = np.random.default_rng(8)
    p = u_shaped(rng, 60_000)
    s = rng.binomial(8, p)
    truth = np.mean(1 - p**16 - (1 - p) ** 16, where=s == 0)
    groups = pl.DataFrame({"s": s, "n": np.full(len(s), 8)})
    predicted = posteriors(groups, 16).filter(pl.col("s") == 0)["p_mixed"].item()
    uniform = posterior_columns(Prior((1.0,), ((1.0, 1.0),)), *(np.array([x]) for x in (0, 8)), 16)[
        "p_mixed"
    ].item()
    assert predicted == pytest.approx(truth, abs=0.02)
    assert uniform > truth + 0.3


@pytest.mark.parametrize("prior", [WEAK, Prior((0.5, 0.2, 0.3), (SPIKE, SPIKE[::-1], (0.9, 2.2)))])
@pytest.mark.parametrize(("s", "n"), [(0, 0), (0, 8), (3, 8), (16, 16)])
def test_moments_equal_brute_force_integration(prior: Prior, s: int, n: int) -> None:
    # p = sin² t takes the poles of the densities away.
    t = (np.arange(400_000) + 0.5) / 400_000 * math.pi / 2
    p = np.sin(t) ** 2
    density = np.zeros_like(t)
    for weight, (a, b) in zip(prior.weights, prior.betas, strict=True):
        constant = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
        density += weight * constant * np.sin(t) ** (2 * (a + s) - 1) * np.cos(t) ** (2 * (b + n - s) - 1)
    density /= density.sum()
    got = {name: x.item() for name, x in posterior_columns(prior, np.array([s]), np.array([n]), 8).items()}
    assert got["pass_rate"] == pytest.approx(density @ p, rel=1e-5)
    assert got["learnability"] == pytest.approx(density @ (p * (1 - p)), rel=1e-5)
    assert got["p_mixed"] == pytest.approx(density @ (1 - p**8 - (1 - p) ** 8), rel=1e-5)
    mean, strength = got["alpha"] / (got["alpha"] + got["beta"]), got["alpha"] + got["beta"]
    assert mean == pytest.approx(density @ p, rel=1e-5)
    assert mean * (1 - mean) / (strength + 1) == pytest.approx(density @ (p - density @ p) ** 2, rel=1e-4)


def test_one_beta_agrees_with_the_beta_binomial_formula() -> None:
    a, b, size = 0.5 + 2, 0.5 + 6, 16

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    expected = (
        1
        - math.exp(log_beta(a, b + size) - log_beta(a, b))
        - math.exp(log_beta(a + size, b) - log_beta(a, b))
    )
    assert posterior_columns(WEAK, np.array([2]), np.array([8]), size)["p_mixed"].item() == pytest.approx(
        expected
    )


def test_too_few_groups_take_the_stated_weak_prior() -> None:
    assert fit_prior(np.array([0, 8]), np.array([8, 8]), np.array([20, 9])) is WEAK
    assert fit_prior(np.array([0]), np.array([0]), np.array([5000])) is WEAK, (
        "unjudged groups are no evidence"
    )


@pytest.mark.parametrize("s", [[0], [8], [0, 8], [4]])
def test_degenerate_pools_keep_every_column_finite_and_every_prompt_possible(s: list[int]) -> None:
    groups = pl.DataFrame({"s": s * 5000, "n": [8] * 5000 * len(s)})
    table = posteriors(groups, 8)
    assert table.select(pl.all_horizontal(pl.col(COLUMNS).is_finite().all())).item()
    assert (table["p_mixed"] > 0).all()
    assert (table["learnability"] > 0).all()


def test_success_moves_the_pass_rate_up() -> None:
    rng = np.random.default_rng(9)
    groups = pl.DataFrame({"s": rng.binomial(8, u_shaped(rng, 5000)), "n": [8] * 5000})
    assert posteriors(groups, 8).sort("s")["pass_rate"].is_sorted()
