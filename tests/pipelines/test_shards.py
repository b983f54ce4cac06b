from __future__ import annotations

import dataclasses

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.arrow import plain_schema, to_arrow
from pipelines.schemas import Decision, SchemaError
from pipelines.shards import check_shards, write_parts, write_shards

CHAT = pl.List(pl.Struct({"role": pl.String, "content": pl.String}))
SET = pl.Schema({"prompt": CHAT, "decision": Decision, "weight": pl.Float64, "max_tokens": pl.Int32})


def frame_of(rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "prompt": [[{"role": "user", "content": f"¿cuánto es {i}?"}] for i in range(rows)],
            "decision": ["keep_mixed"] * rows,
            "weight": [1.0] * rows,
            "max_tokens": [None if i % 3 else i for i in range(rows)],
        },
        schema=SET,
    )


def test_what_was_written_is_read_back_by_polars(tmp_path) -> None:
    frame = frame_of(5000)
    shards = write_shards(to_arrow(frame, SET), tmp_path, max_rows=2048)
    assert [shard.name for shard in shards] == [f"shard-0000{i}-of-00003.parquet" for i in range(3)]
    assert [(shard.rows, shard.row_groups) for shard in shards] == [(1024, 1), (2048, 2), (1928, 2)]
    back = pl.scan_parquet([tmp_path / shard.name for shard in shards]).collect()
    assert back.equals(frame.cast({"decision": pl.String}))
    assert sorted(path.name for path in tmp_path.iterdir()) == [shard.name for shard in shards]


def test_datasets_concatenates_them_with_its_own_files(tmp_path) -> None:
    import datasets

    frame = frame_of(10)
    write_shards(to_arrow(frame, SET), tmp_path / "set", max_rows=4)
    datasets.Dataset.from_list(frame_of(3).to_dicts()).cast_column(
        "max_tokens", datasets.Value("int32")
    ).to_parquet(tmp_path / "theirs.parquet")

    def load(files: str):
        return datasets.load_dataset(
            "parquet", data_files=files, split="train", cache_dir=str(tmp_path / "cache")
        )

    ours, theirs = load(f"{tmp_path}/set/*.parquet"), load(f"{tmp_path}/theirs.parquet")
    both = datasets.concatenate_datasets([theirs, ours])
    assert both.num_rows == 13
    assert both[12]["prompt"] == frame["prompt"].to_list()[9]
    assert ours.features == theirs.features


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 11, 137])
@pytest.mark.parametrize(("max_rows", "group"), [(10, 1024), (10, 4), (64, 64), (100_000, 7)])
def test_every_row_once_and_no_shard_too_large(rows, max_rows, group, tmp_path) -> None:
    table = pa.table({"x": pa.array(range(rows), pa.int64())})
    shards = write_shards(table, tmp_path, max_rows=max_rows, row_group_rows=group)
    assert max(shard.rows for shard in shards) <= max_rows
    assert sum(shard.rows for shard in shards) == rows
    assert len({shard.rows for shard in shards[:-1]}) <= 2, "shards are about as large as each other"
    assert pa.concat_tables(pq.read_table(tmp_path / shard.name) for shard in shards).equals(table)


def test_wide_rows_make_more_shards(tmp_path) -> None:
    table = pa.table({"text": ["x" * 1000] * 100})
    assert len(write_shards(table, tmp_path, max_bytes=20_000)) in (5, 6)


def test_equal_tables_give_equal_bytes(tmp_path) -> None:
    # Wide rows, so that a row group has several pages, whose ends would follow the chunks.
    frame = frame_of(1500).with_columns(text=pl.int_range(1500).cast(pl.String).str.pad_start(4000, "x"))
    whole, pieces = to_arrow(frame), pa.concat_tables([to_arrow(frame[:700]), to_arrow(frame[700:])])
    assert write_shards(whole, tmp_path / "a") == write_shards(pieces, tmp_path / "b")


def test_row_groups_carry_a_page_index_and_zstd(tmp_path) -> None:
    (shard,) = write_shards(to_arrow(frame_of(2000)), tmp_path)
    column = pq.read_metadata(tmp_path / shard.name).row_group(1).column(2)
    assert column.compression == "ZSTD"
    assert column.has_offset_index


