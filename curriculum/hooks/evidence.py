"""What a trainer's own rollouts say, as evidence: counted at once, and kept for the next refresh.

In: prompt ids and rewards, a rollout each. Out: posteriors of the set's prompts, and files to read later.

A process appends to one file, `<folder>/<refresh id>/<rank>-<process>-<random>.jsonl`, and never to that of
another. Each line is a JSON object; one that cannot be parsed, the last of a killed process, is left out.
The first line says what the rest was made with:

    {"format": "curriculum-evidence", "version": 1, "refresh_id", "manifest", "checkpoint", "rank",
     "group_size", "solved_at", "truncated": "wrong" | "excluded"}

Every other line is one call of `observe`, with columns of one length, an entry a prompt:

    step (or null) · prompt_id · n, s (judged rollouts, and those with reward >= solved_at) · low, high, total
    (rewards of the judged; null where n is 0) · unjudged (no reward, or truncated and excluded) · truncated
    tokens, longest (sum and maximum of lengths; null when not told)

The rollouts of a prompt in a step may be spread over lines, files and ranks: add what has equal prompt_id
and step. After a resume a step may be there twice, with other rollouts; both count.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from curriculum.errors import UsageError
from curriculum.hooks.groups import GroupMerger, Groups, gather
from curriculum.hooks.ids import ids_text, parse_ids
from curriculum.hooks.published import Floats, PublishedSet

FORMAT = "curriculum-evidence"
VERSION = 1
_SYNC_SECONDS = 10.0


class Evidence:
    """Posteriors of one set under its own rollouts, and the file that outlives the process."""

    def __init__(
        self,
        folder: Path | None,
        *,
        rank: int = 0,
        group_size: int | None = None,
        solved_at: float = 1.0,
        truncated: Literal["wrong", "excluded"] = "wrong",
    ) -> None:
        """Nothing is written before the first observation. A loss of power may cost the last ten seconds.

        Args:
            folder: where the files go; None keeps nothing.
            group_size: rollouts of a whole group; None when a group arrives within one step.
            solved_at: the reward from which a rollout counts as solved. Give the raw correctness where
                the trainer shapes its rewards.
            truncated: whether a rollout that was cut off counts as it was rewarded, or not at all.

        Raises:
            UsageError: `solved_at` is not above 0, so that it cannot tell what part of the marks a reward is.
        """
        if not solved_at > 0:
            raise UsageError(
                f"a rollout cannot be solved at a reward of {solved_at:g}",
                where="Evidence(solved_at=…)",
                do="observe the correctness, 0 to 1, in place of such rewards",
            )
        self._folder = folder
        self._header = {
            "format": FORMAT,
            "version": VERSION,
            "rank": rank,
            "group_size": group_size,
            "solved_at": solved_at,
            "truncated": truncated,
        }
        self._solved_at = solved_at
        self._drop_truncated = truncated == "excluded"
        self._merger = GroupMerger(group_size)
        self._path: Path | None = None
        self._synced = 0.0

    def use(self, published: PublishedSet) -> None:
        """Counts for another set from now on, in a file of its own."""
        self._published = published
        self._path = None
        self._counts = np.zeros((2, 0), dtype=np.float32)
        self.observed = 0
        self.unknown = 0
        """Prompts of observations, and how many of them the set does not have."""

    def posterior(self) -> tuple[Floats, Floats]:
        """alpha and beta of every prompt of the set, with what was observed."""
        if not self._counts.size:
            return self._published.alpha, self._published.beta
        return self._published.alpha + self._counts[0], self._published.beta + self._counts[1]

    def observe(
        self,
        prompt_ids: Sequence[str],
        rewards: Sequence[float | None],
        *,
        lengths: Sequence[int] | None = None,
        truncated: Sequence[bool] | None = None,
        step: int | None = None,
    ) -> Groups:
        """Counts and writes the rollouts of a call; returns the groups that are complete with it.

        Raises:
            UsageError: columns of different lengths, an id that is none, or a disk that refuses.
        """
        columns = {"rewards": rewards, "lengths": lengths, "truncated": truncated}
        for name, column in columns.items():
            if column is not None and len(column) != len(prompt_ids):
                raise UsageError(
                    f"{len(prompt_ids)} prompt ids and {len(column)} {name}",
                    where="observe()",
                    do="give one of each for every rollout: repeat a prompt's id for each of its rollouts",
                )
        cut = (
            np.zeros(len(prompt_ids), dtype=np.bool_)
            if truncated is None
            else np.asarray(truncated, np.bool_)
        )
        marks = np.array([math.nan if reward is None else reward for reward in rewards], dtype=np.float64)
        if self._drop_truncated:
            marks[cut] = math.nan
        ids = parse_ids(prompt_ids, where="observe(prompt_ids=…)")
        inverse, parts = gather(ids, marks, self._solved_at)
        self._count(parts)
        self._write(_line(parts, inverse, cut, lengths, step))
        return self._merger.add(parts, step)

    def _count(self, parts: Groups) -> None:
        rows = self._published.ids.find(parts.ids)
        known = rows >= 0
        if known.any() and not self._counts.size:
            self._counts = np.zeros((2, len(self._published)), dtype=np.float32)
        self._counts[0, rows[known]] += parts.s[known]
        self._counts[1, rows[known]] += (parts.n - parts.s)[known]
        self.observed += rows.size
        self.unknown += int((~known).sum())

    def _write(self, line: dict[str, Any]) -> None:
        if self._folder is None:
            return
        try:
            if self._path is None:
                self._path = self._begin(self._folder)
            with self._path.open("ab") as file:
                file.write(_json_line(line))
                file.flush()
                if time.monotonic() - self._synced > _SYNC_SECONDS:
                    os.fsync(file.fileno())
                    self._synced = time.monotonic()
        except OSError as error:
            raise UsageError(
                f"evidence cannot be written: {error.strerror}",
                where=str(self._folder),
                do="make room there, or pass evidence=Evidence(None) to train without keeping any",
            ) from error

    def _begin(self, folder: Path) -> Path:
        source = self._published.source
        folder = folder / source.refresh_id
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self._header['rank']:05d}-{os.getpid()}-{uuid4().hex[:8]}.jsonl"
        header = {
            **self._header,
            "refresh_id": source.refresh_id,
            "manifest": source.manifest_hash,
            "checkpoint": source.checkpoint,
        }
        with path.open("xb") as file:
            file.write(_json_line(header))
        return path


def _json_line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _line(
    parts: Groups,
    inverse: NDArray[np.int64],
    cut: NDArray[np.bool_],
    lengths: Sequence[int] | None,
    step: int | None,
) -> dict[str, Any]:
    """One call as a line of the file: columns with an entry a prompt."""
    size = len(parts.ids)
    judged = parts.n > 0
    line: dict[str, Any] = {
        "step": step,
        "prompt_id": ids_text(parts.ids),
        "n": parts.n.tolist(),
        "s": parts.s.tolist(),
        "unjudged": (parts.seen - parts.n).tolist(),
        "truncated": np.bincount(inverse, weights=cut, minlength=size).astype(int).tolist(),
        "tokens": None,
        "longest": None,
    }
    for name, column in (("low", parts.low), ("high", parts.high), ("total", parts.total)):
        line[name] = [value if known else None for value, known in zip(column.tolist(), judged, strict=True)]
    if lengths is not None:
        tokens = np.asarray(lengths, dtype=np.int64)
        longest = np.zeros(size, dtype=np.int64)
        np.maximum.at(longest, inverse, tokens)
        line["tokens"] = np.bincount(inverse, weights=tokens, minlength=size).astype(int).tolist()
        line["longest"] = longest.tolist()
    return line
