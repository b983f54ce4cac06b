"""Pools are read from every kind of source, and know their verifiers, files and content."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from curriculum.errors import UsageError
from curriculum.pool.identity import prompt_id
from curriculum.pool.layouts import ReadOptions
from curriculum.pool.read import FRAME, read_pool

BOXED = ReadOptions(default_verifier="boxed")
SKIP = ReadOptions(default_verifier="boxed", skip_bad_rows=True)
SHARED = Path(__file__).resolve().parents[3] / "../shared/data"

TRL = [
    {"prompt": "1+1=", "answer": "2", "data_source": "sums"},
    {"prompt": [{"role": "user", "content": "2+2="}], "answer": "4", "data_source": "sums"},
    {"prompt": "1+1=", "answer": "2", "data_source": "sums"},
]


def verl_row(text: str, truth: str, *, index: int = 0, source: str = "sums") -> dict:
    return {
        "data_source": source,
        "prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": {"split": "train", "index": index},
    }


VERL = [verl_row(f"{i}+1=", str(i + 1), index=i) for i in range(5)]


def write_jsonl(path: Path, rows: list) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def write_parquet(path: Path, rows: list, schema: pa.Schema | None = None) -> str:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return str(path)


def write_bytes(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def test_the_frame_of_a_small_pool(tmp_path: Path) -> None:
    pool = read_pool([write_jsonl(tmp_path / "a.jsonl", TRL)], BOXED)
    assert pool.frame.schema == FRAME
    assert pool.frame["row"].to_list() == [0, 1, 2]
    assert pool.frame["prompt"].to_list() == [
        [{"role": "user", "content": "1+1="}],
        [{"role": "user", "content": "2+2="}],
        [{"role": "user", "content": "1+1="}],
    ]
    expected = prompt_id([("user", "1+1=")], "boxed", {"answer": "2"})
    assert pool.frame["prompt_id"].to_list() == [expected, pool.frame["prompt_id"][1], expected]
    assert pool.frame["reference"].to_list() == ['{"answer":"2"}', '{"answer":"4"}', '{"answer":"2"}']
    assert pool.frame["domain"].to_list() == ["sums"] * 3
    assert (pool.layout, pool.bad_rows) == ("trl", ())
    assert pool.distinct["row"].to_list() == [0, 1]


@pytest.mark.parametrize("kind", ["parquet", "large", "jsonl", "gz", "json", "csv", "saved", "dict", "named"])
def test_every_kind_of_source_reads_the_same_prompts(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "named":
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    expected = [
        prompt_id([("system", "Be brief."), ("user", f"{i}+1=")], "boxed", {"answer": str(i + 1)})
        for i in range(5)
    ]
    pool = read_pool([verl_as(tmp_path, kind)], BOXED)
    assert pool.layout == "verl"
    assert pool.frame["prompt_id"].to_list() == expected
    assert pool.source.num_rows == 5
    assert pool.source.column_names == list(VERL[0])
    assert [file.rows for file in pool.files] == [5]


def verl_as(folder: Path, kind: str) -> str:
    """The five rows of VERL, stored as `kind`."""
    if kind in {"saved", "dict", "named"}:
        return verl_as_dataset(folder, kind)
    path = folder / f"pool.{kind}"
    if kind == "parquet":
        return write_parquet(path, VERL)
    if kind == "large":
        path = folder / "pool.parquet"
        pl.DataFrame(VERL).write_parquet(path)
        return str(path)
    if kind == "jsonl":
        return write_jsonl(path, VERL)
    if kind == "gz":
        return write_bytes(folder / "pool.jsonl.gz", gzip.compress("\n".join(map(json.dumps, VERL)).encode()))
    if kind == "json":
        return write_bytes(path, json.dumps(VERL, indent=1).encode())
    cells = [{key: v if isinstance(v, str) else json.dumps(v) for key, v in row.items()} for row in VERL]
    pl.DataFrame(cells).write_csv(path)
    return str(path)


def verl_as_dataset(folder: Path, kind: str) -> str:
    import datasets

    rows = datasets.Dataset.from_list([*VERL[::-1], VERL[0]]).select([4, 3, 2, 1, 0])
    if kind == "saved":
        rows.save_to_disk(folder / "saved")
        return str(folder / "saved")
    if kind == "dict":
        datasets.DatasetDict(train=rows, test=rows.select([0])).save_to_disk(folder / "saved")
        return f"{folder / 'saved'}:train"
    for split, part in (("train", rows), ("test", rows.select([0]))):
        part.to_parquet(folder / "named" / f"{split}.parquet")
    return f"{folder / 'named'}[train]"


def test_a_dataset_of_several_splits_asks_for_one(tmp_path: Path) -> None:
    name = verl_as_dataset(tmp_path, "dict")
    with pytest.raises(UsageError, match="several splits") as error:
        read_pool([name.removesuffix(":train")], BOXED)
    assert f"{name} or " in error.value.do
    with pytest.raises(UsageError, match="no split 'dev'"):
        read_pool([name.replace(":train", ":dev")], BOXED)


def test_a_name_that_is_no_dataset_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no file or dataset can be read") as error:
        read_pool(["nobody/nothing:train"], BOXED)
    assert error.value.where == "nobody/nothing:train"


def test_parquet_rows_keep_their_schema_and_order(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            ("prompt", pa.string()),
            ("answer", pa.int8()),
            ("when", pa.timestamp("us")),
            ("x", pa.large_string()),
        ]
    )
    rows = [{"prompt": f"p{i}", "answer": i, "when": i, "x": "y"} for i in range(4)]
    rows[2]["prompt"] = None
    pool = read_pool([write_parquet(tmp_path / "a.parquet", rows, schema)], SKIP)
    assert pool.source.schema.equals(schema)
    assert pool.source["answer"].to_pylist() == [0, 1, 3]
    assert pool.frame["reference"].to_list() == ['{"answer":"0"}', '{"answer":"1"}', '{"answer":"3"}']
    assert pool.frame["row"].to_list() == [0, 1, 2]


def test_null_fields_of_arrow_structs_are_absent_and_nulls_of_json_are_kept(tmp_path: Path) -> None:
    rows = [
        {
            "prompt": "p",
            "verifier": "tool_calls",
            "reference": {"calls": [{"name": "f", "arguments": {"a": None}}]},
        },
        {"prompt": "q", "verifier": "boxed", "reference": {"answer": "1"}},
    ]
    kept = ['{"calls":[{"arguments":{"a":null},"name":"f"}]}', '{"answer":"1"}']
    assert (
        read_pool([write_jsonl(tmp_path / "a.jsonl", rows)], ReadOptions()).frame["reference"].to_list()
        == kept
    )
    arrow = (
        read_pool([write_parquet(tmp_path / "a.parquet", rows)], ReadOptions()).frame["reference"].to_list()
    )
    assert arrow == ['{"calls":[{"arguments":{},"name":"f"}]}', '{"answer":"1"}']


def test_values_of_mixed_kinds_share_a_text_column(tmp_path: Path) -> None:
    rows = [
        {"prompt": "p", "answer": "x", "extra": {}},
        {"prompt": "q", "answer": 2, "extra": {}, "late": 2**70},
    ]
    pool = read_pool([write_jsonl(tmp_path / "a.jsonl", rows)], BOXED)
    assert pool.source.to_pylist() == [
        {"prompt": "p", "answer": "x", "extra": "{}", "late": None},
        {"prompt": "q", "answer": "2", "extra": "{}", "late": str(2**70)},
    ]
    assert pool.frame["reference"].to_list() == ['{"answer":"x"}', '{"answer":"2"}']


def test_csv_cells_stay_text(tmp_path: Path) -> None:
    text = '\ufeffprompt,answer\r\n"two\nlines, one ""cell""",007\r\n\r\nq,1.50\r\n'
    pool = read_pool([write_bytes(tmp_path / "a.csv", text.encode())], BOXED)
    assert pool.frame["reference"].to_list() == ['{"answer":"007"}', '{"answer":"1.50"}']
    assert pool.source["prompt"].to_pylist() == ['two\nlines, one "cell"', "q"]


