"""Checkpoints are found by every trainer's habit, and half-written ones refused; fingerprints."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from curriculum.checkpoints import fingerprint, resolve_checkpoint
from curriculum.errors import UsageError


def policy(folder: Path, seed: int = 0) -> Path:
    """A whole policy in Hugging Face layout, in one safetensors file."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (folder / "tokenizer.json").write_text("{}")
    weights = np.random.default_rng(seed).normal(size=(8, 8)).astype(np.float32)
    save_file({"w": weights}, folder / "model.safetensors")
    return folder


def sharded(folder: Path) -> Path:
    """The same with an index and two shards."""
    policy(folder)
    (folder / "model.safetensors").unlink()
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name in names:
        save_file({name: np.ones(4, np.float32)}, folder / name)
    index = {"metadata": {}, "weight_map": {name: name for name in names}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


@pytest.mark.parametrize(
    "inside",
    [
        "global_step_2000/actor/huggingface",
        "global_step_2000/actor",
        "checkpoint-2000",
        "step_2000",
        "step-2000",
        "2000",
        "step_002000",
        "my_run/checkpoint-2000",
        "my_run/global_step_2000/actor/huggingface",
    ],
)
def test_a_step_is_found_by_every_habit(tmp_path: Path, inside: str) -> None:
    policy(tmp_path / "step_1000")
    expected = policy(tmp_path / inside)
    found = resolve_checkpoint("step_2000", tmp_path)
    assert (found.path, found.step) == (expected, 2000)
    assert found.name in inside.split("/")


@pytest.mark.parametrize("name", ["checkpoint-7", "7", "run/checkpoint-7", "global_step_7", "STEP", None])
def test_names_that_mean_the_same_checkpoint(tmp_path: Path, name: str | None) -> None:
    expected = policy(tmp_path / "run" / "checkpoint-7")
    if name == "STEP":
        name = "step-0007"
    root = tmp_path if name else None
    assert resolve_checkpoint(name or str(expected), root).path == expected


def test_a_folder_without_a_step_goes_by_its_own_name(tmp_path: Path) -> None:
    policy(tmp_path / "step_1")
    best = policy(tmp_path / "best")
    found = resolve_checkpoint("best", tmp_path)
    assert (found.path, found.step, found.name) == (best, None, "best")


def test_the_runs_of_trl_may_hold_a_final_model_too(tmp_path: Path) -> None:
    policy(tmp_path / "run")
    expected = policy(tmp_path / "run" / "checkpoint-5")
    assert resolve_checkpoint("step_5", tmp_path).path == expected


def test_a_step_given_by_the_path_of_its_policy_keeps_its_name(tmp_path: Path) -> None:
    path = policy(tmp_path / "global_step_30" / "actor" / "huggingface")
    found = resolve_checkpoint(str(path), None)
    assert (found.name, found.step) == ("global_step_30", 30)


def test_latest_is_the_highest_whole_step(tmp_path: Path) -> None:
    policy(tmp_path / "step_900")
    expected = policy(tmp_path / "step_1000")
    (policy(tmp_path / "step_1100") / "tokenizer.json").unlink()
    policy(tmp_path / "best")
    assert resolve_checkpoint("latest", tmp_path).path == expected


def test_latest_among_none_that_is_whole_says_what_is_missing(tmp_path: Path) -> None:
    (policy(tmp_path / "step_1") / "config.json").unlink()
    with pytest.raises(UsageError, match=r"config\.json is missing"):
        resolve_checkpoint("latest", tmp_path)


def test_a_wrong_name_is_answered_with_the_nearest_names_first(tmp_path: Path) -> None:
    for step in (100, 1900, 3000):
        policy(tmp_path / f"step_{step}")
    with pytest.raises(UsageError) as error:
        resolve_checkpoint("step_2000", tmp_path)
    assert "there are: step_1900, step_3000, step_100" in error.value.do
    with pytest.raises(UsageError) as error:
        resolve_checkpoint("stp_3000", tmp_path)
    assert "there are: step_3000" in error.value.do


@pytest.mark.parametrize("root", [None, "absent", "."])
def test_a_wrong_name_without_checkpoints_says_so(tmp_path: Path, root: str | None) -> None:
    with pytest.raises(UsageError) as error:
        resolve_checkpoint("step_2000", tmp_path / root if root else None)
    assert error.value.do


def test_two_candidates_are_both_named(tmp_path: Path) -> None:
    paths = [policy(tmp_path / "run_a" / "step_5"), policy(tmp_path / "run_b" / "checkpoint-5")]
    with pytest.raises(UsageError) as error:
        resolve_checkpoint("global_step_5", tmp_path)
    assert all(str(path) in error.value.where for path in paths)
    assert resolve_checkpoint("run_a/step_5", tmp_path).path == paths[0]
    assert resolve_checkpoint("checkpoint-5", tmp_path).path == paths[1]


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-10])


