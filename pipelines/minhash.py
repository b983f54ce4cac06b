"""Prompts that may be alike, found without comparing each with each: MinHash and locality-sensitive hashing.

In: prompts as text. Out: `Sketches`, the pairs that share a bucket, and the true similarity of a pair.

Similarity is the Jaccard index of the sets of three-token runs, those of instructions left out; prompts
whose multisets of numbers or counts of minus signs differ are not alike at all, and share no bucket: a
template filled in with a hundred thousand numbers is a hundred thousand small buckets. Signatures come from
`rensa` (R-MinHash, after Li & Li, "C-MinHash: Rigorously reducing K permutations to two", ICML 2022); bands
of a signature name the buckets (Indyk & Motwani, "Approximate nearest neighbors", STOC 1998).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipelines import text
from pipelines.ngrams import Hashes, Places, ramps, runs, text_hashes

RUN = 3
"""Tokens a run. With longer ones small edits weigh more; single tokens would ignore the order."""
PERMUTATIONS = 128
RECALL = 0.99
"""A pair exactly at the threshold shares a bucket at least this often; a pair above it more often."""
WINDOW = 16
"""A prompt is compared with at most this many before it in a bucket, those most alike to it first."""

COMMON = 0.1
"""A run that stands in a larger share of prompts than this is an instruction or template, and left out."""
FEWEST_COMMON = 20
"""So that a handful of alike prompts in a small pool is none."""

_SEED = 1
_SAMPLE = 5_000
_CHUNK_ROWS = 20_000
_CHUNK_RUNS = 20_000_000
_ROW, _RUN = np.uint64(32), np.uint64(2**32 - 1)
_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)


@dataclass(frozen=True, slots=True)
class Sketches:
    """What is kept of each prompt: about 1.4 kB for one of 200 tokens."""

    signatures: NDArray[np.uint32]  # prompts x PERMUTATIONS
    runs: NDArray[np.uint32]  # the set of runs of each prompt, sorted, one prompt after the other
    ends: Places  # where each prompt's set ends
    numbers: Hashes  # of the multiset of numbers and the count of minus signs

    @property
    def sizes(self) -> Places:
        """Runs of each prompt; 0 for one without a token."""
        return np.diff(self.ends, prepend=0)


def sketches(texts: pl.Series) -> Sketches:
    """The sketch of each text, made in pieces so that tokens are never held for all of them."""
    common = _common_runs(texts)
    starts = range(0, max(len(texts), 1), _CHUNK_ROWS)
    pieces = [_sketched(texts.slice(start, _CHUNK_ROWS), common) for start in starts]
    return Sketches(
        np.concatenate([piece.signatures for piece in pieces]),
        np.concatenate([piece.runs for piece in pieces]),
        np.cumsum(np.concatenate([piece.sizes for piece in pieces])),
        np.concatenate([piece.numbers for piece in pieces]),
    )


def _common_runs(texts: pl.Series) -> Hashes:
    """The runs of what many prompts have in common, as an instruction does; sorted.

    Counted among the different texts of a sample, so that copies of one prompt are no instruction.
    """
    sample = _read(texts.gather_every(max(1, len(texts) // _SAMPLE)).unique(maintain_order=True))
    sample = sample.unique("tokens", maintain_order=True)
    found = pl.DataFrame({"run": _runs_of(sample["tokens"]) & _RUN}).group_by("run").len("prompts")
    common = found.filter(pl.col("prompts") > max(COMMON * sample.height, FEWEST_COMMON))
    return common["run"].sort().to_numpy()


def _sketched(texts: pl.Series, common: Hashes) -> Sketches:
    read = _read(texts)
    keys = _runs_of(read["tokens"])
    rows = (keys >> _ROW).astype(np.int64)
    shared = np.isin(keys & _RUN, common)
    own = np.bincount(rows[~shared], minlength=len(texts))
    kept = ~shared | (own[rows] == 0)  # a prompt that is nothing but common runs keeps them
    keys, rows = keys[kept], rows[kept]
    offsets = np.searchsorted(rows, np.arange(len(texts) + 1))
    signatures = _signatures(keys & _RUN, offsets.astype(np.uint64))
    return Sketches(signatures, keys.astype(np.uint32), offsets[1:], text_hashes(read["numbers"]))


def _read(texts: pl.Series) -> pl.DataFrame:
    """Columns tokens, without drawings, and numbers and minus signs, with those of drawings, as one text."""
    normal = texts.to_frame("text").select(normal=text.normalised(pl.col("text").fill_null("")))
    return normal.select(
        tokens=text.tokens(text.without_diagrams(pl.col("normal"))),
        numbers=pl.format(
            "{} -{}", text.numbers(pl.col("normal")).list.join(" "), text.minuses(pl.col("normal"))
        ),
    )


def _runs_of(tokens: pl.Series) -> Hashes:
    """The set of runs of each row: row above 32 bits of the run's hash, sorted."""
    hashes, rows, _ = runs(tokens, RUN, padded=True)
    return _distinct(rows.astype(np.uint64) << _ROW | hashes >> _ROW)


def _distinct(keys: Hashes) -> Hashes:
    """The keys, sorted, each once; sorts in place, which takes a tenth of the time of `np.unique`."""
    keys.sort()
    repeated = np.zeros(keys.size, np.bool_)
    repeated[1:] = keys[1:] == keys[:-1]
    return keys[~repeated]


