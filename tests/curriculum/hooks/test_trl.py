"""The curriculum in a real `trl.GRPOTrainer`, on the tiny policy."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from curriculum.errors import UsageError
from curriculum.hooks import CurriculumSampler, Evidence, Recipe

with pytest.MonkeyPatch.context() as patch:
    if "vllm" not in sys.modules:  # TRL imports it where it finds it, which takes longer than all tests here
        patch.setitem(sys.modules, "vllm", None)
    trl = pytest.importorskip("trl.trainer.grpo_trainer", reason="trl is not installed")
torch = pytest.importorskip("torch")
datasets = pytest.importorskip("datasets")
transformers = pytest.importorskip("transformers")

from curriculum.hooks.trl import attach, train_dataset  # noqa: E402

GRPOConfig, GRPOTrainer = trl.GRPOConfig, trl.GRPOTrainer

POLICY = Path(__file__).parents[3] / "data_samples/tiny_policy/step_0"
PROMPTS, GROUP = 8, 2


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Judge:
    """A reward function that remembers what it was asked in training: 1 for an odd digit at the end."""

    __name__ = "correct"

    def __init__(self):
        self.calls = []

    def __call__(self, completions, prompt_id=None, **columns):
        rewards = [float(said[0]["content"][-1:] in "13579") for said in completions]
        if prompt_id is not None:
            self.calls.append((prompt_id[::GROUP], rewards))
        return rewards

    @property
    def prompts(self):
        return [prompts for prompts, _ in self.calls]


class StopAfter(transformers.TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **others):
        control.should_training_stop |= state.global_step == self.step


def ask(row):
    number = row["prompt"].removeprefix("prompt ")
    return {"prompt": [{"role": "user", "content": f"{number}+{number}=?"}]}


def trainer_of(written, folder, judge, *, stop=None, eval_dataset=None, **settings):
    defaults = {
        "per_device_train_batch_size": PROMPTS * GROUP,
        "num_generations": GROUP,
        "max_steps": 30,
        "save_steps": 15,
        "logging_steps": 5,
        "max_completion_length": 3,
        "learning_rate": 1e-3,
        "bf16": False,
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        "model_init_kwargs": {"dtype": "float32"},
        "gradient_checkpointing": False,
    }
    return GRPOTrainer(
        model=str(POLICY),
        reward_funcs=judge,
        args=GRPOConfig(output_dir=str(folder), **defaults | settings),
        train_dataset=train_dataset(written.folder).map(ask),
        eval_dataset=eval_dataset,
        callbacks=[StopAfter(stop)] if stop else None,
    )


def order_of(written, trainer):
    """The batches of three epochs, as ids."""
    recipe = Recipe(batch_size=PROMPTS, seed=trainer.args.seed)
    sampler = CurriculumSampler(written.folder, recipe, evidence=Evidence(None))
    return [sampler.prompt_ids(rows) for _ in range(3) for rows in sampler.batches()]


def evidence_of(out):
    """Every line of every evidence file but the headers, by step."""
    found = []
    for path in out.glob("evidence/*/*.jsonl"):
        header, *lines = path.read_text().splitlines()
        assert json.loads(header)["format"] == "curriculum-evidence"
        found += [json.loads(line) for line in lines]
    return sorted(found, key=lambda line: line["step"])


@pytest.fixture(scope="module")
def runs(publish, tmp_path_factory):
    """An unbroken run of 30 steps, and one that went on to step 17, was stopped, and resumed from step 15."""
    out = tmp_path_factory.mktemp("runs")
    written = publish(out / "unbroken", "step_0-00000000", list(range(103)))
    unbroken = Judge()
    questions = datasets.Dataset.from_list([ask({"prompt": f"prompt {n}"}) for n in range(4)])
    trainer = trainer_of(
        written,
        out / "unbroken-run",
        unbroken,
        eval_dataset=questions,
        eval_strategy="steps",
        eval_steps=20,
        per_device_eval_batch_size=8,
        max_completion_length=8,
    )
    attach(trainer, written.out)
    trainer.train()

    again = publish(out / "broken", "step_0-00000000", list(range(103)))
    stopped, resumed = Judge(), Judge()
    first = trainer_of(again, out / "broken-run", stopped, stop=17)
    attach(first, again.out)
    first.train()
    second = trainer_of(again, out / "broken-run", resumed, dataloader_num_workers=1)
    attach(second, again.out)
    second.train(resume_from_checkpoint=True)
    return SimpleNamespace(
        written=written, trainer=trainer, unbroken=unbroken, stopped=stopped, resumed=resumed
    )


def test_a_resumed_run_trains_the_prompts_of_an_unbroken_one(runs):
    assert len(runs.unbroken.prompts) == 30
    assert len(runs.stopped.prompts) == 17
    assert runs.stopped.prompts[:15] + runs.resumed.prompts == runs.unbroken.prompts


def test_the_order_is_that_of_the_sampler(runs):
    assert runs.unbroken.prompts == order_of(runs.written, runs.trainer)[:30]


def test_the_rollouts_are_evidence_and_those_of_an_evaluation_are_not(runs):
    lines = evidence_of(runs.written.out)
    assert [line["step"] for line in lines] == list(range(30))
    for line, (prompts, rewards) in zip(lines, runs.unbroken.calls, strict=True):
        solved = {one: sum(rewards[place * GROUP :][:GROUP]) for place, one in enumerate(prompts)}
        assert dict(zip(line["prompt_id"], line["s"], strict=True)) == solved
        assert line["n"] == [GROUP] * PROMPTS
        assert all(0 < tokens <= 8 * GROUP for tokens in line["tokens"])


def test_the_signal_is_in_the_log(runs):
    logged = [entry for entry in runs.trainer.state.log_history if "loss" in entry]
    assert [entry["step"] for entry in logged] == [5, 10, 15, 20, 25, 30]
    shares = ("curriculum/effective", "curriculum/too_easy", "curriculum/too_hard")
    for entry in logged:
        assert sum(entry[name] for name in shares) == pytest.approx(1)
        assert "curriculum/sums/effective" in entry
    evaluated = [entry for entry in runs.trainer.state.log_history if "eval_reward" in entry]
    assert evaluated
    assert not any(name in entry for entry in evaluated for name in shares)


@pytest.mark.parametrize(
    ("settings", "steps", "whole"),
    [
        ({"num_iterations": 2, "steps_per_generation": 2, "gradient_accumulation_steps": 2}, 4, True),
        ({"steps_per_generation": 4, "gradient_accumulation_steps": 1}, 8, False),
        ({"steps_per_generation": 1, "gradient_accumulation_steps": 2}, 4, True),
        ({"steps_per_generation": 1, "ignore_data_skip": True}, 4, True),
    ],
)
def test_generation_batches_that_are_used_for_several_steps(small, tmp_path, caplog, settings, steps, whole):
    """A checkpoint inside a generation batch begins the batch again, and says so; others repeat nothing."""
    settings = settings | {"max_steps": steps, "save_steps": 2}
    settings["per_device_train_batch_size"] = PROMPTS * GROUP // settings["steps_per_generation"]
    stopped, resumed = Judge(), Judge()
    for judge, stop in ((stopped, 2), (resumed, None)):
        trainer = trainer_of(small, tmp_path / "run", judge, stop=stop, **settings)
        attach(trainer, small.out)
        trainer.train(resume_from_checkpoint=stop is None)
    assert ("inside a generation batch" in caplog.text) is not whole
    trained = stopped.prompts * whole + resumed.prompts
    assert trained == order_of(small, trainer)[: len(trained)]
    assert len(trained) > 1


def test_a_resume_on_a_newer_set_repeats_nothing_of_the_epoch(small, publish, tmp_path, caplog):
    before, after = Judge(), Judge()
    trainer = trainer_of(small, tmp_path / "run", before, max_steps=5, save_steps=5)
    attach(trainer, small.out)
    trainer.train()
    new = publish(small.out, "step_5-00000005", list(range(20, 110)))
    trainer = trainer_of(new, tmp_path / "run", after, max_steps=9)
    sampler = attach(trainer, small.out)
    trainer.train(resume_from_checkpoint=True)
    assert "step_0-00000000 -> step_5-00000005" in caplog.text
    old, fresh = ({one for ids in judge.prompts for one in ids} for judge in (before, after))
    assert fresh <= set(new.ids)
    assert not fresh & old
    assert sampler.evidence.observed == 4 * PROMPTS


def test_a_checkpoint_without_a_curriculum_is_resumed_and_said_to_be_one(small, tmp_path, caplog):
    trainer_of(small, tmp_path / "run", Judge(), max_steps=1, save_steps=1).train()
    judge = Judge()
    trainer = trainer_of(small, tmp_path / "run", judge, max_steps=2, save_steps=1)
    attach(trainer, small.out)
    trainer.train(resume_from_checkpoint=True)
    assert "saved without a curriculum" in caplog.text
    assert len(judge.prompts) == 1
    assert (tmp_path / "run/checkpoint-2/trainer_state.json").exists()


def test_the_reward_that_is_named_is_the_correctness_and_none_is_not_judged(small, tmp_path):
    async def correct(completions, **columns):
        return [None if place % GROUP else 1.0 for place, _ in enumerate(completions)]

    def shaped(completions, **columns):
        return [0.5] * len(completions)

    trainer = trainer_of(small, tmp_path / "run", [shaped, correct], max_steps=1)
    sampler = attach(trainer, small.out, correctness="correct")
    trainer.train()
    (line,) = evidence_of(small.out)
    assert (line["n"], line["s"], line["unjudged"]) == ([1] * PROMPTS,) * 3
    assert sampler.evidence.observed == PROMPTS


def test_truncated_rollouts_count_as_the_trainer_has_them(small, tmp_path):
    settings = {"max_steps": 1, "mask_truncated_completions": True, "max_completion_length": 11}
    trainer = trainer_of(small, tmp_path / "run", Judge(), **settings)
    attach(trainer, small.out)
    trainer.train()
    (line,) = evidence_of(small.out)
    assert line["unjudged"] == line["truncated"]
    assert 0 < sum(line["truncated"]) < PROMPTS * GROUP


@pytest.mark.slow
def test_two_processes_draw_one_order_and_gather_what_each_has_judged(small, tmp_path):
    script = Path(__file__).with_name("trl_ranks.py")
    command = [sys.executable, "-W", "error", str(script), str(small.folder), str(tmp_path), str(POLICY)]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert ran.returncode == 0, ran.stderr[-4000:]
    answers = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    steps = [first + second for first, second in zip(*(one["asked"] for one in answers), strict=True)]
    sampler = CurriculumSampler(small.folder, Recipe(batch_size=3, seed=42, min_distinct=3))
    expected = [sampler.prompt_ids(rows) for _, rows in zip(range(5), sampler.batches(), strict=False)]
    assert steps == [[one for one in batch for _ in range(4)] for batch in expected]
    assert [one["effective"] for one in answers] == [pytest.approx(1 / 3)] * 2
    lines = evidence_of(small.out)
    assert len(lines) == 5
    for line, batch in zip(lines, expected, strict=True):
        assert line["n"] == [4] * 3
        assert dict(zip(line["prompt_id"], line["s"], strict=True)) == dict(
            zip(batch, (0, 2, 4), strict=True)
        )


# What cannot work is said before anything is trained


@pytest.fixture(scope="module")
def idle(publish, tmp_path_factory):
    """A set and a trainer that is never attached to it."""
    out = tmp_path_factory.mktemp("idle")
    written = publish(out, "step_0-00000000", list(range(103)))
    return written, trainer_of(written, out / "run", Judge())


def test_another_data_set_is_refused(small, publish, tmp_path):
    other = publish(tmp_path / "other", "step_9-00000009", list(range(50, 150)))
    trainer = trainer_of(other, tmp_path / "run", Judge())
    with pytest.raises(UsageError, match=r"47 of the 100 rows .* not of the set step_0-00000000"):
        attach(trainer, small.out)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.remove_columns("prompt_id"), "no prompt_id column"),
        (lambda data: data.to_iterable_dataset(), "no row can be taken by its number"),
    ],
)
def test_a_data_set_that_cannot_be_matched_is_refused(idle, monkeypatch, change, message):
    written, trainer = idle
    monkeypatch.setattr(trainer, "train_dataset", change(trainer.train_dataset))
    with pytest.raises(UsageError, match=message):
        attach(trainer, written.out)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"remove_unused_columns": True}, {}, "remove the prompt_id column"),
        ({"restore_callback_states_from_checkpoint": True}, {}, "replace the curriculum's callback"),
        ({"generation_batch_size": 4}, {}, "has 2 prompts .4 rollouts, 2 of each., fewer than 8"),
        ({}, {"correctness": "right"}, "0 reward functions are named 'right'"),
    ],
)
def test_settings_that_cannot_work_are_refused(idle, monkeypatch, change, options, message):
    written, trainer = idle
    for name, value in change.items():
        monkeypatch.setattr(trainer.args, name, value)
    with pytest.raises(UsageError, match=message):
        attach(trainer, written.out, **options)


def test_a_second_curriculum_is_refused(small, tmp_path):
    trainer = trainer_of(small, tmp_path / "run", Judge())
    attach(trainer, small.out)
    with pytest.raises(UsageError, match="a curriculum already"):
        attach(trainer, small.out)


def test_of_several_reward_functions_one_has_to_be_named(idle, monkeypatch):
    written, trainer = idle
    monkeypatch.setattr(trainer, "reward_func_names", ["correct", "short"])
    with pytest.raises(UsageError, match="none is named"):
        attach(trainer, written.out)


def test_a_reward_model_is_no_correctness(idle, monkeypatch):
    written, trainer = idle
    monkeypatch.setattr(trainer, "reward_funcs", [torch.nn.Linear(1, 1)])
    with pytest.raises(UsageError, match="is a model"):
        attach(trainer, written.out)
