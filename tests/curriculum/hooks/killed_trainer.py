"""A trainer of several ranks that is killed again and again, for a test.

    python killed_trainer.py SET FOLDER WORKERS:STEPS:KILLS …

Each life is a process a rank, forked from this one. A rank draws a step, logs its prompts, saves its state,
and waits for the others as an optimizer step does; then the first rank names the checkpoint. After a random
number of steps a random rank stops before a random one of these, and all are killed by SIGKILL wherever they
are; a run is killed about KILLS times. With -1 workers the sampler is drawn from in a plain loop, some
batches ahead, and every life has another number of ranks; otherwise through torchdata's StatefulDataLoader.

Prints what each run trained as JSON: the kills, and the prompts of each step.
"""

import itertools
import json
import multiprocessing
import os
import pickle
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from curriculum.hooks import CurriculumSampler, Evidence, LoaderSampler, Recipe, open_published

BATCH = 12
RECIPE = Recipe(batch_size=BATCH, hard_reserve=1 / BATCH)
fork = multiprocessing.get_context("fork")


def main():
    published, folder, *runs = sys.argv[1:]
    runs = [Run(*map(int, run.split(":"))) for run in runs]
    if any(run.workers >= 0 for run in runs):
        import torch.utils.data  # noqa: F401 - once, here, and not in every life
        import torchdata.stateful_dataloader  # noqa: F401
    print(json.dumps([lives(open_published(Path(published)), Path(folder), run) for run in runs]))


class Run(NamedTuple):
    workers: int
    steps: int
    kills: int


class Death(NamedTuple):
    """Where a life ends: the step, the rank that stops there, and what it has not done yet."""

    step: int
    rank: int
    before: str


def lives(published, folder, run):
    """What was trained until all steps were, and how many kills it took."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    draw = random.Random(run.steps)
    trained, kills = [], 0
    while len(trained) < run.steps:
        begun = len(trained)
        world = draw.choice([2, 3, 4]) if run.workers < 0 else 2
        end = begun + draw.randint(1, 2 * run.steps // run.kills)
        death = Death(end, draw.randrange(world), draw.choice(["drawing", "logging", "saving", "naming"]))
        logs = [folder / f"log-{begun}-{rank}" for rank in range(world)]
        kills += live(published, folder, run, begun, logs, draw.randrange(6), death)
        for step in zip(*map(read_log, logs), strict=False):
            whole = [None] * BATCH
            for rank, ids in enumerate(step):
                whole[rank::world] = ids
            trained.append(whole)
        del trained[checkpoint(folder) :]
    return {"kills": kills, "trained": trained}


def live(published, folder, run, begun, logs, ahead, death):
    """One life: whether it was killed, or came to its end before."""
    for path in (folder / "stopped", *logs):
        path.unlink(missing_ok=True)  # of the life before
    barrier = fork.Barrier(len(logs))
    ranks = [
        fork.Process(target=rank_main, args=(published, folder, run, begun, log, rank, ahead, barrier, death))
        for rank, log in enumerate(logs)
    ]
    for process in ranks:
        process.start()
    while any(process.is_alive() for process in ranks):
        if (folder / "stopped").exists():
            for process in ranks:
                with suppress(ProcessLookupError):  # it has come to its end
                    os.killpg(process.pid, signal.SIGKILL)
            break
        time.sleep(0.001)
    for process in ranks:
        process.join()
    return (folder / "stopped").exists()


def rank_main(published, folder, run, begun, log, rank, ahead, barrier, death):
    os.setsid()  # its workers die with it
    barrier.wait()
    world = barrier.parties
    sampler = CurriculumSampler(published, RECIPE, rank=rank, world_size=world, evidence=Evidence(None))
    source = Plain(sampler, ahead) if run.workers < 0 else Loader(sampler, run.workers)
    if begun:
        of = 0 if run.workers < 0 else rank
        source.load(pickle.loads((folder / f"state-{begun}-{of}").read_bytes()))

    def about_to(do, step):
        if death == (step, rank, do):
            (folder / "stopped").touch()
            signal.pause()

    with log.open("w") as file:
        for step in range(begun + 1, run.steps + 1):
            about_to("drawing", step)
            ids = source.step()
            about_to("logging", step)
            file.write(json.dumps(ids) + "\n")
            file.flush()
            about_to("saving", step)
            (folder / f"state-{step}-{rank}").write_bytes(pickle.dumps(source.state()))
            barrier.wait()
            about_to("naming", step)
            if rank == 0:
                (folder / "new").write_text(str(step))
                (folder / "new").rename(folder / "checkpoint")


class Plain:
    """The sampler in a loop, `ahead` batches early."""

    def __init__(self, run, ahead):
        self.run, self.ahead, self.queue = run, ahead, []
        self.load, self.state = run.load_state_dict, run.state_dict
        self.batches = (batch for _ in itertools.count() for batch in run.numbered())

    def step(self):
        while len(self.queue) <= self.ahead:
            number, rows = next(self.batches)
            self.queue.append((number, self.run.prompt_ids(rows)))
        number, ids = self.queue.pop(0)
        self.run.trained(number)
        return ids


class Loader:
    """The sampler behind a stateful loader."""

    def __init__(self, run, workers):
        from torchdata.stateful_dataloader import StatefulDataLoader

        self.run = run
        self.loader = StatefulDataLoader(
            range(10**6),
            batch_size=BATCH // run.world_size,
            sampler=LoaderSampler(run),
            num_workers=workers,
            collate_fn=list,
        )
        self.load, self.state = self.loader.load_state_dict, self.loader.state_dict
        self.batches = (rows for _ in itertools.count() for rows in self.loader)

    def step(self):
        rows = next(self.batches)
        self.run.trained()
        return self.run.prompt_ids(rows)


def read_log(path):
    """The whole lines of a rank's log."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def checkpoint(folder):
    path = folder / "checkpoint"
    return int(path.read_text()) if path.exists() else 0


if __name__ == "__main__":
    main()
