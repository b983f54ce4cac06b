"""GRPO from `step_0`: groups of rollouts, rewards by the project's verifiers, one optimiser step a batch.

In: the checkpoint `step_0`. Out: `step_1000`, `step_2000` of the one run, and `training.csv`.
The batch is on-policy, so the clipped ratio of the published loss is 1 and its gradient is that of
advantage times log-probability. Advantages are rewards minus the mean of their group, in units of the
group's standard deviation (Shao et al. 2024, DeepSeekMath, equation 3 without the divergence term);
every token of the batch weighs the same.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from data_samples.tiny_policy.make.checkpoint import EOS, decode, encode_prompt, load, save
from data_samples.tiny_policy.make.model import Policy
from data_samples.tiny_policy.make.pools import training_set
from data_samples.tiny_policy.make.rewards import Judge
from data_samples.tiny_policy.make.sampler import sample_groups
from data_samples.tiny_policy.make.tasks import Task
from data_samples.tiny_policy.make.warm import IGNORED, collate
from verifiers.shaping import RewardShape, shape
from verifiers.verdict import Verdict

GROUP = 8
MAX_TOKENS = 128
LOG_EVERY = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The rollouts of one step, row by row: group after group."""

    prompts: list[list[int]]
    rollouts: list[list[int]]
    verdicts: list[Verdict]
    rewards: Tensor
    """[groups, GROUP]"""

    @property
    def mixed(self) -> float:
        """Share of groups whose correctness varies."""
        values = torch.tensor([v.correctness for v in self.verdicts]).view(-1, GROUP)
        return (values.max(1).values > values.min(1).values).float().mean().item()


def play(policy: Policy, tasks: list[Task], judge: Judge, generator: np.random.Generator) -> Batch:
    """Samples and judges one group for each of `tasks`."""
    prompts = [encode_prompt(task.prompt) for task in tasks]
    rollouts = sample_groups(policy, prompts, group=GROUP, max_tokens=MAX_TOKENS, generator=generator)
    verdicts = judge([task for task in tasks for _ in range(GROUP)], list(map(decode, rollouts)))
    rewards = torch.tensor([shape(verdict, RewardShape()) for verdict in verdicts]).view(-1, GROUP)
    return Batch(
        prompts=[prompt for prompt in prompts for _ in range(GROUP)],
        rollouts=rollouts,
        verdicts=verdicts,
        rewards=rewards,
    )


def loss_of(policy: Policy, batch: Batch) -> Tensor | None:
    """The GRPO loss of `batch`; None where no group varies, so that there is nothing to learn."""
    spread = batch.rewards - batch.rewards.mean(1, keepdim=True)
    advantages = (spread / (batch.rewards.std(1, keepdim=True) + 1e-4)).flatten()
    rows = [row for row in range(len(batch.rollouts)) if abs(advantages[row]) > 1e-6]
    if not rows:
        return None
    ids, targets = collate([(batch.prompts[row], batch.rollouts[row]) for row in rows])
    surprise = F.cross_entropy(
        policy(ids).flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="none"
    )
    tokens = sum(map(len, batch.rollouts))
    return (surprise.view(len(rows), -1) * advantages[rows][:, None]).sum() / tokens


def train(
    policy: Policy, out: Path, *, steps: int, save_every: int, prompts: int, rate: float, seed: int
) -> None:
    """Takes `steps` optimiser steps on `prompts` groups each and saves every `save_every`."""
    random, generator, judge = Random(seed), np.random.default_rng(seed), Judge()
    tasks = training_set()
    optimiser = torch.optim.AdamW(policy.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    started, recent = time.monotonic(), []
    with (out / "training.csv").open("w", newline="") as file:
        log = csv.writer(file, lineterminator="\n")
        log.writerow(["step", "reward", "correctness", "mixed", "response_tokens", "cut_off"])
        for step in range(1, steps + 1):
            optimiser.param_groups[0]["lr"] = rate * min(1.0, step / 20)
            batch = play(policy, random.sample(tasks, prompts), judge, generator)
            loss = loss_of(policy, batch)
            optimiser.zero_grad(set_to_none=True)
            if loss is not None:
                loss.backward()
                torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
            optimiser.step()
            recent.append(figures(batch))
            if step % LOG_EVERY == 0:
                row = torch.tensor(recent).mean(0).tolist()
                log.writerow([step, *(f"{value:.4f}" for value in row)])
                file.flush()
                print(step, [round(v, 3) for v in row], f"{time.monotonic() - started:.0f} s", flush=True)
                recent.clear()
            if step % save_every == 0:
                save(policy, out / f"step_{step}")


def figures(batch: Batch) -> list[float]:
    """What the log keeps of one step; the order of its columns."""
    count = len(batch.rollouts)
    return [
        batch.rewards.mean().item(),
        sum(verdict.correctness for verdict in batch.verdicts) / count,
        batch.mixed,
        sum(map(len, batch.rollouts)) / count,
        sum(rollout[-1] != EOS for rollout in batch.rollouts) / count,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("data_samples/tiny_policy"))
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--save-every", type=int, default=1000)
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    train(
        load(options.out / "step_0"), options.out, steps=options.steps, save_every=options.save_every,
        prompts=options.prompts, rate=options.rate, seed=options.seed,
    )  # fmt: skip


if __name__ == "__main__":
    main()
