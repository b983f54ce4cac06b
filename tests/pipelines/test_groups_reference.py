"""Groups equal, row for row, what a slow reading of the rules in plain Python says."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.groups import COUNTED, GroupRule, group_statistics
from pipelines.schemas import GROUPS

Row = dict[str, Any]

# --------------------------------------------------------------------------------------------------
# the slow reference


def counted(rollout: Row) -> str:
    if rollout["finish"] == "abort":
        return "aborted"
    correctness = rollout["correctness"]
    if correctness is None or not math.isfinite(correctness) or rollout["outcome"] not in COUNTED[:-1]:
        return "verifier_error"
    return str(rollout["outcome"])


def is_judged(rollout: Row, rule: GroupRule) -> bool:
    masked = rule.truncated == "excluded" and rollout["finish"] == "length"
    return counted(rollout) not in ("aborted", "verifier_error") and not masked


def variance(values: list[float]) -> float | None:
    return fmean((value - fmean(values)) ** 2 for value in values) if values else None


def quantile(values: list[int], q: float) -> float | None:
    if not values:
        return None
    ordered, place = sorted(values), q * (len(values) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


def first_rows(pool: list[Row]) -> dict[str, Row]:
    return {row["prompt_id"]: row for row in sorted(pool, key=lambda row: row["row"], reverse=True)}


def slow_group(prompt_id: str, domain: str, rollouts: list[Row], rule: GroupRule) -> Row:
    kinds = [counted(rollout) for rollout in rollouts]
    judged = [rollout for rollout in rollouts if is_judged(rollout, rule)]
    marks = [rollout["correctness"] for rollout in judged]
    sampled = [rollout for rollout, kind in zip(rollouts, kinds, strict=True) if kind != "aborted"]
    lengths = [rollout["tokens"] for rollout in sampled if rollout["tokens"] is not None]
    measured = [
        (rollout["mean_logprob"], rollout["tokens"])
        for rollout in sampled
        if rollout["tokens"] is not None
        and rollout["mean_logprob"] is not None
        and math.isfinite(rollout["mean_logprob"])
    ]
    tokens = sum(length for _, length in measured)
    repetition = [
        r["repetition"] for r in sampled if r["repetition"] is not None and math.isfinite(r["repetition"])
    ]
    parts: dict[str, list[float]] = {}
    for rollout in judged:
        for part in rollout["parts"]:
            if part["value"] is not None and math.isfinite(part["value"]):
                parts.setdefault(part["name"], []).append(part["value"])
    varied = bool(marks) and max(marks) - min(marks) > rule.tol
    return {
        "prompt_id": prompt_id,
        "domain": domain,
        "rollouts": len(rollouts),
        "n": len(judged),
        "s": sum(mark >= 1 - rule.tol for mark in marks),
        **{name: kinds.count(name) for name in COUNTED},
        "mean": fmean(marks) if marks else None,
        "variance": variance(marks),
        "range": max(marks) - min(marks) if marks else None,
        "varied": varied,
        "collapsed": not varied and any(max(v) - min(v) > rule.tol for v in parts.values()),
        "parts": [{"name": name, "variance": variance(values)} for name, values in sorted(parts.items())],
        "tokens_mean": fmean(lengths) if lengths else None,
        "tokens_p50": quantile(lengths, 0.5),
        "tokens_p90": quantile(lengths, 0.9),
        "tokens_max": max(lengths, default=None),
        "entropy": -sum(logprob * length for logprob, length in measured) / tokens if tokens else None,
        "repetition": fmean(repetition) if repetition else None,
    }


def slow_groups(rollouts: list[Row], pool: list[Row], rule: GroupRule) -> list[Row]:
    firsts = first_rows(pool)
    by_prompt: dict[str, list[Row]] = {}
    for rollout in rollouts:
        by_prompt.setdefault(rollout["prompt_id"], []).append(rollout)
    return [
        slow_group(prompt_id, firsts[prompt_id]["domain"], group, rule)
        for prompt_id, group in sorted(by_prompt.items())
        if prompt_id in firsts
    ]


# --------------------------------------------------------------------------------------------------
# anything that can be in a journal

VERDICTS = [
    ("stop", "correct", 1.0),
    ("stop", "correct", 1.0 - 5e-7),
    ("stop", "partial", 0.5),
    ("stop", "partial", 1 / 3),
    ("stop", "wrong", 0.0),
    ("stop", "wrong", 5e-7),
    ("stop", "no_answer", 0.0),
    ("stop", "malformed", 0.0),
    ("stop", "timeout", 0.0),
    ("length", "truncated", 0.0),
    ("length", "correct", 1.0),
    ("length", "partial", 0.5),
    ("stop", "verifier_error", 0.0),
    ("abort", "verifier_error", 0.0),
    ("stop", "correct", math.nan),
    ("stop", "wrong", None),
    ("stop", "unheard_of", 1.0),
]
PROMPTS = [f"{number:032x}" for number in (11, 2**127 + 5, 2**90, 7, 3 * 2**120, 2**64, 12, 2**126 + 1)]
DOMAINS = ["maths", "数学", "naïve ∑", ""]

PARTS = [
    [],
    [{"name": "größe", "value": 1.0}, {"name": "answer", "value": 0.0}],
    [{"name": "größe", "value": 0.0}, {"name": "answer", "value": 1.0}],
    [{"name": "answer", "value": 0.3}],
    [{"name": "answer", "value": math.nan}, {"name": "format", "value": None}],
]


@st.composite
def groups_of(draw: st.DrawFn, prompt_id: str) -> list[Row]:
    # Few kinds of verdict in one group, so that constant groups are common.
    kinds = draw(st.lists(st.sampled_from(VERDICTS), min_size=1, max_size=3))
    rollout = st.fixed_dictionaries(
        {
            "prompt_id": st.just(prompt_id),
            "verdict": st.sampled_from(kinds),
            "tokens": st.sampled_from([None, 0, 1, 3, 3, 7, 12, 20]),
            "mean_logprob": st.sampled_from([None, math.nan, 0.0, -0.1, -1.7]),
            "repetition": st.sampled_from([None, 0.0, 0.1, 0.9, math.nan]),
            "parts": st.sampled_from(PARTS),
        }
    )
    rows = draw(st.lists(rollout, min_size=1, max_size=9))
    return [
        row | dict(zip(("finish", "outcome", "correctness"), row.pop("verdict"), strict=True)) for row in rows
    ]


@st.composite
def journals(draw: st.DrawFn) -> list[Row]:
    scored = draw(st.lists(st.sampled_from([*PROMPTS, "f" * 32]), min_size=5, unique=True))
    return draw(st.permutations([row for prompt_id in scored for row in draw(groups_of(prompt_id))]))


@st.composite
def pools(draw: st.DrawFn) -> list[Row]:
    prompts = draw(st.lists(st.sampled_from(PROMPTS), min_size=6, max_size=10))
    return [
        {
            "row": row,
            "prompt_id": prompt_id,
            "domain": draw(st.sampled_from(DOMAINS)),
            "overlong": draw(st.integers(0, 9)) == 9,
            "planned": draw(st.integers(0, 9)) < 9,
            "prompt_tokens": draw(st.none() | st.integers(1, 5000)),
        }
        for prompt_id, row in zip(prompts, draw(st.permutations(range(10, 10 + len(prompts)))), strict=True)
    ]


rules = st.builds(
    GroupRule, trainer_group_size=st.sampled_from([2, 8]), truncated=st.sampled_from(["wrong", "excluded"])
)

# --------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(journal=journals(), pool=pools(), rule=rules)
def test_groups_equal_the_reference(journal, pool, rule, rollouts_of, pool_of, agree) -> None:
    groups = group_statistics(rollouts_of(journal).lazy(), pool_of(pool).lazy(), rule).collect()
    assert groups.schema == GROUPS
    agree(groups.to_dicts(), slow_groups(journal, pool, rule))
    assert (groups["rollouts"] == groups.select(pl.sum_horizontal(COUNTED)).to_series()).all()
