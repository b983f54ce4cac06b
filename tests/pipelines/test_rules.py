"""Rules, quotas and sizes: which prompts of a small pool each takes, and what it says of the others."""

from __future__ import annotations

import polars as pl
import pytest

from pipelines.policies import RULES, SelectionPolicy
from pipelines.schemas import CAPS, GROUPS
from pipelines.select import compare_rules, decide

SOLVED, UNSOLVED = 8, 0


def rates(s: int) -> dict[str, float]:
    """What a posterior without much of a prior says of s of 8."""
    p = (s + 0.25) / 8.5
    return {"pass_rate": p, "p_mixed": 1 - p**8 - (1 - p) ** 8, "learnability": p * (1 - p)}


def named(number: int) -> str:
    """A prompt_id that is spread like a hash, and sorts by number."""
    return f"{number:08x}{number * 2654435761 % 2**32:08x}" * 2


def group(number: int, s: int) -> dict[str, object]:
    zero = {name: 0 for name, dtype in GROUPS.items() if dtype == pl.Int32}
    varied = s not in (SOLVED, UNSOLVED)
    return dict.fromkeys(GROUPS) | zero | {
        "prompt_id": named(number),
        "rollouts": 8,
        "n": 8,
        "s": s,
        "mean": s / 8,
        "range": float(varied),
        "varied": varied,
        "observed": False,
        **rates(s),
    }  # fmt: skip


POOL = [SOLVED, UNSOLVED, 1, 2, 4, 6, 7, SOLVED, UNSOLVED, 4]
"""Successes of each prompt, in the order of the pool."""


@pytest.fixture(scope="module")
def select(pool_of):
    """Decisions on a pool of groups with these successes, in these domains."""

    def decided(successes=POOL, domains=None, **policy):
        domains = domains or ["maths"] * len(successes)
        rows = [{"prompt_id": named(i), "domain": domain} for i, domain in enumerate(domains)]
        groups = pl.DataFrame([group(i, s) for i, s in enumerate(successes)], GROUPS)
        return decide(pool_of(rows), groups, pl.DataFrame(schema=CAPS), SelectionPolicy(**policy))

    return decided


def kept(decisions) -> list[int]:
    return decisions.filter(pl.col("weight").is_not_null())["row"].to_list()


TAKES = [
    ({"rule": "varied"}, [2, 3, 4, 5, 6, 9]),
    ({"rule": "posterior", "min_p_mixed": 0.9}, [3, 4, 5, 9]),
    ({"rule": "posterior", "min_p_mixed": 0.2}, list(range(10))),
    ({"rule": "band", "band": (0.2, 0.6)}, [3, 4, 9]),
    ({"rule": "band", "band": (0.0, 0.15)}, [1, 2, 8]),
    ({"rule": "learnability", "learnable_share": 0.35}, [4, 9]),
    ({"rule": "learnability", "learnable_share": 1.0}, list(range(10))),
    ({"rule": "hard_first", "hard_share": 0.5}, [2, 3, 4]),
    ({"rule": "hard_first", "hard_share": 0.01}, [2]),
    ({"rule": "varied", "max_size": 3}, [3, 4, 9]),
    ({"rule": "hard_first", "hard_share": 1.0, "max_size": 2}, [2, 3]),
    ({"rule": "band", "band": (0.4, 0.6), "min_size": 4}, [3, 4, 5, 9]),
]


@pytest.mark.parametrize(("policy", "takes"), TAKES)
def test_what_a_rule_takes(policy, takes, select) -> None:
    assert kept(select(hard_reserve=0.0, **policy)) == takes


REASONS = [
    (
        {"rule": "posterior", "min_p_mixed": 0.9},
        (2, "drop_by_rule"),
        "1 of 8 rollouts correct; p_mixed 0.72, rule posterior asks for 0.9 or more",
    ),
    (
        {"rule": "posterior", "min_p_mixed": 0.2},
        (1, "keep_mixed"),
        "0 of 8 rollouts correct; p_mixed 0.212",
    ),
    (
        {"rule": "band"},
        (6, "drop_by_rule"),
        "7 of 8 rollouts correct; pass_rate 0.853, rule band asks for 0.2 to 0.8",
    ),
    ({"rule": "band"}, (0, "drop_solved"), "8 of 8 rollouts correct"),
    (
        {"rule": "hard_first"},
        (5, "drop_by_rule"),
        "6 of 8 rollouts correct; pass_rate 0.735, rule hard_first asks for the lowest 50% of those that "
        "vary",
    ),
    (
        {"rule": "varied", "max_size": 3},
        (2, "drop_over_quota"),
        "1 of 8 rollouts correct, but its domain or the set is full",
    ),
    (
        {"rule": "band", "band": (0.4, 0.6), "min_size": 4},
        (3, "keep_mixed"),
        "2 of 8 rollouts correct; pass_rate 0.265, rule band asks for 0.4 to 0.6, "
        "kept all the same to fill the set",
    ),
]


