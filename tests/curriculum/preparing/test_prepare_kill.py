"""SIGKILL at any moment of a preparation, then the same command: the same published bytes in the end."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from curriculum.manifest import latest_refresh, read_manifest

KILLS = 4
CURRICULUM = [sys.executable, "-c", "from curriculum.cli import main; main()"]


def command(folder: Path, out: Path) -> list[str]:
    flags = ["--verifier", "boxed", "--sentinel", "40", "--evaluation", str(folder / "evaluation.jsonl")]
    return [*CURRICULUM, "prepare", str(folder / "raw.jsonl"), *flags, "--out", str(out)]


def killed(arguments: list[str], *, after: float) -> bool:
    """Runs a command and kills it; False when it had ended by then."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return process.wait(timeout=after) != 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True


@pytest.mark.slow
def test_kills_change_nothing(tmp_path: Path, question) -> None:
    rows = [{"prompt": question(i % 760), "answer": str(i), "n": i} for i in range(800)]
    (tmp_path / "raw.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "evaluation.jsonl").write_text(json.dumps({"question": question(5)}) + "\n")
    began = time.monotonic()
    subprocess.run(command(tmp_path, tmp_path / "unbroken"), check=True, capture_output=True)
    seconds = time.monotonic() - began
    expected = read_manifest(latest_refresh(tmp_path / "unbroken"))
    draw, kills, rounds, halfway = random.Random(0), 0, 0, 0
    while kills < KILLS:
        out = tmp_path / f"broken-{rounds}"
        rounds += 1
        while kills < KILLS and killed(command(tmp_path, out), after=draw.uniform(0.3, 1.0) * seconds):
            kills += 1
            halfway += (out / "work").is_dir() and latest_refresh(out) is None
        subprocess.run(command(tmp_path, out), check=True, capture_output=True)
        assert read_manifest(latest_refresh(out)).tables == expected.tables
    assert halfway, "no kill fell into the work"
