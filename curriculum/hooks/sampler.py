"""The curriculum of a trainer: which prompts come next, what was trained, and what the rollouts said.

In: a published set and a `Recipe`. Out: rows of the published train shards, batch by batch; a state on the
trained frontier; evidence and signal from the trainer's own rollouts.

    sampler = CurriculumSampler("curriculum-out", batch_size=128, group_size=8)
    for rows in sampler.batches():              # one epoch
        ...                                     # generate, reward, train
        sampler.observe(prompt_ids, rewards, step=step)
        sampler.trained()                       # the oldest batch in flight

The order is a function of (set, recipe, epoch): evidence changes what the next refresh publishes, not what
this set yields. All ranks have one order and disjoint slices of each batch, and must make the same calls.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from curriculum.errors import UsageError
from curriculum.hooks import state
from curriculum.hooks.epoch import Batch, Epoch
from curriculum.hooks.evidence import Evidence
from curriculum.hooks.ids import Rows, Words, ids_text, parse_ids
from curriculum.hooks.manifest import find_source, newest_folder
from curriculum.hooks.order import Recipe, draw
from curriculum.hooks.published import PublishedSet, open_published
from curriculum.hooks.signal import OnStale, Signal, StalePolicy
from curriculum.hooks.state import Carried

_log = logging.getLogger(__name__)
_MOST_HELD = 65_536
"""Prompts of earlier epochs that may be in flight, besides those of one whole epoch."""


class CurriculumSampler:
    """Draws batches of prompts without replacement within an epoch; see the module."""

    def __init__(
        self,
        published: str | Path | PublishedSet,
        recipe: Recipe,
        *,
        group_size: int | None = None,
        rank: int = 0,
        world_size: int = 1,
        evidence: Evidence | None = None,
        stale: StalePolicy | None = None,
        on_stale: Iterable[OnStale] = (),
    ) -> None:
        """Opens the set and draws the first epoch.

        Args:
            published: an output folder, whose newest set is taken, a refresh folder, or an opened set.
            group_size: rollouts of a prompt at the trainer; None when they always arrive together.
            rank, world_size: this process yields rows rank, rank + world_size, … of each batch.
            evidence: where observations go; it has the group size then. None writes to `<out>/evidence`.
            stale: when the signal counts as stale.
            on_stale: called once each time that it does; without any, it is logged as a warning.

        Raises:
            UsageError: no set, a set too small for a batch or a quota, or ranks that do not divide the batch.
        """
        if not 0 <= rank < world_size or recipe.batch_size % world_size:
            raise UsageError(
                f"a batch of {recipe.batch_size} cannot be split over {world_size} ranks (rank {rank})",
                where="batch_size, world_size, rank",
                do="make batch_size a multiple of world_size",
            )
        if evidence is not None and group_size is not None:
            raise UsageError(
                "the group size belongs to the evidence",
                where="group_size, evidence",
                do="pass evidence=Evidence(folder, group_size=…) and no group_size beside it",
            )
        self.published = published if isinstance(published, PublishedSet) else open_published(Path(published))
        self.recipe = recipe
        self.rank = rank
        self.world_size = world_size
        self._out = self.published.source.out
        self._inside = False  # a batch is handed out in part
        self._iterating = False  # an iteration has begun and not come to its end
        self._epochs = [self._begin(0, 0)]
        self.evidence = evidence or Evidence(self._out / "evidence", rank=rank, group_size=group_size)
        self.evidence.use(self.published)
        self.signal = Signal(
            stale or StalePolicy(), on_stale, command=f"curriculum refresh --out {self._out}"
        )
        self.signal.use(self.published)

    # Drawing

    def __len__(self) -> int:
        """Rows that this rank gets in the epoch under way."""
        return int(self._epochs[-1].batches.size) // self.world_size

    @property
    def epoch(self) -> int:
        """The epoch that is being issued, from 0."""
        return self._epochs[-1].epoch

    def __iter__(self) -> Iterator[int]:
        """The rows of `batches`, one by one."""
        for rows in self.batches():
            for place, row in enumerate(rows.tolist(), start=1):
                self._inside = place < rows.size
                yield row

    def batches(self) -> Iterator[Rows]:
        """This rank's rows of each batch of the epoch, or of what is left of it.

        The next iteration is the next epoch. One that follows an abandoned iteration starts again at the
        trained frontier. A batch that was trained in part before a resume comes with its other prompts.
        """
        for batch in self.numbered():
            yield batch.rows

    def numbered(self) -> Iterator[Batch]:
        """`batches` with the number of each in the run, which `trained` takes."""
        if self._iterating:
            self._inside = False
            for epoch in self._epochs:
                epoch.rewind()
        self._iterating = True
        while (begun := self._to_issue()) is None:
            self._open_next()
        while (now := self._to_issue()) is not None and now.epoch == begun.epoch:
            yield now.issue(self.published.ids, self.rank, self.world_size)
        self._iterating = False

    def prompt_ids(self, rows: Rows | Sequence[int]) -> list[str]:
        """The ids of rows, as the published shards write them."""
        return ids_text(self.published.ids.words(np.asarray(rows, dtype=np.int64)))

    # What the trainer reports

    def trained(self, batch: int | None = None, *, prompt_ids: Sequence[str] | None = None) -> int:
        """Moves the trained frontier; call it when the optimizer step is done, on every rank alike.

        Prompts that the trainer has finally dropped, by a filter of its own, count as trained. Batches may be
        reported out of order, and prompts may be reported one by one.

        Args:
            batch: the number of a batch, as `numbered` gives it; the oldest in flight when neither is given.
            prompt_ids: prompts of any batches in flight, of all ranks; others are passed over.

        Returns:
            How many prompts were not reported before.

        Raises:
            UsageError: no such batch is in flight.
        """
        if prompt_ids is not None:
            words = parse_ids(prompt_ids, where="trained(prompt_ids=…)")
            left = words
            for epoch in self._epochs:  # a prompt in flight in two epochs was trained in the older one
                left = epoch.train_prompts(left, self.published.ids)
            return len(words) - len(left)
        for epoch in self._epochs:
            done = epoch.train_oldest() if batch is None else epoch.train_batch(batch)
            if done is not None:
                return done
        if batch is not None and batch < self._epochs[0].first:
            return 0
        raise UsageError(
            "no batch is in flight" if batch is None else f"batch {batch} has not been issued",
            where="trained()",
            do="report a batch after it was drawn, once",
        )

    def observe(
        self,
        prompt_ids: Sequence[str],
        rewards: Sequence[float | None],
        *,
        lengths: Sequence[int] | None = None,
        truncated: Sequence[bool] | None = None,
        step: int | None = None,
    ) -> None:
        """Takes the rollouts of a step as evidence: a prompt id, a reward and so on for each rollout.

        Groups may come in parts and in any order; a reward of None or NaN was not judged. Does not move the
        trained frontier.

        Raises:
            UsageError: the columns differ in length, or an id is not one.
        """
        groups = self.evidence.observe(prompt_ids, rewards, lengths=lengths, truncated=truncated, step=step)
        self.signal.add(groups, step=step)

    # Another set

    def newer(self) -> Path | None:
        """The folder of a newer set, when LATEST names one and no batch is handed out in part.

        With ranks, one asks and all `swap` to its answer.
        """
        if self._inside:
            return None
        folder = newest_folder(self._out)
        if folder.name == self.published.source.refresh_id:
            return None
        return folder if find_source(folder).manifest_hash != self.published.source.manifest_hash else None

    def swap(self, folder: Path) -> Carried:
        """Goes on with the set in `folder` from the next batch.

        Rows are those of the new set from then on. What this epoch has trained, and what is in flight, comes
        again in the next epoch only. Evidence and signal begin anew.

        Raises:
            UsageError: a batch is handed out in part, or the set cannot be used; the old one stays.
        """
        if self._inside:
            raise UsageError(
                "a set cannot be changed inside a batch", where="swap()", do="ask newer() at the next step"
            )
        now = self._epochs[-1]
        flying = {
            number: words
            for epoch in self._epochs
            for number, words in epoch.in_flight(self.published.ids).items()
        }
        left = [epoch.begun_with for epoch in self._epochs[-1:]]
        begun_with = self.published.ids.words(np.concatenate(left))
        taken = state.Takeover(
            now.epoch, now.next_number, now.trained(self.published.ids), self.published.source.refresh_id
        )
        return self._take_over(taken, open_published(folder), flying, begun_with)

    # State

    def state_dict(self) -> dict[str, Any]:
        """The trained frontier, as JSON values; the same on every rank, for any number of ranks."""
        return state.save(self.published, self.recipe, self._epochs)

    def load_state_dict(self, saved: Mapping[str, Any]) -> Carried | None:
        """Continues where the saved run had trained to.

        On the same set and recipe it continues exactly, and returns None. Otherwise the prompts that the
        epoch under way has trained are found by id and wait for the next epoch; the report counts them.

        Raises:
            UsageError: `saved` is not a state of this class, or is damaged.
        """
        state.check(saved)
        self._inside = self._iterating = False
        with state.damage():
            if state.is_exact(saved, self.published, self.recipe):
                self._epochs = state.restore(saved, self.published, self.recipe)
                return None
            taken = state.takeover(saved)
        report = self._take_over(taken, self.published, {}, np.empty((0, 2), dtype=np.uint64))
        _log.warning("curriculum: resumed on another set or recipe. %s", report)
        return report

    # Epochs

    def _take_over(
        self, taken: state.Takeover, published: PublishedSet, flying: dict[int, Words], begun_with: Words
    ) -> Carried:
        flying_leading = [words[:, 0] for words in flying.values()]
        here = published.ids.find_leading(taken.trained)
        gone = published.ids.find_leading(np.concatenate([taken.trained, *flying_leading]))
        gone = np.unique(gone[gone >= 0])
        first = published.ids.find(begun_with)
        first = np.setdiff1d(first[first >= 0], gone)
        drawn = draw(published, self.recipe, taken.epoch, carried=first, excluded=gone)
        epoch = Epoch(taken.epoch, taken.number, first, drawn)
        epoch.before, epoch.former = taken.trained, flying
        self.published, self._epochs = published, [epoch]
        self.evidence.use(published)
        self.signal.use(published)
        return Carried(
            before=taken.refresh_id,
            now=published.source.refresh_id,
            epoch=taken.epoch,
            trained=taken.trained.size,
            trained_here=int((here >= 0).sum()),
            in_flight=sum(map(len, flying.values())),
            prompts=len(published),
        )

    def _begin(self, epoch: int, first: int, carried: Rows | None = None) -> Epoch:
        begun_with = np.empty(0, dtype=np.int64) if carried is None else carried
        return Epoch(epoch, first, begun_with, draw(self.published, self.recipe, epoch, carried=begun_with))

    def _to_issue(self) -> Epoch | None:
        return next((epoch for epoch in self._epochs if not epoch.all_issued), None)

    def _open_next(self) -> None:
        last = self._epochs[-1]
        kept = [epoch for epoch in self._epochs if not epoch.all_trained]
        while sum(epoch.batches.size for epoch in kept) > last.batches.size + _MOST_HELD:
            epoch = kept.pop(0)
            _log.warning(
                "curriculum: epoch %d is closed with %d prompts never reported as trained; call trained() "
                "after each step, or a resume repeats them",
                epoch.epoch,
                int((~epoch.done).sum()) + sum(map(len, epoch.former.values())),
            )
        self._epochs = [*kept, self._begin(last.epoch + 1, last.end, last.carried)]
