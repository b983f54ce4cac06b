"""Measures the checkpoints: shares of the pool solved, mixed and unsolved, class changes, held-out accuracy.

In: the folder of the checkpoints. Out: `measured.json`, and a summary on the terminal. Eight rollouts a
prompt at temperature 1.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from data_samples.tiny_policy.make.checkpoint import decode, encode_prompt, load
from data_samples.tiny_policy.make.grpo import GROUP, MAX_TOKENS
from data_samples.tiny_policy.make.pools import held_out, pool
from data_samples.tiny_policy.make.rewards import Judge
from data_samples.tiny_policy.make.sampler import sample_groups
from data_samples.tiny_policy.make.tasks import Task

Class = Literal["solved", "mixed", "unsolved", "constant"]
PROMPTS_AT_ONCE = 48
VARIED = 1e-6
"""Correctness must differ by more than this inside a group for the group to teach anything."""


def group_scores(folder: Path, tasks: list[Task], judge: Judge, seed: int) -> list[list[float]]:
    """The correctness of each of GROUP rollouts of every task, in the order of `tasks`."""
    policy, generator = load(folder), np.random.default_rng(seed)
    order = sorted(range(len(tasks)), key=lambda index: (tasks[index].family, len(tasks[index].gold), index))
    scores: list[list[float]] = [[] for _ in tasks]
    for start in range(0, len(order), PROMPTS_AT_ONCE):
        chunk = order[start : start + PROMPTS_AT_ONCE]
        prompts = [encode_prompt(tasks[index].prompt) for index in chunk]
        rollouts = sample_groups(policy, prompts, group=GROUP, max_tokens=MAX_TOKENS, generator=generator)
        rows = [index for index in chunk for _ in range(GROUP)]
        for row, verdict in zip(
            rows, judge([tasks[row] for row in rows], list(map(decode, rollouts))), strict=True
        ):
            scores[row].append(verdict.correctness)
    return scores


def class_of(scores: list[float]) -> Class:
    """Solved or unsolved: all right, or all worth nothing. Mixed: they differ. Constant: equal part marks."""
    if max(scores) - min(scores) > VARIED:
        return "mixed"
    return {1.0: "solved", 0.0: "unsolved"}.get(scores[0], "constant")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("data_samples/tiny_policy"))
    parser.add_argument("--steps", type=int, nargs="+", default=[0, 1000, 2000])
    parser.add_argument("--every", type=int, default=1, help="measure one prompt of the pool in so many")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tasks, judge = pool()[:: options.every], Judge()
    measured, classes = {}, {}
    for step in options.steps:
        folder = options.out / f"step_{step}"
        classes[step] = [class_of(group) for group in group_scores(folder, tasks, judge, options.seed)]
        measured[f"step_{step}"] = {
            **shares(classes[step]),
            "held_out_accuracy": accuracy(group_scores(folder, held_out(), judge, options.seed)),
            "by_level": by_level(tasks, classes[step]),
        }
        print(step, {k: v for k, v in measured[f"step_{step}"].items() if k != "by_level"}, flush=True)
    for before, after in combinations(options.steps, 2):
        moved = [a != b for a, b in zip(classes[before], classes[after], strict=True)]
        measured[f"changed_{before}_{after}"] = round(sum(moved) / len(moved), 4)
        print(f"changed class, {before} to {after}: {sum(moved) / len(moved):.3f}")
    (options.out / "measured.json").write_text(json.dumps(measured, indent=1) + "\n")


def accuracy(scores: list[list[float]]) -> float:
    """Share of rollouts with full marks."""
    marks = [score == 1.0 for group in scores for score in group]
    return round(sum(marks) / len(marks), 4)


def shares(classes: list[Class]) -> dict[str, float]:
    counts = Counter(classes)
    return {name: round(counts[name] / len(classes), 4) for name in get_args(Class)}


def by_level(tasks: list[Task], classes: list[Class]) -> dict[str, dict[str, float]]:
    levels: dict[str, list[Class]] = {}
    for task, found in zip(tasks, classes, strict=True):
        levels.setdefault(task.level, []).append(found)
    return {level: shares(found) for level, found in sorted(levels.items())}


if __name__ == "__main__":
    main()
