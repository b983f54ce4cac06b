"""SkyRL's trainer with its data loader replaced.

SkyRL 0.3.0 from PyPI does not import without a GPU's packages, so its source is read for the methods that
are overridden (skyrl/train/trainer.py and skyrl/train/entrypoints/main_base.py; `make trainers` brings them),
and `RayPPOTrainer` here makes the same calls. The loader is torchdata's own, and once the data set SkyRL's.
"""

import ast
import asyncio
import importlib
import io
import pickle
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curriculum.errors import UsageError
from curriculum.hooks import Recipe
from curriculum.hooks.skyrl import CurriculumTrainer

ROOT = Path(__file__).resolve().parents[3]
SKYRL = ROOT / ".venv/opt/skyrl-0.3.0/skyrl"
TOKENIZER = str(ROOT / "data_samples/tiny_policy/step_0")
RECIPE = Recipe(batch_size=8)
GROUP = 4

torch = pytest.importorskip("torch")
datasets = pytest.importorskip("datasets")
pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning")  # torchdata 0.11


class PromptDataset:
    """As SkyRL's: rows of the files without those that are too long, a row's number as its uid."""

    def __init__(self, folder, keep):
        files = [str(path) for path in sorted((folder / "train").glob("*.parquet"))]
        table = datasets.Dataset.from_parquet(files, keep_in_memory=True)
        self.dataframe = table.select([row for row in range(len(table)) if keep(row)])

    def __getitem__(self, item):
        row = self.dataframe[item]
        return row.pop("prompt"), row.pop("env_class", None), row, str(item)

    def __len__(self):
        return len(self.dataframe)

    def collate_fn(self, items):
        names = ("prompt", "env_class", "env_extras", "uid")
        return [dict(zip(names, item, strict=True)) for item in items]


class RayPPOTrainer:
    """The calls of SkyRL's trainer, with a generator that judges by the number of the step."""

    def __init__(self, cfg, train_dataset):
        self.cfg, self.train_dataset = cfg, train_dataset
        self.global_step, self.all_metrics, self.trained = 0, {}, []
        self._build_train_dataloader_and_compute_training_steps()

    async def generate(self, input_batch):
        count = len(input_batch["trajectory_ids"])
        return {
            "response_ids": [[1, 2, 3]] * count,
            "rewards": [float(at % 2) for at in range(count)],
            "stop_reasons": ["stop"] * (count - 1) + ["length"],
        }

    def train_critic_and_policy(self, data):
        return {"policy_loss": 0.0}

    def train(self, steps, *, discard=lambda step, batch: False):
        """The prompts of each step; a batch that dynamic sampling discards is not trained."""
        while True:
            for batch in self.train_dataloader:
                if len(self.trained) == steps:
                    return self.trained
                asyncio.run(self.generate(asked(batch, self.global_step + 1)))
                if discard(self.global_step + 1, batch):
                    discard = lambda step, batch: False  # noqa: E731
                    continue
                self.global_step += 1
                assert self.train_critic_and_policy(None) == {"policy_loss": 0.0}
                self.trained.append([prompt["env_extras"]["prompt_id"] for prompt in batch])
                self.saved = self.save()

    def load_checkpoints(self):
        """SkyRL warns where the state cannot be read, and goes on."""
        if self.found is not None:
            with suppress(RuntimeError, pickle.UnpicklingError):
                self.train_dataloader.load_state_dict(torch.load(self.found, weights_only=False))
        return 3, "checkpoints/global_step_3"

    def save(self):
        file = io.BytesIO()
        torch.save(self.train_dataloader.state_dict(), file)
        return file.getvalue()


def asked(batch, step):
    ids = [SimpleNamespace(instance_id=prompt["uid"]) for prompt in batch for _ in range(GROUP)]
    metadata = SimpleNamespace(global_step=step, training_phase="train")
    return {"trajectory_ids": ids, "batch_metadata": metadata}


def make(written, recipe=RECIPE, keep=lambda row: True, workers=0, data=None):
    cfg = SimpleNamespace(
        trainer=SimpleNamespace(train_batch_size=8, epochs=3, max_training_steps=None),
        generator=SimpleNamespace(n_samples_per_prompt=GROUP),
        data=SimpleNamespace(dataloader=SimpleNamespace(num_workers=workers, persistent_workers=workers > 0)),
    )
    made = {"published": written.out, "recipe": recipe}
    trainer = type("Trainer", (CurriculumTrainer, RayPPOTrainer), made)
    return trainer(cfg, data or PromptDataset(written.folder, keep))


def resume(trainer, saved):
    trainer.found = saved if saved is None else io.BytesIO(saved)
    assert trainer.load_checkpoints() == (3, "checkpoints/global_step_3")
    return trainer


