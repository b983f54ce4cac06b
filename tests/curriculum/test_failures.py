"""What can go wrong around a refresh: each a clear error or a correct result, with nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from curriculum.errors import EngineError, UsageError
from curriculum.lock import locked
from curriculum.manifest import latest_refresh, read_manifest
from curriculum.policy import Sources
from curriculum.refresh import refresh
from curriculum.scoring.journal import judged_keys
from curriculum.scoring.progress import SilentView

CURRICULUM = "from curriculum.cli import main; main()"


def curriculum(*arguments: str, prelude: str = "", shell: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the command line in a process of its own; `shell` prepares a private mount namespace for it."""
    command = [sys.executable, "-c", f"{prelude}\n{CURRICULUM}", *arguments]
    if shell:
        command = ["unshare", "--mount", "sh", "-c", f'{shell} && exec "$@"', "sh", *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def decisions(out: Path) -> pl.DataFrame:
    return pl.read_parquet(latest_refresh(out) / "decisions.parquet")


def pool_of(folder: Path, rows: list[dict[str, str]]) -> Path:
    path = folder / "pool.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def recording_of(folder: Path, texts: dict[str, list[str]]) -> Sources:
    path = folder / "rollouts.jsonl"
    path.write_text(
        "\n".join(json.dumps({"answer": key, "text": t}) for key, group in texts.items() for t in group)
    )
    return Sources(recording=path, key="answer")


MIXED = ["\\boxed{7}", "\\boxed{8}"] * 4

can_mount = pytest.mark.skipif(
    subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    ).returncode
    != 0,
    reason="this user may not mount a file system of its own",
)


def test_no_vllm_installed(recorded, tmp_path) -> None:
    absent = "import sys; sys.modules['vllm'] = None"
    done = curriculum(
        *("refresh", "--ckpt", "step_0", "--pool", str(recorded.pool), "--out", str(tmp_path)),
        prelude=absent,
    )
    assert done.returncode == 2
    assert "vLLM is not installed" in done.stderr
    assert "pip install 'rlvr-curriculum[vllm]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_pool(recorded, tmp_path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(UsageError, match="the pool is empty"):
        refresh(recorded.config(tmp_path, pool__sources=[str(empty)]), recorded.sources, SilentView())


def test_one_prompt(recorded, tmp_path) -> None:
    pool = pool_of(tmp_path, [{"prompt": "What is 7?", "answer": "7"}])
    config = recorded.config(tmp_path / "out", pool__sources=[str(pool)])
    result = refresh(config, recording_of(tmp_path, {"7": MIXED}), SilentView())
    assert (result.pool_rows, result.set_rows, result.control_rows) == (1, 1, 1)
    train = pl.read_parquet(sorted((result.path / "train").glob("*.parquet")))
    assert train["weight"].to_list() == [1.0]


def test_duplicated_prompts_are_sampled_once_and_each_row_is_accounted_for(recorded, tmp_path) -> None:
    row = {"prompt": "What is 7?", "answer": "7"}
    pool = pool_of(tmp_path, [row, row, {"prompt": "What is 9?", "answer": "9"}, row])
    config = recorded.config(tmp_path / "out", pool__sources=[str(pool)])
    result = refresh(config, recording_of(tmp_path, {"7": MIXED, "9": ["\\boxed{9}"] * 8}), SilentView())
    assert decisions(tmp_path / "out").select("row", "decision").rows() == [
        (0, "keep_mixed"),
        (1, "drop_duplicate"),
        (2, "drop_solved"),
        (3, "drop_duplicate"),
    ]
    assert result.rollouts == 16


def test_a_pool_with_invalid_utf8_stops_with_file_and_row_unless_told_otherwise(recorded, tmp_path) -> None:
    pool = tmp_path / "pool.jsonl"
    good = json.dumps({"prompt": "What is 7?", "answer": "7"}).encode()
    pool.write_bytes(good + b'\n{"prompt": "\xff\xfe", "answer": "1"}\n')
    sources = recording_of(tmp_path, {"7": MIXED})
    config = recorded.config(tmp_path / "out", pool__sources=[str(pool)])
    with pytest.raises(UsageError, match="1 row cannot be read") as caught:
        refresh(config, sources, SilentView())
    assert "line 2" in caught.value.where
    assert str(pool) in caught.value.where
    config = recorded.config(tmp_path / "out", pool__sources=[str(pool)], pool__skip_bad_rows=True)
    result = refresh(config, sources, SilentView())
    assert result.set_rows == 1
    assert read_manifest(result.path).pool["bad_rows"] == 1


