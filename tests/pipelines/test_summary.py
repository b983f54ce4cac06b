from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest

from pipelines.schemas import DECISIONS, GROUPS
from pipelines.summary import decision_counts, mixed_in_fresh, signal_ratios

DOMAINS = ["maths", "maths", "code", "code", "code"]
IDS = ["a", "b", "c", "d", "e"]
FATES = ["keep_mixed", "drop_solved", "keep_mixed", "keep_hard_reserve", "defer_unscorable"]


def typed(columns, schema):
    return pl.DataFrame(columns).select(
        (pl.col(name) if name in columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in schema.items()
    )


GROUP_TABLE = typed(
    {
        "prompt_id": IDS[:4],
        "domain": DOMAINS[:4],
        "varied": [True, False, True, False],
        "p_mixed": [0.9, 0.1, 0.7, 0.2],
    },
    GROUPS,
)
DECISION_TABLE = typed({"prompt_id": IDS, "domain": DOMAINS, "decision": FATES}, DECISIONS)


def test_signal_before_is_measured_and_after_is_expected() -> None:
    about = pytest.approx
    assert signal_ratios(GROUP_TABLE, DECISION_TABLE).rows() == [
        (None, 4, 2, 0.5, about(0.475), 3, about(0.6))
    ]
    assert signal_ratios(GROUP_TABLE, DECISION_TABLE, by_domain=True).rows() == [
        ("code", 2, 1, 0.5, about(0.45), 2, about(0.45)),
        ("maths", 2, 1, 0.5, about(0.5), 1, about(0.9)),
    ]


def test_nothing_sampled_has_no_ratio() -> None:
    nothing = signal_ratios(GROUP_TABLE.clear(), DECISION_TABLE.clear())
    assert nothing.rows() == [(None, 0, 0, None, None, 0, None)]


def test_counts_come_in_the_declared_order() -> None:
    assert decision_counts(DECISION_TABLE).rows() == [
        ("code", "keep_mixed", 1),
        ("code", "keep_hard_reserve", 1),
        ("code", "defer_unscorable", 1),
        ("maths", "keep_mixed", 1),
        ("maths", "drop_solved", 1),
    ]


@pytest.mark.parametrize("n", [1, 3, 6])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_chance_of_a_fresh_mixed_group_counts_every_draw(n: int, size: int) -> None:
    frame = pl.DataFrame({"s": range(n + 1)}).select(
        mixed_in_fresh(pl.col("s"), pl.lit(n), size).alias("chance")
    )
    for s, chance in enumerate(frame["chance"]):
        draws = [len(set(draw)) > 1 for draw in combinations([1] * s + [0] * (n - s), size)]
        assert chance == (pytest.approx(sum(draws) / len(draws)) if draws else None)
