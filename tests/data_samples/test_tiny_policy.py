"""The tiny policy's folder: checkpoints that load, pools that readers accept, references that can be met."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors import safe_open
from tokenizers import Tokenizer

from data_samples.tiny_policy.make.pools import POOL, held_out, pool
from data_samples.tiny_policy.make.tasks import VERIFIERS, Task
from data_samples.tiny_policy.make.write_pools import ground_truth
from verifiers import registry

FOLDER = Path(__file__).resolve().parents[2] / "data_samples" / "tiny_policy"
CHECKPOINTS = ("step_0", "step_1000", "step_2000")
PARQUET = ("pool", "heldout", "pool_trl")
VLLM_CPU_HEAD_SIZES = {32, 64, 80, 96, 112, 128, 160, 192, 224, 256}
EXAMPLES_PER_LEVEL = 1


def read_json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def rows(name: str) -> list[dict[str, Any]]:
    return pq.read_table(FOLDER / f"{name}.parquet").to_pylist()


def examples() -> list[Task]:
    """A few tasks of every level of the pool."""
    taken: Counter[str] = Counter()
    found = []
    for task in pool():
        if taken[task.level] < EXAMPLES_PER_LEVEL:
            taken[task.level] += 1
            found.append(task)
    return found


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
def test_weights_fit_the_config(checkpoint: str) -> None:
    config = read_json(FOLDER / checkpoint / "config.json")
    with safe_open(FOLDER / checkpoint / "model.safetensors", "numpy") as weights:
        shapes = {name: weights.get_slice(name).get_shape() for name in weights.keys()}  # noqa: SIM118
        dtypes = {weights.get_slice(name).get_dtype() for name in shapes}
    assert dtypes == {"BF16"}
    assert shapes["model.embed_tokens.weight"] == [config["vocab_size"], config["hidden_size"]]
    assert config["head_dim"] * config["num_attention_heads"] == config["hidden_size"]
    assert config["head_dim"] in VLLM_CPU_HEAD_SIZES
    assert len([name for name in shapes if name.endswith("q_proj.weight")]) == config["num_hidden_layers"]


def test_checkpoints_differ() -> None:
    assert len({(FOLDER / name / "model.safetensors").read_bytes() for name in CHECKPOINTS}) == len(
        CHECKPOINTS
    )


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
def test_tokenizer_covers_printable_ascii_a_token_a_character(checkpoint: str) -> None:
    tokenizer = Tokenizer.from_file(str(FOLDER / checkpoint / "tokenizer.json"))
    text = "\n\t" + "".join(map(chr, range(32, 127)))
    ids = tokenizer.encode(text).ids
    assert len(ids) == len(text)
    assert tokenizer.token_to_id("<unk>") not in ids
    assert tokenizer.decode(ids) == text


def test_ids_of_special_tokens_agree_with_the_configs() -> None:
    folder = FOLDER / "step_0"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    names = read_json(folder / "tokenizer_config.json")
    for file in ("config.json", "generation_config.json"):
        for key in ("bos", "eos", "pad"):
            token = tokenizer.token_to_id(names[f"{key}_token"])
            assert read_json(folder / file)[f"{key}_token_id"] == token


@pytest.mark.parametrize("name", PARQUET)
def test_no_large_arrow_types(name: str) -> None:
    assert "large_" not in str(pq.read_schema(FOLDER / f"{name}.parquet").remove_metadata())


def test_pool_is_in_verl_schema() -> None:
    schema = pq.read_schema(FOLDER / "pool.parquet")
    assert schema.names == ["data_source", "prompt", "ability", "reward_model", "extra_info"]
    assert schema.field("prompt").type.value_type == pa.struct(
        [("role", pa.string()), ("content", pa.string())]
    )
    assert len(rows("pool")) >= 3000
    assert {row["reward_model"]["style"] for row in rows("pool")} == {"rule"}


def test_no_prompt_is_repeated_or_shared_with_the_held_out_ones() -> None:
    prompts = [row["prompt"][0]["content"] for name in ("pool", "heldout") for row in rows(name)]
    assert [prompt for prompt, count in Counter(prompts).items() if count > 1] == []


def test_trl_pool_has_chat_prompts_with_solutions() -> None:
    for row in rows("pool_trl"):
        assert row.keys() == {"prompt", "solution", "data_source"}
        assert row["prompt"][0]["role"] == "user"
        assert row["solution"]


@pytest.mark.parametrize(("name", "compose"), [("pool", pool), ("heldout", held_out)])
def test_files_hold_what_the_generators_compose(name: str, compose: Any) -> None:
    written = [(r["prompt"][0]["content"], r["reward_model"]["ground_truth"]) for r in rows(name)]
    assert written == [(task.prompt, ground_truth(task)) for task in compose()]


def test_every_level_is_in_the_pool() -> None:
    assert {row["extra_info"]["level"] for row in rows("pool")} == {
        x for levels in POOL.values() for x in levels
    }


@pytest.mark.parametrize("task", examples(), ids=lambda task: f"{task.level}:{task.prompt}")
def test_verifier_accepts_gold_and_refuses_habits(task: Task) -> None:
    verifier = registry.get(VERIFIERS[task.family])
    assert verifier.verify(task.gold, task.reference).outcome == "correct"
    habits = [response for response in task.flawed if not response.startswith("```")]
    assert habits
    for response in habits:
        assert verifier.verify(response, task.reference).outcome in {"no_answer", "malformed", "wrong"}


def test_measured_shares_leave_something_to_learn_at_every_checkpoint() -> None:
    measured = read_json(FOLDER / "measured.json")
    for checkpoint in CHECKPOINTS:
        shares = measured[checkpoint]
        assert shares["solved"] >= 0.15
        assert shares["unsolved"] >= 0.15
        assert shares["mixed"] >= 0.30
    assert measured["changed_0_1000"] >= 0.20
    assert measured["changed_1000_2000"] >= 0.20
    assert measured["step_2000"]["held_out_accuracy"] >= measured["step_0"]["held_out_accuracy"] + 0.10


def test_folder_stays_small() -> None:
    size = sum(path.stat().st_size for path in FOLDER.parent.rglob("*") if path.is_file())
    assert size < 15e6
