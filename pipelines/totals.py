"""Sums, means and variances per group that are the same to the last bit whatever the order of rows.

In: a numeric expression. Out: expressions to aggregate it with, and what they come to.

A sum of floats depends on their order in its last bits. So each value is cut in two multiples of a power of
two, whose sums are exact: 2^-10 while a group's total stays below 2^43, and 2^-50 for the rest of up to 8,192
values. What is cut off is below 2^-50 a value. Only plain sums are asked for, which stream.
"""

from __future__ import annotations

import polars as pl

_COARSE, _FINE = 2.0**10, 2.0**50


def total(value: pl.Expr) -> pl.Expr:
    """The sum of `value`, nulls left out; 0 for none. Finite values only."""
    coarse = (value * _COARSE).floor() / _COARSE
    return coarse.sum() + (((value - coarse) * _FINE).floor() / _FINE).sum()


def moments(value: pl.Expr, name: str) -> list[pl.Expr]:
    """What to aggregate for `mean`, `variance` and `spread` of the same name."""
    return [
        value.count().alias(f"{name}_count"),
        total(value).alias(f"{name}_total"),
        total(value * value).alias(f"{name}_squares"),
        value.min().alias(f"{name}_min"),
        value.max().alias(f"{name}_max"),
    ]


def mean(name: str) -> pl.Expr:
    """Null for no values."""
    count = pl.col(f"{name}_count")
    return pl.when(count > 0).then(pl.col(f"{name}_total") / count)


def spread(name: str) -> pl.Expr:
    """Largest minus smallest value; null for no values."""
    return pl.col(f"{name}_max") - pl.col(f"{name}_min")


def variance(name: str) -> pl.Expr:
    """Population variance, never below 0 and exactly 0 for equal values; null for no values."""
    squares = pl.col(f"{name}_squares") / pl.col(f"{name}_count")
    around = (squares - mean(name) ** 2).clip(lower_bound=0)
    return pl.when(spread(name) > 0).then(around).otherwise(spread(name))
