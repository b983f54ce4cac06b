"""What a selection amounts to, as small tables for people and reports.

In: groups and decisions. Out: the effective signal ratio before and after, and counts per decision.
"""

from __future__ import annotations

import polars as pl

from pipelines.schemas import DECISIONS, GROUPS, require

SIGNAL = pl.Schema(
    {
        "domain": pl.String,
        "sampled": pl.Int64,  # prompts with rollouts
        "varied": pl.Int64,  # of which varied
        "before": pl.Float64,  # varied / sampled; null when nothing was sampled
        "kept": pl.Int64,  # prompts in the set
        "after": pl.Float64,  # expected share of mixed groups in the set, at the trainer's group size
    }
)


def signal_ratios(groups: pl.DataFrame, decisions: pl.DataFrame, *, by_domain: bool = False) -> pl.DataFrame:
    """The effective signal ratio of the pool as sampled and of the set: schema SIGNAL.

    `before` is measured on the recorded groups. `after` is the mean of p_mixed, the prediction for
    fresh groups: the recorded groups were chosen for being varied and would say 1.

    Returns:
        one row per domain, sorted; or one row with a null domain for all of them together.

    Raises:
        SchemaError: a column is missing or of another type.
    """
    require(groups, GROUPS, table="groups")
    require(decisions, DECISIONS, table="decisions")
    domain = pl.col("domain") if by_domain else pl.lit(None, dtype=pl.String).alias("domain")
    before = groups.group_by(domain).agg(sampled=pl.len(), varied=pl.col("varied").sum())
    after = (
        decisions.filter(_kept())
        .join(groups.select("prompt_id", "p_mixed"), on="prompt_id")
        .group_by(domain)
        .agg(pl.col("p_mixed"), kept=pl.len())
        .with_columns(after=pl.col("p_mixed").list.sort().list.mean())  # the same whatever the order
    )
    return (
        before.join(after, on="domain", how="left", nulls_equal=True)
        .with_columns(pl.col("kept").fill_null(0), before=pl.col("varied") / pl.col("sampled"))
        .select(pl.col(name).cast(dtype) for name, dtype in SIGNAL.items())
        .sort("domain")
    )


def decision_counts(decisions: pl.DataFrame) -> pl.DataFrame:
    """Rows per (domain, decision): columns domain, decision, rows; those that occur, in the declared order.

    Raises:
        SchemaError: a column is missing or of another type.
    """
    require(decisions, DECISIONS, table="decisions")
    return (
        decisions.group_by("domain", "decision").agg(rows=pl.len().cast(pl.Int64)).sort("domain", "decision")
    )


def mixed_in_fresh(s: pl.Expr, n: pl.Expr, size: int) -> pl.Expr:
    """The chance that `size` of a recorded group's n rollouts, s of them correct, are mixed.

    Unbiased for a fresh group of `size` when n was fixed beforehand: 1 - [C(s,m) + C(n-s,m)] / C(n,m)
    with m = size; null where m > n.
    """
    right = pl.lit(1.0)
    wrong = pl.lit(1.0)
    for drawn in range(size):
        right *= ((s - drawn) / (n - drawn)).clip(lower_bound=0)
        wrong *= ((n - s - drawn) / (n - drawn)).clip(lower_bound=0)
    return pl.when(n >= size).then(1 - right - wrong)


def _kept() -> pl.Expr:
    return pl.col("decision").cast(pl.String).str.starts_with("keep_")
