"""The data-loader hook on a large set: time to the first batch, time of the next ones, memory a prompt.

    python benchmarks/hooks_scale.py [--prompts 5000000] [--batch-size 1024] [--keep FOLDER]

Writes a set of that many prompts as a refresh publishes it, then reads it in a process of its own. Memory is
counted twice: what is held once the first batch is there, and the peak on the way; both are resident memory
beyond that of the bare imports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from memory import peak, resident

SHARD_ROWS = 100_000
ROW_GROUP = 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--prompts", type=int, default=5_000_000)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--keep", type=Path, help="write the set here, or read the one that is here")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(measure(options.read, options.batch_size)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        out = options.keep or Path(temporary)
        if not (out / "LATEST").exists():
            write_set(out, options.prompts)
        arguments = [sys.executable, __file__, "--read", str(out), "--batch-size", str(options.batch_size)]
        subprocess.run(arguments, check=True)


def write_set(out: Path, prompts: int) -> None:
    """A set in the published form, with the columns that the hook reads, and prompts of 200 characters."""
    rng = np.random.default_rng(0)
    folder = out / "refreshes" / "scale"
    (folder / "train").mkdir(parents=True)
    tables: dict[str, list[dict[str, object]]] = {"train": [], "groups": [], "decisions": []}
    ids = rng.integers(0, 2**63, size=(prompts, 2), dtype=np.uint64)
    alpha, beta = rng.gamma(2.0, 1.0, size=(2, prompts)) + 0.5
    shards = -(-prompts // SHARD_ROWS)
    for shard, rows in enumerate(np.array_split(np.arange(prompts), shards)):
        columns = {
            "prompt": pa.array(["x" * 200] * rows.size),
            "prompt_id": texts(ids[rows]),
            "weight": pa.array(alpha[rows]),
            "pass_rate": pa.array(alpha[rows] / (alpha[rows] + beta[rows])),
            "p_mixed": pa.array(rng.random(rows.size)),
            "max_tokens": pa.array(np.full(rows.size, 4096, dtype=np.int32)),
            "domain": pa.array([f"domain {code}" for code in rng.integers(0, 8, rows.size)]),
        }
        put(folder, f"train/shard-{shard:05d}-of-{shards:05d}.parquet", columns, tables["train"])
    order = np.lexsort((ids[:, 1], ids[:, 0]))
    groups = {"prompt_id": texts(ids[order]), "alpha": pa.array(alpha[order]), "beta": pa.array(beta[order])}
    put(folder, "groups.parquet", groups, tables["groups"])
    kinds = np.where(rng.random(prompts) < 0.1, "keep_hard_reserve", "keep_mixed")
    decisions = {"prompt_id": texts(ids), "decision": pa.array(kinds.tolist())}
    put(folder, "decisions.parquet", decisions, tables["decisions"])
    manifest = {
        "schema_version": 1,
        "refresh_id": "scale",
        "checkpoint": {"name": "step_0"},
        "tables": tables,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (out / "LATEST").write_text("scale\n")


def texts(ids: np.ndarray) -> pa.Array:
    digits = ids.astype(">u8").tobytes().hex()
    return pa.array([digits[start : start + 32] for start in range(0, len(digits), 32)])


def put(folder: Path, name: str, columns: dict[str, pa.Array], files: list[dict[str, object]]) -> None:
    table = pa.table(columns)
    pq.write_table(table, folder / name, row_group_size=ROW_GROUP, compression="zstd", write_page_index=True)
    files.append({"name": name, "rows": table.num_rows})


def measure(out: Path, batch_size: int) -> dict[str, float]:
    from curriculum.hooks import CurriculumSampler, Evidence, Recipe

    before = resident()
    begun, cpu = time.perf_counter(), time.process_time()
    sampler = CurriculumSampler(out, Recipe(batch_size=batch_size), evidence=Evidence(None))
    batches = sampler.batches()
    next(batches)
    first, first_cpu = time.perf_counter() - begun, time.process_time() - cpu
    held = resident() - before
    most = peak() - before
    times = []
    for _ in range(min(5000, len(sampler) // batch_size - 1)):
        begun = time.perf_counter()
        next(batches)
        times.append(time.perf_counter() - begun)
        sampler.trained()
    begun = time.perf_counter()
    state = json.dumps(sampler.state_dict())
    saved = time.perf_counter() - begun
    prompts = len(sampler.published)
    return {
        "prompts": prompts,
        "first_batch_s": round(first, 3),
        "first_batch_cpu_s": round(first_cpu, 3),
        "next_batch_p50_us": round(1e6 * float(np.quantile(times, 0.5)), 1),
        "next_batch_p99_us": round(1e6 * float(np.quantile(times, 0.99)), 1),
        "bytes_a_prompt_held": round(held / prompts, 1),
        "bytes_a_prompt_peak": round(most / prompts, 1),
        "state_bytes": len(state),
        "state_s": round(saved, 3),
    }


if __name__ == "__main__":
    main()