def test_files_of_different_kinds_and_storage_make_one_pool(tmp_path: Path) -> None:
    sources = [verl_as(tmp_path, kind) for kind in ("parquet", "jsonl", "json")]
    (tmp_path / "more").mkdir()
    sources.append(verl_as(tmp_path / "more", "large"))
    swapped = [{key: row[key] for key in reversed(row)} for row in VERL]
    sources.append(write_parquet(tmp_path / "swapped.parquet", swapped))
    pool = read_pool(sources, BOXED)
    assert pool.frame.height == pool.source.num_rows == 25
    assert pool.distinct.height == 5
    assert pool.source["extra_info"].to_pylist() == [row["extra_info"] for row in VERL] * 5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: {**row, "ability": 7}, "column 'ability' is int64, in .*a.parquet string"),
        (lambda row: {**row, "extra_info": {"index": 1}}, "column 'extra_info' is struct"),
        (lambda row: {k: v for k, v in row.items() if k != "ability"}, "b.parquet has no column 'ability'"),
        (lambda row: {**row, "more": 1}, "a.parquet has no column 'more'"),
    ],
)
def test_files_of_another_schema_are_named(tmp_path: Path, change, said: str) -> None:
    a = write_parquet(tmp_path / "a.parquet", VERL)
    b = write_parquet(tmp_path / "b.parquet", [change(row) for row in VERL])
    with pytest.raises(UsageError, match=said) as error:
        read_pool([a, b], BOXED)
    assert error.value.where == b


