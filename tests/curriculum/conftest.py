"""A recorded pass to replay: prompts of known pass rates, with eight rollouts each."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from curriculum.config import Config, load_config
from curriculum.policy import Sources

GROUP = 8


@dataclass(frozen=True)
class Recorded:
    """A pool and a recording of its rollouts, and how to refresh from them."""

    pool: Path
    rollouts: Path

    def config(self, out: Path, **overrides: object) -> Config:
        dotted = {key.replace("__", "."): value for key, value in overrides.items()}
        return load_config(
            None,
            {
                "pool.sources": [str(self.pool)],
                "pool.default_verifier": "boxed",
                "engine.kind": "replay",
                "sampling.max_tokens": 64,
                "verification.workers": 1,
                "output.dir": str(out),
                **dotted,
            },
        )

    @property
    def sources(self) -> Sources:
        return Sources(recording=self.rollouts, key="extra_info.index")

    def command(self, out: Path, *more: str) -> list[str]:
        """The same refresh as arguments of `curriculum`."""
        flags = ["refresh", "--engine", "replay", "--rollouts", str(self.rollouts), "--pool", str(self.pool)]
        return [*flags, "--verifier", "boxed", "--key", "extra_info.index", "--out", str(out), *more]


def record_pass(
    folder: Path, *, prompts: int, seed: int = 0, domains: tuple[str, ...] = ("sums",)
) -> Recorded:
    """A third of the prompts is always right, a third never, a third now and then."""
    draw = random.Random(seed)
    pool, rollouts = folder / "pool.jsonl", folder / "rollouts.jsonl"
    with pool.open("w") as pool_file, rollouts.open("w") as rollout_file:
        for i in range(prompts):
            answer, rate = draw.randrange(1000), (1.0, 0.0, 0.4)[i % 3]
            row = {
                "prompt": [{"role": "user", "content": f"{i}: what is {answer} + 0?"}],
                "data_source": domains[i % len(domains)],
                "reward_model": {"style": "rule", "ground_truth": str(answer)},
                "extra_info": {"index": i, "split": "train"},
            }
            pool_file.write(json.dumps(row) + "\n")
            for index in range(GROUP):
                right = draw.random() < rate
                text = f"so \\boxed{{{answer if right else answer + 1 + index}}}"
                recorded = {"extra_info.index": i, "index": index, "text": text, "tokens": len(text)}
                rollout_file.write(json.dumps(recorded) + "\n")
    return Recorded(pool, rollouts)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Sixty prompts of two domains."""
    return record_pass(tmp_path_factory.mktemp("recorded"), prompts=60, domains=("sums", "more"))


@pytest.fixture(scope="session")
def record() -> Callable[..., Recorded]:
    """Makes a recording of any size; see `record_pass`."""
    return record_pass
