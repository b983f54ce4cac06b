"""Both generations of the verl hook, in the real wheels, on the tiny policy's prompts."""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from curriculum.config import load_config
from curriculum.hooks import CurriculumSampler, Evidence, Recipe, open_published
from curriculum.policy import Sources
from curriculum.refresh import refresh
from curriculum.scoring.progress import SilentView
from curriculum.scoring.visits import read_visits

ROOT = Path(__file__).resolve().parents[3]
TINY = ROOT / "data_samples/tiny_policy"
OPT = ROOT / ".venv/opt"
DRIVER = Path(__file__).with_name("verl_driver.py")
BATCH, EPOCHS = 8, 2
WIDTH = 3  # tokens of the longest response
LONG = 18  # tokens: the characters of a prompt and three more

PACKAGE = "pkg://curriculum.hooks."
OLD, NEW = OPT / "verl-0.7.1", OPT / "verl-0.9.1"

pytestmark = pytest.mark.skipif(
    not (OLD.is_dir() and NEW.is_dir()), reason="scripts/make_trainers.sh has not been run"
)

REWARDS = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    right = solution_str == ground_truth
    return {"score": 2.0 * right, "acc": float(right)}
"""

FILTERED = ("data.filter_overlong_prompts=True", f"data.max_prompt_length={LONG}")

WRONG = {
    "no set": (["data.curriculum=null"], "add +data.curriculum.out="),
    "unknown option": (["+data.curriculum.weigh_by=weight"], "do you mean 'weight_by'?"),
    "wrong value": (["+data.curriculum.mode=random"], "give one of weighted, shuffle, easy_to_hard"),
    "wrong type": (["+data.curriculum.seed=one"], "give a value of type int"),
    "unknown domain": (["+data.curriculum.domain_quotas={sums: 0.5}"], "which the set does not have"),
    "other files": ([f"data.train_files={TINY / 'pool.parquet'}"], "has no prompt_id column"),
}
"""Overrides of the configuration, and what the error says."""

WRONG_OLD = {
    **WRONG,
    "an option of the other way": (["+data.curriculum.epochs=2"], "unknown option 'epochs'"),
    "both ways": (
        ["data.custom_cls.name=CurriculumDataset", "data.shuffle=False", "trainer.total_epochs=1"],
        "order already",
    ),
}

WRONG_NEW = {
    **WRONG,
    "shuffled": (["data.shuffle=True"], "set data.shuffle=False"),
    "epochs of verl": (["trainer.total_epochs=2"], "set trainer.total_epochs=1"),
    "validated on itself": (["data.val_files=${data.train_files}"], "validate on others"),
}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A set of 120 arithmetic prompts, each right in some of eight recorded rollouts."""
    folder = tmp_path_factory.mktemp("published")
    pool = pq.read_table(TINY / "pool.parquet", filters=[("data_source", "=", "arithmetic")]).slice(0, 120)
    pq.write_table(pool, folder / "pool.parquet")
    with (folder / "rollouts.jsonl").open("w") as file:
        for place, row in enumerate(pool.to_pylist()):
            for index in range(8):
                answer = row["reward_model"]["ground_truth"] if index <= place % 7 else "wrong"
                recorded = {"extra_info.index": row["extra_info"]["index"], "index": index}
                file.write(json.dumps({**recorded, "text": f"\\boxed{{{answer}}}"}) + "\n")
    overrides = {
        "pool.sources": [str(folder / "pool.parquet")],
        "pool.default_verifier": "boxed",
        "engine.kind": "replay",
        "sampling.max_tokens": 64,
        "verification.workers": 1,
        "output.dir": str(folder / "out"),
    }
    recording = Sources(recording=folder / "rollouts.jsonl", key="extra_info.index")
    refresh(load_config(None, overrides), recording, SilentView())
    return folder / "out"


