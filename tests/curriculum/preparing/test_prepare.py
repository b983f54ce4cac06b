"""A raw pool from its file to the published set: every row has its fate, and every fate its reason."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from curriculum import cli
from curriculum.errors import NothingError, UsageError
from curriculum.manifest import latest_refresh, read_manifest
from curriculum.plan import read_options
from curriculum.pool.read import read_pool
from curriculum.prepare import score_prepared
from curriculum.scoring.progress import SilentView

UNCHECKED = {"prepare__check_references": False}
POLICY = Path(__file__).resolve().parents[3] / "data_samples/tiny_policy/step_0"


def test_every_row_gets_its_fate_and_every_fate_its_reason(
    raw, evaluation, fates, config, prepared, table
) -> None:
    done = prepared(config(raw, prepare__evaluations=[str(evaluation)]))
    assert table(done, "decisions")["decision"].cast(pl.String).to_list() == fates
    reasons = dict(table(done, "decisions").select("row", "reason").iter_rows())
    assert [reasons[row] for row in range(15, 21)] == [
        "the same prompt as row 3",
        "the same text as row 4, which has another reference",
        "says the same as row 5, similarity 0.85",
        f"equals row 1 of {evaluation}, coverage 1.0",
        "the answer 'proof' stands for none",
        "the answer '3 mod <<' does not parse",
    ]
    assert reasons[0] == "clean; the reference accepts its answer"


def test_decisions_and_sets_add_up_to_the_pool(raw, config, prepared, table) -> None:
    done = prepared(config(raw, prepare__sentinel=5, **UNCHECKED))
    decisions = table(done, "decisions")
    assert decisions["row"].to_list() == list(range(36))
    assert sum(row["prompts"] for row in done.decisions) == done.pool_rows == 36
    train, sentinel = table(done, "train")["prompt_id"], table(done, "sentinel")["prompt_id"]
    assert (train.len(), sentinel.len()) == (done.set_rows, done.sentinel_rows) == (28, 5)
    assert not set(train) & set(sentinel)
    kept = decisions.filter(pl.col("decision") == "keep_unscored")["prompt_id"]
    assert sorted(train) == sorted(kept)


def test_the_published_set_is_read_back_as_the_same_prompts(raw, config, prepared, table) -> None:
    settings = config(raw, **UNCHECKED)
    done = prepared(settings)
    shards = [str(path) for path in done.path.glob("train/*.parquet")]
    read = read_pool(shards, read_options(settings.pool)).frame
    assert read["prompt_id"].to_list() == table(done, "train")["prompt_id"].to_list()


def test_the_row_with_the_best_reference_stays(jsonl, question, config, prepared, table) -> None:
    rows = [{"prompt": question(0), "answer": "unknown"}, {"prompt": question(0) + "!", "answer": "12"}]
    decisions = table(prepared(config(jsonl("two.jsonl", rows))), "decisions")
    assert decisions["decision"].to_list() == ["drop_duplicate", "keep_unscored"]


def test_of_two_answers_that_exclude_each_other_neither_stays(
    jsonl, question, config, prepared, table
) -> None:
    """But two ways of writing one answer do not."""
    answers = ["1/2", "0.5", "12", "13", "7", "7.0"]
    rows = [
        {"prompt": question(i // 2) + "?" * (i % 2), "answer": answer} for i, answer in enumerate(answers)
    ]
    decisions = table(prepared(config(jsonl("twice.jsonl", rows))), "decisions")
    kept = ["keep_unscored", "drop_duplicate"]
    assert decisions["decision"].to_list() == [*kept, "suspect_reference", "drop_duplicate", *kept]
    assert decisions["reason"][2] == "row 3 has the same text and another answer, 13"


def test_what_stands_in_another_pool_is_left_out(raw, jsonl, question, config, prepared, table) -> None:
    other = jsonl("other.jsonl", [{"problem": "nothing alike"}, {"problem": question(7).upper()}])
    done = prepared(config(raw, prepare__against=[str(other)], **UNCHECKED))
    [found] = table(done, "duplicates").filter(pl.col("kind") == "in another pool").to_dicts()
    assert (found["row"], found["pool"], found["duplicate_of_row"]) == (7, str(other), 2)
    assert table(done, "decisions")["decision"][7] == "drop_duplicate"


def test_the_sentinel_set_shares_no_near_duplicate_with_the_rest(jsonl, question, config, prepared, table):
    """Pairs that are alike, though not enough to be dropped: held out together or kept together."""
    rows = [
        {"prompt": f"{question(i)} {more}", "answer": "1"}
        for i in range(20)
        for more in ("", "Round down the number you find, and explain each step of the way.")
    ]
    held = {"prepare__sentinel": 20, "prepare__sentinel_apart": 0.3}
    done = prepared(config(jsonl("pairs.jsonl", rows), **held, **UNCHECKED))
    pair = pl.col("row") // 2
    fates = table(done, "decisions").group_by(pair).agg(pl.col("decision").n_unique())
    assert done.sentinel_rows > 0
    assert fates["decision"].to_list() == [1] * 20


def test_prompts_that_are_too_long_are_left_out(raw, config, prepared, table) -> None:
    measured = prepared(
        config(raw, prepare__tokenizer=POLICY, prepare__max_prompt_tokens=10_000, **UNCHECKED)
    )
    median = measured.prompt_tokens["median"]
    done = prepared(config(raw, prepare__tokenizer=POLICY, prepare__max_prompt_tokens=median, **UNCHECKED))
    overlong = table(done, "decisions").filter(pl.col("decision") == "drop_overlong_prompt")
    assert 0 < overlong.height < 30
    assert overlong["reason"].str.contains(rf"tokens, {median} are allowed$").all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"prepare__max_prompt_tokens": 100}, "without a tokenizer"),
        ({"prepare__tokenizer": POLICY}, "no limit"),
        ({"prepare__solution_key": "worked"}, "no column 'worked'"),
        ({"pool__default_verifier": "box"}, "no verifier is called 'box'"),
        ({"prepare__evaluations": ["nowhere.jsonl"]}, "no such file"),
        ({"prepare__evaluation_key": "title", "prepare__evaluations": ["raw.jsonl"]}, "no prompt to compare"),
    ],
)
def test_a_fault_of_the_settings_is_said_before_anything_is_published(
    raw, config, prepared, monkeypatch, settings, said
) -> None:
    monkeypatch.chdir(raw.parent)
    with pytest.raises(UsageError, match=said):
        prepared(config(raw, **settings))
    assert latest_refresh(raw.parent / "out") is None


def test_nothing_clean_leaves_what_was_published(raw, jsonl, config, prepared) -> None:
    before = prepared(config(raw, **UNCHECKED))
    bad = jsonl("bad.jsonl", [{"prompt": "p", "answer": "proof"}, {"prompt": "q", "answer": "proof"}])
    with pytest.raises(NothingError, match="stands for none") as raised:
        prepared(config(bad))
    assert raised.value.where == "2 suspect_reference"
    assert str(latest_refresh(raw.parent / "out")) == str(before.path)


def test_a_dry_run_counts_and_writes_nothing(raw, config, prepared) -> None:
    dry = prepared(config(raw), dry_run=True)
    assert dry.path is None
    assert not (raw.parent / "out").exists()
    wet = prepared(config(raw))
    assert {**dry.to_json(), "path": str(wet.path)} == wet.to_json()


def test_the_same_command_again_publishes_the_same(raw, config, prepared) -> None:
    first = prepared(config(raw, prepare__sentinel=4))
    manifest = (first.path / "manifest.json").read_bytes()
    assert prepared(config(raw, prepare__sentinel=4)) == first
    assert (first.path / "manifest.json").read_bytes() == manifest
    anew = prepared(config(raw, prepare__sentinel=4), restart=True)
    assert anew == first


def test_a_changed_setting_is_another_set_and_repeats_only_what_depends_on_it(raw, config, prepared) -> None:
    work = raw.parent / "out/work"
    first = prepared(config(raw))
    references = {path.name: path.stat().st_mtime_ns for path in work.glob("references-*/*")}
    second = prepared(config(raw, prepare__near_duplicates=0.95))
    assert second.prepare_id != first.prepare_id
    assert first.path.is_dir()
    assert {path.name: path.stat().st_mtime_ns for path in work.glob("references-*/*")} == references
    assert len(list(work.glob("same_texts-*"))) == 1


def test_the_command_prints_a_summary_or_json(raw, tmp_path) -> None:
    arguments = [
        "prepare",
        str(raw),
        "--verifier",
        "boxed",
        "--out",
        str(tmp_path / "out"),
        "--sentinel",
        "2",
    ]
    shown = CliRunner().invoke(cli.main, arguments)
    assert shown.exit_code == 0, shown.output
    assert "keep_unscored" in shown.stdout
    assert "2 held out as sentinel" in shown.stdout
    printed = CliRunner().invoke(cli.main, [*arguments, "--json"])
    told = json.loads(printed.stdout)
    assert (told["pool_rows"], told["sentinel_rows"]) == (36, 2)
    assert read_manifest(Path(told["path"])).counts["hold_sentinel"] == 2


def test_the_clean_prompts_are_scored_from_the_published_set(recorded, tmp_path, prepared, table) -> None:
    settings = recorded.config(tmp_path / "out", prepare__sentinel=6, **UNCHECKED)
    done = prepared(settings)
    scored = score_prepared(settings, done, recorded.sources, SilentView())
    assert (done.set_rows, done.sentinel_rows, scored.pool_rows) == (54, 6, 54)
    assert latest_refresh(tmp_path / "out") == scored.path
    sampled = pl.read_parquet(scored.path / "groups.parquet")["prompt_id"]
    assert sorted(sampled) == sorted(table(done, "train")["prompt_id"])


def test_one_order_runs_through_all_shards(raw, config, prepared, table) -> None:
    one = prepared(config(raw, **UNCHECKED))
    many = prepared(config(raw, output__shard_rows=7, **UNCHECKED))
    shards = sorted(path.name for path in many.path.glob("train/*"))
    assert shards == [f"shard-{number:05d}-of-00005.parquet" for number in range(5)]
    assert table(many, "train").equals(table(one, "train"))
    assert table(one, "train")["prompt_id"].to_list() != sorted(table(one, "train")["prompt_id"])
    other = prepared(config(raw, prepare__seed=1, **UNCHECKED))
    assert table(other, "train")["prompt_id"].to_list() != table(one, "train")["prompt_id"].to_list()
