"""Composes the pools: how many prompts of each level, none twice, held-out ones disjoint.

In: a seed. Out: lists of `Task`, or an endless stream in the same proportions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from data_samples.tiny_policy.make import arithmetic, functions, tools
from data_samples.tiny_policy.make.tasks import Task

FAMILIES = {"arithmetic": arithmetic, "functions": functions, "tools": tools}

COUNTS: Mapping[str, Mapping[str, int]] = {
    "arithmetic": {
        "sum1": 60, "sum2": 140, "sum3": 140, "sum5": 160, "minus2": 120, "minus3": 100, "times11": 80,
        "times21": 120, "times22": 200, "times33": 300, "chain3": 100, "chain4": 100, "chain5": 100,
        "chain6": 80, "chain7": 60, "chain9": 60,
    },
    "functions": {
        "text": 120, "ops1": 80, "ops2": 130, "ops3": 120, "ops4": 110, "ops6": 120,
        "items1": 100, "items2": 120,
    },
    "tools": {
        "weather": 80, "alarm": 80, "pay": 80, "seconds": 70, "minutes": 70, "hours": 70,
        "evening": 80, "dial4": 70, "dial8": 80, "dial14": 60, "note5": 70, "note10": 70,
    },
}  # fmt: skip
"""Prompts of each level in the pool."""


def compose(seed: int, *, scale: float = 1.0, apart_from: frozenset[str] = frozenset()) -> list[Task]:
    """Tasks in the proportions of COUNTS, in random order, without the prompts in `apart_from`.

    Raises:
        ValueError: a level has too few different prompts to fill its count.
    """
    random = Random(seed)
    seen, tasks = set(apart_from), []
    for family, levels in COUNTS.items():
        for level, count in levels.items():
            wanted = round(count * scale)
            for _ in range(100 * wanted):
                task = FAMILIES[family].make_task(level, random)
                if task.prompt not in seen:
                    seen.add(task.prompt)
                    tasks.append(task)
                    wanted -= 1
                if wanted == 0:
                    break
            else:
                raise ValueError(
                    f"{family}/{level}: {wanted} more prompts could not be found; lower its count"
                )
    random.shuffle(tasks)
    return tasks


def held_out() -> list[Task]:
    """The prompts that neither the warm start nor GRPO ever sees."""
    return compose(1, scale=0.1)


def training_pool() -> list[Task]:
    """The prompts that GRPO draws from."""
    return compose(2, apart_from=frozenset(task.prompt for task in held_out()))


DEMONSTRATED: Mapping[str, Mapping[str, int]] = {
    "arithmetic": {
        "sum1": 60, "sum2": 100, "minus2": 60, "times11": 80, "times21": 50,
        "chain3": 100, "chain4": 80, "chain5": 60,
    },
    "functions": {"text": 100, "ops1": 80, "ops2": 100, "ops3": 80, "items1": 90, "items2": 90},
    "tools": {
        "weather": 80, "alarm": 80, "pay": 80, "seconds": 60, "minutes": 30, "evening": 50,
        "dial4": 80, "dial8": 60, "note5": 80,
    },
}  # fmt: skip
"""Shares of the levels among the demonstrations; the others are met for the first time under reward."""


def stream(random: Random, *, apart_from: frozenset[str]) -> Iterator[Task]:
    """Fresh tasks without end, in the proportions of DEMONSTRATED."""
    kinds = [(family, level) for family, levels in DEMONSTRATED.items() for level in levels]
    shares = [DEMONSTRATED[family][level] for family, level in kinds]
    while True:
        family, level = random.choices(kinds, shares)[0]
        task = FAMILIES[family].make_task(level, random)
        if task.prompt not in apart_from:
            yield task
