"""What data loaders and filters of other projects were reported to get wrong, by the name of the failure."""

from itertools import islice

import numpy as np
import pytest

from curriculum.errors import UsageError
from curriculum.hooks import CurriculumSampler, Evidence, Recipe


def ids_of(run, batches):
    return [one for rows in batches for one in run.prompt_ids(rows)]


def test_surplus_accepted_groups_are_not_thrown_away(small, make):
    """A trainer that samples more prompts than a step takes gets the others again, first."""
    run = make(small)
    drawn = ids_of(run, islice(run.batches(), 3))
    run.trained(prompt_ids=drawn[:5] + drawn[9:12])
    assert ids_of(run, run.batches())[:16] == drawn[5:9] + drawn[12:]


def test_a_hard_set_is_not_resampled_without_end(small, make):
    """A trainer that rejects every group comes to the end of the epoch."""
    run = make(small)
    assert sum(run.trained(prompt_ids=run.prompt_ids(rows)) for rows in run.batches()) == 96


def test_a_set_smaller_than_a_batch_is_not_a_run_without_updates(publish, tmp_path, make):
    tiny = publish(tmp_path, "tiny", list(range(7)))
    with pytest.raises(UsageError, match="lower batch_size"):
        make(tiny)


def test_the_last_partial_batch_is_not_lost(small, make):
    """103 prompts, 8 a batch: what one epoch leaves out, the next begins with."""
    run = make(small)
    counts = np.bincount([row for _ in range(8) for row in run], minlength=103)
    assert counts.sum() == 8 * 96
    assert counts.min() >= 4


@pytest.mark.parametrize("noise", [1e-7, 2**-40, float(np.float32(0.1)) - 0.1])
def test_float_noise_is_no_signal(small, noise):
    """Equal rewards that were summed in another order, or passed through float32."""
    run = CurriculumSampler(small.folder, Recipe(batch_size=8), evidence=Evidence(None))
    run.observe([small.ids[0]] * 4, [0.1, 0.1 + noise, 0.1, 0.1 - noise])
    run.observe([small.ids[1]] * 4, [1.0, 1.0 - noise, 1.0, 1.0 + noise])
    figures = run.signal.figures()
    assert (figures.groups, figures.effective, figures.too_easy) == (2, 0.0, 0.5)


@pytest.mark.parametrize("ahead", [1, 5, 20])
def test_the_state_does_not_run_ahead_of_training(small, make, train, ahead):
    run = make(small)
    train(run, 5, ahead=ahead)
    resumed = make(small)
    resumed.load_state_dict(run.state_dict())
    assert train(resumed, 3) == train(make(small), 8)[5:]


def test_a_swapped_data_set_does_not_silently_skip_rows(publish, tmp_path, make, train):
    """A state of 5 batches, loaded on a set that shares no prompt with the old one, skips none of it."""
    run = make(publish(tmp_path, "old", list(range(96))))
    train(run, 5)
    resumed = make(publish(tmp_path, "new", list(range(100, 196))))
    report = resumed.load_state_dict(run.state_dict())
    assert (report.trained, report.trained_here) == (40, 0)
    assert len(ids_of(resumed, resumed.batches())) == 96


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.filterwarnings("ignore:This DataLoader will create 4 worker:UserWarning")
def test_workers_do_not_keep_a_stale_order(publish, tmp_path, make, workers):
    """Workers that outlive an epoch serve the set and the frontier of now."""
    data = pytest.importorskip("torch.utils.data")
    run = make(publish(tmp_path, "old", list(range(96))))
    loader = data.DataLoader(
        range(1000), batch_size=8, sampler=run, num_workers=workers, persistent_workers=True
    )
    first = [row for batch in loader for row in batch.tolist()]
    run.trained(prompt_ids=run.prompt_ids(first))
    run.swap(publish(tmp_path, "new", list(range(150, 198))).folder)
    second = [row for batch in loader for row in batch.tolist()]
    assert sorted(first) == list(range(96))
    assert sorted(second) == list(range(48))


def test_a_group_size_is_not_passed_over(small, make):
    with pytest.raises(UsageError, match="belongs to the evidence"):
        make(small, group_size=8)
