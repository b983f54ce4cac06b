"""Sets leave in the trainers' schemas: original columns untouched, plain types, one schema."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curriculum.errors import UsageError
from curriculum.pool.layouts import LAYOUTS, ReadOptions
from curriculum.pool.read import Pool, read_pool
from curriculum.pool.write import EXTRA, check, export

BOXED = ReadOptions(default_verifier="boxed")

VERL = [
    {
        "data_source": "sums",
        "prompt": [{"content": f"{i}+1=", "role": "user"}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": str(i + 1)},
        "extra_info": {"index": i, "tools_kwargs": {"lookup": {"n": i}}},
        "weight": "theirs",
    }
    for i in range(4)
]
ROWS: dict[str, list[dict]] = {
    "verl": VERL,
    "trl": [{"prompt": f"{i}+1=", "solution": str(i + 1), "note": i} for i in range(4)],
    "openrlhf": [{"input": f"{i}+1=", "label": str(i + 1), "note": i} for i in range(4)],
    "skyrl": [
        {
            "prompt": [{"content": f"{i}+1=", "role": "user"}],
            "env_class": "gsm8k",
            "reward_spec": {"method": "rule", "ground_truth": str(i + 1)},
            "note": i,
        }
        for i in range(4)
    ],
    "slime": [
        {"prompt": f"{i}+1=", "label": str(i + 1), "metadata": {"rm": "math"}, "note": i} for i in range(4)
    ],
    "nemo_rl": [{"input": f"{i}+1=", "output": str(i + 1), "note": i} for i in range(4)],
    "native": [
        {
            "prompt": f"{i}+1=",
            "verifier": "boxed",
            "reference": {"answer": str(i + 1)},
            "note": i,
            "domain": "sums",
        }
        for i in range(4)
    ],
}


def read(folder: Path, rows: list[dict], options: ReadOptions = BOXED) -> Pool:
    path = folder / "pool.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_pool([str(path)], options)


def choose(pool: Pool, rows: list[int]) -> pl.DataFrame:
    """Rows of the pool in this order, with made-up measures."""
    return pool.frame[rows].select(
        "row",
        "prompt_id",
        "domain",
        weight=pl.col("row") + 0.5,
        pass_rate=pl.lit(0.25),
        p_mixed=pl.lit(None, pl.Float64),
        max_tokens=pl.lit(64, pl.Int32),
    )


def test_the_pools_own_layout_stays_untouched_but_for_the_extra_columns(tmp_path: Path) -> None:
    pool = read(tmp_path, VERL)
    table = export(pool, choose(pool, [2, 0]), "same")
    assert table.column_names == [
        "data_source",
        "prompt",
        "ability",
        "reward_model",
        "extra_info",
        *EXTRA.names,
    ]
    assert table.select(range(5)).to_pylist() == [
        {k: v for k, v in VERL[i].items() if k != "weight"} for i in (2, 0)
    ]
    assert table["weight"].to_pylist() == [2.5, 0.5]
    assert table["prompt_id"].to_pylist() == pool.frame["prompt_id"].gather([2, 0]).to_list()
    assert table.schema.field("max_tokens").type == pa.int32()
    assert export(pool, choose(pool, [2, 0]), "verl").equals(table)


def test_sets_of_any_size_keep_the_order_of_the_choice(tmp_path: Path) -> None:
    pool = read(tmp_path, VERL)
    rows = [2, 0, 3] * 7_000
    table = export(pool, choose(pool, rows), "trl")
    assert table["weight"].to_pylist() == [row + 0.5 for row in rows]
    assert table["solution"].to_pylist() == [str(row + 1) for row in rows]


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_any_layout_reads_back_as_the_same_prompts(tmp_path: Path, source: str, target: str) -> None:
    pool = read(tmp_path, ROWS[source])
    assert pool.layout == source
    table = export(pool, choose(pool, [3, 1]), target)
    pq.write_table(table, tmp_path / "set.parquet")
    again = read_pool([str(tmp_path / "set.parquet")], BOXED)
    assert again.layout == target
    assert again.frame["prompt_id"].to_list() == table["prompt_id"].to_pylist()
    assert ("note" in table.column_names) == (source != "verl")


def test_verl_gets_what_its_reader_asks_for(tmp_path: Path) -> None:
    pool = read(tmp_path, ROWS["native"])
    (row,) = export(pool, choose(pool, [2]), "verl").select(range(5)).to_pylist()
    assert row == {
        "data_source": "sums",
        "prompt": [{"role": "user", "content": "2+1="}],
        "ability": "sums",
        "reward_model": {"style": "rule", "ground_truth": "3"},
        "extra_info": {"split": "train", "index": 2},
    }


def test_skyrl_and_slime_get_what_their_readers_ask_for(tmp_path: Path) -> None:
    pool = read(tmp_path, ROWS["native"])
    (row,) = export(pool, choose(pool, [2]), "skyrl").select(range(4)).to_pylist()
    assert row == {
        "data_source": "sums",
        "prompt": [{"role": "user", "content": "2+1="}],
        "reward_spec": {"method": "rule", "ground_truth": "3"},
        "extra_info": {"split": "train", "index": 2},
    }
    (row,) = export(pool, choose(pool, [2]), "slime").select(range(3)).to_pylist()
    assert row == {
        "prompt": [{"role": "user", "content": "2+1="}],
        "label": "3",
        "metadata": {"prompt_id": pool.frame["prompt_id"][2], "domain": "sums"},
    }


def test_nemo_rl_gets_the_text_of_the_only_message(tmp_path: Path) -> None:
    pool = read(tmp_path, ROWS["verl"])
    check(pool, "nemo_rl")
    (row,) = export(pool, choose(pool, [2]), "nemo_rl").select(["input", "output", "domain"]).to_pylist()
    assert row == {"input": "2+1=", "output": "3", "domain": "sums"}


def test_prompts_that_nemo_rl_has_no_place_for_are_refused_before_scoring(tmp_path: Path) -> None:
    system = [{"role": "system", "content": "Add."}, {"role": "user", "content": "1+1="}]
    pool = read(tmp_path, [*ROWS["trl"], {"prompt": system, "solution": "2", "note": 0}])
    check(pool, "slime")
    with pytest.raises(UsageError, match="1 prompts are not a single message") as error:
        check(pool, "nemo_rl")
    assert "row 4" in error.value.where


def test_verls_own_extra_info_is_carried_to_other_layouts(tmp_path: Path) -> None:
    pool = read(tmp_path, VERL)
    (row,) = export(pool, choose(pool, [1]), "trl").to_pylist()
    assert (row["solution"], row["extra_info"], row["ability"]) == ("2", VERL[1]["extra_info"], "math")
    assert "reward_model" not in row


def test_references_that_are_no_single_answer_leave_as_json(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "verifier": "unit_tests", "reference": {"tests": [1], "entry_point": "f"}}]
    pool = read(tmp_path, rows)
    (row,) = export(pool, choose(pool, [0]), "trl").to_pylist()
    assert row["solution"] == pool.frame["reference"][0] == '{"entry_point":"f","tests":[1]}'


def test_columns_under_other_names_move_where_the_trainer_looks(tmp_path: Path) -> None:
    rows = [{"problem": "1+1=", "gold": "2", "level": 3}]
    pool = read(
        tmp_path, rows, ReadOptions(default_verifier="boxed", prompt_key="problem", reference_key="gold")
    )
    assert export(pool, choose(pool, [0]), "same").column_names[:3] == ["problem", "gold", "level"]
    assert export(pool, choose(pool, [0]), "trl").column_names[:3] == ["prompt", "solution", "level"]


def test_a_reference_taken_from_a_struct_leaves_the_struct_alone(tmp_path: Path) -> None:
    rows = [{**VERL[0], "extra_info": {"answer": "7"}}]
    pool = read(tmp_path, rows, ReadOptions(default_verifier="boxed", reference_key="extra_info.answer"))
    (row,) = export(pool, choose(pool, [0]), "verl").to_pylist()
    assert row["reward_model"]["ground_truth"] == "7"
    assert row["extra_info"] == {"answer": "7"}


@pytest.mark.parametrize("layout", ["same", *LAYOUTS])
def test_types_are_plain_and_the_schema_does_not_depend_on_the_rows(tmp_path: Path, layout: str) -> None:
    frame = pl.DataFrame(VERL).with_columns(pl.col("ability").cast(pl.Categorical))
    frame.write_parquet(tmp_path / "pool.parquet")
    pool = read_pool([str(tmp_path / "pool.parquet")], BOXED)
    assert "large" in str(pool.source.schema)
    tables = [export(pool, choose(pool, rows), layout) for rows in ([], [1], [0, 1, 2, 3])]
    assert all(table.schema.equals(tables[0].schema, check_metadata=True) for table in tables)
    assert not any(kind in str(tables[0].schema) for kind in ("large", "view", "dictionary"))


def test_datasets_reads_a_set_and_joins_it_with_other_files(tmp_path: Path) -> None:
    import datasets

    pl.DataFrame(VERL).write_parquet(tmp_path / "pool.parquet")
    pool = read_pool([str(tmp_path / "pool.parquet")], BOXED)
    pq.write_table(export(pool, choose(pool, [0, 1]), "same"), tmp_path / "set.parquet")
    mine = datasets.load_dataset(
        "parquet", data_files=str(tmp_path / "set.parquet"), split="train", cache_dir=str(tmp_path)
    )
    theirs = datasets.Dataset.from_list(VERL).remove_columns("weight")
    assert datasets.concatenate_datasets([mine, theirs]).num_rows == 6
    assert mine[1]["extra_info"]["tools_kwargs"] == {"lookup": {"n": 1}}


def test_the_features_of_a_dataset_survive(tmp_path: Path) -> None:
    import datasets

    features = datasets.Features(
        prompt=datasets.Value("string"),
        answer=datasets.Value("string"),
        kind=datasets.ClassLabel(names=["a", "b"]),
    )
    rows = datasets.Dataset.from_list([{"prompt": "p", "answer": "1", "kind": 1}], features=features)
    rows.to_parquet(tmp_path / "pool.parquet")
    pool = read_pool([str(tmp_path / "pool.parquet")], BOXED)
    pq.write_table(export(pool, choose(pool, [0]), "same"), tmp_path / "set.parquet")
    mine = datasets.load_dataset(
        "parquet", data_files=str(tmp_path / "set.parquet"), split="train", cache_dir=str(tmp_path)
    )
    assert mine.features["kind"] == features["kind"]
    assert mine.features["weight"] == datasets.Value("float64")
