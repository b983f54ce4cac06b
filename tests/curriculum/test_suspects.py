"""Suspect references from end to end: found, written down, reviewed, and what comes of each verdict."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from curriculum.config import load_config
from curriculum.errors import UsageError
from curriculum.manifest import read_manifest
from curriculum.policy import Sources
from curriculum.refresh import refresh
from curriculum.reviews import read_reviews
from curriculum.scoring.progress import SilentView

# What is asked, the reference, the rollouts' answers.
HALF = ["1/2", "0.5", r"\frac{1}{2}", r"\frac12", "0.50", r"\dfrac{1}{2}", "1/2", "7"]
PROMPTS = [
    ("right, and solved now and then", "4", ["4", "5", "4", "4", "4", "5", "4", "4"]),
    ("another right one", "5", ["5", "6"] * 4),
    ("wrong, in one voice", "8", ["9"] * 8),
    ("wrong, in many spellings", "2", HALF),
    ("hard: no two agree", "3", list("12456789")),
    ("hard: half agree", "30", ["1", "2", "1", "2", "1", "3", "2", "1"]),
    ("never an answer", "6", [""] * 8),
    ("a reference that nobody can read", "4:30p..", [r"4:30 \text{ p.m.}"] * 8),
]


def record(folder: Path, layout: str, prompts: list, opening: str) -> tuple[Path, Path]:
    pool, rollouts = folder / "pool.jsonl", folder / "rollouts.jsonl"
    with pool.open("w") as pool_file, rollouts.open("w") as rollout_file:
        for i, (question, gold, answers) in enumerate(prompts):
            prompt = [{"role": "user", "content": question}]
            row = {"prompt": prompt, "data_source": "sums", "extra_info": {"index": i}}
            if layout == "verl":
                row |= {"reward_model": {"style": "rule", "ground_truth": gold}}
            else:
                row |= {"solution": gold}
            pool_file.write(json.dumps(row) + "\n")
            for answer in answers:
                text = f"{opening} \\boxed{{{answer}}}" if answer else "so be it"
                rollout_file.write(json.dumps({"extra_info.index": i, "text": text, "tokens": 9}) + "\n")
    return pool, rollouts


def run(folder: Path, *reviewed: Path, layout: str = "verl", prompts: list = PROMPTS, opening: str = "so"):
    pool, rollouts = record(folder, layout, prompts, opening)
    config = load_config(
        None,
        {
            "pool.sources": [str(pool)],
            "pool.default_verifier": "boxed",
            "pool.reviewed": [str(path) for path in reviewed],
            "engine.kind": "replay",
            "verification.workers": 1,
            "verification.max_error_rate": 1.0,
            "output.dir": str(folder / "out"),
        },
    )
    return refresh(config, Sources(recording=rollouts, key="extra_info.index"), SilentView())


def decided(result) -> dict[int, tuple[str, str]]:
    decisions = pl.read_parquet(result.path / "decisions.parquet")
    return {
        row: (decision, reason)
        for row, decision, reason in decisions.select("row", "decision", "reason").rows()
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return run(tmp_path_factory.mktemp("found"))


def test_agreement_against_the_reference_is_set_aside_with_its_figures(found) -> None:
    decisions = decided(found)
    assert decisions[2] == (
        "suspect_reference",
        "8 of 8 rollouts answer 9, which the reference does not accept",
    )
    assert decisions[3] == (
        "suspect_reference",
        "7 of 8 rollouts answer 1/2, which the reference does not accept",
    )
    assert [decisions[row][0] for row in (0, 1, 4, 5, 6)] == [
        "keep_mixed", "keep_mixed", "drop_unsolved", "drop_unsolved", "drop_unsolved"
    ]  # fmt: skip
    assert decisions[7] == (
        "suspect_reference",
        r"8 of 8 rollouts answer 4:30 \text{ p.m.}, which the reference does not accept",
    )
    assert found.suspects == 3


def test_a_person_finds_all_that_is_needed_for_a_verdict(found) -> None:
    table = pl.read_csv(found.path / "suspects.csv")
    columns = ("prompt", "reference", "answer", "agreeing", "rollouts", "verdict")
    assert table.sort("prompt").select(columns).rows() == [
        ("a reference that nobody can read", '{"answer":"4:30p.."}', r"4:30 \text{ p.m.}", 8, 8, None),
        ("wrong, in many spellings", '{"answer":"2"}', "1/2", 7, 8, None),
        ("wrong, in one voice", '{"answer":"8"}', "9", 8, 8, None),
    ]


def review(result, verdicts: dict[str, str], path: Path, **more: str) -> Path:
    table = pl.read_csv(result.path / "suspects.csv").with_columns(
        verdict=pl.col("prompt").replace_strict(verdicts, default=""),
        **{k: pl.lit(v) for k, v in more.items()},
    )
    table.write_csv(path)
    return path


def test_what_was_accepted_is_not_suspected_again(found, tmp_path) -> None:
    again = run(tmp_path, review(found, {"wrong, in one voice": "accept"}, tmp_path / "reviewed.csv"))
    assert decided(again)[2] == ("drop_unsolved", "0 of 8 rollouts correct")
    assert decided(again)[3][0] == "suspect_reference"
    assert again.refresh_id != found.refresh_id


def test_what_was_dropped_is_neither_sampled_nor_kept(found, tmp_path) -> None:
    again = run(tmp_path, review(found, {"wrong, in one voice": "Drop"}, tmp_path / "reviewed.csv"))
    assert decided(again)[2] == ("suspect_reference", "dropped by review")
    assert again.rollouts == found.rollouts - 8
    assert "wrong, in one voice" not in pl.read_csv(again.path / "suspects.csv")["prompt"].to_list()


@pytest.mark.parametrize(("layout", "column"), [("verl", "reward_model"), ("trl", "solution")])
def test_a_fixed_reference_judges_and_is_what_the_trainer_gets(found, layout, column, tmp_path) -> None:
    fix = review(found, {"wrong, in many spellings": "fix"}, tmp_path / "reviewed.csv")
    again = run(tmp_path, fix, layout=layout)
    assert decided(again)[3] == ("keep_mixed", "7 of 8 rollouts correct")
    shards = [again.path / shard.name for shard in read_manifest(again.path).tables["train"]]
    row = pl.read_parquet(shards).filter(
        pl.col("prompt").list.first().struct.field("content").str.contains("many")
    )
    truth = row[column][0]
    assert (truth["ground_truth"] if layout == "verl" else truth) == "1/2"


@pytest.mark.parametrize(
    ("opening", "decision", "reason"),
    [
        ("then", "suspect_reference", "12 of 16 rollouts answer 2, which the reference does not accept"),
        ("so", "drop_unsolved", "0 of 8 rollouts correct"),  # the same rollouts, judged again
    ],
)
def test_earlier_checkpoints_speak_too(opening, decision, reason, tmp_path) -> None:
    """Six of eight are too few; twelve of sixteen, of two passes, are enough."""
    prompts = [*PROMPTS[:2], ("asked twice", "1", ["2"] * 6 + ["3", "4"])]
    assert decided(run(tmp_path, prompts=prompts))[2][0] == "drop_unsolved"
    again = run(tmp_path, prompts=[*prompts, PROMPTS[6]], opening=opening)
    assert decided(again)[2] == (decision, reason)


def test_earlier_rollouts_that_are_gone_are_not_missed(tmp_path) -> None:
    first = run(tmp_path)
    for part in (first.path / "rollouts").glob("*.parquet"):
        part.unlink()
    assert run(tmp_path, prompts=PROMPTS[:4], opening="then").suspects == 2


BAD = [
    ("prompt_id,answer\na,1\n", "cannot be read"),
    ("prompt_id,verdict,answer\na,maybe,1\n", "unknown verdict 'maybe'"),
    ("prompt_id,verdict,answer\na,fix,\n", "verdict 'fix' without an answer"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_review_that_cannot_be_read_says_where(text, message, tmp_path) -> None:
    path = tmp_path / "reviewed.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        read_reviews([str(path)])
    assert str(path) in str(caught.value.where)


def test_of_two_verdicts_the_later_counts(tmp_path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("prompt_id,verdict,answer\na,accept,1\nb,drop,1\nc,,1\n")
    second.write_text("prompt_id,verdict,answer\na,fix,2\nb,,1\n")
    reviews = read_reviews([str(first), str(second)])
    assert (reviews.accepted, reviews.dropped, dict(reviews.fixed)) == (frozenset(), {"b"}, {"a": "2"})
