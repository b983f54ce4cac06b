"""Composes the pools: how many prompts of each level, none twice, held-out ones disjoint.

In: a seed. Out: lists of `Task`, or an endless stream in the same proportions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from data_samples.tiny_policy.make import arithmetic, functions, tools
from data_samples.tiny_policy.make.tasks import Task

FAMILIES = {"arithmetic": arithmetic, "functions": functions, "tools": tools}

TRAINED_ON: Mapping[str, Mapping[str, int]] = {
    "arithmetic": {
        "sum1": 220, "sum2": 40, "sum3": 20, "sum5": 80, "minus2": 30, "minus3": 40, "times11": 140,
        "times21": 40, "times22": 60, "times33": 240, "chain3": 140, "chain4": 170, "chain5": 150,
        "chain6": 40, "chain7": 30, "chain9": 20,
    },
    "functions": {
        "text": 150, "ops1": 110, "ops2": 260, "ops3": 160, "ops4": 50, "ops6": 40,
        "items1": 160, "items2": 160,
    },
    "tools": {
        "weather": 150, "alarm": 140, "pay": 160, "seconds": 140, "minutes": 20, "hours": 20,
        "evening": 110, "dial4": 40, "dial8": 180, "dial14": 10, "note5": 40, "note10": 10,
    },
}  # fmt: skip
"""Prompts of each level that GRPO draws from."""

POOL: Mapping[str, Mapping[str, int]] = {
    "arithmetic": {
        "sum1": 80, "sum2": 40, "sum3": 20, "sum5": 60, "minus2": 30, "minus3": 40, "times11": 330,
        "times21": 40, "times22": 60, "times33": 180, "chain3": 60, "chain4": 80, "chain5": 200,
        "chain6": 40, "chain7": 20, "chain9": 10,
    },
    "functions": {
        "text": 125, "ops1": 75, "ops2": 60, "ops3": 680, "ops4": 40, "ops6": 40,
        "items1": 30, "items2": 30,
    },
    "tools": {
        "weather": 240, "alarm": 70, "pay": 40, "seconds": 40, "minutes": 20, "hours": 20,
        "evening": 260, "dial4": 40, "dial8": 40, "dial14": 10, "note5": 360, "note10": 10,
    },
}  # fmt: skip
"""Prompts of each level in the pool: fewer of the levels that training soon solves."""

HELD_OUT: Mapping[str, Mapping[str, int]] = {
    "arithmetic": {
        "sum1": 6, "sum2": 14, "sum3": 14, "sum5": 16, "minus2": 12, "minus3": 10, "times11": 8,
        "times21": 12, "times22": 20, "times33": 30, "chain3": 10, "chain4": 10, "chain5": 10,
        "chain6": 8, "chain7": 6, "chain9": 6,
    },
    "functions": {
        "text": 12, "ops1": 8, "ops2": 13, "ops3": 12, "ops4": 11, "ops6": 12,
        "items1": 10, "items2": 12,
    },
    "tools": {
        "weather": 8, "alarm": 8, "pay": 8, "seconds": 7, "minutes": 7, "hours": 7,
        "evening": 8, "dial4": 7, "dial8": 8, "dial14": 6, "note5": 7, "note10": 7,
    },
}  # fmt: skip
"""Prompts of each level among the held-out ones: nearer to an even spread, so harder than the pool."""

CARELESS = 0.9
"""A wording is careless if its demonstrations are right less often than this."""


def compose(
    counts: Mapping[str, Mapping[str, int]],
    seed: int,
    *,
    careless_kept: float = 1.0,
    apart_from: frozenset[str] = frozenset(),
) -> list[Task]:
    """Tasks of each level as `counts` says, in random order, without the prompts in `apart_from`.

    Of the tasks in a careless wording only the share `careless_kept` is taken.

    Raises:
        ValueError: a level has too few different prompts to fill its count.
    """
    random, choice = Random(seed), Random(seed)
    seen, tasks = set(apart_from), []
    for family, levels in counts.items():
        for level, count in levels.items():
            wanted = count
            for _ in range(100 * count):
                task = FAMILIES[family].make_task(level, random)
                kept = task.odds > CARELESS or choice.random() < careless_kept
                if kept and task.prompt not in seen:
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
    return compose(HELD_OUT, 1)


def training_set() -> list[Task]:
    """The prompts that GRPO draws from."""
    return compose(TRAINED_ON, 2, careless_kept=0.5, apart_from=prompts(held_out()))


def pool() -> list[Task]:
    """The prompts to refresh against."""
    return compose(POOL, 3, careless_kept=0.5, apart_from=prompts(held_out()))


def prompts(tasks: list[Task]) -> frozenset[str]:
    return frozenset(task.prompt for task in tasks)


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
