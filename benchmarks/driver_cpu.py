"""CPU time of the driver per rollout, without an engine: scheduling, workers' pipes, journal, statistics.

    python benchmarks/driver_cpu.py [--prompts 4000]

Replays recorded rollouts of made-up sums; verification runs in worker processes and is not counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from pathlib import Path

from curriculum.config import load_config
from curriculum.plan import make_plan
from curriculum.policy import Sources
from curriculum.refresh import tables_of
from curriculum.scoring.passes import open_pass
from curriculum.scoring.progress import SilentView
from curriculum.scoring.run import score

GROUP = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--prompts", type=int, default=4000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, options.prompts)
        config = load_config(
            None,
            {
                "pool.sources": [str(folder / "pool.jsonl")],
                "pool.default_verifier": "boxed",
                "engine.kind": "replay",
                "output.dir": str(folder / "out"),
            },
        )
        plan = make_plan(config, Sources(recording=folder / "rollouts.jsonl", key="solution"))
        view = SilentView()
        open_pass(plan, view, restart=False)
        start = time.process_time()
        run = asyncio.run(score(plan, view))
        scored = time.process_time()
        tables = tables_of(plan)
        done = time.process_time()
    rollouts = tables.rollouts.height
    print(f"{rollouts} rollouts in {run.seconds:.2f} s of wall time")
    print(f"scoring    {(scored - start) / rollouts * 1e3:.3f} ms of driver CPU per rollout")
    print(f"statistics {(done - scored) / rollouts * 1e3:.3f} ms")
    print(f"together   {(done - start) / rollouts * 1e3:.3f} ms")


def write(folder: Path, prompts: int) -> None:
    draw = random.Random(0)
    with (folder / "pool.jsonl").open("w") as pool, (folder / "rollouts.jsonl").open("w") as rollouts:
        for i in range(prompts):
            pool.write(json.dumps({"prompt": f"What is {i}?", "solution": str(i)}) + "\n")
            for index in range(GROUP):
                text = f"It is \\boxed{{{i + (draw.random() < 0.5)}}}"
                row = {"solution": str(i), "index": index, "text": text, "tokens": len(text)}
                rollouts.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
