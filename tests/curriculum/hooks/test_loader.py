"""The sampler inside torchdata's StatefulDataLoader, with and without workers."""

import io

import pytest

from curriculum.hooks import CurriculumSampler, Evidence, LoaderSampler, Recipe

stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="torchdata is not installed")
torch = pytest.importorskip("torch")


pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create 4 worker:UserWarning"),
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning"),  # torchdata 0.11
]


class Rows:
    """A data set that gives back what it is asked for."""

    def __len__(self):
        return 103

    def __getitem__(self, row):
        return row


def loader_of(written, workers, rank=0):
    recipe = Recipe(batch_size=8)
    run = CurriculumSampler(written.folder, recipe, evidence=Evidence(None), rank=rank, world_size=2)
    rows = LoaderSampler(run)
    loader = stateful.StatefulDataLoader(
        Rows(), batch_size=4, sampler=rows, num_workers=workers, collate_fn=list
    )
    return run, loader


def train(run, loader, steps):
    trained = []
    while True:
        for batch in loader:
            run.trained()
            trained.append(batch)
            if len(trained) == steps:
                return trained


def through_disk(state):
    file = io.BytesIO()
    torch.save(state, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=False)


@pytest.mark.parametrize("workers", [0, 4])
@pytest.mark.parametrize("steps", [7, 12, 17])
def test_the_state_of_a_loader_skips_and_repeats_nothing(small, workers, steps):
    unbroken = train(*loader_of(small, 0, rank=1), 24)
    run, loader = loader_of(small, workers, rank=1)
    begun = train(run, loader, steps)
    state = through_disk(loader.state_dict())
    run, loader = loader_of(small, workers, rank=1)
    loader.load_state_dict(state)
    assert begun + train(run, loader, 24 - steps) == unbroken


def test_workers_do_not_keep_an_order_that_has_changed(small, publish):
    run, loader = loader_of(small, 4)
    list(loader)
    new = publish(small.out, "new", list(range(60, 120)))
    run.swap(new.folder)
    rows = [row for batch in loader for row in batch]
    assert len(rows) == len(set(rows))
    assert max(rows) < 60
