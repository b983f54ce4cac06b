"""Evidence from a trainer's rollouts: counted at once, kept through a kill, merged by prompt."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from curriculum.errors import UsageError
from curriculum.hooks import CurriculumSampler, Evidence, Recipe, open_published
from curriculum.hooks.groups import GroupMerger, gather
from curriculum.hooks.ids import parse_ids

TRAINER = """
import sys
from curriculum.hooks import CurriculumSampler, Recipe
run = CurriculumSampler(sys.argv[1], Recipe(batch_size=8), rank=int(sys.argv[2]), world_size=2)
for step in range(10_000):
    for rows in run.batches():
        ids = run.prompt_ids(rows)
        run.observe([one for one in ids for _ in range(4)], [1.0, 0.0, 0.0, 0.0] * len(ids), step=step)
        print(len(ids), flush=True)
"""


def lines(out):
    """All that can be parsed, headers apart; the way a refresh reads it."""
    headers, calls = [], []
    for path in sorted((out / "evidence").rglob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines()):
            try:
                (calls if number else headers).append(json.loads(line))
            except json.JSONDecodeError:
                assert line == path.read_text().splitlines()[-1]
    return headers, calls


def kept(small, **more):
    return Evidence(small.out / "evidence", **more)


@pytest.fixture
def evidence(small):
    found = kept(small)
    found.use(open_published(small.folder))
    return found


def test_rollouts_move_the_posterior_at_once(small, evidence):
    alpha, beta = (side.copy() for side in evidence.posterior())
    evidence.observe([small.ids[3]] * 4 + [small.ids[5]], [1.0, 0.0, 0.5, 1.0, 0.0])
    now = evidence.posterior()
    change = [now[0] - alpha, now[1] - beta]
    assert [change[0][3], change[1][3], change[0][5], change[1][5]] == [2, 2, 0, 1]
    assert np.abs(change).sum() == 5


def test_what_is_kept_says_what_it_was_made_with(small, evidence):
    evidence.observe([small.ids[0]] * 2, [1.0, None], lengths=[10, 20], truncated=[False, True], step=7)
    [header], [call] = lines(small.out)
    source = open_published(small.folder).source
    assert header["format"] == "curriculum-evidence"
    assert (header["refresh_id"], header["manifest"]) == (source.refresh_id, source.manifest_hash)
    assert call == {
        "step": 7,
        "prompt_id": [small.ids[0]],
        "n": [1],
        "s": [1],
        "low": [1.0],
        "high": [1.0],
        "total": [1.0],
        "unjudged": [1],
        "truncated": [1],
        "tokens": [30],
        "longest": [20],
    }


def test_a_group_split_over_calls_and_ranks_adds_up(small):
    published = open_published(small.folder)
    for rank in range(2):
        own = kept(small, rank=rank)
        own.use(published)
        for _ in range(2):
            own.observe([small.ids[0], small.ids[1]], [float(rank), 0.0], step=1)
    headers, calls = lines(small.out)
    assert sorted(header["rank"] for header in headers) == [0, 1]
    n, s = Counter(), Counter()
    for call in calls:
        for one, rollouts, solved in zip(call["prompt_id"], call["n"], call["s"], strict=True):
            n[one, call["step"]] += rollouts
            s[one, call["step"]] += solved
    assert n == {(small.ids[0], 1): 4, (small.ids[1], 1): 4}
    assert s == {(small.ids[0], 1): 2, (small.ids[1], 1): 0}


def test_killed_processes_leave_whole_lines_of_all_they_reported(small):
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", TRAINER, str(small.folder), str(rank)], stdout=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    for process in ranks:
        for _ in range(5):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    headers, calls = lines(small.out)
    assert len(headers) == 2
    assert len(calls) >= 10
    assert all(call["n"] == [4] * 4 for call in calls)


def test_each_set_has_a_file_of_its_own(small, publish):
    run = CurriculumSampler(small.folder, Recipe(batch_size=8))
    run.observe([small.ids[0]], [1.0])
    new = publish(small.out, "step_9", list(range(50, 150)))
    run.swap(new.folder)
    run.observe([small.ids[0]], [1.0])
    headers, _ = lines(small.out)
    assert sorted(header["refresh_id"] for header in headers) == ["step_0-00000000", "step_9"]


def test_prompts_that_the_set_does_not_have_are_kept_and_counted_apart(small, evidence):
    evidence.observe(["f" * 32, small.ids[0]], [1.0, 1.0])
    assert (evidence.observed, evidence.unknown) == (2, 1)
    assert "f" * 32 in lines(small.out)[1][0]["prompt_id"]


def test_truncated_rollouts_are_left_out_where_the_trainer_masks_them(small):
    masked = kept(small, truncated="excluded")
    masked.use(open_published(small.folder))
    masked.observe([small.ids[0]] * 3, [0.0, 0.0, 1.0], truncated=[True, True, False])
    [call] = lines(small.out)[1]
    assert (call["n"], call["s"], call["unjudged"]) == ([1], [1], [2])


@pytest.mark.parametrize(
    ("ids", "rewards", "more"),
    [(["0" * 32], [], {}), (["0" * 32], [1.0], {"lengths": []}), (["prompt 1"], [1.0], {})],
)
def test_columns_that_do_not_fit_are_refused(evidence, ids, rewards, more):
    with pytest.raises(UsageError) as error:
        evidence.observe(ids, rewards, **more)
    assert error.value.do


def test_a_folder_that_cannot_be_written_says_what_to_do(small):
    (small.out / "evidence").write_text("in the way")
    blocked = kept(small)
    blocked.use(open_published(small.folder))
    with pytest.raises(UsageError, match=r"evidence=Evidence\(None\)"):
        blocked.observe([small.ids[0]], [1.0])


# Groups


def merged(size, *calls):
    """(leading half of id, rollouts, solved) of each group that `calls` of (ids, marks, step) complete."""
    merger, found = GroupMerger(size), []
    for numbers, marks, step in calls:
        ids = parse_ids([f"{n:016x}{0:016x}" for n in numbers], where="")
        _, parts = gather(ids, np.array(marks, dtype=float), 1.0)
        whole = merger.add(parts, step)
        found += zip(whole.ids[:, 0].tolist(), whole.seen.tolist(), whole.s.tolist(), strict=True)
    return found


@pytest.mark.parametrize(
    ("size", "calls", "groups"),
    [
        (None, [([1, 2, 1], [1, 0, 0], None)], [(1, 2, 1), (2, 1, 0)]),
        (None, [([1], [1], 0), ([1, 2], [0, 0], 0), ([3], [1], 1)], [(1, 2, 1), (2, 1, 0)]),
        (
            4,
            [([1, 1, 2], [1, 0, 0], 0), ([1, 1], [1, 1], 0), ([2, 2, 2], [1, 1, 1], 5)],
            [(1, 4, 3), (2, 4, 3)],
        ),
        (2, [([1, 1], [1, 1], 0), ([1], [0], 1), ([1], [0], 2)], [(1, 2, 2), (1, 2, 0)]),
        (2, [([1, 1], [float("nan"), 1], 0)], [(1, 2, 1)]),
    ],
)
def test_parts_of_groups_are_put_together(size, calls, groups):
    assert merged(size, *calls) == groups


def test_groups_that_never_end_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr("curriculum.hooks.groups.MOST_OPEN", 3)
    assert merged(8, ([1, 2, 3, 4, 5], [1] * 5, 0)) == [(1, 1, 1), (2, 1, 1)]
