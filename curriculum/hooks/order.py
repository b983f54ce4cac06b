"""The order of an epoch: which prompts make its batches, as a function of set, recipe and epoch alone.

In: a published set, a `Recipe`, an epoch, and which rows go first or not at all. Out: `Drawn`, a matrix of
rows with a line for each batch. No row is in it twice.

Weighted sampling without replacement is Efraimidis and Spirakis' ("Weighted random sampling with a
reservoir", Information Processing Letters 97(5), 2006): sorted by u^(1/w), the rows come as if drawn one
after the other with chances proportional to w. Their keys are used as -log(u)/w, smallest first, so an
epoch costs one sort.

Quotas are counts that are the same in every batch: each domain is a stratum of its own (all unnamed
domains are one), and each of these is split in mixed prompts and hard reserve. An epoch ends when a
stratum cannot fill its places in another batch. What would have made a partial batch begins the next epoch;
what a quota left out takes part in the next draw like everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from curriculum.errors import UsageError
from curriculum.hooks.ids import Rows
from curriculum.hooks.published import PublishedSet
from curriculum.hooks.sorting import sorted_keys

Mode: TypeAlias = Literal["weighted", "shuffle", "easy_to_hard"]
WeightBy: TypeAlias = Literal["learnability", "p_mixed", "weight"]

_NOTHING: Rows = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All that decides the order besides the set."""

    batch_size: int  # prompts a batch, over all ranks
    seed: int = 0
    mode: Mode = "weighted"
    weight_by: WeightBy = "learnability"  # in mode weighted
    domain_quotas: Mapping[str, float] = field(default_factory=dict)  # domain to its share of every batch
    hard_reserve: float | None = None  # share of every batch; None: as it comes
    min_distinct: int = 8  # a batch of fewer distinct prompts is refused

    def __post_init__(self) -> None:
        """Raises UsageError for what no set could satisfy."""
        if self.batch_size < max(1, self.min_distinct):
            raise UsageError(
                f"a batch of {self.batch_size} is fewer than {max(1, self.min_distinct)} distinct prompts",
                where="batch_size",
                do="raise batch_size (fewer rollouts a prompt, if memory is short), or lower min_distinct",
            )
        if self.mode not in get_args(Mode) or self.weight_by not in get_args(WeightBy):
            raise UsageError(
                f"unknown mode {self.mode!r} or weight {self.weight_by!r}",
                where="mode, weight_by",
                do=f"modes: {', '.join(get_args(Mode))}; weights: {', '.join(get_args(WeightBy))}",
            )
        shares = [*self.domain_quotas.values(), self.hard_reserve or 0.0]
        if any(not 0 <= share <= 1 for share in shares) or sum(self.domain_quotas.values()) > 1 + 1e-9:
            raise UsageError(
                "quotas are shares of a batch, between 0 and 1, and those of the domains add up to at most 1",
                where=f"domain_quotas = {dict(self.domain_quotas)}, hard_reserve = {self.hard_reserve}",
                do="lower them",
            )

    def described(self) -> dict[str, Any]:
        """As JSON values, to compare with what a saved state was made by."""
        return {**asdict(self), "domain_quotas": dict(sorted(self.domain_quotas.items()))}


@dataclass(frozen=True, slots=True)
class Stratum:
    """Places that are kept in every batch, and who may take them."""

    name: str
    places: int
    members: NDArray[np.bool_] | None  # None: everyone


@dataclass(frozen=True, slots=True)
class Drawn:
    """The batches of an epoch and the rows that begin the next one."""

    batches: NDArray[np.int32]  # shape (batches, batch_size)
    carried: Rows


def strata(published: PublishedSet, recipe: Recipe) -> list[Stratum]:
    """The strata of every batch; their places add up to the batch.

    Raises:
        UsageError: a quota names an unknown domain or is less than one place, or a stratum is too small.
    """
    domains = _domain_strata(published, recipe)
    found = domains if recipe.hard_reserve is None else _split(published, recipe, domains)
    for stratum in found:
        size = len(published) if stratum.members is None else int(stratum.members.sum())
        if size < stratum.places:
            raise UsageError(
                f"the set has {size} prompts for the {stratum.places} places of {stratum.name} in a batch of "
                f"{recipe.batch_size}",
                where=str(published.source.folder),
                do="lower batch_size or that quota, or publish a larger set (a larger pool, or more rollouts "
                "a prompt with --n)",
            )
    return [stratum for stratum in found if stratum.places]


