"""Selection: what happens to every row of the pool, and why.

In: the pool, the groups, the length caps and a policy. Out: one decision per row of the pool,
schema DECISIONS, sorted by row; the counts add up to the pool.

The fates are two lists; the first fate that holds decides. Those of the first list keep a row out of
consideration. The prompts that are left are composed into a set, and the part that each plays there is its
fate. Each fate carries its reason, a sentence with the numbers of the prompt in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from pipelines import dedupe
from pipelines.compose import SCORED, compose
from pipelines.groups import TOL
from pipelines.order import drawn
from pipelines.policies import RULES, SelectionPolicy
from pipelines.schemas import CAPS, DECISIONS, DOUBTS, GROUPS, POOL, RULE_TABLE, Decision, require

_OF_GROUPS = (
    *("prompt_id", "rollouts", "n", "s", "partial", "truncated", "verifier_error", "aborted"),
    *("mean", "range", "varied", "pass_rate", "p_mixed", "learnability", "observed", "observed_step"),
)
_NOT_BY_GROUP = ("drop_duplicate", "drop_overlong_prompt", "suspect_reference")
_ROWS_AT_A_TIME = 500_000
"""Every fate writes its reason for every row before one is chosen: a dozen sentences a row, in memory."""
_DRAWN = ("drop_solved", "drop_unsolved", "drop_constant_partial", "drop_by_rule", "drop_over_quota")


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
    doubts: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The decision on every row of `pool`: schema DECISIONS, sorted by row.

    Args:
        pool: schema POOL, equal prompts included.
        groups: schema GROUPS, one row per scored prompt.
        caps: schema CAPS, one row per domain.
        policy: rule and thresholds.
        doubts: schema DOUBTS, prompts whose reference is in doubt, if any are.

    Raises:
        SchemaError: a column is missing or of another type, or a prompt_id is not a hash.
        polars.exceptions.ComputeError: `groups` repeats a prompt or `caps` a domain.
    """
    joined = _joined(pool, groups, caps, policy, doubts)
    rows = joined.join(compose(_scored(joined), policy), on="row", how="left", validate="1:1").sort("row")
    parts = [*rows.iter_slices(_ROWS_AT_A_TIME)] or [rows]
    decided = pl.concat(_told(part, policy) for part in parts)
    # In one piece: a mean over chunks differs in its last bits with where they were cut.
    return _finished(decided.rechunk(), policy)


