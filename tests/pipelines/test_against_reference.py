"""Groups, decisions and caps equal, row for row, what a slow reading of the rules in plain Python says."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import groupby
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.caps import length_caps
from pipelines.groups import COUNTED, TOL, GroupRule, group_statistics
from pipelines.policies import SelectionPolicy
from pipelines.schemas import CAPS, DECISIONS, GROUPS
from pipelines.select import decide

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


def slow_fate(row: Row, first: Row, group: Row | None, policy: SelectionPolicy) -> str:
    if row["row"] != first["row"]:
        return "drop_duplicate"
    if row["overlong"]:
        return "drop_overlong_prompt"
    if group is None:
        return "defer_unscorable" if row["planned"] else "defer_unlikely"
    if group["varied"]:
        return "keep_mixed"

    def enough(judged: int) -> bool:
        return judged > group["rollouts"] / 2 if policy.min_judged is None else judged >= policy.min_judged

    verdicts = group["rollouts"] - group["aborted"] - group["verifier_error"]
    mostly_cut = verdicts > 0 and group["truncated"] / verdicts > policy.mostly_truncated
    if enough(verdicts) and group["s"] == 0 and mostly_cut:
        return "defer_truncated"
    if not enough(group["n"]):
        return "defer_unscorable"
    if group["s"] == group["n"]:
        return "drop_solved"
    return "drop_unsolved" if group["mean"] <= TOL else "drop_constant_partial"


def slow_decisions(pool: list[Row], groups: list[Row], caps: list[Row], policy: SelectionPolicy) -> list[Row]:
    firsts, by_prompt = first_rows(pool), {group["prompt_id"]: group for group in groups}
    cap_of = {cap["domain"]: cap["cap"] for cap in caps}
    fates = {
        row["row"]: slow_fate(row, firsts[row["prompt_id"]], by_prompt.get(row["prompt_id"]), policy)
        for row in pool
    }
    kept = list(fates.values()).count("keep_mixed")
    unsolved = [row for row in pool if fates[row["row"]] == "drop_unsolved"]
    unsolved.sort(key=lambda row: (-by_prompt[row["prompt_id"]]["p_mixed"], row["prompt_id"]))
    for row in unsolved[: policy.reserve_size(kept)]:
        fates[row["row"]] = "keep_hard_reserve"
    chosen = [row for row in pool if fates[row["row"]].startswith("keep_")]
    worth = {row["row"]: by_prompt[row["prompt_id"]]["learnability"] for row in chosen}
    return [
        {
            "row": row["row"],
            "prompt_id": row["prompt_id"],
            "domain": row["domain"],
            "decision": fates[row["row"]],
            "weight": worth[row["row"]] / fmean(worth.values()) if row["row"] in worth else None,
            "cap": cap_of[row["domain"]] if row["row"] in worth else None,
        }
        for row in sorted(pool, key=lambda row: row["row"])
    ]


def kaplan_meier(lengths: list[tuple[int, bool]], q: Fraction) -> int | None:
    """The smallest length by which the estimate reaches q; each length with whether it was cut."""
    survival = Fraction(1)
    for length, same in groupby(sorted(lengths), key=lambda pair: pair[0]):
        ended = sum(not cut for _, cut in same)
        survival *= 1 - Fraction(ended, sum(other >= length for other, _ in lengths))
        if survival <= 1 - q:
            return length
    return None


def slow_caps(rollouts: list[Row], pool: list[Row], q: Fraction, in_force: int, rule: GroupRule) -> list[Row]:
    domain_of = {prompt_id: row["domain"] for prompt_id, row in first_rows(pool).items()}
    rows = []
    for domain in sorted({row["domain"] for row in pool}):
        known = [
            rollout
            for rollout in rollouts
            if domain_of.get(rollout["prompt_id"]) == domain
            and counted(rollout) != "aborted"
            and rollout["tokens"] is not None
        ]
        right = [r for r in known if counted(r) != "verifier_error" and r["correctness"] >= 1 - rule.tol]
        everyone, correct = (
            kaplan_meier([(r["tokens"], r["finish"] == "length") for r in some], q) for some in (known, right)
        )
        cap = in_force if known else None
        if everyone is not None and (correct is not None or not right):
            cap = max(everyone, correct or 0)
        rows.append(
            {
                "domain": domain,
                "rollouts": len(known),
                "truncated": sum(rollout["finish"] == "length" for rollout in known),
                "quantile": everyone,
                "identified": everyone is not None,
                "cap": cap,
                "correct_cut": fmean(r["tokens"] > cap for r in right) if right and cap is not None else None,
            }
        )
    return rows


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
policies = st.builds(
    SelectionPolicy,
    hard_reserve=st.sampled_from([0.0, 0.05, 0.5, 0.75]),
    min_judged=st.none() | st.integers(1, 6),
    mostly_truncated=st.sampled_from([0.25, 0.5, 1.0]),
)

# --------------------------------------------------------------------------------------------------


def agree(fast: list[Row], slow: list[Row]) -> None:
    assert len(fast) == len(slow)
    for one, other in zip(fast, slow, strict=True):
        for name, expected in other.items():
            if name == "parts":
                agree(one[name], expected)
            elif isinstance(expected, float):
                assert one[name] == pytest.approx(expected, rel=1e-9, abs=1e-12), name
            else:
                assert one[name] == expected, name


@settings(max_examples=60, deadline=None)
@given(journal=journals(), pool=pools(), rule=rules, policy=policies, q=st.sampled_from([1, 5, 9]))
def test_every_table_equals_the_reference(journal, pool, rule, policy, q, rollouts_of, pool_of) -> None:
    rollouts, prompts = rollouts_of(journal).lazy(), pool_of(pool).lazy()
    groups = group_statistics(rollouts, prompts, rule).collect()
    assert groups.schema == GROUPS
    agree(groups.to_dicts(), slow_groups(journal, pool, rule))

    caps = length_caps(rollouts, prompts, quantile=q / 10, cap_in_force=16, rule=rule)
    assert caps.schema == CAPS
    agree(caps.to_dicts(), slow_caps(journal, pool, Fraction(q, 10), 16, rule))

    decisions = decide(prompts, groups, caps, policy)
    assert decisions.schema == DECISIONS
    agree(decisions.to_dicts(), slow_decisions(pool, groups.to_dicts(), caps.to_dicts(), policy))
    assert decisions["reason"].null_count() == 0
    assert (groups["rollouts"] == groups.select(pl.sum_horizontal(COUNTED)).to_series()).all()
    assert decisions.filter(pl.col("weight").is_not_null())["weight"].mean() in (None, pytest.approx(1.0))