def draw(
    published: PublishedSet,
    recipe: Recipe,
    epoch: int,
    *,
    carried: Rows = _NOTHING,
    excluded: Rows = _NOTHING,
) -> Drawn:
    """The batches of `epoch`.

    Args:
        carried: rows that begin the epoch, each in its stratum.
        excluded: rows that have had their turn in this epoch; an epoch may have no batch left.

    Raises:
        UsageError: see `strata`.
    """
    places = strata(published, recipe)
    rng = _generator(published, recipe, epoch)
    keys = rng.standard_exponential(len(published))
    if recipe.mode == "weighted":
        keys /= _weights(published, recipe)
    keys[carried] *= 2.0**-600  # before all others, still in random order
    rows = sorted_keys(keys)
    if excluded.size:
        free = np.ones(len(published), dtype=np.bool_)
        free[excluded] = False
        rows = rows[free[rows]]
    queues = [rows if stratum.members is None else rows[stratum.members[rows]] for stratum in places]
    count = min(queue.size // stratum.places for queue, stratum in zip(queues, places, strict=True))
    parts, rest = [], [_NOTHING]
    for queue, stratum in zip(queues, places, strict=True):
        taken, left = np.split(queue, [count * stratum.places])
        if recipe.mode == "easy_to_hard":
            taken = taken[sorted_keys(1.0 - published.pass_rate[taken].astype(np.float64))]
        parts.append(taken.reshape(count, stratum.places))
        if left.size < stratum.places:
            rest.append(left.astype(np.int64))
    batches = parts[0] if len(parts) == 1 else rng.permuted(np.concatenate(parts, axis=1), axis=1)
    return Drawn(batches, np.sort(np.concatenate(rest)))


def apportion(total: int, shares: list[float]) -> list[int]:
    """Whole numbers in proportion to `shares` that add up to `total`, by largest remainder."""
    exact = np.array(shares, dtype=np.float64) * total / max(sum(shares), 1e-300)
    whole = np.floor(exact + 1e-9).astype(np.int64)
    for at in np.argsort(whole - exact, kind="stable")[: total - int(whole.sum())]:
        whole[at] += 1
    return [int(count) for count in whole]


def _domain_strata(published: PublishedSet, recipe: Recipe) -> list[Stratum]:
    quotas = dict(sorted(recipe.domain_quotas.items()))
    if not quotas:
        return [Stratum("all prompts", recipe.batch_size, None)]
    if unknown := sorted(set(quotas) - set(published.domains)):
        raise UsageError(
            f"a quota is for domain {unknown[0]!r}, which the set does not have",
            where=f"domain_quotas; {published.source.folder}",
            do=f"the domains are {', '.join(sorted(published.domains))}",
        )
    others = sorted(set(published.domains) - set(quotas))
    spare = 1 - sum(quotas.values())
    if (spare < 1e-9) if others else (spare > 1e-9):
        raise UsageError(
            f"the quotas leave {max(0.0, spare):.0%} of a batch for "
            + (f"{', '.join(others)}" if others else "no other domain"),
            where=f"domain_quotas = {quotas}",
            do="name every domain, with 0 for one to leave out, and let the quotas add up to 1",
        )
    places = apportion(recipe.batch_size, [*quotas.values(), *([spare] if others else [])])
    for (name, share), count in zip(quotas.items(), places, strict=False):
        _at_least_one(f"domain {name}", share, count, recipe.batch_size)
    codes = {name: code for code, name in enumerate(published.domains)}
    found = [
        Stratum(f"domain {name}", count, published.domain == codes[name])
        for name, count in zip(quotas, places, strict=False)
    ]
    if others:
        rest = np.isin(published.domain, [codes[name] for name in others])
        found.append(Stratum("the other domains", places[-1], rest))
    return found


def _split(published: PublishedSet, recipe: Recipe, domains: list[Stratum]) -> list[Stratum]:
    """Each stratum as mixed and hard reserve; the reserve's places go where its prompts are."""
    share = recipe.hard_reserve or 0.0
    hard = published.hard_reserve
    wanted = round(share * recipe.batch_size)
    _at_least_one("the hard reserve", share, wanted, recipe.batch_size)
    masks = [np.ones_like(hard) if s.members is None else s.members for s in domains]
    sizes = [float((mask & hard).sum()) if s.places else 0.0 for mask, s in zip(masks, domains, strict=True)]
    if wanted and not sum(sizes):
        sizes = [float(s.places) for s in domains]  # `strata` then says which is too small
    counts = [min(n, s.places) for n, s in zip(apportion(wanted, sizes), domains, strict=True)]
    for at in np.argsort([-size for size in sizes], kind="stable"):  # where a domain was full
        counts[at] += min(wanted - sum(counts), domains[at].places - counts[at])
    found = []
    for stratum, mask, count in zip(domains, masks, counts, strict=True):
        found.append(Stratum(f"{stratum.name}, mixed", stratum.places - count, mask & ~hard))
        found.append(Stratum(f"{stratum.name}, hard reserve", count, mask & hard))
    return found


def _at_least_one(name: str, share: float, places: int, batch_size: int) -> None:
    if share > 0 and not places:
        raise UsageError(
            f"the quota of {name}, {share:g} of a batch of {batch_size}, is less than one place",
            where="domain_quotas, hard_reserve",
            do=f"raise batch_size to {int(np.ceil(1 / share))} or the quota to {1 / batch_size:g}, or give 0",
        )


def _weights(published: PublishedSet, recipe: Recipe) -> NDArray[np.float64]:
    column: NDArray[np.float32] = getattr(published, recipe.weight_by)
    weights = column.astype(np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise UsageError(
            f"{recipe.weight_by} is missing or negative for some prompts of the set",
            where=str(published.source.folder),
            do="weigh by learnability, or use mode shuffle",
        )
    return np.maximum(weights, 1e-12)  # a prompt of weight 0 comes last, in random order


def _generator(published: PublishedSet, recipe: Recipe, epoch: int) -> np.random.Generator:
    what = f"{recipe.seed}/{epoch}/{published.source.manifest_hash}"
    seed = int.from_bytes(blake2b(what.encode(), digest_size=16).digest(), "big")
    return np.random.Generator(np.random.PCG64(seed))
