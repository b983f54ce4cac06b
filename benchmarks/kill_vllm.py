"""SIGKILL at random moments of a real vLLM pass, each followed by the same command.

    python benchmarks/kill_vllm.py [--ckpt step_2000] [--prompts 300] [--kills 3]

Says whether the finished pass has every (prompt, index) once, and whether a killed run left processes
behind.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from curriculum.manifest import latest_refresh, read_manifest
from curriculum.scoring.journal import parts

POLICY = Path(__file__).resolve().parents[1] / "data_samples" / "tiny_policy"
CURRICULUM = [sys.executable, "-c", "from curriculum.cli import main; main()"]
ENGINE_EXIT_S = 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ckpt", default="step_2000")
    parser.add_argument("--prompts", type=int, default=300)
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args()
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        command = [*CURRICULUM, "refresh", "--config", str(POLICY / "curriculum.toml")]
        command += ["--ckpt", options.ckpt, "--limit", str(options.prompts), "--out", name]
        for number in range(options.kills):
            kill_within_the_pass(command, out, draw, number)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        print(done.stderr.splitlines()[-3:])
        report(out, options.prompts)


def kill_within_the_pass(command: list[str], out: Path, draw: random.Random, number: int) -> None:
    """Waits until the engine is up and a part is journaled, then kills after a random while."""
    before = len(journal(out))
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while process.poll() is None and len(journal(out)) == before:
        time.sleep(0.05)
    time.sleep(draw.uniform(0.0, 3.0))
    process.kill()
    process.wait()
    deadline = time.monotonic() + ENGINE_EXIT_S
    while (left := session(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.5)
    where = "after the pass" if latest_refresh(out) else "within the pass"
    parts_written = len(journal(out)) - before
    print(
        f"kill {number}: {where}, {parts_written} parts journaled, left running: {left or 'nothing'}",
        flush=True,
    )
    for pid in left:
        os.kill(pid, signal.SIGKILL)


def journal(out: Path) -> list[Path]:
    return [part for folder in out.glob("passes/*/journal") for part in parts(folder)]


def session(leader: int) -> list[int]:
    found = subprocess.run(["pgrep", "--session", str(leader)], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def report(out: Path, prompts: int) -> None:
    folder = latest_refresh(out)
    assert folder is not None
    rollouts = pl.read_parquet([folder / shard.name for shard in read_manifest(folder).tables["rollouts"]])
    keys = rollouts.select("prompt_id", "index")
    n = read_manifest(folder).config["sampling"]["n"]
    per_prompt = rollouts.group_by("prompt_id").agg(indices=pl.col("index").sort())
    whole = per_prompt["indices"].to_list().count(list(range(n)))
    print(f"{rollouts.height} rollouts of {prompts * n}; repeated: {int(keys.is_duplicated().sum())}")
    print(f"{whole} of {prompts} prompts have indices 0..{n - 1} once each")
    assert whole == prompts
    assert rollouts.height == prompts * n


if __name__ == "__main__":
    main()