def compare_rules(
    pool: pl.LazyFrame | pl.DataFrame,
    groups: pl.LazyFrame | pl.DataFrame,
    caps: pl.LazyFrame | pl.DataFrame,
    policy: SelectionPolicy,
    doubts: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """What every rule would make of the same pool, all else as in `policy`: schema RULE_TABLE.

    Args and errors are those of `decide`.
    """
    scored = _scored(_joined(pool, groups, caps, policy, doubts))
    in_set = pl.col("part").is_in(["rule", "filler", "reserve"])
    # Sorted, so that the sums are the same to the last bit whatever the order.
    chances, of_all = pl.col("p_mixed").sort(), scored["p_mixed"].sort().sum()
    return pl.concat(
        scored.join(compose(scored, replace(policy, rule=rule)).filter(in_set), on="row", how="semi").select(
            rule=pl.lit(rule),
            used=pl.lit(rule == policy.rule),
            prompts=pl.len().cast(pl.Int64),
            signal=chances.mean(),
            signal_kept=(chances.sum() / pl.lit(of_all, pl.Float64)).fill_nan(None),
        )
        for rule in RULES
    ).select(pl.col(name).cast(dtype) for name, dtype in RULE_TABLE.items())


def _joined(
    pool: pl.LazyFrame | pl.DataFrame,
    groups: pl.LazyFrame | pl.DataFrame,
    caps: pl.LazyFrame | pl.DataFrame,
    policy: SelectionPolicy,
    doubts: pl.DataFrame | None,
) -> pl.DataFrame:
    """Every row of the pool with what is known of it, and whether it is `scored`."""
    doubts = pl.DataFrame(schema=DOUBTS) if doubts is None else doubts
    for frame, schema, table in (
        (pool, POOL, "pool"),
        (groups, GROUPS, "groups"),
        (caps, CAPS, "caps"),
        (doubts, DOUBTS, "doubts"),
    ):
        require(frame, schema, table=table)
    limits = caps.lazy().select("domain", "cap", "prompt_cap")
    unscored = pl.any_horizontal(fate.holds.fill_null(value=False) for fate in _unscored_fates(policy))
    return (
        pool.lazy()
        .select(POOL.names())
        .with_columns(first_row=dedupe.first_row())
        .join(groups.lazy().select(_OF_GROUPS), on="prompt_id", how="left", validate="m:1")
        .join(limits, on="domain", how="left", validate="m:1", nulls_equal=True)
        .join(doubts.lazy().select(DOUBTS.names()), on="prompt_id", how="left", validate="m:1")
        .with_columns(scored=~unscored, unsolved=~pl.col("varied") & (pl.col("mean") <= TOL))
        .collect()
    )


def _scored(joined: pl.DataFrame) -> pl.DataFrame:
    return joined.filter("scored").select(SCORED.names())


def _unscored_fates(policy: SelectionPolicy) -> list[Fate]:
    """What keeps a row out of consideration, in order; one may hold for rows that an earlier one took."""
    n = pl.col("n")
    verdicts = pl.col("rollouts") - pl.col("aborted") - pl.col("verifier_error")
    cut_off = (pl.col("s") == 0) & (pl.col("truncated") > verdicts * policy.mostly_truncated)
    overlong = pl.coalesce(
        pl.format("the prompt's {} tokens leave no room in the window", "prompt_tokens"),
        pl.lit("the prompt leaves no room in the window"),
    )
    crowded = pl.format(
        "the prompt's {} tokens leave no room for responses of {} in the trainer's window",
        "prompt_tokens",
        "cap",
    )
    return [
        Fate(
            "drop_duplicate",
            pl.col("row") != pl.col("first_row"),
            pl.format("the same prompt as row {}", "first_row"),
        ),
        Fate("drop_overlong_prompt", pl.col("overlong"), overlong),
        Fate("drop_overlong_prompt", pl.col("prompt_tokens") > pl.col("prompt_cap"), crowded),
        Fate("suspect_reference", pl.col("doubt").is_not_null(), pl.col("doubt")),
        Fate("defer_unlikely", n.is_null() & ~pl.col("planned"), pl.lit("not sampled this time")),
        Fate("defer_unscorable", n.is_null(), pl.lit("no rollouts")),
        Fate(
            "defer_truncated",
            ~pl.col("varied") & policy.enough(verdicts) & cut_off,
            pl.format("{} of {} rollouts cut off, none correct", "truncated", "rollouts"),
        ),
        Fate("defer_unscorable", ~pl.col("varied") & ~policy.enough(n), _unscorable_reason()),
    ]


def _scored_fates(policy: SelectionPolicy) -> list[Fate]:
    """What becomes of a scored prompt, by the part it plays in the set."""
    n, s, part, rule = pl.col("n"), pl.col("s"), pl.col("part"), policy.expressions
    correct = pl.format("{} of {} rollouts correct", "s", "n")
    kept, asked = _mixed_reason(), pl.format(f"{{}}; rule {policy.rule} asks for {rule.asks}", correct)
    if rule.figure is not None:
        figure = pl.col(rule.figure).round(3)
        kept = pl.format(f"{{}}; {rule.figure} {{}}", kept, figure)
        asked = pl.format(
            f"{{}}; {rule.figure} {{}}, rule {policy.rule} asks for {rule.asks}", correct, figure
        )
    chance = pl.format(
        "{}; kept in reserve, a fresh group is mixed with probability {}", correct, pl.col("p_mixed").round(3)
    )
    return [
        Fate("keep_mixed", part == "rule", kept),
        Fate("keep_mixed", part == "filler", pl.format("{}, kept all the same to fill the set", asked)),
        Fate("keep_hard_reserve", part == "reserve", chance),
        Fate(
            "drop_over_quota",
            part == "over_quota",
            pl.format("{}, but its domain or the set is full", kept),
        ),
        Fate("drop_by_rule", pl.col("varied"), asked),
        Fate("drop_solved", s == n, correct),
        Fate("drop_unsolved", pl.col("unsolved"), correct),
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


def _observed() -> pl.Expr:
    """Says where a group was decided on that is not from this pass but from training."""
    when = pl.coalesce(pl.format(", observed at step {}", "observed_step"), pl.lit(", observed in training"))
    return (
        pl.when(pl.col("observed") & ~pl.col("decision").is_in(_NOT_BY_GROUP))
        .then(when)
        .otherwise(pl.lit(""))
    )


def _told(rows: pl.DataFrame, policy: SelectionPolicy) -> pl.DataFrame:
    """The fate of each row, and for those in the set weight and cap; the weights are not yet scaled."""
    fates = [*_unscored_fates(policy), *_scored_fates(policy)]
    kept = pl.col("decision").str.starts_with("keep_")
    return rows.with_columns(
        decision=pl.coalesce(pl.when(fate.holds).then(pl.lit(fate.decision)) for fate in fates),
        reason=pl.coalesce(pl.when(fate.holds).then(fate.reason) for fate in fates),
    ).select(
        *("row", "prompt_id", "domain", "decision"),
        reason=pl.col("reason") + _observed(),
        weight=pl.when(kept).then(policy.expressions.weight),
        cap=pl.when(kept).then("cap"),
    )


def _finished(decided: pl.DataFrame, policy: SelectionPolicy) -> pl.DataFrame:
    """Scales the weights to a mean of 1 in the set, and marks what is to be tested again."""
    decision = pl.col("decision")
    again = drawn(decided["prompt_id"], policy.retest, policy.seed or 0)
    return decided.with_columns(
        decision.cast(Decision),
        weight=pl.col("weight") / pl.col("weight").mean(),
        retest=decision.str.starts_with("defer_") | (decision.is_in(_DRAWN) & again),
    ).select(pl.col(name).cast(dtype) for name, dtype in DECISIONS.items())
