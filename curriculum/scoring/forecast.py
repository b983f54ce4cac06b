"""What a pass is expected to cost, from what earlier refreshes measured.

In: the prompts, the groups and the timing of the newest published refresh, if there is one. Out: the
expected length of each prompt's rollouts, the order to ask in, and a `Forecast`.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from curriculum.result import Forecast


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an earlier refresh measured."""

    refresh_id: str
    groups: pl.DataFrame  # pipelines.schemas.GROUPS
    tokens_per_s: float | None
    devices: int


def expected_tokens(prompts: pl.DataFrame, evidence: Evidence | None) -> pl.DataFrame:
    """Columns prompt_id and `expected` (response tokens per rollout, null when nothing is known).

    Args:
        prompts: columns prompt_id and domain, one row per distinct prompt.
        evidence: a prompt's own mean counts first, then its domain's.
    """
    if evidence is None:
        return prompts.select("prompt_id", expected=pl.lit(None, pl.Float64))
    own = evidence.groups.select("prompt_id", own="tokens_mean")
    by_domain = evidence.groups.group_by("domain").agg(by_domain=pl.col("tokens_mean").mean())
    return (
        prompts.join(own, on="prompt_id", how="left", maintain_order="left")
        .join(by_domain, on="domain", how="left", maintain_order="left")
        .select("prompt_id", expected=pl.coalesce("own", "by_domain"))
    )


def longest_first(prompts: pl.DataFrame) -> list[str]:
    """Prompt ids, those with the longest expected rollouts first, so that no straggler ends the pass.

    Args:
        prompts: columns prompt_id, expected, prompt_tokens; the latter where nothing else is known.
    """
    order = [pl.col("expected").fill_null(pl.col("prompt_tokens")).fill_null(0), pl.col("prompt_id")]
    ids: list[str] = prompts.sort(order, descending=[True, False])["prompt_id"].to_list()
    return ids


def forecast(
    *, prompts: int, rollouts: int, left: pl.DataFrame, evidence: Evidence | None, max_tokens: int
) -> Forecast:
    """The cost of what is left to sample.

    Args:
        prompts: distinct prompts the pass samples.
        rollouts: rollouts of the whole pass.
        left: columns rollouts and expected, one row per prompt that still needs rollouts.
        evidence: None gives an upper bound of the tokens and no time.
        max_tokens: the cap in force.
    """
    rollouts_left = int(left["rollouts"].sum())
    known = left.filter(pl.col("expected").is_not_null())
    if evidence is None or (known.is_empty() and rollouts_left):
        return Forecast(
            prompts=prompts,
            rollouts=rollouts,
            rollouts_left=rollouts_left,
            tokens=rollouts_left * max_tokens,
            seconds=None,
            engine_hours=None,
            basis=f"an upper bound: no earlier refresh measured lengths, so {max_tokens} tokens a rollout",
        )
    mean = known["expected"].mean() if not known.is_empty() else 0.0
    filled = left.select(pl.col("rollouts") * pl.col("expected").fill_null(mean))
    tokens = int(filled.to_series().sum())
    seconds = tokens / evidence.tokens_per_s if evidence.tokens_per_s else None
    return Forecast(
        prompts=prompts,
        rollouts=rollouts,
        rollouts_left=rollouts_left,
        tokens=tokens,
        seconds=seconds,
        engine_hours=seconds * evidence.devices / 3600 if seconds is not None else None,
        basis=f"lengths and speed measured by refresh {evidence.refresh_id}",
    )
