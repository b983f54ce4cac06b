from __future__ import annotations

import polars as pl
import pytest

from pipelines.policies import SelectionPolicy
from pipelines.schemas import CAPS, GROUPS
from pipelines.select import decide

EMPTY = {name: 0 for name, dtype in GROUPS.items() if dtype == pl.Int32}
GROUP = EMPTY | {
    "domain": "maths",
    "rollouts": 8,
    "n": 8,
    "mean": 0.0,
    "range": 0.0,
    "varied": False,
    "pass_rate": 0.3,
    "p_mixed": 0.25,
    "learnability": 0.1,
    "observed": False,
}
MIXED = {"s": 4, "mean": 0.5, "range": 1.0, "varied": True}
CAP = pl.DataFrame({"domain": ["maths"], "cap": [512]}, schema_overrides=CAPS).select(
    pl.col(name) if name in ("domain", "cap") else pl.lit(None, dtype=dtype).alias(name)
    for name, dtype in CAPS.items()
)

FATES = [
    ({"s": 3, "mean": 0.375, "range": 1.0, "varied": True}, "keep_mixed", "3 of 8 rollouts correct"),
    (
        {"s": 0, "partial": 2, "mean": 0.125, "range": 0.5, "varied": True},
        "keep_mixed",
        "0 of 8 rollouts correct, marks spread over 0.5 around 0.125",
    ),
    ({"s": 8, "mean": 1.0}, "drop_solved", "8 of 8 rollouts correct"),
    ({"s": 0}, "drop_unsolved", "0 of 8 rollouts correct"),
    ({"s": 0, "mean": 0.5, "partial": 8}, "drop_constant_partial", "all 8 rollouts score 0.5"),
    ({"truncated": 5}, "defer_truncated", "5 of 8 rollouts cut off, none correct"),
    ({"truncated": 4}, "drop_unsolved", "0 of 8 rollouts correct"),
    ({"n": 2, "truncated": 6}, "defer_truncated", "6 of 8 rollouts cut off, none correct"),
    (
        {"n": 4, "truncated": 4},
        "defer_unscorable",
        "only 4 of 8 rollouts judged (0 aborted, 0 verifier errors, 4 cut off)",
    ),
    (
        {"n": 3, "s": 3, "mean": 1.0, "truncated": 5},
        "defer_unscorable",
        "only 3 of 8 rollouts judged (0 aborted, 0 verifier errors, 5 cut off)",
    ),
    (
        {"n": 1, "truncated": 1, "aborted": 7},
        "defer_unscorable",
        "only 1 of 8 rollouts judged (7 aborted, 0 verifier errors, 1 cut off)",
    ),
    (
        {"n": 4, "aborted": 1, "verifier_error": 3},
        "defer_unscorable",
        "only 4 of 8 rollouts judged (1 aborted, 3 verifier errors, 0 cut off)",
    ),
    (
        {"n": 2, "s": 1, "aborted": 6, "mean": 0.5, "range": 1.0, "varied": True},
        "keep_mixed",
        "1 of 2 rollouts correct",
    ),
]


def named(number: int, letter: str = "a") -> str:
    """A prompt_id; those of one letter sort by number."""
    return f"{letter}{number:031x}"


def groups_of(rows):
    return pl.DataFrame([GROUP | row for row in rows], schema=GROUPS)


@pytest.mark.parametrize(("group", "decision", "reason"), FATES)
def test_the_fate_of_a_group_and_its_reason(group, decision, reason, pool_of) -> None:
    pool = pool_of([{"prompt_id": "a"}])
    row = decide(pool, groups_of([{"prompt_id": "a"} | group]), CAP, SelectionPolicy()).row(0, named=True)
    assert (row["decision"], row["reason"]) == (decision, reason)
    assert (row["weight"], row["cap"]) == ((1.0, 512) if decision == "keep_mixed" else (None, None))


def test_rows_that_no_rollout_can_save(pool_of) -> None:
    pool = pool_of(
        [
            {"prompt_id": "a", "row": 7},
            {"prompt_id": "a", "row": 3, "overlong": True, "prompt_tokens": 4096},
            {"prompt_id": "b", "row": 1, "overlong": True, "prompt_tokens": None},
            {"prompt_id": "c", "row": 2},
            {"prompt_id": "d", "row": 4, "planned": False},
        ]
    )
    mixed = {"s": 1, "mean": 0.5, "range": 1.0, "varied": True}
    decisions = decide(pool, groups_of([{"prompt_id": "a"} | mixed]), CAP, SelectionPolicy())
    assert decisions.select("row", "decision", "reason").rows() == [
        (1, "drop_overlong_prompt", "the prompt leaves no room in the window"),
        (2, "defer_unscorable", "no rollouts"),
        (3, "drop_overlong_prompt", "the prompt's 4096 tokens leave no room in the window"),
        (4, "defer_unlikely", "not sampled this time"),
        (7, "drop_duplicate", "the same prompt as row 3"),
    ]


