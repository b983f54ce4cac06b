"""The real engine on the tiny policy: one refresh with all three verifiers, looked at from all sides."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from curriculum.manifest import latest_refresh, read_manifest

POLICY = Path(__file__).resolve().parents[2] / "data_samples" / "tiny_policy"
FAMILIES = {"arithmetic": "boxed", "functions": "unit_tests", "tools": "tool_calls"}
PROMPTS = 10
GROUP = 8

pytestmark = [
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed"),
]


@dataclass(frozen=True)
class Done:
    """A finished refresh, as a user sees it."""

    out: Path
    result: dict[str, object]
    notes: str
    left_running: str  # processes of its session after it ended

    def table(self, name: str) -> pl.DataFrame:
        folder = latest_refresh(self.out)
        return pl.read_parquet([folder / shard.name for shard in read_manifest(folder).tables[name]])


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("vllm")
    pool = pl.read_parquet(POLICY / "pool.parquet")
    rows = [
        row
        for family in FAMILIES
        for row in pool.filter(pl.col("data_source") == family).head(PROMPTS).to_dicts()
    ]
    too_long = rows[0] | {"prompt": [{"role": "user", "content": "1+" * 400 + "1="}]}
    (folder / "pool.jsonl").write_text("\n".join(json.dumps(row) for row in [*rows, too_long]))
    command = [sys.executable, "-c", "from curriculum.cli import main; main()", "refresh", "--json"]
    command += ["--config", str(POLICY / "curriculum.toml"), "--ckpt", "step_2000"]
    command += ["--pool", str(folder / "pool.jsonl"), "--out", str(folder / "out")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as run:
        result, notes = run.communicate(timeout=800)
    assert run.returncode == 0, notes
    return Done(folder / "out", json.loads(result), notes, left_running(run.pid))


def left_running(session: int) -> str:
    """What of a session still runs when it has had a few seconds to end."""
    for _ in range(50):
        left = subprocess.run(
            ["pgrep", "--list-full", "--session", str(session)], capture_output=True, text=True, check=False
        )
        if not left.stdout:
            break
        time.sleep(0.1)
    return left.stdout


def test_every_rollout_is_there_once_and_judged_by_its_verifier(done) -> None:
    rollouts = done.table("rollouts")
    assert rollouts.height == len(FAMILIES) * PROMPTS * GROUP
    assert rollouts.select("prompt_id", "index").is_unique().all()
    assert set(rollouts["index"]) == set(range(GROUP))
    assert rollouts.filter(pl.col("outcome") == "verifier_error").is_empty()
    assert set(read_manifest(latest_refresh(done.out)).verifiers) == set(FAMILIES.values())


def test_real_generations_earn_right_and_wrong_verdicts(done) -> None:
    rollouts = done.table("rollouts")
    assert {"correct", "wrong"} <= set(rollouts["outcome"])
    assert 0.1 < rollouts["correctness"].mean() < 0.95


def test_lengths_and_log_probabilities_are_those_of_the_tokens(done) -> None:
    rollouts = done.table("rollouts")
    assert rollouts["tokens"].is_between(1, 128).all()
    assert (rollouts["mean_logprob"] <= 0).all()
    by_length = rollouts.filter(pl.col("finish") == "stop", pl.col("tokens") > 1)
    # One token a character, and the end of the sequence is counted but not in the text.
    assert (by_length["tokens"] - by_length["text"].str.len_chars() <= 1).all()


def test_a_prompt_longer_than_the_window_is_dropped_with_its_length(done) -> None:
    last = done.table("decisions").row(-1, named=True)
    assert last["decision"] == "drop_overlong_prompt"
    assert "tokens leave no room" in last["reason"]


def test_every_seed_is_its_own(done) -> None:
    assert done.table("rollouts")["seed"].is_unique().all()


def test_the_smoke_run_shows_a_prompt_as_sent(done) -> None:
    assert "one prompt exactly as sent:" in done.notes


def test_the_result_is_the_published_set(done) -> None:
    assert done.result["path"] == str(latest_refresh(done.out))
    assert done.result["set_rows"] == done.table("train").height > 0
    assert done.result["device"] == "cpu"


def test_nothing_runs_on_afterwards(done) -> None:
    assert done.left_running == ""
