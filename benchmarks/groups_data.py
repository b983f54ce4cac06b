"""Rollouts by the hundred million, for the benchmark of group statistics, caps and selection.

In: a number of prompts and an order. Out: `part-*.parquet` and `pool.parquet` in a folder. Each prompt has 16
rollouts. `published` lays them out as `curriculum refresh` publishes them, whole prompts together and sorted;
`rounds` as a pass writes them, four to a prompt in each of four rounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP = 16
ROUNDS = 4
CAP = 4096
DOMAINS = 10
PART_PROMPTS = 62_500


def write(folder: Path, prompts: int, order: str) -> None:
    """A pool and its rollouts: U-shaped pass rates, long-tailed lengths, a tenth with reward parts."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    ids = np.sort(rng.integers(0, 2**63, prompts).astype(np.uint64))
    domain = rng.integers(0, DOMAINS, prompts)
    pool = {
        "row": pa.array(np.arange(prompts)),
        "prompt_id": hexadecimal(ids),
        "domain": pa.array(np.char.add("domain ", domain.astype(str))),
        "verifier": pa.array(["boxed"] * prompts),
        "overlong": pa.array(rng.random(prompts) < 0.001),
        "prompt_tokens": pa.array(rng.integers(20, 400, prompts).astype(np.int32)),
        "planned": pa.array([True] * prompts),
    }
    chance, length = rng.beta(0.3, 0.3, prompts), rng.normal(6.5, 0.5, prompts)
    for part, (rows, index) in enumerate(layout(rng, prompts, order)):
        table = rollouts(rng, ids[rows], index, chance[rows], length[rows], domain[rows] == 0)
        pq.write_table(table, folder / f"part-{part:05d}.parquet", row_group_size=131_072, compression="zstd")
    pq.write_table(pa.table(pool), folder / "pool.parquet")


def layout(rng: np.random.Generator, prompts: int, order: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Part after part: which prompt each rollout is of, and its place in the group."""
    each = GROUP if order == "published" else GROUP // ROUNDS
    for first in range(0, GROUP, each):
        sequence = np.arange(prompts) if order == "published" else rng.permutation(prompts)
        for start in range(0, prompts, PART_PROMPTS):
            rows = sequence[start : start + PART_PROMPTS]
            yield np.repeat(rows, each), first + np.tile(np.arange(each), rows.size)


def rollouts(
    rng: np.random.Generator,
    ids: np.ndarray,
    index: np.ndarray,
    chance: np.ndarray,
    length: np.ndarray,
    parted: np.ndarray,
) -> pa.Table:
    n = ids.size
    tokens = np.minimum(np.exp(rng.normal(length, 0.6)), CAP).astype(np.int32)
    cut, right, draw = tokens >= CAP, rng.random(n) < chance, rng.random(n)
    error, partial = draw < 0.002, (draw > 0.97) & ~right
    kinds = [error, cut, right, partial, draw < 0.1]
    outcome = np.select(kinds, ["verifier_error", "truncated", "correct", "partial", "no_answer"], "wrong")
    correctness = np.select(kinds[:4], [np.nan, 0.0, 1.0, np.round(draw, 1) / 2], 0.0)
    values = np.column_stack([np.nan_to_num(correctness), draw > 0.5])[parted].ravel()
    names = pa.array(["answer", "format"] * (values.size // 2))
    part = pa.StructArray.from_arrays([names, pa.array(values)], ["name", "value"])
    ends = np.concatenate([[0], np.cumsum(np.where(parted, 2, 0))]).astype(np.int32)
    return pa.table(
        {
            "prompt_id": hexadecimal(ids),
            "index": pa.array(index.astype(np.int32)),
            "tokens": pa.array(tokens),
            "finish": pa.array(np.where(cut, "length", "stop")),
            "correctness": pa.array(correctness),
            "outcome": pa.array(outcome),
            "parts": pa.ListArray.from_arrays(pa.array(ends), part),
            "mean_logprob": pa.array(-rng.exponential(0.4, n)),
            "repetition": pa.array(rng.beta(1, 20, n)),
        }
    )


def hexadecimal(ids: np.ndarray) -> pa.Array:
    """32 hexadecimal digits of each id."""
    twice = np.column_stack([ids, ids ^ np.uint64(0x5DEECE66D)]).astype(">u8")
    ends = np.arange(0, 32 * ids.size + 1, 32, dtype=np.int32)
    digits = twice.tobytes().hex().encode()
    return pa.StringArray.from_buffers(ids.size, pa.py_buffer(ends), pa.py_buffer(digits))


# ---------------------------------------------------------------------------------------------------
# the sides