def test_an_earlier_half_written_file_is_replaced(tmp_path) -> None:
    (shard,) = write_shards(to_arrow(frame_of(5)), tmp_path)
    (tmp_path / shard.name).write_bytes(b"half")
    (tmp_path / f".{shard.name}.part").write_bytes(b"half")
    assert write_shards(to_arrow(frame_of(5)), tmp_path) == [shard]
    assert check_shards(tmp_path, [shard]) == []


def test_each_fault_of_a_set_is_named(tmp_path) -> None:
    first, second, third = write_shards(to_arrow(frame_of(30)), tmp_path, max_rows=10)
    (tmp_path / first.name).unlink()
    (tmp_path / second.name).write_bytes(b"PAR1 something else")
    faults = check_shards(tmp_path, [first, second, dataclasses.replace(third, rows=11)])
    assert faults[0] == f"{first.name} is missing"
    assert faults[1].startswith(f"{second.name} has sha256 ")
    assert faults[2] == f"{third.name} has 10 rows, the manifest says 11"
    assert len(faults) == 3


def test_the_folder_that_cannot_be_written_is_an_error(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        write_shards(to_arrow(frame_of(1)), tmp_path / "file")


# --------------------------------------------------------------------------------------------------
# plain types

PLAIN = [
    (pa.large_string(), pa.string()),
    (pa.string_view(), pa.string()),
    (pa.large_binary(), pa.binary()),
    (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
    (pa.large_list(pa.large_string()), pa.list_(pa.string())),
    (pa.large_list(pa.struct({"a": pa.large_string()})), pa.list_(pa.struct({"a": pa.string()}))),
    (pa.list_(pa.large_string(), 2), pa.list_(pa.string(), 2)),
    (pa.map_(pa.large_string(), pa.large_string()), pa.map_(pa.string(), pa.string())),
    (pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC")),
    (pa.decimal128(5, 2), pa.decimal128(5, 2)),
    (pa.null(), pa.null()),
]


@pytest.mark.parametrize(("dtype", "plain"), PLAIN)
def test_types_become_plain_all_the_way_down(dtype, plain) -> None:
    schema = pa.schema([pa.field("x", dtype, metadata={"k": "v"})], metadata={"pandas": "{}"})
    assert plain_schema(schema).equals(pa.schema({"x": plain}), check_metadata=True)
    assert schema.empty_table().cast(plain_schema(schema)).num_rows == 0


def test_what_may_not_be_null_stays_so() -> None:
    inner = pa.struct([pa.field("a", pa.large_string(), nullable=False)])
    plain = plain_schema(pa.schema([pa.field("x", inner, nullable=False)])).field("x")
    assert not plain.nullable
    assert not plain.type.field("a").nullable


def test_a_type_without_a_plain_form_is_named_with_its_place() -> None:
    union = pa.dense_union([pa.field("a", pa.int8())])
    with pytest.raises(SchemaError, match=r"column 'x\[\]\.u'"):
        plain_schema(pa.schema({"x": pa.list_(pa.struct({"u": union}))}))


def test_to_arrow_takes_exactly_the_declared_columns() -> None:
    frame = frame_of(3).with_columns(extra=pl.lit(1))
    assert to_arrow(frame, SET).column_names == SET.names()
    with pytest.raises(SchemaError, match="missing: weight"):
        to_arrow(frame.drop("weight"), SET)


@pytest.mark.parametrize("rows", [0, 3, 17_000])
def test_to_arrow_keeps_every_value(rows) -> None:
    frame = frame_of(rows)
    assert pl.from_arrow(to_arrow(frame)).equals(frame.cast({"decision": pl.String}))


def test_parts_are_written_one_by_one_in_order(tmp_path) -> None:
    tables = (pa.table({"n": pa.array([number], pa.int64())}) for number in range(3))
    parts = write_parts(tables, tmp_path / "rollouts")
    assert [part.name for part in parts] == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert check_shards(tmp_path / "rollouts", parts) == []
    assert pl.read_parquet(tmp_path / "rollouts/*.parquet")["n"].to_list() == [0, 1, 2]