def _signatures(hashes: Hashes, offsets: Hashes) -> NDArray[np.uint32]:
    from rensa import RMinHash

    spread = hashes * _MULTIPLIER
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(spread, offsets, PERMUTATIONS, _SEED)
    return np.array(matrix.to_rows(), np.uint32).reshape(offsets.size - 1, PERMUTATIONS)


def candidates(
    of: Sketches, threshold: float, *, targets: NDArray[np.bool_] | None = None
) -> Iterator[tuple[Places, Places]]:
    """Pairs of prompts that share a bucket, band after band; a pair may come again in a later band.

    Without `targets` each prompt is paired with earlier ones; with it, each prompt that is no target with
    targets. In a bucket of many, with the WINDOW nearest on a side: in the order of the next band's
    buckets, so that those which agree in two bands stand together.
    """
    width = rows_a_band(threshold)
    bands = PERMUTATIONS // width
    present = np.flatnonzero(of.sizes)
    keys = _buckets(of, present, 0, width)
    first = keys
    for band in range(bands):
        following = _buckets(of, present, band + 1, width) if band + 1 < bands else first
        order = np.lexsort((present, following, keys))
        wanted = None if targets is None else targets[present[order]]
        left, right = _windows(keys[order], wanted)
        yield present[order[left]], present[order[right]]
        keys = following


def rows_a_band(threshold: float) -> int:
    """The most rows a band at which a pair at the threshold is found with probability RECALL.

    1 - (1 - t^r)^b for b bands of r rows (Leskovec, Rajaraman & Ullman, "Mining of massive datasets", 3.4).
    """
    return max(
        width
        for width in range(1, 17)
        if width == 1 or 1 - (1 - threshold**width) ** (PERMUTATIONS // width) >= RECALL
    )


def _buckets(of: Sketches, rows: Places, band: int, width: int) -> Hashes:
    keys = of.numbers[rows]
    for column in range(band * width, (band + 1) * width):
        keys = (keys ^ of.signatures[rows, column]) * _MULTIPLIER
        keys ^= keys >> np.uint64(29)
    return keys


def _windows(keys: Hashes, targets: NDArray[np.bool_] | None) -> tuple[Places, Places]:
    """Pairs of places in the sorted `keys` that have one key, at most WINDOW apart among the targets."""
    place = np.arange(keys.size)
    start, end = np.searchsorted(keys, keys, "left"), np.searchsorted(keys, keys, "right")
    if targets is None:
        count = np.minimum(place - start, WINDOW)
        left = np.repeat(place, count)
        return left, left - 1 - ramps(count)
    before = np.concatenate([[0], np.cumsum(targets)])  # targets before each place
    low = np.maximum(before[start], before[place] - WINDOW)
    high = np.minimum(before[end], before[place] + WINDOW)
    count = np.where(targets, 0, high - low)
    left = np.repeat(place, count)
    return left, np.flatnonzero(targets)[np.repeat(low, count) + ramps(count)]


def similarity(of: Sketches, left: Places, right: Places, *, floor: float = 0.0) -> NDArray[np.float64]:
    """The Jaccard index of each pair's sets of runs; 0 where the numbers differ or it is below `floor`.

    Pairs whose signatures agree in so few places that an index of `floor` would be four standard
    deviations off (one pair in 30,000 at the threshold) are not looked at further.
    """
    result = np.zeros(left.size)
    sizes = of.sizes
    small, large = np.sort([sizes[left], sizes[right]], axis=0)
    open_ = np.flatnonzero((of.numbers[left] == of.numbers[right]) & (small >= floor * large) & (large > 0))
    if floor > 0:
        least = floor - 4 * np.sqrt(floor * (1 - floor) / PERMUTATIONS)
        open_ = open_[_agreement(of, left[open_], right[open_]) >= least]
    both = sizes[left[open_]] + sizes[right[open_]]
    for part in np.split(open_, _cuts(both)):
        shared = _shared(of, left[part], right[part])
        result[part] = shared / (sizes[left[part]] + sizes[right[part]] - shared)
    return np.where(result >= floor, result, 0.0)


def _cuts(weights: Places) -> Places:
    """Where to cut so that no piece weighs more than _CHUNK_RUNS, or is a single entry."""
    piece = np.cumsum(weights) // _CHUNK_RUNS
    return np.flatnonzero(np.diff(piece)) + 1


def _agreement(of: Sketches, left: Places, right: Places) -> NDArray[np.float64]:
    share = np.empty(left.size)
    for start in range(0, left.size, _CHUNK_ROWS):
        part = slice(start, start + _CHUNK_ROWS)
        share[part] = (of.signatures[left[part]] == of.signatures[right[part]]).mean(axis=1)
    return share


def _shared(of: Sketches, left: Places, right: Places) -> Places:
    """How many runs each pair shares: those that stand twice among both sets."""
    keys = np.concatenate([_held(of, left), _held(of, right)])
    keys.sort()
    twice = keys[1:][keys[1:] == keys[:-1]]
    return np.bincount((twice >> _ROW).astype(np.int64), minlength=left.size)


def _held(of: Sketches, prompts: Places) -> Hashes:
    """The runs of each prompt, below the place of the prompt in the list."""
    sizes = of.sizes[prompts]
    places = np.repeat(of.ends[prompts] - sizes, sizes) + ramps(sizes)
    return np.repeat(np.arange(prompts.size), sizes).astype(np.uint64) << _ROW | of.runs[places]
