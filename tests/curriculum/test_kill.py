"""SIGKILL at any moment of a replayed refresh, then the same command: the same tables in the end."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from curriculum.manifest import latest_refresh, read_manifest

KILLS = 20
CURRICULUM = [sys.executable, "-c", "from curriculum.cli import main; main()"]


def complete(arguments: list[str]) -> float:
    """Runs `curriculum` to its end; gives the seconds it took."""
    began = time.monotonic()
    subprocess.run([*CURRICULUM, *arguments], check=True, capture_output=True, timeout=120)
    return time.monotonic() - began


def killed(arguments: list[str], *, after: float) -> bool:
    """Runs `curriculum` and kills it; False when it had ended by then."""
    process = subprocess.Popen(
        [*CURRICULUM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        return process.wait(timeout=after) != 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True


def journaled(out: Path) -> int:
    return len(list(out.glob("passes/*/journal/part-*.parquet")))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_kills_change_nothing(record, tmp_path) -> None:
    """Each round kills one refresh again and again until it ends by itself; twenty kills in all."""
    recorded = record(tmp_path, prompts=1500)
    seconds = complete(recorded.command(tmp_path / "unbroken"))
    expected = read_manifest(latest_refresh(tmp_path / "unbroken"))
    draw, kills, rounds, halfway = random.Random(0), 0, 0, 0
    while kills < KILLS:
        broken = tmp_path / f"broken-{rounds}"
        rounds += 1
        while kills < KILLS and killed(recorded.command(broken), after=draw.uniform(0.4, 1.1) * seconds):
            kills += 1
            halfway += journaled(broken) > 0 and latest_refresh(broken) is None
        complete(recorded.command(broken))
        assert read_manifest(latest_refresh(broken)).tables == expected.tables
    assert halfway, "no kill fell into the pass"
