"""What verl does with the hook, in a process that has verl: `test_verl.py` starts it and reads its answers.

In: a folder with job.json (overrides of verl's own configuration, the tokenizer). Out: results.json there.
The loops are those of verl's trainers as far as data goes: draw, judge, train, save, `update`.
"""

# ruff: noqa: TID253 (it has no other purpose than to run with them)

import json
import os
import signal
import sys
from copy import deepcopy
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import verl
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from torchdata.stateful_dataloader import StatefulDataLoader
from transformers import AutoTokenizer
from verl import DataProto
from verl.utils.dataset.rl_dataset import collate_fn

if verl.__version__ < "0.8":
    from verl.trainer.main_ppo import create_rl_dataset, create_rl_sampler
    from verl.trainer.ppo.ray_trainer import RayPPOTrainer
else:
    from verl.trainer.ppo.reward import load_reward_manager
    from verl.trainer.ppo.utils import create_rl_dataset, create_rl_sampler

from curriculum.errors import UsageError

GROUP = 4
WIDTH = 6  # tokens of the longest response


@cache
def composed(*overrides):
    """verl's configuration with a command line's overrides."""
    folder = Path(verl.__file__).parent / "trainer/config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose("ppo_trainer", overrides=list(overrides))


def configure(overrides, more):
    """The same with a few more; composing all of it again would take most of a second each time."""
    config = deepcopy(composed(*overrides))
    for one in more:
        key, _, value = one.lstrip("+").partition("=")
        OmegaConf.update(config, key, yaml.safe_load(value), force_add=True)
    return config


