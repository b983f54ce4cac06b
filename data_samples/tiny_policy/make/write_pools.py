"""Writes the pools as Parquet: `pool` and `heldout` in verl's schema, `pool_trl` in TRL's.

In: the composed tasks. Out: three files. Types are plain strings and lists, never Arrow's `large_` kinds.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data_samples.tiny_policy.make.pools import held_out, pool
from data_samples.tiny_policy.make.tasks import Task

MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
VERL = pa.schema(
    [
        ("data_source", pa.string()),
        ("prompt", MESSAGES),
        ("ability", pa.string()),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
        ("extra_info", pa.struct([("split", pa.string()), ("index", pa.int64()), ("level", pa.string())])),
    ]
)
TRL = pa.schema([("prompt", MESSAGES), ("solution", pa.string()), ("data_source", pa.string())])
ABILITIES = {"arithmetic": "math", "functions": "code", "tools": "tool_use"}
TRL_PROMPTS = 200


def verl_row(task: Task, split: str, index: int) -> dict[str, Any]:
    return {
        "data_source": task.family,
        "prompt": messages(task),
        "ability": ABILITIES[task.family],
        "reward_model": {"style": "rule", "ground_truth": ground_truth(task)},
        "extra_info": {"split": split, "index": index, "level": task.level},
    }


def trl_row(task: Task) -> dict[str, Any]:
    return {"prompt": messages(task), "solution": ground_truth(task), "data_source": task.family}


def messages(task: Task) -> list[dict[str, str]]:
    return [{"role": "user", "content": task.prompt}]


def ground_truth(task: Task) -> str:
    """A plain answer for arithmetic, else the reference as a JSON object."""
    if task.family == "arithmetic":
        return str(task.reference["answer"])
    return json.dumps(task.reference, separators=(",", ":"))


def write(path: Path, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, compression="zstd", row_group_size=1024)
    print(f"{path}: {len(rows)} prompts, {path.stat().st_size / 1024:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("data_samples/tiny_policy"))
    out: Path = parser.parse_args().out
    tasks, unseen = pool(), held_out()
    write(out / "pool.parquet", [verl_row(task, "train", i) for i, task in enumerate(tasks)], VERL)
    write(out / "heldout.parquet", [verl_row(task, "test", i) for i, task in enumerate(unseen)], VERL)
    write(out / "pool_trl.parquet", [trl_row(task) for task in tasks[:TRL_PROMPTS]], TRL)


if __name__ == "__main__":
    main()