@pytest.mark.skipif(not SKYRL.is_dir(), reason="SkyRL is not there; make trainers")
def test_skyrl_has_the_methods_that_are_overridden_and_calls_them():
    main = ast.parse((SKYRL / "train/entrypoints/main_base.py").read_text())
    module = ast.parse((SKYRL / "train/trainer.py").read_text())
    (trainer,) = [node for node in module.body if getattr(node, "name", "") == "RayPPOTrainer"]
    methods = {node.name: node for node in trainer.body if hasattr(node, "args")}
    arguments = {name: [one.arg for one in node.args.args] for name, node in methods.items()}
    assert arguments["_build_train_dataloader_and_compute_training_steps"] == ["self"]
    assert arguments["load_checkpoints"] == ["self"]
    assert arguments["generate"] == ["self", "input_batch"]
    assert isinstance(methods["generate"], ast.AsyncFunctionDef)
    assert arguments["train_critic_and_policy"] == ["self", "data"]
    assert "self._build_train_dataloader_and_compute_training_steps()" in ast.unparse(methods["__init__"])
    train = ast.unparse(methods["train"])
    generated, trained, saved = (
        train.index(call) for call in (".generate(", ".train_critic_and_policy(", ".save_checkpoints(")
    )
    assert generated < trained < saved
    names = {alias.name for node in main.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    names |= {node.name for node in main.body if hasattr(node, "name")}
    assert {"RayPPOTrainer", "BasePPOExp", "SkyRLTrainConfig", "validate_cfg", "initialize_ray"} <= names
    (made,) = [node for node in ast.walk(main) if ast.unparse(node).startswith("self.get_trainer(")][:1]
    assert {keyword.arg for keyword in made.keywords} <= set(arguments["__init__"])


def test_batches_are_those_of_the_sampler(small):
    assert make(small).train(30) == small.order(RECIPE, 30)


@pytest.mark.parametrize("killed", [1, 11, 12, 17])
def test_a_resume_trains_what_an_unbroken_run_trains(small, killed):
    trainer = make(small)
    begun = list(trainer.train(killed))
    assert begun + resume(make(small), trainer.saved).train(26 - killed) == small.order(RECIPE, 26)


@pytest.mark.parametrize("saved", [None, b"cut short"])
def test_a_checkpoint_without_a_state_does_not_begin_the_epoch_again(small, saved):
    with pytest.raises(UsageError, match="no state of the data loader"):
        resume(make(small), saved)


def test_generated_groups_are_evidence_with_their_ids_and_step(small):
    make(small).train(2)
    written = small.evidence()
    assert [line["step"] for line in written] == [1, 2, 2][: len(written)]
    counted = {prompt for line in written[:2] for prompt in line["prompt_id"]}
    assert counted == {prompt for batch in small.order(RECIPE, 2) for prompt in batch}
    assert written[0]["n"] == [4] * 8
    assert written[0]["s"] == [2] * 8
    assert written[0]["tokens"] == [12] * 8
    assert sum(written[0]["truncated"]) == 1


def test_the_signal_is_among_the_metrics(small):
    trainer = make(small)
    trainer.train(1)
    assert trainer.all_metrics["curriculum/effective"] == 1.0


def test_what_dynamic_sampling_discards_is_done_with(small):
    trainer = make(small)
    trainer.train(2, discard=lambda step, batch: step == 2)
    expected = small.order(RECIPE, 4)
    assert trainer.trained == [expected[0], expected[2]]
    assert resume(make(small), trainer.saved).train(1) == [expected[3]]


def test_prompts_that_skyrl_filters_leave_the_others_as_they_are(small):
    def keep(row):
        return row % 5 > 0

    trainer = make(small, keep=keep)
    trained = trainer.train(10)
    ids = [prompt for batch in trained for prompt in batch]
    assert len(set(ids)) == 80
    assert set(ids) <= {prompt for row, prompt in enumerate(small.ids) if keep(row)}
    assert {prompt for line in small.evidence() for prompt in line["prompt_id"]} >= set(ids)
    assert trainer.sampler.evidence.unknown == 0


@pytest.mark.slow
@pytest.mark.skipif(not SKYRL.is_dir(), reason="SkyRL is not there; make trainers")
def test_skyrls_own_data_set_and_filter(small, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SKYRL.parent))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    dataset = importlib.import_module("skyrl.train.dataset.dataset")
    tokenizer = importlib.import_module("transformers").AutoTokenizer.from_pretrained(TOKENIZER)
    files = sorted((small.folder / "train").glob("*.parquet"))
    kind = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    long = set()
    for file in files:
        shard = pq.read_table(file)
        texts = shard["prompt"].to_pylist()
        cut = [text.endswith("7") for text in texts]
        chats = [
            [{"role": "user", "content": text * (9 if far else 1)}]
            for text, far in zip(texts, cut, strict=True)
        ]
        place = shard.column_names.index("prompt")
        pq.write_table(shard.set_column(place, "prompt", pa.array(chats, kind)), file)
        long.update(shard.filter(pa.array(cut))["prompt_id"].to_pylist())
    data = dataset.PromptDataset(list(map(str, files)), tokenizer, 40, num_workers=1)
    assert len(data) == 103 - len(long) == 93
    ids = [prompt for batch in make(small, data=data).train(11) for prompt in batch]
    assert len(set(ids)) == 88
    assert set(ids) <= set(small.ids) - long
    assert {prompt for line in small.evidence() for prompt in line["prompt_id"]} >= set(ids)


def test_a_trajectory_of_several_steps_counts_by_its_last(small):
    trainer = make(small)
    output = {
        "trajectory_ids": [SimpleNamespace(instance_id=uid) for uid in ("5", "5", "9")],
        "is_last_step": [False, True, True],
        "response_ids": [[1], [1, 2], [1]],
        "rewards": [[0.0], [0.5, 0.5], [0.0]],
        "stop_reasons": None,
    }
    trainer._observe({"batch_metadata": SimpleNamespace(global_step=3)}, output)
    (line,) = small.evidence()
    counts = dict(zip(line["prompt_id"], zip(line["n"], line["s"], strict=True), strict=True))
    assert counts == {small.ids[5]: (1, 1), small.ids[9]: (1, 0)}


def test_a_recipe_of_another_batch_is_refused(small):
    with pytest.raises(UsageError, match="batches of 16 prompts, the trainer of 8"):
        make(small, Recipe(batch_size=16))


def test_data_of_another_set_is_refused(small, publish, tmp_path):
    other = publish(tmp_path / "other", "other", list(range(200, 300)))
    trainer = make(small)
    trainer.published = other.out
    with pytest.raises(UsageError, match="not of the set"):
        trainer._build_train_dataloader_and_compute_training_steps()
