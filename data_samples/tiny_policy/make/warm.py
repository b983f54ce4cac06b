"""The supervised warm start: teaches the tasks from imperfect demonstrations.

In: nothing but the seed. Out: `step_0`, the policy that GRPO starts from. Careless teachers leave out
the box, the fence or the tags, or slip by one, under some wordings more often than under others; what
they leave for the reward to mend is what GRPO has to gain.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import torch
import torch.nn.functional as F

from data_samples.tiny_policy.make.checkpoint import EOS, PAD, VOCABULARY, encode, encode_prompt, load, save
from data_samples.tiny_policy.make.model import Policy, Shape
from data_samples.tiny_policy.make.pools import held_out, prompts, stream
from data_samples.tiny_policy.make.tasks import demonstrate

IGNORED = -100
"""Target of a position that carries no loss: prompts and padding."""


def batches(seed: int, rows: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Endless batches of (ids, targets) [rows, length], rows of like length together."""
    random = Random(seed)
    tasks = stream(random, apart_from=prompts(held_out()))
    while True:
        examples = []
        for _ in range(8 * rows):
            task = next(tasks)
            examples.append((encode_prompt(task.prompt), [*encode(demonstrate(task, random)), EOS]))
        examples.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
        chunks = [examples[i : i + rows] for i in range(0, len(examples), rows)]
        random.shuffle(chunks)
        yield from map(collate, chunks)


def collate(examples: list[tuple[list[int], list[int]]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Pads (prompt, response) pairs to inputs and next-token targets."""
    longest = max(len(prompt) + len(response) for prompt, response in examples) - 1
    ids, targets = torch.full((len(examples), longest), PAD), torch.full((len(examples), longest), IGNORED)
    for row, (prompt, response) in enumerate(examples):
        whole = torch.tensor(prompt + response)
        ids[row, : len(whole) - 1] = whole[:-1]
        targets[row, len(prompt) - 1 : len(whole) - 1] = whole[len(prompt) :]
    return ids, targets


def warm_start(policy: Policy, *, steps: int, rows: int, rate: float, seed: int) -> None:
    """Takes `steps` steps on `rows` demonstrations each; `rate` falls over the last quarter."""
    optimiser = torch.optim.AdamW(policy.parameters(), lr=rate, betas=(0.9, 0.97), weight_decay=0.01)
    started = time.monotonic()
    for step, (ids, targets) in zip(range(1, steps + 1), batches(seed, rows), strict=False):
        optimiser.param_groups[0]["lr"] = rate * min(1.0, step / 100, 4 * (1 - step / steps) + 0.01)
        loss = F.cross_entropy(policy(ids).flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 0:
            print(
                f"warm start {step}: loss {loss.item():.4f}, {time.monotonic() - started:.0f} s", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("data_samples/tiny_policy"))
    parser.add_argument("--start", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    policy = load(options.start) if options.start else Policy(Shape(vocabulary=len(VOCABULARY)))
    warm_start(policy, steps=options.steps, rows=options.rows, rate=options.rate, seed=options.seed)
    save(policy, options.out / "step_0")


if __name__ == "__main__":
    main()
