"""Decisions equal, row for row, what a slow reading of the rules in plain Python says."""

from __future__ import annotations

import math
from statistics import fmean
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.groups import TOL
from pipelines.policies import RULES, SelectionPolicy
from pipelines.schemas import CAPS, DECISIONS, GROUPS
from pipelines.select import decide

Row = dict[str, Any]

# --------------------------------------------------------------------------------------------------
# the slow reference: what is drawn by content and seed


def mix(x: int) -> int:
    """One step of SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def key(prompt_id: str, seed: int, purpose: int) -> int:
    return mix(int(prompt_id[:16], 16) ^ mix((mix(seed) + purpose) % 2**64))


def tie(group: Row, policy: SelectionPolicy) -> Any:
    prompt_id = group["prompt_id"]
    return prompt_id if policy.seed is None else (key(prompt_id, policy.seed, 1), prompt_id)


# --------------------------------------------------------------------------------------------------
# the slow reference: the set


def best_first(groups: list[Row], policy: SelectionPolicy) -> list[Row]:
    first = {"posterior": "p_mixed", "hard_first": "pass_rate"}.get(policy.rule, "learnability")
    sign = 1 if policy.rule == "hard_first" else -1
    return sorted(groups, key=lambda group: (sign * group[first], tie(group, policy)))


def by_the_rule(ordered: list[Row], policy: SelectionPolicy) -> list[Row]:
    varied = [group for group in ordered if group["varied"]]
    match policy.rule:
        case "varied":
            return varied
        case "posterior":
            return [group for group in ordered if group["p_mixed"] >= policy.min_p_mixed]
        case "band":
            return [group for group in ordered if policy.band[0] <= group["pass_rate"] <= policy.band[1]]
        case "hard_first":
            return varied[: math.ceil(policy.hard_share * len(varied) - 1e-9)]
    taken, held = [], 0.0
    wanted = policy.learnable_share * math.fsum(group["learnability"] for group in ordered) * (1 - 1e-9)
    for group in ordered:
        if held < wanted:
            taken.append(group)
        held += group["learnability"]
    return taken


def take(candidates: list[Row], most: int | None, policy: SelectionPolicy, beside: list[Row]) -> list[Row]:
    """The largest number that quotas allow, by trying them all."""
    for size in range(len(candidates) if most is None else min(most, len(candidates)), -1, -1):
        room = {
            domain: math.ceil(share * (len(beside) + size) - 1e-9)
            - [g["domain"] for g in beside].count(domain)
            for domain, share in policy.quotas.items()
        }
        taken: list[Row] = []
        for group in candidates:
            if len(taken) < size and room.get(group["domain"], size) > 0:
                room[group["domain"]] = room.get(group["domain"], size) - 1
                taken.append(group)
        if len(taken) == size:
            return taken
    return []


def mixed(passing: list[Row], more: list[Row], most, least, policy, beside) -> list[Row]:
    taken = take(passing, most, policy, beside)
    if least is not None and len(taken) < least:
        return take(passing + more, least, policy, beside)
    return taken


def compose(groups: list[Row], policy: SelectionPolicy) -> tuple[list[Row], list[Row], list[Row]]:
    """What passes the rule, the set but for its reserve, and the reserve."""
    ordered = best_first(groups, policy)
    passing = by_the_rule(ordered, policy)
    others = [group for group in ordered if group not in passing]
    more = [group for group in others if group["varied"]]
    hard = [group for group in others if not group["varied"] and group["mean"] <= TOL]
    hard.sort(key=lambda group: (-group["p_mixed"], tie(group, policy)))
    sizes = (policy.max_size, policy.min_size)

    def beside(size: int | None, reserved: int) -> int | None:
        return None if size is None else size - reserved

    first = [beside(n, min(len(hard), int(policy.hard_reserve * (n or 0) + 1e-9))) for n in sizes]
    taken = mixed(passing, more, *first, policy, [])
    share = int(policy.hard_reserve * len(taken) / (1 - policy.hard_reserve) + 1e-9)
    if policy.max_size is not None:
        share = min(share, policy.max_size - len(taken))
    reserve = take(hard, share, policy, taken)
    taken = mixed(passing, more, *(beside(n, len(reserve)) for n in sizes), policy, reserve)
    return passing, taken, reserve


# --------------------------------------------------------------------------------------------------
# the slow reference: fates


def without_a_score(row: Row, first: Row, group: Row | None, cap: Row, policy: SelectionPolicy) -> str | None:
    if row["row"] != first["row"]:
        return "drop_duplicate"
    tokens, longest = row["prompt_tokens"], cap["prompt_cap"]
    if row["overlong"] or (tokens is not None and longest is not None and tokens > longest):
        return "drop_overlong_prompt"
    if group is None:
        return "defer_unscorable" if row["planned"] else "defer_unlikely"
    if group["varied"]:
        return None

    def enough(judged: int) -> bool:
        return judged > group["rollouts"] / 2 if policy.min_judged is None else judged >= policy.min_judged

    verdicts = group["rollouts"] - group["aborted"] - group["verifier_error"]
    mostly_cut = verdicts > 0 and group["truncated"] / verdicts > policy.mostly_truncated
    if enough(verdicts) and group["s"] == 0 and mostly_cut:
        return "defer_truncated"
    return None if enough(group["n"]) else "defer_unscorable"


def with_a_score(group: Row, passing: list[Row], taken: list[Row], reserve: list[Row]) -> str:
    if group in reserve:
        return "keep_hard_reserve"
    if group in taken:
        return "keep_mixed"
    if group in passing:
        return "drop_over_quota"
    if group["varied"]:
        return "drop_by_rule"
    if group["s"] == group["n"]:
        return "drop_solved"
    return "drop_unsolved" if group["mean"] <= TOL else "drop_constant_partial"


def slow_decisions(pool: list[Row], groups: list[Row], caps: list[Row], policy: SelectionPolicy) -> list[Row]:
    firsts = {row["prompt_id"]: row for row in sorted(pool, key=lambda row: row["row"], reverse=True)}
    by_prompt, cap_of = {group["prompt_id"]: group for group in groups}, {cap["domain"]: cap for cap in caps}
    fates = {}
    for row in pool:
        prompt_id = row["prompt_id"]
        group = by_prompt.get(prompt_id)
        fates[row["row"]] = without_a_score(row, firsts[prompt_id], group, cap_of[row["domain"]], policy)
    scored = {
        row["row"]: by_prompt[row["prompt_id"]] | {"domain": row["domain"]}
        for row in pool
        if fates[row["row"]] is None
    }
    composed = compose(list(scored.values()), policy)
    fates |= {row: with_a_score(group, *composed) for row, group in scored.items()}
    worth = {
        row: 1 - group["pass_rate"] if policy.rule == "hard_first" else group["learnability"]
        for row, group in scored.items()
        if fates[row].startswith("keep_")
    }
    decisions = []
    for row in sorted(pool, key=lambda row: row["row"]):
        fate, place = fates[row["row"]], row["row"]
        again = key(row["prompt_id"], policy.seed or 0, 3) / 2**64 < policy.retest
        tested = fate.startswith("drop_") and fate not in ("drop_duplicate", "drop_overlong_prompt")
        decisions.append(
            {
                **{name: row[name] for name in ("row", "prompt_id", "domain")},
                "decision": fate,
                "weight": worth[place] / fmean(worth.values()) if place in worth else None,
                "cap": cap_of[row["domain"]]["cap"] if place in worth else None,
                "retest": fate.startswith("defer_") or (tested and again),
            }
        )
    return decisions


# --------------------------------------------------------------------------------------------------
# any groups, of any pool, under any policy

PROMPTS = [
    f"{number:032x}" for number in (11, 2**127 + 5, 2**90, 7, 3 * 2**120, 2**64, 12, 2**126 + 1, 13, 2**99)
]
DOMAINS = ["maths", "数学", ""]
KINDS = ["correct", "correct", "wrong", "wrong", "partial", "truncated", "verifier_error", "aborted"]


@st.composite
def groups_of(draw: st.DrawFn, prompt_id: str) -> Row:
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2))  # constant groups are common
    drawn = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=9))
    marks = [
        {"correct": 1.0, "partial": 0.5}.get(kind, 0.0)
        for kind in drawn
        if kind not in ("verifier_error", "aborted")
    ]
    counts = {kind: drawn.count(kind) for kind in set(KINDS)}
    spread = max(marks) - min(marks) if marks else None
    return dict.fromkeys(GROUPS) | counts | {
        "prompt_id": prompt_id,
        "rollouts": len(drawn),
        "n": len(marks),
        "s": counts["correct"],
        "mean": fmean(marks) if marks else None,
        "range": spread,
        "varied": bool(spread),
        "pass_rate": draw(st.sampled_from([0.01, 0.2, 0.5, 0.8, 0.99])),
        "p_mixed": draw(st.sampled_from([0.05, 0.3, 0.5, 0.9])),
        "learnability": draw(st.sampled_from([0.01, 0.1, 0.2, 0.25])),
        "observed": False,
    }  # fmt: skip


@st.composite
def pools(draw: st.DrawFn) -> list[Row]:
    prompts = draw(st.lists(st.sampled_from(PROMPTS), min_size=1, max_size=14))
    return [
        {
            "row": row,
            "prompt_id": prompt_id,
            "domain": draw(st.sampled_from(DOMAINS)),
            "overlong": draw(st.integers(0, 9)) == 9,
            "planned": draw(st.integers(0, 9)) < 9,
            "prompt_tokens": draw(st.none() | st.integers(1, 50)),
        }
        for prompt_id, row in zip(prompts, draw(st.permutations(range(10, 10 + len(prompts)))), strict=True)
    ]


caps_of = st.tuples(st.none() | st.integers(1, 900), st.none() | st.integers(20, 90)).map(
    lambda pair: {"cap": pair[0], "prompt_cap": pair[1]}
)
sizes = st.sampled_from([(None, None), (None, 4), (5, None), (3, 6), (20, 40)])
policies = st.builds(
    lambda sizes, **thresholds: SelectionPolicy(min_size=sizes[0], max_size=sizes[1], **thresholds),
    sizes=sizes,
    rule=st.sampled_from(RULES),
    min_p_mixed=st.sampled_from([0.0, 0.3, 0.6]),
    band=st.sampled_from([(0.2, 0.8), (0.0, 0.3), (0.5, 0.5)]),
    learnable_share=st.sampled_from([0.3, 0.9, 1.0]),
    hard_share=st.sampled_from([0.1, 0.5, 1.0]),
    quotas=st.dictionaries(st.sampled_from([*DOMAINS, "nowhere"]), st.sampled_from([0.1, 1 / 3, 0.6, 1.0])),
    hard_reserve=st.sampled_from([0.0, 0.05, 0.5, 0.75]),
    retest=st.sampled_from([0.0, 0.5, 1.0]),
    min_judged=st.none() | st.integers(1, 6),
    mostly_truncated=st.sampled_from([0.25, 0.5, 1.0]),
    seed=st.none() | st.integers(0, 2**40),
)


@settings(max_examples=60, deadline=None)
@given(pool=pools(), policy=policies, data=st.data())
def test_decisions_equal_the_reference(pool, policy, data, pool_of, agree) -> None:
    scored = data.draw(st.lists(st.sampled_from(PROMPTS), unique=True))
    groups = [data.draw(groups_of(prompt_id)) for prompt_id in scored]
    caps = [dict.fromkeys(CAPS) | {"domain": domain} | data.draw(caps_of) for domain in DOMAINS]
    decisions = decide(pool_of(pool), pl.DataFrame(groups, GROUPS), pl.DataFrame(caps, CAPS), policy)
    assert decisions.schema == DECISIONS
    agree(decisions.to_dicts(), slow_decisions(pool, groups, caps, policy))
    assert decisions["reason"].null_count() == 0
    assert decisions["weight"].mean() in (None, pytest.approx(1.0))
