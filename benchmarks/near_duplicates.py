"""Near duplicates among many prompts: time, memory, and how many of those put there are found.

    python benchmarks/near_duplicates.py [--prompts 1000000] [--tokens 200] [--template 0.1]

A tenth of the prompts are copies of others with one to four words changed. `--template` adds a share of
prompts that are one text for four fifths and words of their own, without a number: they fall into the same
buckets, and few are within the threshold of another.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import polars as pl
from memory import peak

from pipelines.near_duplicates import near_duplicates

WORDS = 30_000
COPIES = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--prompts", type=int, default=1_000_000)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--template", type=float, default=0.0)
    options = parser.parse_args()
    prompts, copies = written(options.prompts, options.tokens, options.template)
    before = peak()
    begun, cpu = time.perf_counter(), time.process_time()
    found = near_duplicates(prompts)
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
    pairs = set(found.select("duplicate_of", "prompt_id").iter_rows())
    print(
        json.dumps(
            {
                "prompts": prompts.height,
                "seconds": round(seconds, 1),
                "cpu_seconds": round(cpu_seconds, 1),
                "peak_GB": round(peak() / 2**30, 2),
                "peak_before_GB": round(before / 2**30, 2),
                "copies": len(copies),
                "copies_found": len(copies & pairs),
                "others_found": len(pairs - copies),
            }
        )
    )


def written(prompts: int, tokens: int, template: float) -> tuple[pl.DataFrame, set[tuple[str, str]]]:
    """The prompts, in pieces so that words are never all in memory, and the (original, copy) pairs."""
    rng = np.random.default_rng(0)
    vocabulary = np.array(["".join(letters) for letters in rng.choice(list("aeioubdgklmnprst"), (WORDS, 6))])
    share = 1 / np.arange(1, WORDS + 1)
    cumulative = np.cumsum(share / share.sum())
    base = np.searchsorted(cumulative, rng.random(tokens))
    texts: list[str] = []
    copies = []
    while len(texts) < prompts:
        words = np.searchsorted(cumulative, rng.random((10_000, tokens)))
        for row in range(1, 10_000):
            if rng.random() < COPIES and row - 1 not in {copy % 10_000 for _, copy in copies[-1:]}:
                words[row] = words[row - 1]
                words[row, rng.integers(0, tokens, rng.integers(1, 5))] = rng.integers(0, WORDS)
                copies.append((len(texts) + row - 1, len(texts) + row))
            elif rng.random() < template:
                words[row, : tokens * 4 // 5] = base[: tokens * 4 // 5]
        texts += [" ".join(row) for row in vocabulary[words]]
    ids = [f"{number:032x}" for number in range(len(texts))]
    frame = pl.DataFrame({"prompt_id": ids, "text": texts})
    return frame, {(ids[original], ids[copy]) for original, copy in copies}


if __name__ == "__main__":
    main()
