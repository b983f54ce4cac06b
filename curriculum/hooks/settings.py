"""The options of the hook as a trainer's own configuration has them, in a block named `curriculum`.

In: the block as a mapping. Out: `Settings`, checked; a `Recipe` for the order and an `Evidence` for what the
rollouts say.

    out             output folder of `curriculum refresh` (its newest set), or one refresh folder
    mode, weight_by, domain_quotas, hard_reserve, min_distinct, seed    see `Recipe`
    solved_at, truncated                                                see `Evidence`
    correctness     name of the raw correctness among what the reward function returns; without it the reward
    epochs, first_step    for trainers without a sampler of ours, see `curriculum.hooks.verl_dataset`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

from curriculum.errors import UsageError
from curriculum.hooks.evidence import Evidence
from curriculum.hooks.manifest import find_source
from curriculum.hooks.order import Mode, Recipe, WeightBy

Truncated = Literal["wrong", "excluded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The block, each option under its own name."""

    out: str
    mode: Mode = "weighted"
    weight_by: WeightBy = "learnability"
    domain_quotas: Mapping[str, float] = field(default_factory=dict)
    hard_reserve: float | None = None
    min_distinct: int = 8
    seed: int = 0
    correctness: str | None = None
    solved_at: float = 1.0
    truncated: Truncated = "wrong"
    epochs: int = 1
    first_step: int = 0

    def recipe(self, batch_size: int) -> Recipe:
        """The recipe of batches of `batch_size` prompts."""
        return Recipe(
            batch_size=batch_size,
            seed=self.seed,
            mode=self.mode,
            weight_by=self.weight_by,
            domain_quotas=self.domain_quotas,
            hard_reserve=self.hard_reserve,
            min_distinct=self.min_distinct,
        )

    def evidence(self) -> Evidence:
        """Evidence that is kept beside the refreshes."""
        folder = find_source(Path(self.out)).out / "evidence"
        return Evidence(folder, solved_at=self.solved_at, truncated=self.truncated)


_WHOLE = (int,)
_NUMBER = (int, float)
_TYPES: dict[str, tuple[type, ...]] = {
    "out": (str,),
    "mode": (str,),
    "weight_by": (str,),
    "domain_quotas": (dict,),
    "hard_reserve": (*_NUMBER, type(None)),
    "min_distinct": _WHOLE,
    "seed": _WHOLE,
    "correctness": (str, type(None)),
    "solved_at": _NUMBER,
    "truncated": (str,),
    "epochs": _WHOLE,
    "first_step": _WHOLE,
}
_CHOICES = {"mode": get_args(Mode), "weight_by": get_args(WeightBy), "truncated": get_args(Truncated)}
_LEAST = {"epochs": 1, "first_step": 0, "min_distinct": 1}


def read_settings(block: Mapping[str, Any] | None, *, where: str, without: tuple[str, ...] = ()) -> Settings:
    """The settings that a block holds.

    Args:
        where: what the block is called in the trainer's configuration, for errors.
        without: options that this trainer has no use for.

    Raises:
        UsageError: no block, an option that is unknown, or a value that is none of its values.
    """
    if not block or not block.get("out"):
        raise UsageError(
            "the curriculum is not told which set to train on",
            where=f"{where}.out",
            do=f"add +{where}.out=FOLDER, the output folder of `curriculum refresh`",
        )
    known = [option.name for option in fields(Settings) if option.name not in without]
    for name, value in block.items():
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            raise UsageError(
                f"unknown option {name!r}" + (f"; do you mean {near[0]!r}?" if near else ""),
                where=f"{where}.{name}",
                do=f"the options are {', '.join(known)}",
            )
        _check(name, value, where=f"{where}.{name}")
    return Settings(**block)


def _check(name: str, value: Any, *, where: str) -> None:
    fits = isinstance(value, _TYPES[name]) and not isinstance(value, bool)
    if not fits:
        names = " or ".join("none" if kind is type(None) else kind.__name__ for kind in _TYPES[name])
        raise UsageError(f"{name} is {value!r}", where=where, do=f"give a value of type {names}")
    if name in _CHOICES and value not in _CHOICES[name]:
        raise UsageError(f"{name} is {value!r}", where=where, do=f"give one of {', '.join(_CHOICES[name])}")
    if name in _LEAST and value < _LEAST[name]:
        raise UsageError(f"{name} is {value!r}", where=where, do=f"give {_LEAST[name]} or more")
    if isinstance(value, Mapping):
        for domain, share in value.items():
            if isinstance(share, bool) or not isinstance(share, _NUMBER):
                raise UsageError(
                    f"the quota of {domain} is {share!r}", where=where, do="give a share between 0 and 1"
                )
