"""The trained frontier as a small dictionary of JSON values, and back.

In: the epochs under way. Out: a state that continues exactly on the same set, and that another set can
take over by prompt id.

    version 1 · manifest, refresh_id, recipe    what the order is a function of
    epochs      each epoch under way: epoch, first (number of its first batch), begun_with (rows), done
                (bits of its matrix, zlib), before (leading halves of ids), former (batch number to ids)
    epoch, number, trained                      for another set: where the run is, and the leading halves
                of the ids that this epoch has trained; 11 bytes of text a prompt

The state holds what was *trained*, never what a loader has fetched ahead.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curriculum.errors import UsageError
from curriculum.hooks.epoch import Epoch
from curriculum.hooks.ids import Words, ids_text, parse_ids
from curriculum.hooks.order import Recipe, draw
from curriculum.hooks.published import PublishedSet

VERSION = 1
_GENERATOR = "numpy PCG64 from blake2b(seed/epoch/manifest)"


class Takeover(NamedTuple):
    """What another set needs of a state: where the run is and what this epoch has trained."""

    epoch: int
    number: int  # of the next batch
    trained: Words  # leading halves of ids
    refresh_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """How a run went over to another set, or to another recipe."""

    before: str  # refresh ids
    now: str
    epoch: int
    trained: int  # prompts that this epoch had trained
    trained_here: int  # of which the set has; they wait for the next epoch
    in_flight: int  # prompts issued and not yet trained; still counted when they are
    prompts: int  # size of the set

    def __str__(self) -> str:
        return (
            f"{self.before} -> {self.now}: {self.trained_here} of the {self.trained} prompts that epoch "
            f"{self.epoch} has trained are among its {self.prompts}; {self.in_flight} in flight"
        )


def save(published: PublishedSet, recipe: Recipe, epochs: list[Epoch]) -> dict[str, Any]:
    """The state of a run; `epochs` are those under way, oldest first."""
    current = next((epoch for epoch in reversed(epochs) if epoch.done.any() or epoch.before.size), epochs[0])
    return {
        "version": VERSION,
        **order_of(published, recipe),
        "epochs": [_epoch_state(epoch) for epoch in epochs],
        "epoch": current.epoch,
        "number": current.first + current.untrained_from(),
        "trained": _text(current.trained(published.ids).astype("<u8").tobytes()),
    }


def order_of(published: PublishedSet, recipe: Recipe) -> dict[str, Any]:
    """What the order is a function of, for `is_exact`."""
    return {
        "manifest": published.identity,
        "refresh_id": published.source.refresh_id,
        "recipe": recipe.described(),
        "generator": _GENERATOR,
    }


def check(state: Mapping[str, Any]) -> None:
    """Raises UsageError unless `state` is one that `save` has made."""
    if state.get("version") != VERSION or "epochs" not in state:
        raise UsageError(
            f"this is not the state of a curriculum sampler of version {VERSION}",
            where=f"keys {sorted(map(str, state))[:8]}",
            do="load what state_dict() of the sampler returned, not that of the loader around it",
        )


@contextmanager
def damage() -> Iterator[None]:
    """Turns what reading a damaged state raises into an error that says so."""
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, zlib.error) as error:
        raise UsageError(
            "the saved state is damaged", where=repr(error), do="load the one of an earlier checkpoint"
        ) from error


def is_exact(state: Mapping[str, Any], published: PublishedSet, recipe: Recipe) -> bool:
    """Whether the state's order is that of this set and recipe."""
    same_order = {**state["recipe"], "min_distinct": recipe.min_distinct} == recipe.described()
    same_set = bool(state["manifest"] == published.identity)
    return same_set and same_order and state["generator"] == _GENERATOR


def restore(state: Mapping[str, Any], published: PublishedSet, recipe: Recipe) -> list[Epoch]:
    """The epochs of an exact state, with everything untrained to be issued again."""
    return [_epoch(saved, published, recipe) for saved in state["epochs"]]


def takeover(state: Mapping[str, Any]) -> Takeover:
    """What a state says to another set."""
    return Takeover(state["epoch"], state["number"], _leading(state["trained"]), state["refresh_id"])


def _epoch_state(epoch: Epoch) -> dict[str, Any]:
    return {
        "epoch": epoch.epoch,
        "first": epoch.first,
        "begun_with": epoch.begun_with.tolist(),
        "done": _text(zlib.compress(np.packbits(epoch.done).tobytes(), 1)),
        "before": _text(epoch.before.astype("<u8").tobytes()),
        "former": {str(number): ids_text(words) for number, words in epoch.former.items()},
    }


def _epoch(saved: Mapping[str, Any], published: PublishedSet, recipe: Recipe) -> Epoch:
    before = _leading(saved["before"])
    former = {int(number): parse_ids(ids, where="the saved state") for number, ids in saved["former"].items()}
    begun_with = np.array(saved["begun_with"], dtype=np.int64)
    gone = [before, *(words[:, 0] for words in former.values())]
    rows = published.ids.find_leading(np.concatenate(gone))
    drawn = draw(published, recipe, saved["epoch"], carried=begun_with, excluded=np.unique(rows[rows >= 0]))
    epoch = Epoch(saved["epoch"], saved["first"], begun_with, drawn)
    epoch.before, epoch.former, epoch.resumed = before, _present(former, published), True
    epoch.done = _bits(saved["done"], drawn.batches.shape)
    epoch.rewind()
    return epoch


def _present(former: Mapping[int, Words], published: PublishedSet) -> dict[int, Words]:
    """Batches in flight of an earlier set, as far as this set has their prompts and can issue them again."""
    present = {number: words[published.ids.find(words) >= 0] for number, words in former.items()}
    return {number: words for number, words in present.items() if len(words)}


def _bits(text: str, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    packed = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    count = int(np.prod(shape))
    if packed.size != -(-count // 8):
        raise ValueError(f"{packed.size} bytes for {count} prompts")
    return np.unpackbits(packed, count=count).astype(np.bool_).reshape(shape)


def _leading(text: str) -> Words:
    return np.frombuffer(base64.b64decode(text), dtype="<u8").astype(np.uint64)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
