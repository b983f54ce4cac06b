"""The reward-function tap of OpenRLHF, by itself and called by OpenRLHF 0.11.2 from PyPI.

`make trainers` puts it under .venv/opt/; without it those tests are skipped.
"""

import json
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curriculum.errors import UsageError
from curriculum.hooks import Evidence, open_published
from curriculum.hooks.openrlhf import tap

ROOT = Path(__file__).resolve().parents[3]
OPT = ROOT / ".venv/opt"
OPENRLHF = OPT / "openrlhf-0.11.2"


@pytest.fixture
def published(small):
    """The small set in OpenRLHF's schema: the label of a row is its number in the set, as text."""
    start = 0
    for path in sorted((small.folder / "train").glob("*.parquet")):
        shard = pq.read_table(path)
        labels = pa.array([str(start + row) for row in range(shard.num_rows)])
        shard = shard.rename_columns({"prompt": "input"}).append_column("label", labels)
        nested = pa.StructArray.from_arrays([labels], names=["gold"])
        pq.write_table(shard.append_column("info", nested), path)
        start += shard.num_rows
    return small


def judge(queries, prompts, labels):
    """Right where the response, which is the whole query here, is the label."""
    scores = [float(query == label) for query, label in zip(queries, labels, strict=True)]
    return {"rewards": [10 * score for score in scores], "scores": scores}


def test_the_function_gets_the_labels_that_the_ids_stand_for(published):
    reward_func = tap(judge, published.out)
    result = reward_func(["5", "6"], ["a", "b"], [published.ids[5], published.ids[7]])
    assert result == {"rewards": [10.0, 0.0], "scores": [1.0, 0.0]}


def test_scores_are_the_evidence_by_prompt_id(published):
    reward_func = tap(judge, published.out)
    reward_func(["5", "6", "5"], ["a"] * 3, [published.ids[5]] * 2 + [published.ids[102]])
    (line,) = published.evidence()
    counts = dict(zip(line["prompt_id"], zip(line["n"], line["s"], strict=True), strict=True))
    assert counts == {published.ids[5]: (2, 1), published.ids[102]: (1, 0)}


@pytest.mark.parametrize(
    ("result", "n", "s"),
    [
        ({"rewards": 1.0}, 1, 1),
        ({"rewards": [1.0], "scores": None}, 1, 1),
        ({"rewards": [0.7], "scores": [1.0]}, 1, 1),
        ({"rewards": pa.array([0.5])[0].as_py(), "scores": 0.0}, 1, 0),
    ],
)
def test_rewards_of_any_form_are_read(published, result, n, s):
    tap(lambda *_: result, published.out)(["5"], ["a"], published.ids[:1])
    (line,) = published.evidence()
    assert (line["n"], line["s"]) == ([n], [s])


def test_tensors_are_read(published):
    torch = pytest.importorskip("torch")
    tap(lambda *_: {"rewards": torch.tensor([1.0, 0.0])}, published.out)(
        ["", ""], ["", ""], published.ids[:2]
    )
    assert sum(published.evidence()[0]["s"]) == 1


def test_calls_from_threads_are_counted_each(published):
    known = open_published(published.folder)
    evidence = Evidence(published.out / "evidence", group_size=4)
    reward_func = tap(judge, published.folder, evidence=evidence)
    calls = [(["5"], ["a"], [published.ids[row]]) for row in range(50) for _ in range(4)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda call: reward_func(*call), calls))
    written = published.evidence()
    assert len(written) == 200
    before, after = known.alpha + known.beta, sum(evidence.posterior())
    assert (after - before)[:50].tolist() == [4.0] * 50


def test_a_label_in_a_struct(published):
    reward_func = tap(judge, published.out, label="info.gold")
    assert reward_func(["9"], ["a"], [published.ids[9]])["scores"] == [1.0]


@pytest.mark.parametrize("label", ["answer", "info.answer"])
def test_a_column_that_is_not_there_is_an_error_at_once(published, label):
    with pytest.raises(UsageError, match=label):
        tap(judge, published.out, label=label)


def test_a_prompt_that_is_not_of_the_set_is_an_error(published):
    with pytest.raises(UsageError, match="no prompt of the set"):
        tap(judge, published.out)(["5"], ["a"], ["f" * 32])


def test_labels_of_an_evaluation_stay_labels_and_are_no_evidence(published):
    reward_func = tap(judge, published.out)
    result = reward_func(["7", "5", "8"], ["a"] * 3, ["7", published.ids[5], "9"])
    assert result["scores"] == [1.0, 1.0, 0.0]
    assert reward_func(["7"], ["a"], ["7"])["scores"] == [1.0]
    assert [line["prompt_id"] for line in published.evidence()] == [[published.ids[5]]]


def test_evidence_that_cannot_be_written_costs_no_reward(published, caplog):
    (published.out / "evidence").write_text("in the way")
    with caplog.at_level(logging.ERROR):
        assert tap(judge, published.out)(["5"], ["a"], [published.ids[5]])["scores"] == [1.0]
    assert "cannot be written" in caplog.text


@pytest.mark.slow
@pytest.mark.skipif(not OPENRLHF.is_dir(), reason="OpenRLHF is not there; make trainers")
def test_openrlhf_trains_on_the_file_and_calls_the_tap(published, tmp_path):
    reward_file = tmp_path / "reward.py"
    reward_file.write_text(
        "from curriculum.hooks.openrlhf import tap\n"
        "def judge(queries, prompts, labels):\n"
        "    (query,), (label,) = queries, labels\n"
        "    return {'rewards': float(query.strip().endswith(label)), 'extra_logs': {}}\n"
        f"reward_func = tap(judge, {str(published.out)!r})\n"
    )
    command = [
        sys.executable,
        str(Path(__file__).with_name("openrlhf_rollouts.py")),
        str(published.folder / "train"),
        str(ROOT / "data_samples/tiny_policy/step_0"),
        str(reward_file),
    ]
    path = os.pathsep.join(map(str, [ROOT, OPENRLHF, OPT / "shared"]))
    environment = {**os.environ, "PYTHONPATH": path, "HF_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=200)
    assert ran.returncode == 0, ran.stderr[-2000:]
    said = json.loads(ran.stdout.splitlines()[-1])
    assert said["labels"] == published.ids
    assert said["rewards"] == [0, 0, 0, 0, 0, 0, 1, 0]  # only the response "3" to row 3 is right
    counted = {prompt: [0, 0] for prompt in published.ids[:4]}
    for line in published.evidence():
        for prompt, n, s in zip(line["prompt_id"], line["n"], line["s"], strict=True):
            counted[prompt][0] += n
            counted[prompt][1] += s
    assert list(counted.values()) == [[2, 0], [2, 0], [2, 0], [2, 1]]