def cut_header(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:20])


def empty(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "config.json").unlink(), r"config\.json is missing"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer is missing"),
        (lambda folder: (folder / "model.safetensors").unlink(), "weights are missing"),
        (cut, r"model\.safetensors has \d+ bytes, its header says"),
        (cut_header, r"model\.safetensors is cut short"),
        (empty, r"model\.safetensors is cut short"),
    ],
)
def test_a_half_written_checkpoint_is_refused(tmp_path: Path, spoil, said: str) -> None:
    spoil(policy(tmp_path / "step_9"))
    with pytest.raises(UsageError, match=said) as error:
        resolve_checkpoint("step_9", tmp_path)
    assert "step_9" in error.value.where


def test_a_missing_shard_of_the_index_is_named(tmp_path: Path) -> None:
    folder = sharded(tmp_path / "step_9")
    assert resolve_checkpoint("step_9", tmp_path).path == folder
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(
        UsageError, match=r"1 of 2 weight files are missing: model-00002-of-00002\.safetensors"
    ):
        resolve_checkpoint("step_9", tmp_path)


def test_a_broken_index_is_named(tmp_path: Path) -> None:
    (sharded(tmp_path / "step_9") / "model.safetensors.index.json").write_text('{"weight_map": {"a"')
    with pytest.raises(UsageError, match=r"model\.safetensors\.index\.json is cut short"):
        resolve_checkpoint("step_9", tmp_path)


@pytest.mark.parametrize("with_config", [True, False])
def test_verl_shards_are_sent_to_the_model_merger(tmp_path: Path, with_config: bool) -> None:
    actor = tmp_path / "global_step_4" / "actor"
    actor.mkdir(parents=True)
    (actor / "model_world_size_2_rank_0.pt").write_bytes(b"x")
    if with_config:
        (policy(actor / "huggingface") / "model.safetensors").unlink()
    with pytest.raises(UsageError) as error:
        resolve_checkpoint("step_4", tmp_path)
    assert f"verl.model_merger merge --backend fsdp --local_dir {actor}" in error.value.do


def test_a_lora_adapter_is_sent_to_its_base_model(tmp_path: Path) -> None:
    folder = policy(tmp_path / "checkpoint-4")
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(UsageError) as error:
        resolve_checkpoint("step_4", tmp_path)
    assert "LoRA" in error.value.do


def test_a_run_is_no_checkpoint_but_names_those_it_holds(tmp_path: Path) -> None:
    policy(tmp_path / "run" / "step_1")
    with pytest.raises(UsageError) as error:
        resolve_checkpoint("run", tmp_path)
    assert "name one: step_1" in error.value.do


def test_the_fingerprint_survives_copies_times_and_trainer_state(tmp_path: Path) -> None:
    original = policy(tmp_path / "a")
    copy = tmp_path / "elsewhere" / "b"
    shutil.copytree(original, copy)
    os.utime(copy / "config.json", (1, 1))
    for name in (
        "optimizer.pt",
        "optimizer.safetensors",
        "scheduler.pt",
        "trainer_state.json",
        "rng_state.pth",
    ):
        (copy / name).write_bytes(b"state")
    assert fingerprint(copy) == fingerprint(original)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", '{"model_type": "qwen"}'),
        ("tokenizer.json", "[]"),
        ("chat_template.jinja", "{{ messages }}"),
        ("generation_config.json", "{}"),
    ],
)
def test_the_fingerprint_tells_what_the_policy_is(tmp_path: Path, name: str, content: str) -> None:
    folder = policy(tmp_path / "a")
    before = fingerprint(folder)
    (folder / name).write_text(content)
    assert fingerprint(folder) != before


def test_the_fingerprint_tells_weights_apart(tmp_path: Path) -> None:
    assert fingerprint(policy(tmp_path / "a", seed=0)) != fingerprint(policy(tmp_path / "b", seed=1))


def test_large_weights_are_sampled_throughout(tmp_path: Path) -> None:
    weights = np.zeros(20 * 2**20, np.float32)
    prints = set()
    for scale in (0, 1, 2):
        folder = policy(tmp_path / str(scale))
        weights += scale * np.float32(1e-3)
        save_file({"w": weights}, folder / "model.safetensors")
        prints.add(fingerprint(folder))
    assert len(prints) == 3
    weights[-1] = 7  # the last block reaches the end of the file
    save_file({"w": weights}, folder / "model.safetensors")
    assert fingerprint(folder) not in prints
