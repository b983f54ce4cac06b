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
        "before_fresh": pl.Float64,  # expected share of mixed fresh groups among the sampled prompts
        "kept": pl.Int64,  # prompts in the set
        "after": pl.Float64,  # expected share of mixed fresh groups in the set
    }
)


def signal_ratios(groups: pl.DataFrame, decisions: pl.DataFrame, *, by_domain: bool = False) -> pl.DataFrame:
    """The effective signal ratio of the pool as sampled and of the set: schema SIGNAL.

    `before` is measured on the recorded groups. The others predict fresh groups of the trainer's size
    by the mean of p_mixed: the recorded groups of the set were chosen for being varied and would say 1.

    Returns:
        one row per domain of the pool, sorted; or one row with a null domain for all of them together.

    Raises:
        SchemaError: a column is missing or of another type.
    """
    require(groups, GROUPS, table="groups")
    require(decisions, DECISIONS, table="decisions")
    if not by_domain:
        nowhere = pl.lit(None, dtype=pl.String).alias("domain")
        groups, decisions = groups.with_columns(nowhere), decisions.with_columns(nowhere)
    chosen = decisions.filter(pl.col("decision").cast(pl.String).str.starts_with("keep_"))
    kept = chosen.select("domain", "prompt_id").join(groups.select("prompt_id", "p_mixed"), on="prompt_id")
    before = groups.group_by("domain").agg(pl.col("varied").sum(), sampled=pl.len(), before_fresh="p_mixed")
    after = kept.group_by("domain").agg(kept=pl.len(), after="p_mixed")
    domains = (
        decisions.select("domain").unique()
        if by_domain
        else pl.DataFrame({"domain": [None]}, {"domain": pl.String})
    )
    # Sorted lists, not means of groups: the same to the last bit whatever the order.
    mean = pl.col("before_fresh", "after").list.sort().list.mean()
    return (
        domains.join(before, on="domain", how="left", nulls_equal=True)
        .join(after, on="domain", how="left", nulls_equal=True)
        .with_columns(mean, pl.col("sampled", "varied", "kept").fill_null(0))
        .with_columns(before=pl.when(pl.col("sampled") > 0).then(pl.col("varied") / pl.col("sampled")))
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


def size_of_set(decisions: pl.DataFrame) -> int:
    """How many prompts are in the set, the hard reserve included."""
    return decisions.filter(pl.col("decision").cast(pl.String).str.starts_with("keep_")).height


def mixed_in_fresh(s: pl.Expr, n: pl.Expr, size: int) -> pl.Expr:
    """The chance that `size` of a recorded group's n rollouts, s of them correct, are mixed.

    Unbiased for a fresh group of `size` when n was fixed beforehand: 1 - [C(s,m) + C(n-s,m)] / C(n,m)
    with m = size; null where m > n.
    """
    right = pl.lit(1.0)
    wrong = pl.lit(1.0)
    for drawn in range(size):
        right *= (s - drawn) / (n - drawn)
        wrong *= (n - s - drawn) / (n - drawn)
    return pl.when(n >= size).then(1 - right - wrong)
