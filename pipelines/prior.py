"""Pass rates with a prior learnt from the pool: from s of n correct to what a fresh group will do.

In: groups with `s` successes in `n` judged rollouts. Out: one row per distinct (s, n) with the
posterior's mean, its moment-matched Beta, the chance that a fresh group is mixed, and learnability.

Pools of reinforcement learning are U-shaped: most prompts are nearly always or nearly never solved.
So the prior is a mixture of five Betas: a spike near 0 and a spike near 1, a shoulder beside each for
prompts that are solved, or missed, once in a while, these four fixed, and a broad Beta between. The
weights and the broad Beta maximise the beta-binomial likelihood of the counts (empirical Bayes, by
expectation maximisation; the Beta step is Minka's fixed point, "Estimating a Dirichlet distribution",
2000). Everything depends on (s, n) alone and is computed once per pair.

Evidence of an older checkpoint would enter as a prior per prompt in place of the pool's; the pass
rates of this module know only the rollouts of one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]

SPIKE = (0.5, 100.0)
"""The spike near 0, a Beta of mean 0.005; the one near 1 is its mirror image."""

SHOULDER = (1.0, 15.0)
"""The shoulder of the spike near 0, of mean 1/16. Without it such prompts are taken for the broad Beta's as
soon as one rollout is right, and groups that vary by chance are expected to vary again."""

BROAD_LIMITS = (0.5, 20.0)
"""The broad Beta is never more U-shaped than Jeffreys' prior and never as narrow as a spike."""

FEWEST_GROUPS = 30
"""With fewer judged groups the pool says too little about its own shape."""

MAX_ROUNDS = 500
_ENOUGH = 1e-8  # improvement of the log-likelihood, in nats per group, below which fitting ends


@dataclass(frozen=True, slots=True)
class Prior:
    """A mixture of Betas: weights that sum to 1, and the (alpha, beta) of each component."""

    weights: tuple[float, ...]
    betas: tuple[tuple[float, float], ...]


WEAK = Prior(weights=(1.0,), betas=((0.5, 0.5),))
"""Jeffreys' prior, used as it is when there are too few groups to fit one."""


def posteriors(groups: pl.DataFrame, trainer_group_size: int) -> pl.DataFrame:
    """One row per distinct (s, n) of `groups`, under the prior fitted to all of them.

    Returns:
        s, n, alpha, beta, pass_rate, p_mixed (a fresh group of `trainer_group_size`), learnability;
        sorted by (n, s).
    """
    pairs = groups.group_by("n", "s").len("groups").sort("n", "s")
    s, n, count = (pairs[name].to_numpy().astype(np.int64) for name in ("s", "n", "groups"))
    columns = posterior_columns(fit_prior(s, n, count), s, n, trainer_group_size)
    return pairs.select("s", "n").with_columns(pl.Series(name, values) for name, values in columns.items())


def fit_prior(s: Counts, n: Counts, count: Counts) -> Prior:
    """The mixture that best explains `count` groups of s successes in n rollouts.

    One imagined group per component keeps every weight above zero. Deterministic; at most
    MAX_ROUNDS rounds.

    Args:
        s, n, count: integer arrays of one length, one entry per distinct (s, n).
    """
    informative = n > 0
    s, n, count = s[informative], n[informative], count[informative].astype(np.float64)
    total = count.sum()
    if total < FEWEST_GROUPS:
        return WEAK
    broad, before = (1.0, 1.0), -np.inf
    kinds = len(_mixture(broad))
    weights = np.full(kinds, 1 / kinds)
    for _ in range(MAX_ROUNDS):
        joint = np.log(weights)[:, None] + np.stack([_log_likelihood(ab, s, n) for ab in _mixture(broad)])
        evidence = np.logaddexp.reduce(joint, axis=0)
        share = np.exp(joint - evidence) * count
        after = float(evidence @ count)
        if after - before < _ENOUGH * total:
            break
        before = after
        weights = (share.sum(axis=1) + 1) / (total + kinds)
        broad = _better_beta(broad, s, n, share[-1])
    return Prior(weights=tuple(weights.tolist()), betas=_mixture(broad))


def posterior_columns(prior: Prior, s: Counts, n: Counts, trainer_group_size: int) -> dict[str, Floats]:
    """The mixture posterior of each (s, n), by its moments.

    alpha and beta are those of the single Beta with the same mean and variance. The others are
    exact: pass_rate = E[p], learnability = E[p(1-p)], p_mixed = 1 - E[p^G] - E[(1-p)^G].
    """
    alphas, betas = (np.array(side)[:, None] for side in zip(*prior.betas, strict=True))
    joint = np.log(np.array(prior.weights))[:, None] + np.stack(
        [_log_likelihood(ab, s, n) for ab in prior.betas]
    )
    weight = np.exp(joint - np.logaddexp.reduce(joint, axis=0))
    a, b = alphas + s, betas + (n - s)

    def expected(values: Floats) -> Floats:
        return np.asarray((weight * values).sum(axis=0))

    mean, square = expected(a / (a + b)), expected(a * (a + 1) / ((a + b) * (a + b + 1)))
    strength = (mean - square) / (square - mean**2)
    steps = np.arange(trainer_group_size)[:, None, None]
    all_right = expected(np.prod((a + steps) / (a + b + steps), axis=0))
    all_wrong = expected(np.prod((b + steps) / (a + b + steps), axis=0))
    return {
        "alpha": mean * strength,
        "beta": (1 - mean) * strength,
        "pass_rate": mean,
        "p_mixed": 1 - all_right - all_wrong,
        "learnability": mean - square,
    }


def _mixture(broad: tuple[float, float]) -> tuple[tuple[float, float], ...]:
    return (SPIKE, SPIKE[::-1], SHOULDER, SHOULDER[::-1], broad)


def _log_likelihood(ab: tuple[float, float], s: Counts, n: Counts) -> Floats:
    """Log of B(a+s, b+n-s) / B(a, b); the binomial coefficient, the same for every prior, is left out."""
    a, b = ab
    return _rising(np.log, a, s) + _rising(np.log, b, n - s) - _rising(np.log, a + b, n)


def _better_beta(ab: tuple[float, float], s: Counts, n: Counts, share: Floats) -> tuple[float, float]:
    """One step of Minka's fixed point towards the Beta that best explains the groups, `share` of each."""
    a, b = ab
    spread = share @ _rising(np.reciprocal, a + b, n)
    better = (
        a * (share @ _rising(np.reciprocal, a, s)) / spread,
        b * (share @ _rising(np.reciprocal, b, n - s)) / spread,
    )
    low, high = BROAD_LIMITS
    return float(np.clip(better[0], low, high)), float(np.clip(better[1], low, high))


def _rising(of: np.ufunc, start: float, length: Counts) -> Floats:
    """The sum of `of(start + i)` for i < length, per entry.

    With log it is log gamma(start + length) - log gamma(start), with the reciprocal the same
    difference of digamma: integer counts need no special functions.
    """
    sums = np.cumsum(of(start + np.arange(length.max(initial=0), dtype=np.float64)))
    return np.asarray(np.concatenate([[0.0], sums])[length])
