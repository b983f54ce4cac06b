"""Composes the set from the scored prompts: the rule, quotas, sizes, the hard reserve.

In: scored prompts, schema SCORED, and a policy. Out: the part each of them plays, one of PARTS.

    candidates of the rule, the best first -> share of the rule -> quotas and ceiling
      -> filled up to the floor with prompts that vary -> hard reserve beside them
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import polars as pl

from pipelines.order import shuffled
from pipelines.policies import SelectionPolicy

SCORED = pl.Schema(
    {
        "row": pl.Int64,
        "prompt_id": pl.String,
        "domain": pl.String,
        "varied": pl.Boolean,
        "unsolved": pl.Boolean,  # every judged rollout earned nothing
        "pass_rate": pl.Float64,
        "p_mixed": pl.Float64,
        "learnability": pl.Float64,
    }
)
"""One row per prompt with enough judged rollouts to say something of it."""

PARTS = pl.Enum(
    [
        "rule",  # in the set by the rule
        "filler",  # in the set to bring it to its floor
        "reserve",  # in the set as hard reserve
        "over_quota",  # the rule keeps it, but a quota or the ceiling has no room
        "outside",  # the rule leaves it out
    ]
)

_HAIR = 1e-9  # products of shares and whole numbers come out a little off


def compose(scored: pl.DataFrame, policy: SelectionPolicy) -> pl.DataFrame:
    """The part of every scored prompt: columns row and part, in no particular order.

    The ceiling and the floor are those of the whole set, so they leave room for its hard reserve as
    far as there are unsolved prompts for it. A floor is met only with prompts that vary.
    """
    rule = policy.expressions
    ordered = _best_first(scored, rule.first, policy.seed)
    ordered = ordered.with_columns(passes=(rule.keep & rule.within).fill_null(value=False))
    passing, others = ordered.filter("passes"), ordered.filter(~pl.col("passes"))
    unsolved = _best_first(others.filter("unsolved"), pl.col("p_mixed"), policy.seed)

    room, least = (
        _beside_reserve(size, unsolved.height, policy) for size in (policy.max_size, policy.min_size)
    )
    taken = _mixed(passing, others, policy, room, least)
    share = policy.reserve_size(taken.height)
    share = share if policy.max_size is None else min(share, policy.max_size - taken.height)
    reserve = _take(unsolved, share, policy.quotas, beside=taken)
    # Once more, since quotas may have kept some of the reserve out.
    room, least = (
        None if size is None else size - reserve.height for size in (policy.max_size, policy.min_size)
    )
    taken = _mixed(passing, others, policy, room, least, beside=reserve)

    in_set = pl.col("row").is_in(taken["row"].implode())
    return ordered.select(
        "row",
        part=pl.when(pl.col("row").is_in(reserve["row"].implode()))
        .then(pl.lit("reserve"))
        .when(pl.col("passes"))
        .then(pl.when(in_set).then(pl.lit("rule")).otherwise(pl.lit("over_quota")))
        .otherwise(pl.when(in_set).then(pl.lit("filler")).otherwise(pl.lit("outside")))
        .cast(PARTS),
    )


def _best_first(scored: pl.DataFrame, first: pl.Expr, seed: int | None) -> pl.DataFrame:
    """In falling order of `first`; equals by prompt_id, or in the order that `seed` gives them."""
    ordered = scored.sort("prompt_id") if seed is None else shuffled(scored, seed)
    return ordered.sort(first, descending=True, nulls_last=True, maintain_order=True).rechunk()


def _mixed(
    passing: pl.DataFrame,
    others: pl.DataFrame,
    policy: SelectionPolicy,
    most: int | None,
    least: int | None,
    beside: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The set but for its reserve: what passes the rule, and if that is too little, what varies as well."""
    taken = _take(passing, most, policy.quotas, beside=beside)
    if least is None or taken.height >= least:
        return taken
    return _take(pl.concat([passing, others.filter("varied")]), least, policy.quotas, beside=beside)


def _beside_reserve(size: int | None, unsolved: int, policy: SelectionPolicy) -> int | None:
    """How many prompts of a set of `size` are not its hard reserve."""
    return None if size is None else size - min(unsolved, int(policy.hard_reserve * size + _HAIR))


def _take(
    candidates: pl.DataFrame,
    most: int | None,
    quotas: Mapping[str, float],
    *,
    beside: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The first of `candidates`, at most `most`, of each domain no more than its quota.

    A quota is a share of what is taken and what is `beside` it together, rounded up to whole prompts.
    """
    size = candidates.height if most is None else min(most, candidates.height)
    if not quotas:
        return candidates.head(size)
    size, room = _under_quotas(_per_domain(candidates), size, quotas, _per_domain(beside))
    limit = pl.col("domain").replace_strict(room, default=candidates.height, return_dtype=pl.Int64)
    return candidates.filter(pl.int_range(pl.len()).over("domain") < limit).head(size)


def _under_quotas(
    available: Mapping[str | None, int],
    size: int,
    quotas: Mapping[str, float],
    beside: Mapping[str | None, int],
) -> tuple[int, dict[str, int]]:
    """The largest size, up to `size`, that the quotas allow, and the room of each domain with a quota.

    What a quota allows shrinks with the set, so the size is lowered until it is the one it allows.
    """
    others = sum(beside.values())
    while True:
        room = {
            domain: max(math.ceil(share * (others + size) - _HAIR) - beside.get(domain, 0), 0)
            for domain, share in quotas.items()
        }
        allowed = sum(
            min(count, room[domain]) if domain in room else count for domain, count in available.items()
        )
        if allowed >= size:
            return size, room
        size = allowed


def _per_domain(prompts: pl.DataFrame | None) -> dict[str | None, int]:
    return {} if prompts is None else dict(prompts.group_by("domain").len().iter_rows())
