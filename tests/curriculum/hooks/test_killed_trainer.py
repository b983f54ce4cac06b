"""SIGKILL at random steps, with ranks and workers: the prompts trained are those of an unbroken run."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from curriculum.hooks import Recipe

TRAINER = Path(__file__).with_name("killed_trainer.py")
BATCH = 12


def killed(small, folder, *runs):
    """What the trainer printed of each (workers, steps, about so many kills)."""
    arguments = [":".join(map(str, run)) for run in runs]
    done = subprocess.run(
        [sys.executable, TRAINER, small.folder, folder, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(small, folder, make, train, *runs):
    recipe = Recipe(batch_size=BATCH, hard_reserve=1 / BATCH)
    for (_, steps, kills), broken in zip(runs, killed(small, folder, *runs), strict=True):
        assert broken["kills"] >= kills / 2
        assert broken["trained"] == train(make(small, recipe), steps)


def test_ranks_in_a_plain_loop(small, make, train, tmp_path):
    """Other ranks and another prefetch in every life; epochs of eight steps."""
    check(small, tmp_path, make, train, (-1, 160, 40))


@pytest.mark.skipif(find_spec("torchdata") is None, reason="torchdata is not installed")
def test_ranks_with_stateful_loaders_and_their_workers(small, make, train, tmp_path):
    check(small, tmp_path, make, train, (0, 60, 10), (4, 24, 4))
