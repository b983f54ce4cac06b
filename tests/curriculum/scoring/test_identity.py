"""What makes two passes the same pass."""

from __future__ import annotations

import pytest

from curriculum.config import load_config
from curriculum.scoring.identity import differences, pass_identity
from curriculum.seeds import rollout_seed


def identity(pool: str = "p", policy: str = "c", version: str = "1", **overrides: object) -> str:
    config = load_config(None, {key.replace("__", "."): value for key, value in overrides.items()})
    return pass_identity(config, pool_hash=pool, policy=policy, verifiers={"boxed": version}).pass_id


@pytest.mark.parametrize(
    "change",
    [
        {"pool": "q"},
        {"policy": "d"},
        {"version": "2"},
        {"sampling__n": 4},
        {"sampling__temperature": 0.5},
        {"sampling__seed": 1},
        {"chat__system_prompt": "Think."},
        {"rewards__malformed": 0.0},
        {"engine__vllm": {"dtype": "float16"}},
    ],
)
def test_what_decides_rollouts_or_verdicts_is_part_of_it(change) -> None:
    assert identity(**change) != identity()


@pytest.mark.parametrize(
    "change",
    [
        {"output__dir": "elsewhere"},
        {"selection__hard_reserve": 0.0},
        {"engine__max_in_flight": 7},
        {"verification__workers": 3},
        {"engine__vllm": {"tensor_parallel_size": 8, "gpu_memory_utilization": 0.8}},
    ],
)
def test_where_and_how_fast_is_not(change) -> None:
    assert identity(**change) == identity()


def test_an_identity_is_stable_between_releases() -> None:
    """A change here makes every user's unfinished pass start anew: say so in the change log."""
    assert len(identity()) == 32
    assert rollout_seed("pass", "prompt", 0) == rollout_seed("pass", "prompt", 0)
    assert rollout_seed("pass", "prompt", 0) != rollout_seed("pass", "prompt", 1)
    assert 0 <= rollout_seed("pass", "prompt", 7) < 2**63


def test_differences_name_each_setting_with_both_values() -> None:
    old = {"sampling": {"n": 8, "temperature": 1.0}, "policy": "a"}
    new = {"sampling": {"n": 4, "temperature": 1.0}, "policy": "b", "more": 1}
    assert differences(old, new) == ["more: None -> 1", "policy: a -> b", "sampling.n: 8 -> 4"]