@pytest.mark.parametrize(
    ("kept", "share", "reserved"),
    [(95, 0.05, 5), (94, 0.05, 4), (9, 0.1, 1), (8, 0.1, 0), (0, 0.5, 0), (40, 0.9, 30), (119, 0.15, 21)],
)
def test_the_hard_reserve_is_a_share_of_the_set(kept, share, reserved, pool_of) -> None:
    mixed = [{"prompt_id": named(i)} | MIXED for i in range(kept)]
    hard = [{"prompt_id": named(i, "b"), "p_mixed": 0.3 if i >= 20 else 0.2} for i in range(30)]
    decisions = decide(
        pool_of([{"prompt_id": g["prompt_id"]} for g in mixed + hard]),
        groups_of(mixed + hard),
        CAP,
        SelectionPolicy(hard_reserve=share),
    )
    chosen = decisions.filter(pl.col("decision") == "keep_hard_reserve")
    likeliest_first = [named(i, "b") for i in (*range(20, 30), *range(20))]
    assert sorted(chosen["prompt_id"]) == sorted(likeliest_first[:reserved])
    assert chosen["reason"].str.contains("0 of 8 rollouts correct; kept in reserve").all()


def test_weights_are_learnability_at_mean_one(pool_of) -> None:
    groups = groups_of([{"prompt_id": str(i), "learnability": 0.05 * (i + 1)} | MIXED for i in range(3)])
    decisions = decide(pool_of([{"prompt_id": str(i)} for i in range(3)]), groups, CAP, SelectionPolicy())
    assert decisions["weight"].to_list() == pytest.approx([0.5, 1.0, 1.5])


def test_a_domain_without_a_cap_leaves_it_open(pool_of) -> None:
    decisions = decide(
        pool_of([{"prompt_id": "a", "domain": "code"}]),
        groups_of([{"prompt_id": "a"} | MIXED]),
        CAP,
        SelectionPolicy(),
    )
    assert decisions.select("decision", "cap").row(0) == ("keep_mixed", None)


def test_an_empty_pool_decides_nothing(pool_of) -> None:
    assert decide(pool_of([]), groups_of([]), CAP, SelectionPolicy()).is_empty()


def test_a_repeated_group_is_refused_not_counted_twice(pool_of) -> None:
    with pytest.raises(pl.exceptions.ComputeError, match="m:1"):
        decide(pool_of([{"prompt_id": "a"}]), groups_of([{"prompt_id": "a"}] * 2), CAP, SelectionPolicy())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"hard_reserve": 1.0}, "hard_reserve must lie in"),
        ({"rule": "nearest"}, "unknown rule 'nearest'; known: varied, posterior"),
        ({"band": (0.8, 0.2)}, "band must be two pass rates"),
        ({"min_p_mixed": 1.2}, "min_p_mixed must lie in"),
        ({"retest": -0.1}, "retest must lie in"),
        ({"learnable_share": 0.0}, "learnable_share must lie in"),
        ({"hard_share": 1.1}, "hard_share must lie in"),
        ({"quotas": {"maths": 0.0}}, "the quota of 'maths' must lie in"),
        ({"min_size": 5, "max_size": 4}, "min_size 5 is above max_size 4"),
        ({"max_size": 0}, "max_size must be at least 1"),
        ({"min_judged": 0}, "min_judged"),
        ({"mostly_truncated": 1.5}, "mostly_truncated"),
    ],
)
def test_a_policy_says_what_is_wrong_with_it(setting, message) -> None:
    with pytest.raises(ValueError, match=message):
        SelectionPolicy(**setting)


def test_another_seed_reserves_other_prompts_among_equals(pool_of) -> None:
    mixed = [{"prompt_id": f"{i:08x}" * 4} | MIXED for i in range(19)]
    hard = [{"prompt_id": f"{i:08x}" * 4, "p_mixed": 0.2} for i in range(100, 130)]
    likely = [{"prompt_id": f"{i:08x}" * 4, "p_mixed": 0.3} for i in range(200, 205)]
    groups = groups_of(mixed + hard + likely)
    pool = pool_of([{"prompt_id": prompt_id} for prompt_id in groups["prompt_id"]])

    def reserved(seed):
        policy = SelectionPolicy(hard_reserve=0.5, seed=seed)
        decisions = decide(pool, groups, CAP, policy)
        return set(decisions.filter(pl.col("decision") == "keep_hard_reserve")["prompt_id"])

    assert len(reserved(0)) == 19
    assert reserved(0) == reserved(0) != reserved(1)
    assert {group["prompt_id"] for group in likely} <= reserved(0) & reserved(1)