@pytest.mark.parametrize(("policy", "fate", "reason"), REASONS)
def test_a_reason_has_the_figure_that_decided(policy, fate, reason, select) -> None:
    row = select(hard_reserve=0.0, **policy).row(fate[0], named=True)
    assert (row["row"], row["decision"], row["reason"]) == (*fate, reason)


def test_hard_first_weighs_by_what_is_left_to_learn(select) -> None:
    decisions = select(rule="hard_first", hard_share=1.0, hard_reserve=0.0)
    weights = decisions.filter(pl.col("row").is_in([2, 4, 6]))["weight"].to_list()
    assert weights == sorted(weights, reverse=True)
    assert weights[0] / weights[2] == pytest.approx((1 - rates(1)["pass_rate"]) / (1 - rates(7)["pass_rate"]))


def test_a_quota_is_a_share_of_the_set_that_comes_of_it(select) -> None:
    domains = ["maths"] * 8 + ["code"] * 2
    successes = [4] * 10
    decisions = select(successes, domains, quotas={"maths": 0.5}, hard_reserve=0.0)
    assert kept(decisions) == [0, 1, 2, 8, 9]  # half of five, rounded up to whole prompts
    assert set(decisions["decision"].cast(str)) == {"keep_mixed", "drop_over_quota"}


def test_quotas_count_the_hard_reserve(select) -> None:
    domains = ["maths"] * 20 + ["code"] * 20
    successes = [4] * 10 + [UNSOLVED] * 10 + [4] * 10 + [UNSOLVED] * 10
    decisions = select(successes, domains, quotas={"maths": 0.3}, hard_reserve=0.2)
    chosen = decisions.filter(pl.col("weight").is_not_null())
    maths = chosen.filter(pl.col("domain") == "maths").height
    assert maths / chosen.height <= 0.3 + 1 / chosen.height
    assert (chosen["decision"] == "keep_hard_reserve").any()


def test_a_ceiling_holds_the_reserve_too(select) -> None:
    decisions = select([4] * 50 + [UNSOLVED] * 50, max_size=20, hard_reserve=0.1)
    counts = dict(decisions.group_by(pl.col("decision").cast(str)).len().iter_rows())
    assert counts == {
        "keep_mixed": 18, "keep_hard_reserve": 2, "drop_over_quota": 32, "drop_unsolved": 48
    }  # fmt: skip


def test_a_floor_is_not_met_with_prompts_that_do_not_vary(select) -> None:
    assert kept(select(rule="varied", min_size=9, hard_reserve=0.0)) == [2, 3, 4, 5, 6, 9]


def test_dropped_prompts_are_tested_again_with_the_chance_that_is_set(select) -> None:
    decisions = select([SOLVED] * 1000 + [UNSOLVED] * 1000 + [4] * 1000, retest=0.2, hard_reserve=0.0, seed=1)
    dropped, in_set = decisions.head(2000), decisions.tail(1000)
    assert dropped["retest"].mean() == pytest.approx(0.2, abs=0.03)
    assert not in_set["retest"].any()
    other = select([SOLVED] * 1000, retest=0.2, hard_reserve=0.0, seed=2)
    assert other["retest"].to_list() != dropped.head(1000)["retest"].to_list()


def test_what_every_rule_would_have_kept(pool_of) -> None:
    pool = pool_of([{"prompt_id": named(i)} for i in range(len(POOL))])
    groups = pl.DataFrame([group(i, s) for i, s in enumerate(POOL)], GROUPS)
    table = compare_rules(
        pool, groups, pl.DataFrame(schema=CAPS), SelectionPolicy(rule="band", hard_reserve=0.0)
    )
    assert table.select("rule", "used", "prompts").rows() == [
        ("varied", False, 6),
        ("posterior", False, 6),
        ("band", True, 4),
        ("learnability", False, 6),
        ("hard_first", False, 3),
    ]
    chances = [rates(s)["p_mixed"] for s in POOL]
    band = [chances[i] for i in (3, 4, 5, 9)]
    assert table["signal"][2] == pytest.approx(sum(band) / 4)
    assert table["signal_kept"][2] == pytest.approx(sum(band) / sum(chances))


def test_a_pool_without_scores_has_no_signal_to_compare(pool_of) -> None:
    pool = pool_of([{"prompt_id": "a" * 32}])
    table = compare_rules(pool, pl.DataFrame(schema=GROUPS), pl.DataFrame(schema=CAPS), SelectionPolicy())
    assert table.select("prompts", "signal", "signal_kept").rows() == [(0, None, None)] * len(RULES)