class Trainer:
    """As much of a verl trainer as has to do with data."""

    def __init__(self, job, *more):
        self.config = configure(job["overrides"], more)
        data = self.config.data
        self.tokenizer = AutoTokenizer.from_pretrained(job["tokenizer"])
        self.dataset = create_rl_dataset(
            data.train_files, data, self.tokenizer, None, max_samples=data.get("train_max_samples", -1)
        )
        self.loader = StatefulDataLoader(
            dataset=self.dataset,
            batch_size=data.get("gen_batch_size", None) or data.train_batch_size,
            num_workers=data["dataloader_num_workers"],
            drop_last=True,
            collate_fn=collate_fn,
            sampler=create_rl_sampler(data, self.dataset),
        )

    def batches(self, done=0):
        """As verl counts its epochs, after `done` steps."""
        for _ in range(done // len(self.loader), self.config.trainer.total_epochs):
            yield from self.loader

    def validation(self):
        return create_rl_dataset(self.config.data.val_files, self.config.data, self.tokenizer, None)


def ids_of(batch):
    return [str(one) for one in batch["prompt_id"]]


def trained(run, steps=None, done=0):
    """What the next `steps` steps train, or all that are left."""
    return [ids_of(batch) for batch in islice(run.batches(done), steps)]


def begun_again(job, *more):
    """What a loop trains that begins anew after five steps, and again after five more."""
    run = Trainer(job, *more)
    return trained(run, 5) + trained(run, 5) + trained(run, 5)


def killed_and_resumed(job, folder, at, *more):
    """What a run trains that saves every third step, dies by SIGKILL in step `at` and is resumed."""
    log, saved = folder / "trained.jsonl", folder / "data.pt"
    child = os.fork()
    if not child:
        run = Trainer(job, *more)
        for step, batch in enumerate(run.batches(), start=1):
            if step == at:
                os.kill(os.getpid(), signal.SIGKILL)
            with log.open("a") as file:
                file.write(json.dumps(ids_of(batch)) + "\n")
            if step % 3 == 0:
                torch.save(run.loader.state_dict(), folder / "new.pt")
                (folder / "new.pt").rename(saved)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    done = [json.loads(line) for line in log.read_text().splitlines()][: (at - 1) // 3 * 3]
    run = Trainer(job, *more)
    run.loader.load_state_dict(torch.load(saved, weights_only=False))
    return done + trained(run, done=len(done))


def rolled_out(batch, seed):
    """A generated and rewarded `DataProto` of GROUP rollouts a prompt: its tensors, and a reward each."""
    draw = torch.Generator().manual_seed(seed)
    size = len(batch) * GROUP
    lengths = torch.randint(1, WIDTH + 1, (size,), generator=draw)
    mask = torch.arange(WIDTH) < lengths[:, None]
    responses = torch.where(mask, 7, 0)
    responses[torch.arange(0, size, 2), lengths[::2] - 1] = 3  # the end of sequence of the tiny policy
    scores = torch.zeros(size, WIDTH)
    rewards = torch.randint(0, 2, (size,), generator=draw).float()
    scores[torch.arange(size), lengths - 1] = rewards
    prompts = torch.ones(size, 3, dtype=torch.long)
    return (
        DataProto.from_single_dict(
            {
                "prompts": prompts,
                "responses": responses,
                "attention_mask": torch.cat([prompts, mask.long()], dim=1),
                "token_level_scores": scores,
                "acc": np.array([1.0 - reward for reward in rewards.tolist()], dtype=object),
            }
        ),
        lengths,
        rewards,
    )


def updated(job, *more):
    """Two steps as verl 0.7.1 makes them; what `update` was told, a line a rollout."""
    run, told = Trainer(job, *more), []
    for step, batch_dict in zip((1, 2), run.batches(), strict=False):
        batch = DataProto.from_single_dict(batch_dict)
        ids = ids_of(batch_dict)
        RayPPOTrainer._get_gen_batch(None, batch)  # takes most columns out of the batch
        generated, lengths, rewards = rolled_out(batch, step)
        batch = batch.repeat(repeat_times=GROUP, interleave=True).union(generated)
        batch.reorder(torch.randperm(len(batch), generator=torch.Generator().manual_seed(step)))
        run.loader.sampler.update(batch=batch)
        for place, (length, reward) in enumerate(zip(lengths.tolist(), rewards.tolist(), strict=True)):
            cut = length == WIDTH and place % 2
            told.append([step, ids[place // GROUP], reward, length, bool(cut)])
    return told


def untagged(job, *more):
    """The error of `update` with verl's own data set."""
    try:
        updated(job, *more)
    except UsageError as error:
        return str(error)
    return "nothing"


def judged(job, *more):
    """Two steps' rollouts through verl 0.9's reward manager, then one of validation; what was judged."""
    run = Trainer(job, *more)
    manager = load_reward_manager(run.config, run.tokenizer)
    widest = run.config.data.max_response_length
    draw = np.random.default_rng(0)
    told = []

    def judge(row, step):
        right = bool(draw.integers(2))
        answer = run.tokenizer.encode(row["reward_model"]["ground_truth"] if right else "x" * widest)
        tokens = torch.tensor(answer)
        # As verl's agent loop puts it together.
        columns = {
            **row,
            "global_steps": step,
            "responses": tokens,
            "attention_mask": torch.ones_like(tokens),
        }
        said = manager.loop.run_until_complete(
            manager.run_single(DataProto.from_single_dict(collate_fn([columns])))
        )
        assert said["reward_score"] == 2.0 * right
        return [step, row.get("prompt_id"), float(right), len(tokens), len(tokens) >= widest]

    for step, batch in zip((7, 8), run.batches(), strict=False):
        rows = [
            {name: column[i] for name, column in batch.items()} for i in range(len(batch["index"]))
        ] * GROUP
        told += [judge(rows[i], step) for i in draw.permutation(len(rows))]
    judge(run.validation()[0], 8)
    return told


def misjudged(job, *more):
    """The error of a reward manager."""
    try:
        judged(job, *more)
    except UsageError as error:
        return str(error)
    return "nothing"


def refused(job, *more):
    """What the error says that these overrides lead to."""
    try:
        trained(Trainer(job, *more), 1)
    except UsageError as error:
        return str(error)
    return "nothing"


def resumed_elsewhere(job, *more):
    """The error of a checkpoint of `job` that is loaded with these overrides, or what is trained."""
    run = Trainer(job)
    trained(run, 3)
    state = run.loader.state_dict()
    other = Trainer(job, *more)
    other.loader.load_state_dict(state)
    try:
        return trained(other, 1)
    except UsageError as error:
        return str(error)


def main(folder):
    job = json.loads((folder / "job.json").read_text())
    results = {}
    for name, (what, *arguments) in job["ask"].items():
        if what == "killed_and_resumed":
            (folder / name).mkdir()
            results[name] = killed_and_resumed(job, folder / name, *arguments)
        elif what == "trained":
            steps, *more = arguments
            run = Trainer(job, *more)
            results[name] = {"steps": trained(run, steps), "loader": len(run.loader)}
        else:
            results[name] = globals()[what](job, *arguments)
    (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[-1]))
