"""The custom data loader of NeMo-RL, through NeMo-RL's own contract.

NeMo-RL on PyPI is a placeholder. `MultipleDataloaderWrapper`, the data sets and the files of a checkpoint
follow NeMo-RL at commit 7ea279ab (nemo_rl/data/dataloader.py, nemo_rl/data/utils.py, nemo_rl/data/datasets/
and nemo_rl/algorithms/grpo.py). The loaders are torchdata's own.
"""

import pyarrow.parquet as pq
import pytest

from curriculum.errors import UsageError
from curriculum.hooks import Recipe
from curriculum.hooks.nemo_rl import CurriculumDataloader

torch = pytest.importorskip("torch")
stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
pytestmark = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning")  # torchdata 0.11

RECIPE = Recipe(batch_size=8)
GROUP = 4


class Processed:
    """One file: `dataset` has its rows as messages, an item is a datum with its number in the file."""

    def __init__(self, path):
        self.dataset = [
            {"messages": [{"content": text}]} for text in pq.read_table(path)["input"].to_pylist()
        ]

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, index):
        return {"message_log": self.dataset[index]["messages"], "idx": index}


def collate(datums):
    return {name: [datum[name] for datum in datums] for name in ("message_log", "idx")}


class Wrapper:
    """As `MultipleDataloaderWrapper`: iterators from the start, records to the function once."""

    def __init__(self, dataloaders, function):
        self.dataloaders, self.function, self.records = dataloaders, function, {}
        self.iterators = {task: iter(loader) for task, loader in dataloaders.items()}

    def __next__(self):
        result, self.iterators = self.function(self.iterators, self.dataloaders, **self.records)
        assert len(result["message_log"]) == RECIPE.batch_size
        self.records = {}
        return result


@pytest.fixture
def published(small):
    for path in (small.folder / "train").glob("*.parquet"):
        pq.write_table(pq.read_table(path).rename_columns({"prompt": "input"}), path)
    return small


def start(written, checkpoints, *, recipe=RECIPE, workers=0, **more):
    """As `setup` does: a loader a file, resumed from the newest checkpoint before it is wrapped."""
    loaders = {}
    steps = sorted(checkpoints.glob("step_*"), key=lambda path: int(path.name[5:]))
    for path in sorted((written.folder / "train").glob("*.parquet")):
        loader = stateful.StatefulDataLoader(
            Processed(path),
            batch_size=4,
            shuffle=True,
            collate_fn=collate,
            drop_last=True,
            num_workers=workers,
        )
        if steps:
            loader.load_state_dict(torch.load(steps[-1] / f"train_dataloader_{path.stem}.pt"))
        loaders[path.stem] = loader
    return Wrapper(
        loaders, CurriculumDataloader(written.out, recipe, checkpoints=checkpoints, group_size=GROUP, **more)
    )


def save(wrapper, checkpoints, step):
    folder = checkpoints / f"step_{step}"
    folder.mkdir(parents=True)
    for task, loader in wrapper.dataloaders.items():
        torch.save(loader.state_dict(), folder / f"train_dataloader_{task}.pt")


def train(wrapper, steps):
    """The ids of each step, as the synchronous loop trains them."""
    sampler = wrapper.function.sampler
    return [sampler.prompt_ids(next(wrapper)["idx"]) for _ in range(steps)]


def test_batches_are_those_of_the_sampler_with_the_text_of_their_rows(published, tmp_path):
    wrapper = start(published, tmp_path / "none")
    texts = [
        text
        for path in sorted((published.folder / "train").glob("*.parquet"))
        for text in pq.read_table(path)["input"].to_pylist()
    ]
    batch = next(wrapper)
    assert [messages[0]["content"] for messages in batch["message_log"]] == [
        texts[row] for row in batch["idx"]
    ]
    assert [wrapper.function.sampler.prompt_ids(batch["idx"]), *train(wrapper, 29)] == published.order(
        RECIPE, 30
    )