def drive(folder, trainer, options, ask):
    """The answers of the driver about the set in `folder / "out"`, run with a trainer's wheel."""
    shards = sorted(map(str, folder.glob("out/refreshes/*/train/*.parquet")))
    overrides = [
        f"data.train_files=[{','.join(shards)}]",
        f"data.val_files={TINY / 'heldout.parquet'}",
        f"data.train_batch_size={BATCH}",
        f"+data.curriculum.out={folder / 'out'}",
        f"actor_rollout_ref.model.path={TINY / 'step_0'}",
        *options,
    ]
    job = {"tokenizer": str(TINY / "step_0"), "overrides": overrides, "ask": ask}
    (folder / "job.json").write_text(json.dumps(job))
    # verl 0.7.1 would load vLLM only to see that it is there.
    start = "import runpy, sys; sys.modules['vllm'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    path = os.pathsep.join(map(str, [trainer, OPT / "shared", ROOT]))
    ran = subprocess.run(
        [sys.executable, "-c", start, str(DRIVER), str(folder)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HF_HOME": str(folder / "hf")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads((folder / "results.json").read_text())


def copied(published, folder, *names):
    for name in names:
        shutil.copytree(published, folder / name)
    return folder


@pytest.fixture(scope="module")
def of_old(published, tmp_path_factory):
    """What verl 0.7.1 did, and the folder that it worked in."""
    folder = copied(published, tmp_path_factory.mktemp("old"), "out", "acc")
    acc = ("+data.curriculum.correctness=acc", f"data.curriculum.out={folder / 'acc'}")
    ask = {
        "unbroken": ("trained", None),
        "filtered": ("trained", None, *FILTERED),
        "resumed": ("killed_and_resumed", 20),
        "resumed between epochs": ("killed_and_resumed", 17),
        "begun again": ("begun_again",),
        "elsewhere": ("resumed_elsewhere", "+data.curriculum.mode=shuffle"),
        "updated": ("updated",),
        "by acc": ("updated", *acc),
        "untagged": ("untagged", "data.custom_cls.path=null"),
        **{name: ("refused", *overrides) for name, (overrides, _) in WRONG_OLD.items()},
    }
    options = [
        f"data.sampler.class_path={PACKAGE}verl",
        "data.sampler.class_name=VerlSampler",
        f"data.custom_cls.path={PACKAGE}verl_dataset",
        "data.custom_cls.name=TaggedDataset",
        "data.dataloader_num_workers=0",
        f"trainer.total_epochs={EPOCHS}",
    ]
    return drive(folder, OLD, options, ask), folder


@pytest.fixture(scope="module")
def of_new(published, tmp_path_factory):
    """What verl 0.9.1 did, and the folder that it worked in."""
    folder = copied(published, tmp_path_factory.mktemp("new"), "out")
    (folder / "rewards.py").write_text(REWARDS)
    shuffled = "+data.curriculum.mode=shuffle"
    ask = {
        "unbroken": ("trained", None, "data.dataloader_num_workers=0"),
        "filtered": ("trained", None, *FILTERED),
        "resumed": ("killed_and_resumed", 20),
        "resumed between epochs": ("killed_and_resumed", 17),
        "one by one": ("trained", BATCH, "data.gen_batch_size=1"),
        "elsewhere": ("resumed_elsewhere", shuffled),
        "begun anew": ("resumed_elsewhere", shuffled, "+data.curriculum.first_step=3"),
        "new order": ("trained", 1, shuffled),
        "same set elsewhere": ("resumed_elsewhere", "+data.curriculum.first_step=3"),
        "begun too late": ("resumed_elsewhere", shuffled, "+data.curriculum.first_step=5"),
        "judged": ("judged",),
        "judged by what is not there": ("misjudged", "+data.curriculum.correctness=right"),
        **{name: ("refused", *overrides) for name, (overrides, _) in WRONG_NEW.items()},
    }
    options = [
        f"data.custom_cls.path={PACKAGE}verl_dataset",
        "data.custom_cls.name=CurriculumDataset",
        "data.shuffle=False",
        "data.dataloader_num_workers=2",
        "trainer.total_epochs=1",
        f"+data.curriculum.epochs={EPOCHS}",
        "+data.curriculum.correctness=acc",
        f"reward.custom_reward_function.path={folder / 'rewards.py'}",
        "reward.reward_manager.source=importlib",
        "reward.reward_manager.name=ObservedRewardManager",
        f"reward.reward_manager.module.path={PACKAGE}verl_reward",
        f"data.max_response_length={WIDTH}",
    ]
    return drive(folder, NEW, options, ask), folder


def order(out, kept=None):
    """What `CurriculumSampler` trains, a list of ids a step."""
    published = open_published(out)
    if kept is not None:
        published = published.part(np.flatnonzero(kept))
    run = CurriculumSampler(published, Recipe(batch_size=BATCH), evidence=Evidence(None))
    return [run.prompt_ids(rows) for _ in range(EPOCHS) for rows in run.batches()]


def short_enough(out):
    """Which rows of the set verl keeps."""
    shards = sorted(out.glob("refreshes/*/train/*.parquet"))
    prompts = pq.ParquetDataset(shards).read(["prompt"])["prompt"].to_pylist()
    return [len(messages[0]["content"]) + 3 <= LONG for messages in prompts]


def evidence(out):
    """Judged rollouts, those solved, tokens and cut ones by step and prompt."""
    visits = read_visits(out).select("step", "prompt_id", "n", "s", "tokens", "truncated")
    return {tuple(row[:2]): row[2:] for row in visits.rows()}


def summed(told, of=lambda reward: reward):
    """The same of what the driver reported: step, id, reward, length, whether cut."""
    groups = defaultdict(lambda: [0, 0, 0, 0])
    for step, prompt_id, reward, length, cut in told:
        group = groups[step, prompt_id]
        for at, value in enumerate((1, int(of(reward)), length, int(cut))):
            group[at] += value
    return {key: tuple(group) for key, group in groups.items()}


@pytest.mark.parametrize("generation", ["of_old", "of_new"])
def test_two_epochs_come_in_the_order_of_the_sampler(generation, request):
    results, folder = request.getfixturevalue(generation)
    assert results["unbroken"]["steps"] == order(folder / "out")


@pytest.mark.parametrize("generation", ["of_old", "of_new"])
def test_prompts_that_verl_drops_are_never_drawn(generation, request):
    results, folder = request.getfixturevalue(generation)
    kept = short_enough(folder / "out")
    assert BATCH <= sum(kept) < len(kept)
    assert results["filtered"]["steps"] == order(folder / "out", kept)


@pytest.mark.parametrize("where", ["resumed", "resumed between epochs"])
@pytest.mark.parametrize("generation", ["of_old", "of_new"])
def test_a_killed_run_resumes_as_if_unbroken(generation, where, request):
    results, _ = request.getfixturevalue(generation)
    assert results[where] == results["unbroken"]["steps"]


def test_a_loop_that_begins_anew_goes_on_after_what_it_had(of_old):
    results, _ = of_old
    assert results["begun again"] == results["unbroken"]["steps"][:15]


def test_the_length_is_what_verl_counts_steps_by(of_old, of_new):
    per_epoch = len(open_published(of_old[1] / "out")) // BATCH
    assert of_old[0]["unbroken"]["loader"] == per_epoch
    assert of_new[0]["unbroken"]["loader"] == EPOCHS * per_epoch


def test_trained_batches_are_evidence_in_whatever_order(of_old):
    results, folder = of_old
    assert evidence(folder / "out") == summed(results["updated"])


def test_correctness_may_have_a_name_of_its_own(of_old):
    results, folder = of_old
    assert evidence(folder / "acc") == summed(results["by acc"], of=lambda reward: 1 - reward)


def test_a_batch_without_ids_says_what_is_missing(of_old):
    assert "data.custom_cls.name=TaggedDataset" in of_old[0]["untagged"]


def test_old_verl_takes_a_state_to_another_recipe_by_id(of_old):
    results, _ = of_old
    begun = {one for batch in results["unbroken"]["steps"][:3] for one in batch}
    assert not begun & set(results["elsewhere"][0])


def test_judged_rollouts_are_evidence_and_those_of_validation_are_not(of_new):
    results, folder = of_new
    assert evidence(folder / "out") == summed(results["judged"])


def test_a_correctness_that_is_not_there_is_refused(of_new):
    assert "returns no 'right', only score, acc" in of_new[0]["judged by what is not there"]


def test_prompts_fetched_one_by_one_come_in_the_same_order(of_new):
    results, _ = of_new
    assert [one for [one] in results["one by one"]["steps"]] == results["unbroken"]["steps"][0]


def test_new_verl_refuses_a_position_that_means_other_prompts(of_new):
    results, _ = of_new
    assert "first_step=N" in results["elsewhere"]
    assert "first_step=N" in results["same set elsewhere"]
    assert "before the set begins" in results["begun too late"]
    assert results["begun anew"] == results["new order"]["steps"]


@pytest.mark.parametrize("name", WRONG_OLD)
def test_old_verl_is_told_what_is_wrong(of_old, name):
    assert WRONG_OLD[name][1] in of_old[0][name]


@pytest.mark.parametrize("name", WRONG_NEW)
def test_new_verl_is_told_what_is_wrong(of_new, name):
    assert WRONG_NEW[name][1] in of_new[0][name]
