"""Builders of small tables: every column has a default, so that a test states only what it is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from pipelines.schemas import POOL, ROLLOUTS

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


@pytest.fixture(scope="session")
def pool_of() -> Build:
    return lambda rows: pl.DataFrame(
        [POOL_DEFAULTS | {"row": number} | row for number, row in enumerate(rows)], schema=POOL
    )