@pytest.mark.parametrize("killed", [1, 11, 12, 17])
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_resume_trains_what_an_unbroken_run_trains(published, tmp_path, killed, workers):
    checkpoints = tmp_path / "results"
    wrapper = start(published, checkpoints, workers=workers)
    begun = train(wrapper, killed)
    save(wrapper, checkpoints, killed)
    train(wrapper, 3)  # after the checkpoint, lost
    resumed = start(published, checkpoints, workers=workers)
    assert begun + train(resumed, 26 - killed) == published.order(RECIPE, 26)


def test_the_newest_checkpoint_counts(published, tmp_path):
    checkpoints = tmp_path / "results"
    wrapper = start(published, checkpoints)
    for step in (9, 10):
        train(wrapper, step - (0 if step == 9 else 9))
        save(wrapper, checkpoints, step)
    (checkpoints / "tmp_step_11").mkdir()
    assert train(start(published, checkpoints), 1) == published.order(RECIPE, 11)[10:]


def test_records_are_evidence_with_their_ids_and_batch(published, tmp_path):
    wrapper = start(published, tmp_path / "none")
    for _ in range(2):
        batch = next(wrapper)
        idx = [row for row in batch["idx"] for _ in range(GROUP)]
        rewards = torch.tensor([1.0, 0.0, 0.0, 1.0] * 8)
        truncated = torch.zeros(32, dtype=torch.bool)
        wrapper.records = {"idx": torch.tensor(idx), "rewards": rewards, "truncated": truncated}
    next(wrapper)
    written = published.evidence()
    assert [line["step"] for line in written] == [0, 1]
    for line, ids in zip(written, published.order(RECIPE, 2), strict=True):
        assert set(line["prompt_id"]) == set(ids)
        assert (line["n"], line["s"], line["unjudged"]) == ([4] * 8, [2] * 8, [0] * 8)
    assert wrapper.function.sampler.signal.figures().effective == 1.0


def test_another_set_maps_by_id(published, publish, tmp_path, ids_of):
    checkpoints = tmp_path / "results"
    wrapper = start(published, checkpoints)
    begun = {prompt for step in train(wrapper, 5) for prompt in step}
    save(wrapper, checkpoints, 5)
    new = publish(published.out, "new", list(range(60, 160)))
    for path in (new.folder / "train").glob("*.parquet"):
        pq.write_table(pq.read_table(path).rename_columns({"prompt": "input"}), path)
    steps = (100 - len(begun & set(new.ids))) // 8
    trained = {prompt for step in train(start(new, checkpoints), steps) for prompt in step}
    assert len(trained) == 8 * steps
    assert trained <= set(ids_of(list(range(60, 160)))) - begun


@pytest.mark.parametrize("fault", ["missing shard", "other set", "other layout"])
def test_data_that_is_not_the_set_row_by_row_is_refused(published, publish, tmp_path, fault):
    wrapper = start(published, tmp_path / "none")
    if fault == "missing shard":
        wrapper.dataloaders.popitem()
    elif fault == "other set":
        other = publish(tmp_path / "other", "other", list(range(200, 303)))
        for path in (other.folder / "train").glob("*.parquet"):
            pq.write_table(pq.read_table(path).rename_columns({"prompt": "input"}), path)
        wrapper.dataloaders = start(other, tmp_path / "none").dataloaders
    else:
        for path in (published.folder / "train").glob("*.parquet"):
            pq.write_table(pq.read_table(path).rename_columns({"input": "text"}), path)
    with pytest.raises(UsageError, match="is not the set"):
        next(wrapper)


def test_a_checkpoint_without_the_curriculum_or_the_file_is_refused(published, tmp_path):
    checkpoints = tmp_path / "results"
    wrapper = start(published, checkpoints)
    save(wrapper, checkpoints, 4)  # before the first batch: the loaders' own
    with pytest.raises(UsageError, match="without the curriculum"):
        next(wrapper)
    next((checkpoints / "step_4").glob("*00000-of*")).unlink()
    with pytest.raises(UsageError, match="no state of this data file"):
        next(wrapper)
