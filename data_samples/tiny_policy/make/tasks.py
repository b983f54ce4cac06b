"""What every task family gives: a prompt, its reference, and how it was demonstrated.

In: nothing. Out: `Task`, and `demonstrate`, which plays the imperfect teacher of the warm start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

VERIFIERS = {"arithmetic": "boxed", "functions": "unit_tests", "tools": "tool_calls"}
"""Which verifier judges each family; the family is the pool's `data_source`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One prompt with all that is known of it."""

    family: str
    level: str
    """Kind and difficulty inside the family, for example `chain5`: a sum of five terms."""
    prompt: str
    reference: Mapping[str, Any]
    gold: str
    """A response its verifier accepts."""
    flawed: tuple[str, ...]
    """Responses its verifier refuses: a habit to unlearn, or a slip."""
    odds: float
    """Share of demonstrations that show `gold`; the others show one of `flawed`."""


def demonstrate(task: Task, random: Random) -> str:
    """One demonstration of `task`: right with probability `task.odds`."""
    return task.gold if random.random() < task.odds else random.choice(task.flawed)
