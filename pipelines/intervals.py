"""The interval of a length quantile: a bootstrap by prompt over counts of lengths.

In: how many rollouts ended and were cut off at each length, per unit of prompts. Out: the ends of the 95%
percentile interval of the Kaplan-Meier quantile (Efron, "Censored data and the bootstrap", J. Am. Stat.
Assoc. 76, 1981).

Rollouts of one prompt are alike, so whole prompts are drawn, never single rollouts. Prompts are dealt into
UNITS units by their content hash and units are drawn, which in expectation has the variance of drawing
prompts, at a cost that does not grow with the rollouts.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

UNITS = 32
"""With so many the width of an interval is known to about 13%."""

REPLICATES = 200
TAIL = 0.025
MOST_LENGTHS = 4096
"""More lengths than this are merged, equally many rollouts each, so that memory stays small."""

_ROUNDING = 1e-9


def quantile_interval(counts: pl.DataFrame, quantile: float) -> tuple[float | None, float | None]:
    """Low and high end of the quantile; None for an end at which the quantile is not reached.

    Args:
        counts: unit, tokens, ended, cut: how many rollouts of a unit ended, or were cut off, at a length; at
            least one row.
        quantile: share of rollouts, in (0, 1).
    """
    unit, tokens, ended, cut = (
        counts[name].to_numpy().astype(np.int64) for name in ("unit", "tokens", "ended", "cut")
    )
    lengths, place = _merged(tokens, ended + cut)
    numbers, number = np.unique(unit, return_inverse=True)
    units, cell = len(numbers), number * len(lengths) + place
    ended, cut = (
        np.bincount(cell, weights, units * len(lengths)).reshape(units, -1) for weights in (ended, cut)
    )
    drawn = np.random.default_rng(0).multinomial(units, np.full(units, 1 / units), REPLICATES).astype(float)
    reached = np.sort(_quantiles(lengths, drawn @ ended, drawn @ cut, quantile))
    tail = int(TAIL * REPLICATES)
    low, high = float(reached[tail]), float(reached[-1 - tail])
    return (low if np.isfinite(low) else None), (high if np.isfinite(high) else None)


def _merged(tokens: NDArray[np.int64], rollouts: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct lengths, and the place of each row among them; a merged length is its largest."""
    lengths, place = np.unique(tokens, return_inverse=True)
    if len(lengths) <= MOST_LENGTHS:
        return lengths.astype(np.float64), place
    before = np.cumsum(np.bincount(place, weights=rollouts))
    share = np.minimum(before * MOST_LENGTHS / before[-1], MOST_LENGTHS - 1).astype(np.int64)
    kept, merged = np.unique(share, return_inverse=True)
    largest = np.zeros(len(kept))
    np.maximum.at(largest, merged, lengths)
    return largest, merged[place]


def _quantiles(lengths: Floats, ended: Floats, cut: Floats, quantile: float) -> Floats:
    """The Kaplan-Meier quantile of each row of counts; infinite where it is not reached."""
    at_risk = np.cumsum((ended + cut)[:, ::-1], axis=1)[:, ::-1]
    survival = np.cumprod(1 - ended / np.maximum(at_risk, 1), axis=1)
    reached = survival <= 1 - quantile + _ROUNDING
    return np.where(reached.any(axis=1), lengths[reached.argmax(axis=1)], np.inf)