def test_a_column_that_is_null_in_one_file_agrees_with_another(tmp_path: Path) -> None:
    a = write_parquet(tmp_path / "a.parquet", [{"prompt": "p", "answer": "1", "note": None}])
    b = write_parquet(tmp_path / "b.parquet", [{"prompt": "q", "answer": "1", "note": "n"}])
    assert read_pool([a, b], BOXED).source["note"].to_pylist() == [None, "n"]


def test_the_files_are_accounted_for(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [*TRL, {"answer": "no prompt"}])
    (file,) = read_pool([path], SKIP).files
    data = Path(path).read_bytes()
    assert (file.path, file.rows, file.bytes) == (path, 4, len(data))
    assert file.sha256 == hashlib.sha256(data).hexdigest()


# ---- verifiers and domains ----


def test_a_row_is_judged_by_its_own_verifier_then_its_domains_then_the_default(tmp_path: Path) -> None:
    rows = [
        {"prompt": "a", "reference": "1", "verifier": "boxed", "domain": "x"},
        {"prompt": "b", "reference": "[1]", "verifier": None, "domain": "x"},
        {"prompt": "c", "reference": "1", "verifier": "", "domain": None},
    ]
    options = ReadOptions(verifiers={"x": "unit_tests"}, default_verifier="tool_calls", default_domain="rest")
    frame = read_pool([write_jsonl(tmp_path / "a.jsonl", rows)], options).frame
    assert frame["verifier"].to_list() == ["boxed", "unit_tests", "tool_calls"]
    assert frame["domain"].to_list() == ["x", "x", "rest"]
    assert frame["reference"].to_list() == ['{"answer":"1"}', '{"tests":[1]}', '{"answer":"1"}']


HEAD = 'from math import pi\n\ndef area(r):\n    """The area of a circle, r^2 \\pi."""\n'


@pytest.mark.parametrize(
    ("prompt", "code"),
    [
        (HEAD, {"prelude": HEAD, "setup": HEAD}),
        ("Write area(r).", {}),
        ("def area(r):", {}),
        ("def area(", {}),
    ],
)
def test_a_column_says_what_tests_call(tmp_path: Path, prompt: str, code: dict[str, str]) -> None:
    row = {"prompt": prompt, "test": "def check(candidate): ...", "entry_point": "area"}
    options = ReadOptions(reference_key="test", default_verifier="unit_tests")
    [reference] = read_pool([write_jsonl(tmp_path / "a.jsonl", [row])], options).frame["reference"]
    tests = [{"kind": "assert", "code": "def check(candidate): ..."}]
    assert json.loads(reference) == {"entry_point": "area", "tests": tests, **code}


def test_tools_stand_in_the_system_prompt_of_toolrl(tmp_path: Path) -> None:
    system = '1. Name: look up\nDescription: Finds it.\nParameters: {"word": {"type": "string"}}\n'
    truth = '<tool_call>\n{"name": "look up", "parameters": {"word": "x"}}\n</tool_call>'
    chat = [{"role": "system", "content": system}, {"role": "user", "content": "x?"}]
    rows = [
        {"prompt": chat, "answer": truth},
        {"prompt": [{"role": "user", "content": "y?"}], "answer": truth},
    ]
    options = ReadOptions(default_verifier="tool_calls")
    frame = read_pool([write_jsonl(tmp_path / "a.jsonl", rows)], options).frame
    with_tools, without = map(json.loads, frame["reference"])
    assert with_tools["tools"][0]["name"] == "look up"
    assert without["tools"] == []
    assert with_tools["calls"] == without["calls"] == truth


