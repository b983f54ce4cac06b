"""Selection: what happens to every row of the pool, and why.

In: the pool, the groups, the length caps and a policy. Out: one decision per row of the pool,
schema DECISIONS, sorted by row; the counts add up to the pool.

The fates are a list; the first that holds decides. Each carries its reason, a sentence with the
numbers of the prompt in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from pipelines import dedupe
from pipelines.groups import TOL
from pipelines.order import shuffled
from pipelines.policies import SelectionPolicy
from pipelines.schemas import CAPS, DECISIONS, GROUPS, POOL, Decision, require


@dataclass(frozen=True, slots=True)
class Fate:
    """Rows for which `holds`, and for which no earlier fate did, get `decision` because of `reason`."""

    decision: str
    holds: pl.Expr
    reason: pl.Expr


def decide(
    pool: pl.LazyFrame | pl.DataFrame,
    groups: pl.LazyFrame | pl.DataFrame,
    caps: pl.LazyFrame | pl.DataFrame,
    policy: SelectionPolicy,
) -> pl.DataFrame:
    """The decision on every row of `pool`: schema DECISIONS, sorted by row.

    Args:
        pool: schema POOL, equal prompts included.
        groups: schema GROUPS, one row per scored prompt.
        caps: schema CAPS, one row per domain.
        policy: rule and thresholds.

    Raises:
        SchemaError: a column is missing or of another type.
        polars.exceptions.ComputeError: `groups` repeats a prompt or `caps` a domain.
    """
    for frame, schema, table in ((pool, POOL, "pool"), (groups, GROUPS, "groups"), (caps, CAPS, "caps")):
        require(frame, schema, table=table)
    fates = _fates(policy)
    decided = (
        pool.lazy()
        .select(POOL.names())
        .with_columns(first_row=dedupe.first_row())
        .join(groups.lazy().drop("domain"), on="prompt_id", how="left", validate="m:1")
        .join(caps.lazy().select("domain", "cap"), on="domain", how="left", validate="m:1", nulls_equal=True)
        .with_columns(
            decision=pl.coalesce(pl.when(fate.holds).then(pl.lit(fate.decision)) for fate in fates),
            reason=pl.coalesce(pl.when(fate.holds).then(fate.reason) for fate in fates),
        )
        .sort("row")
        .collect()
        .rechunk()  # a mean over chunks differs in its last bits with where they were cut
    )
    return _weighted(_with_hard_reserve(decided, policy), policy)


def _fates(policy: SelectionPolicy) -> list[Fate]:
    """The fates in their order; one may hold for rows that an earlier one has taken."""
    n, s = pl.col("n"), pl.col("s")
    verdicts = pl.col("rollouts") - pl.col("aborted") - pl.col("verifier_error")
    cut_off = (s == 0) & (pl.col("truncated") > verdicts * policy.mostly_truncated)
    overlong = pl.coalesce(
        pl.format("the prompt's {} tokens leave no room in the window", "prompt_tokens"),
        pl.lit("the prompt leaves no room in the window"),
    )
    return [
        Fate(
            "drop_duplicate",
            pl.col("row") != pl.col("first_row"),
            pl.format("the same prompt as row {}", "first_row"),
        ),
        Fate("drop_overlong_prompt", pl.col("overlong"), overlong),
        Fate("defer_unlikely", n.is_null() & ~pl.col("planned"), pl.lit("not sampled this time")),
        Fate("defer_unscorable", n.is_null(), pl.lit("no rollouts")),
        Fate("keep_mixed", policy.expressions.keep, _mixed_reason()),
        Fate(
            "defer_truncated",
            policy.enough(verdicts) & cut_off,
            pl.format("{} of {} rollouts cut off, none correct", "truncated", "rollouts"),
        ),
        Fate("defer_unscorable", ~policy.enough(n), _unscorable_reason()),
        Fate("drop_solved", s == n, pl.format("{} of {} rollouts correct", "s", "n")),
        Fate("drop_unsolved", pl.col("mean") <= TOL, pl.format("{} of {} rollouts correct", "s", "n")),
        Fate(
            "drop_constant_partial",
            pl.lit(value=True),
            pl.format("all {} rollouts score {}", "n", pl.col("mean").round(3)),
        ),
    ]


def _mixed_reason() -> pl.Expr:
    correct = pl.format("{} of {} rollouts correct", "s", "n")
    spread = pl.format(
        "{}, marks spread over {} around {}", correct, pl.col("range").round(3), pl.col("mean").round(3)
    )
    return pl.when(pl.col("partial") > 0).then(spread).otherwise(correct)


def _unscorable_reason() -> pl.Expr:
    return pl.format(
        "only {} of {} rollouts judged ({} aborted, {} verifier errors, {} cut off)",
        *("n", "rollouts", "aborted", "verifier_error", "truncated"),
    )


def _with_hard_reserve(decided: pl.DataFrame, policy: SelectionPolicy) -> pl.DataFrame:
    """Moves the unsolved prompts that are likeliest to be mixed into the set, up to the reserve's share."""
    kept = decided.filter(pl.col("decision") == "keep_mixed").height
    unsolved = decided.filter(pl.col("decision") == "drop_unsolved")
    if policy.reserve_seed is None:
        ordered = unsolved.sort("prompt_id")
    else:
        ordered = shuffled(unsolved, policy.reserve_seed)
    likeliest = ordered.sort("p_mixed", descending=True, maintain_order=True)
    reserved = pl.col("row").is_in(likeliest.head(policy.reserve_size(kept))["row"].implode())
    chance = pl.format(
        "{}; kept in reserve, a fresh group is mixed with probability {}",
        "reason",
        pl.col("p_mixed").round(3),
    )
    return decided.with_columns(
        decision=pl.when(reserved).then(pl.lit("keep_hard_reserve")).otherwise("decision"),
        reason=pl.when(reserved).then(chance).otherwise("reason"),
    )


def _weighted(decided: pl.DataFrame, policy: SelectionPolicy) -> pl.DataFrame:
    """Gives the set its weights, of mean 1, and its caps; rows outside the set have neither."""
    kept = pl.col("decision").str.starts_with("keep_")
    weight = pl.when(kept).then(policy.expressions.weight)
    return decided.with_columns(
        pl.col("decision").cast(Decision),
        weight=weight / weight.mean(),
        cap=pl.when(kept).then("cap"),
    ).select(pl.col(name).cast(dtype) for name, dtype in DECISIONS.items())
