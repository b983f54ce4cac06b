"""Caps equal, domain for domain, what a slow reading of the rules in plain Python says."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import groupby
from statistics import fmean
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.caps import FEWEST_FINISHED, length_caps
from pipelines.groups import GroupRule
from pipelines.intervals import REPLICATES, TAIL, UNITS
from pipelines.schemas import CAPS

Row = dict[str, Any]
Lengths = list[tuple[int, bool]]  # with whether it was cut
RULE = GroupRule(trainer_group_size=8)
IN_FORCE = 16

# --------------------------------------------------------------------------------------------------
# the slow reference


def kaplan_meier(lengths: Lengths, q: Fraction) -> int | None:
    """The smallest length by which the estimate reaches q."""
    survival, at_risk = Fraction(1), len(lengths)
    for length, same in groupby(sorted(lengths), key=lambda pair: pair[0]):
        cuts = [cut for _, cut in same]
        survival *= 1 - Fraction(cuts.count(False), at_risk)
        if survival <= 1 - q:
            return length
        at_risk -= len(cuts)
    return None


def interval(units: dict[int, Lengths], q: Fraction) -> tuple[int | None, int | None]:
    """Whole units drawn with replacement, again and again."""
    if not units:
        return None, None
    numbers = sorted(units)
    draws = np.random.default_rng(0).multinomial(len(numbers), [1 / len(numbers)] * len(numbers), REPLICATES)
    found = [
        kaplan_meier(
            [pair for number, times in zip(numbers, draw, strict=True) for pair in units[number] * times], q
        )
        for draw in draws.tolist()
    ]
    ordered = sorted(found, key=lambda length: math.inf if length is None else length)
    tail = int(TAIL * REPLICATES)
    return ordered[tail], ordered[-1 - tail]


def unit_of(prompt_id: str) -> int:
    return int(prompt_id[:16], 16) % UNITS


def first_rows(pool: list[Row]) -> dict[str, Row]:
    return {row["prompt_id"]: row for row in sorted(pool, key=lambda row: row["row"], reverse=True)}


def is_right(rollout: Row) -> bool:
    mark = rollout["correctness"]
    judged = rollout["outcome"] != "verifier_error" and mark is not None and math.isfinite(mark)
    return judged and mark >= 1 - RULE.tol


def estimate(known: list[Row], q: Fraction) -> Row:
    pairs = [(r["tokens"], r["finish"] == "length") for r in known]
    of_unit: dict[int, Lengths] = {}
    for rollout, pair in zip(known, pairs, strict=True):
        of_unit.setdefault(unit_of(rollout["prompt_id"]), []).append(pair)
    right = [pair for rollout, pair in zip(known, pairs, strict=True) if is_right(rollout)]
    low, high = interval(of_unit, q)
    return {
        "quantile": kaplan_meier(pairs, q),
        "low": low,
        "high": high,
        "correct": kaplan_meier(right, q),
        "beyond_for_correct": bool(right) and kaplan_meier(right, q) is None,
    }


def slow_caps(rollouts: list[Row], pool: list[Row], q: Fraction, window: int) -> list[Row]:
    domain_of = {prompt_id: row["domain"] for prompt_id, row in first_rows(pool).items()}
    usable = [
        r
        for r in rollouts
        if r["prompt_id"] in domain_of and r["finish"] != "abort" and r["tokens"] is not None
    ]
    together = estimate(usable, q)
    rows = []
    for domain in sorted({row["domain"] for row in pool}):
        known = [rollout for rollout in usable if domain_of[rollout["prompt_id"]] == domain]
        cut = sum(rollout["finish"] == "length" for rollout in known)
        own = estimate(known, q)
        beyond = own["quantile"] is None and cut > 0
        pooled = len(known) - cut < FEWEST_FINISHED and not beyond
        used = [own, together] if pooled else [own]
        quantile = used[-1]["quantile"]
        cap = IN_FORCE if usable else None
        if quantile is not None and not any(each["beyond_for_correct"] for each in used):
            cap = max(quantile, *(each["correct"] or 0 for each in used))
        right = [rollout for rollout in known if is_right(rollout)]
        rows.append(
            {
                "domain": domain,
                "rollouts": len(known),
                "truncated": cut,
                "pooled": pooled,
                **{name: used[-1][name] for name in ("quantile", "low", "high")},
                "identified": quantile is not None,
                "cap": cap,
                "correct_cut": fmean(r["tokens"] > cap for r in right) if right else None,
                "prompt_cap": None if cap is None else max(window - cap, 0),
            }
        )
    return rows


# --------------------------------------------------------------------------------------------------
# journals of few and of many rollouts, so that some domains have enough and some have not

PROMPTS = [f"{number:032x}" for number in (11, 2**127 + 5, 2**90, 7, 3 * 2**120, 2**64)]
VERDICTS = [("correct", 1.0), ("correct", 1.0 - 5e-7), ("partial", 0.5), ("wrong", 0.0), ("wrong", math.nan)]
VERDICTS += [("wrong", None), ("verifier_error", 1.0)]

rollouts = st.fixed_dictionaries(
    {
        "prompt_id": st.sampled_from([*PROMPTS, "f" * 32]),
        "tokens": st.sampled_from([None, 0, 1, 3, 7, 12, 20]),
        "finish": st.sampled_from(["stop", "stop", "stop", "length", "abort"]),
        "verdict": st.sampled_from(VERDICTS),
        "times": st.sampled_from([1, 2, 45]),
    }
)
journals = st.lists(rollouts, max_size=14).map(
    lambda drawn: [
        {**row, "outcome": outcome, "correctness": mark}
        for row in drawn
        for outcome, mark in [row["verdict"]]
        for _ in range(row["times"])
    ]
)
pools = st.lists(
    st.tuples(st.sampled_from(PROMPTS), st.sampled_from(["maths", "数学", "naïve ∑", ""])),
    min_size=1,
    max_size=9,
).map(lambda drawn: [{"row": row, "prompt_id": p, "domain": domain} for row, (p, domain) in enumerate(drawn)])


@settings(max_examples=25, deadline=None)
@given(journal=journals, pool=pools, q=st.sampled_from([1, 5, 9]))
def test_caps_equal_the_reference(journal, pool, q, rollouts_of, pool_of, agree) -> None:
    rows = [{name: row[name] for name in row if name not in ("verdict", "times")} for row in journal]
    frame, prompts = rollouts_of(rows).lazy(), pool_of(pool).lazy()
    caps = length_caps(frame, prompts, quantile=q / 10, cap_in_force=IN_FORCE, rule=RULE, window=30)
    assert caps.schema == CAPS
    agree(caps.to_dicts(), slow_caps(journal, pool, Fraction(q, 10), 30))