def test_a_second_refresh_while_one_runs(recorded, tmp_path) -> None:
    with locked(tmp_path):
        done = curriculum(*recorded.command(tmp_path))
    assert done.returncode == 2
    assert "another refresh is writing to this folder" in done.stderr
    assert f'"pid": {os.getpid()}' in done.stderr
    assert curriculum(*recorded.command(tmp_path)).returncode == 0


@can_mount
def test_a_read_only_output_folder(recorded, tmp_path) -> None:
    done = curriculum(*recorded.command(tmp_path), shell=f"mount -t tmpfs -o ro none {tmp_path}")
    assert done.returncode == 2
    assert "the file system is read-only" in done.stderr
    assert "Traceback" not in done.stderr


@can_mount
def test_a_full_disk_loses_nothing_and_the_same_command_continues(record, tmp_path) -> None:
    """The journal, then the published tables, meet a disk that has too little room for them."""
    recorded = record(tmp_path, prompts=1200)
    whole = tmp_path / "whole"
    assert curriculum(*recorded.command(whole)).returncode == 0
    expected = read_manifest(latest_refresh(whole))
    needed = sum(path.stat().st_size for path in whole.rglob("*.parquet"))
    out, saved = tmp_path / "out", tmp_path / "saved"
    out.mkdir()
    for room in (needed // 8, needed // 2, needed * 3 // 4):
        # A small disk, given back what was saved of it; what it holds in the end is saved again.
        shell = (
            f"mount -t tmpfs -o size={room} none {out} && mkdir -p {saved} && cp -a {saved}/. {out}/ && "
            f"trap 'cp -a {out}/. {saved}/' EXIT && true"
        )
        script = f'{shell}; "$@"'
        command = [sys.executable, "-c", CURRICULUM, *recorded.command(out)]
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", *command],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode in {2, 4}, done.stderr
        assert "the disk is full" in done.stderr
        assert "Traceback" not in done.stderr
    assert curriculum(*recorded.command(saved)).returncode == 0
    assert read_manifest(latest_refresh(saved)).tables == expected.tables


def test_a_verifier_that_always_fails_stops_the_pass_and_what_was_judged_is_kept(recorded, tmp_path) -> None:
    bad = tmp_path / "bad.jsonl"
    rows = [json.loads(line) for line in recorded.pool.read_text().splitlines()]
    for row in rows:
        row["reward_model"]["ground_truth"] = "{}"  # an object without an answer
    bad.write_text("\n".join(json.dumps(row) for row in rows))
    config = recorded.config(tmp_path / "out", pool__sources=[str(bad)])
    with pytest.raises(EngineError, match="could not be judged") as caught:
        refresh(config, recorded.sources, SilentView())
    assert "--max-error-rate" in caught.value.do
    [journal] = (tmp_path / "out").glob("passes/*/journal")
    assert judged_keys(journal)["error"].all()
    assert latest_refresh(tmp_path / "out") is None


def test_a_few_verifier_errors_are_rows_not_an_end(recorded, tmp_path) -> None:
    rows = [json.loads(line) for line in recorded.pool.read_text().splitlines()]
    rows[2]["reward_model"]["ground_truth"] = "{}"
    pool = tmp_path / "pool.jsonl"
    pool.write_text("\n".join(json.dumps(row) for row in rows))
    result = refresh(
        recorded.config(tmp_path / "out", pool__sources=[str(pool)]), recorded.sources, SilentView()
    )
    assert result.errors == 8
    assert decisions(tmp_path / "out").row(2, named=True)["decision"] == "defer_unscorable"


def test_an_unknown_key_of_the_configuration_is_refused_with_the_nearest(recorded, tmp_path) -> None:
    config = tmp_path / "curriculum.toml"
    config.write_text("[sampling]\ntemprature = 0.5\n")
    done = curriculum(*recorded.command(tmp_path / "out"), "--config", str(config))
    assert done.returncode == 2
    assert "did you mean 'temperature'?" in done.stderr