def test_an_answer_stands_behind_the_last_mark(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "answer": "#### 1\nno:\n#### 2 "}, {"prompt": "q", "answer": "3"}]
    options = ReadOptions(default_verifier="boxed", answer_after="####", skip_bad_rows=True)
    pool = read_pool([write_jsonl(tmp_path / "a.jsonl", rows)], options)
    assert pool.frame["reference"].to_list() == ['{"answer":"2"}']
    assert [str(row).partition(": ")[2] for row in pool.bad_rows] == ["the reference: no '####' stands in it"]


@pytest.mark.parametrize(
    ("options", "what", "do"),
    [
        (ReadOptions(), "no verifier is named for data source 'sums'", "[pool.verifiers]"),
        (
            ReadOptions(verifiers={"sum": "boxed"}),
            "no verifier is named for data source 'sums'",
            "it has 'sum'",
        ),
        (ReadOptions(default_verifier="boxd"), "no verifier is called 'boxd'", "did you mean 'boxed'"),
        (ReadOptions(default_verifier="no.such:Verifier"), "cannot load no.such:Verifier", "mend the path"),
    ],
)
def test_verifier_names_are_checked(tmp_path: Path, options: ReadOptions, what: str, do: str) -> None:
    with pytest.raises(UsageError, match=what) as error:
        read_pool([write_jsonl(tmp_path / "a.jsonl", TRL)], options)
    assert do in error.value.do


def test_the_domain_may_be_any_field(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", VERL)
    options = ReadOptions(default_verifier="boxed", domain_key="extra_info.index")
    assert read_pool([path], options).frame["domain"].to_list() == ["0", "1", "2", "3", "4"]


# ---- the hash of the whole ----


def test_the_content_hash_knows_content_only(tmp_path: Path) -> None:
    whole = read_pool([write_jsonl(tmp_path / "a.jsonl", VERL)], BOXED)
    parts = [write_parquet(tmp_path / "b.parquet", VERL[:1:-1]), write_jsonl(tmp_path / "c.jsonl", VERL[:3])]
    assert read_pool(parts, BOXED).content_hash == whole.content_hash
    assert read_pool(parts[:1], BOXED).content_hash != whole.content_hash
    moved = [verl_row("0+1=", "1", source="other"), *VERL[1:]]
    assert read_pool([write_jsonl(tmp_path / "d.jsonl", moved)], BOXED).content_hash != whole.content_hash


# ---- public data ----


@pytest.mark.skipif(not SHARED.is_dir(), reason="the public data is not beside the checkout")
@pytest.mark.parametrize(
    ("name", "options", "layout", "rows"),
    [
        ("deepscaler_10k_verl.parquet", BOXED, "verl", 10_240),
        ("math_recorded_pool_verl.parquet", BOXED, "verl", 60),
        ("toolrl_test_verl.parquet", ReadOptions(default_verifier="tool_calls"), "verl", 80),
        ("gsm8k_test.jsonl", ReadOptions(prompt_key="question", default_verifier="boxed"), "trl", 1_319),
        ("HumanEval.jsonl.gz", ReadOptions(reference_key="test", default_verifier="unit_tests"), "trl", 164),
    ],
)
def test_public_data_reads(name: str, options: ReadOptions, layout: str, rows: int) -> None:
    pool = read_pool([str(SHARED / name)], options)
    assert (pool.layout, pool.frame.height, pool.source.num_rows) == (layout, rows, rows)
    assert not pool.bad_rows


POLICY_POOL = Path(__file__).resolve().parents[3] / "data_samples/tiny_policy/pool.parquet"


@pytest.mark.skipif(not POLICY_POOL.is_file(), reason="the tiny policy has no pool yet")
def test_the_tiny_policys_pool_reads() -> None:
    pool = read_pool([str(POLICY_POOL)], ReadOptions(default_verifier="boxed"))
    assert pool.layout == "verl"
    assert pool.frame.height >= 3_000
