"""Builders of small tables: every column has a default, so that a test states only what it is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from pipelines.schemas import POOL, ROLLOUTS

Row = dict[str, Any]
Build = Callable[[Sequence[dict[str, Any]]], pl.DataFrame]

ROLLOUT_DEFAULTS = {
    "pass_id": "pass",
    "index": 0,
    "round": 0,
    "seed": 1,
    "text": None,
    "tokens": 10,
    "finish": "stop",
    "correctness": 0.0,
    "reward": 0.0,
    "outcome": "wrong",
    "parts": [],
    "mean_logprob": None,
    "repetition": None,
    "detail": "",
}
POOL_DEFAULTS = {
    "domain": "maths",
    "verifier": "boxed",
    "overlong": False,
    "prompt_tokens": 20,
    "planned": True,
}


@pytest.fixture(scope="session")
def rollouts_of() -> Build:
    return lambda rows: pl.DataFrame([ROLLOUT_DEFAULTS | row for row in rows], schema=ROLLOUTS)


def same_rows(fast: Sequence[Row], slow: Sequence[Row]) -> None:
    """Row for row, the columns of the second equal those of the first; floats up to rounding."""
    assert len(fast) == len(slow)
    for one, other in zip(fast, slow, strict=True):
        for name, expected in other.items():
            if name == "parts":
                same_rows(one[name], expected)
            elif isinstance(expected, float):
                assert one[name] == pytest.approx(expected, rel=1e-9, abs=1e-12), name
            else:
                assert one[name] == expected, name


@pytest.fixture(scope="session")
def agree() -> Callable[[Sequence[Row], Sequence[Row]], None]:
    return same_rows


@pytest.fixture(scope="session")
def pool_of() -> Build:
    return lambda rows: pl.DataFrame(
        [POOL_DEFAULTS | {"row": number} | row for number, row in enumerate(rows)], schema=POOL
    )
