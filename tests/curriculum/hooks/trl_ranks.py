"""A GRPO run of two processes over gloo, stopped and resumed: `test_trl.py` starts it.

In: a published set, a folder, the tiny policy. Out: 0.json and 1.json in the folder: the prompts that each
process had to judge, step by step, and the signal that it saw. A batch is three prompts of four rollouts,
the second of which are half with one process and half with the other. A rollout is worth the number of its
process.
"""

# ruff: noqa: TID253, E402 (it has no other purpose than to run with them)

import json
import multiprocessing
import os
import socket
import sys
from pathlib import Path

sys.modules["vllm"] = None  # TRL would import it, which takes longer than the run

import torch
from transformers import TrainerCallback
from trl.trainer.grpo_trainer import GRPOConfig, GRPOTrainer

from curriculum.hooks.trl import attach, train_dataset


class StopAfter(TrainerCallback):
    def on_step_end(self, args, state, control, **others):
        control.should_training_stop |= state.global_step == 3


def run(rank, port, published, folder, policy):
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    asked = []

    def worth(completions, prompt_id, **columns):
        asked.append(prompt_id)
        return [float(rank)] * len(completions)

    for resume in (None, True):
        config = GRPOConfig(
            output_dir=str(folder / "run"),
            per_device_train_batch_size=3,
            gradient_accumulation_steps=2,
            num_generations=4,
            max_completion_length=2,
            max_steps=5,
            save_steps=3,
            bf16=False,
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
        )
        trainer = GRPOTrainer(
            model=str(policy),
            reward_funcs=worth,
            args=config,
            train_dataset=train_dataset(published),
            callbacks=[] if resume else [StopAfter()],
        )
        sampler = attach(trainer, published, min_distinct=3)
        trainer.train(resume_from_checkpoint=resume)
    answer = {"asked": asked, "effective": sampler.signal.figures().effective}
    (folder / f"{rank}.json").write_text(json.dumps(answer))


def main():
    published, folder, policy = map(Path, sys.argv[1:])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = multiprocessing.get_context("fork")
    ranks = [context.Process(target=run, args=(rank, port, published, folder, policy)) for rank in (0, 1)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    sys.exit(max(rank.exitcode != 0 for rank in ranks))


if __name__ == "__main__":
    main()
