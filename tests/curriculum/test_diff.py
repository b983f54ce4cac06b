"""What moved between two refreshes: over small published folders, written as `publish` writes them."""

import dataclasses
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from rich.console import Console

from curriculum.cli import main
from curriculum.cli.diff_command import render_diff
from curriculum.config import Config
from curriculum.diff import RefreshDiff, diff_refreshes, find_refresh
from curriculum.errors import UsageError
from curriculum.manifest import Manifest, point_latest, write_manifest
from pipelines.arrow import to_arrow
from pipelines.schemas import CAPS, DECISIONS, GROUPS
from pipelines.shards import Shard, write_shards

# prompt_id: (domain, decision, pass rate; None where it was not scored)
EARLY = {
    "p1": ("sums", "drop_unsolved", 0.05),
    "p2": ("sums", "keep_mixed", 0.5),
    "p3": ("sums", "keep_mixed", 0.6),
    "p4": ("tools", "drop_solved", 0.95),
    "p5": ("tools", "defer_unlikely", None),
    "only-early": ("tools", "keep_mixed", 0.4),
}
LATE = {
    "p1": ("sums", "keep_mixed", 0.4),
    "p2": ("sums", "drop_solved", 0.95),
    "p3": ("sums", "keep_mixed", 0.7),
    "p4": ("tools", "drop_solved", 0.97),
    "p5": ("tools", "drop_unsolved", 0.03),
}
EARLY_CAPS = {"sums": (48, True), "tools": (4096, False)}
LATE_CAPS = {"sums": (64, True), "tools": (256, True)}


def write_table(folder: Path, table: str, rows: list[dict[str, Any]], schema: pl.Schema) -> Shard:
    frame = pl.DataFrame(rows, schema_overrides=schema)
    blank = [pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in frame.columns]
    [shard] = write_shards(to_arrow(frame.with_columns(blank), schema), folder, stem=table)
    (folder / shard.name).rename(folder / f"{table}.parquet")
    return dataclasses.replace(shard, name=f"{table}.parquet")


def publish(
    out: Path,
    name: str,
    prompts: Mapping[str, tuple[str, str, float | None]],
    caps: Mapping[str, tuple[int, bool]],
    *,
    config: Config | None = None,
    duplicate_of: str | None = None,
    **fields: Any,
) -> Path:
    """A refresh folder as `curriculum refresh` leaves it, without its training shards."""
    folder = out / "refreshes" / name
    decisions = [
        {"row": row, "prompt_id": prompt_id, "domain": domain, "decision": decision}
        | {"reason": f"pass rate {rate}" if rate is not None else "not sampled this time"}
        for row, (prompt_id, (domain, decision, rate)) in enumerate(prompts.items())
    ]
    if duplicate_of:
        decisions.insert(
            0, {**decisions[0], "row": -1, "prompt_id": duplicate_of, "decision": "drop_duplicate"}
        )
    groups = [
        {"prompt_id": prompt_id, "domain": domain, "pass_rate": rate}
        for prompt_id, (domain, _, rate) in prompts.items()
        if rate is not None
    ]
    counts: dict[str, int] = {}
    for row in decisions:
        counts[row["decision"]] = counts.get(row["decision"], 0) + 1
    manifest = Manifest(
        refresh_id=name,
        pass_id=f"pass-of-{name}",
        created_at="2026-11-29T12:00:00+00:00",
        checkpoint={"name": name.partition("-")[0], "fingerprint": f"weights of {name}", "step": 0},
        pool={"content_hash": "pool-1", "rows": len(decisions), "bad_rows": 0, "files": []},
        config=(config or Config()).model_dump(mode="json"),
        verifiers={"boxed": "1", "tool_calls": "1"},
        counts=counts,
        signal={"before": 0.5, "after": 0.9},
        caps=[
            dict.fromkeys(CAPS) | {"domain": domain, "cap": cap, "identified": identified}
            for domain, (cap, identified) in caps.items()
        ],
        run={},
        tables={
            "decisions": [write_table(folder, "decisions", decisions, DECISIONS)],
            "groups": [write_table(folder, "groups", groups, GROUPS)],
        },
    )
    write_manifest(folder, dataclasses.replace(manifest, **fields))
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    publish(tmp_path, "step_0-aaaa", EARLY, EARLY_CAPS)
    publish(tmp_path, "step_2000-bbbb", LATE, LATE_CAPS, verifiers={"boxed": "2", "tool_calls": "1"})
    point_latest(tmp_path, "step_2000-bbbb")
    return tmp_path


@pytest.fixture
def diff(out: Path) -> RefreshDiff:
    return diff_refreshes(out / "refreshes/step_0-aaaa", out / "refreshes/step_2000-bbbb")


def shown(diff: RefreshDiff, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(render_diff(diff))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_prompts_are_matched_by_content(diff: RefreshDiff):
    assert (diff.prompts_both, diff.prompts_only_a, diff.prompts_only_b) == (5, 1, 0)


def test_moves_count_every_prompt_of_both(diff: RefreshDiff):
    moves = {(move["a"], move["b"]): move["prompts"] for move in diff.moves}
    assert moves == {
        ("keep_mixed", "keep_mixed"): 1,
        ("keep_mixed", "drop_solved"): 1,
        ("drop_solved", "drop_solved"): 1,
        ("drop_unsolved", "keep_mixed"): 1,
        ("defer_unlikely", "drop_unsolved"): 1,
    }


def test_sides_say_how_large_pool_and_set_are(diff: RefreshDiff):
    assert (diff.a.pool_rows, diff.a.set_rows, diff.a.checkpoint) == (6, 3, "step_0")
    assert (diff.b.pool_rows, diff.b.set_rows, diff.b.signal_after) == (5, 2, 0.9)


def test_inputs_that_differ_are_named_with_both_values(diff: RefreshDiff):
    assert [(change.kind, change.key, change.a, change.b) for change in diff.inputs] == [
        ("checkpoint", "fingerprint", "weights of step_0-aaaa", "weights of step_2000-bbbb"),
        ("checkpoint", "name", "step_0", "step_2000"),
        ("pool", "rows", 6, 5),
        ("verifier", "boxed", "1", "2"),
    ]


def test_each_setting_that_differs_is_named_by_its_key(tmp_path: Path):
    changed = Config.model_validate({"sampling": {"n": 16}, "pool": {"verifiers": {"gsm8k": "boxed"}}})
    a = publish(tmp_path, "s-1", LATE, LATE_CAPS)
    b = publish(tmp_path, "s-2", LATE, LATE_CAPS, config=changed)
    settings = [change for change in diff_refreshes(a, b).inputs if change.kind == "setting"]
    assert [(change.key, change.a, change.b) for change in settings] == [
        ("pool.verifiers.gsm8k", None, "boxed"),
        ("sampling.n", 8, 16),
    ]


def test_pass_rates_change_over_the_prompts_scored_in_both(diff: RefreshDiff):
    rates = {row["domain"]: row for row in diff.pass_rates}
    assert list(rates) == ["sums", "tools", "all"]
    assert rates["sums"]["prompts"] == 3
    assert rates["sums"]["change"] == pytest.approx((0.35 + 0.45 + 0.1) / 3)
    assert rates["tools"]["prompts"] == 1  # p5 was not scored in A
    assert rates["all"]["a"] == pytest.approx((0.05 + 0.5 + 0.6 + 0.95) / 4)


def test_caps_are_side_by_side(diff: RefreshDiff):
    assert diff.caps == [
        {"domain": "sums", "a": 48, "a_identified": True, "b": 64, "b_identified": True},
        {"domain": "tools", "a": 4096, "a_identified": False, "b": 256, "b_identified": True},
    ]


def test_examples_are_prompts_whose_decision_changed_largest_move_first(diff: RefreshDiff):
    assert [row["prompt_id"] for row in diff.examples] == ["p2", "p1", "p5"]
    assert diff.examples[1] == {
        "prompt_id": "p1",
        "domain": "sums",
        "decision_a": "drop_unsolved",
        "reason_a": "pass rate 0.05",
        "pass_rate_a": 0.05,
        "decision_b": "keep_mixed",
        "reason_b": "pass rate 0.4",
        "pass_rate_b": 0.4,
    }


def test_examples_are_as_many_as_asked_for(out: Path):
    diff = diff_refreshes(find_refresh("step_0-aaaa", out), find_refresh("LATEST", out), examples=1)
    assert [row["prompt_id"] for row in diff.examples] == ["p2"]


def test_equal_prompts_count_once_by_the_decision_on_their_merits(tmp_path: Path):
    a = publish(tmp_path, "s-1", LATE, LATE_CAPS, duplicate_of="p1")
    b = publish(tmp_path, "s-2", LATE, LATE_CAPS)
    diff = diff_refreshes(a, b)
    assert diff.prompts_both == 5
    assert all(move["a"] == move["b"] for move in diff.moves)
    assert diff.a.pool_rows == 6  # the duplicate is a row of the pool


def test_a_refresh_against_itself_differs_in_nothing(out: Path):
    path = find_refresh("LATEST", out)
    diff = diff_refreshes(path, path)
    assert (diff.inputs, diff.examples) == ([], [])
    assert "nothing: the same checkpoint, pool, settings and verifiers" in shown(diff)


def test_pools_without_a_common_prompt(tmp_path: Path):
    a = publish(tmp_path, "s-1", {"x": ("sums", "keep_mixed", 0.5)}, {})
    b = publish(tmp_path, "s-2", {"y": ("sums", "keep_mixed", 0.5)}, {})
    diff = diff_refreshes(a, b)
    assert (diff.prompts_both, diff.moves) == (0, [])
    assert diff.pass_rates == [{"domain": "all", "prompts": 0, "a": None, "b": None, "change": None}]
    assert "0 of 0 changed" in shown(diff)


def test_json_is_plain(diff: RefreshDiff):
    assert json.loads(json.dumps(diff.to_json())) == diff.to_json()


@pytest.mark.parametrize("width", [80, 120])
def test_shown_says_what_moved_and_why(diff: RefreshDiff, width: int):
    text = shown(diff, width)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "verifier boxed 1 2" in lines
    assert "3 of 5 changed" in lines
    assert "drop_unsolved keep_mixed 1" in lines
    assert "sums 3 0.383 0.683 +0.300" in lines
    assert "tools > 4,096 256" in lines
    assert "B: keep_mixed: pass rate 0.4" in lines
    assert all(len(line) <= width for line in text.splitlines())


@pytest.mark.parametrize("name", ["step_2000-bbbb", "LATEST", "refreshes/step_2000-bbbb"])
def test_a_refresh_is_found_by_id_by_latest_and_by_path(
    out: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(out)
    assert find_refresh(name, out).resolve() == (out / "refreshes/step_2000-bbbb").resolve()


def test_an_unknown_name_is_answered_with_the_names_that_exist(out: Path):
    with pytest.raises(UsageError, match="step_1") as raised:
        find_refresh("step_1", out)
    assert raised.value.where.endswith("step_0-aaaa, step_2000-bbbb")


def test_an_unfinished_refresh_is_not_found(out: Path):
    (out / "refreshes/step_2000-bbbb/manifest.json").unlink()
    with pytest.raises(UsageError) as raised:
        find_refresh("step_2000-bbbb", out)
    assert raised.value.where.endswith(": step_0-aaaa")


def test_a_file_that_is_gone_is_an_error_with_a_remedy(out: Path):
    folder = out / "refreshes/step_0-aaaa"
    (folder / "groups.parquet").unlink()
    with pytest.raises(UsageError, match="'groups'") as raised:
        diff_refreshes(folder, folder)
    assert raised.value.where == str(folder)


def test_command_prints_json_on_standard_output(out: Path):
    ran = CliRunner().invoke(main, ["diff", "step_0-aaaa", "LATEST", "--out", str(out), "--json"])
    assert ran.exit_code == 0
    assert json.loads(ran.stdout)["prompts_both"] == 5


def test_command_reports_an_unknown_refresh(out: Path):
    ran = CliRunner().invoke(main, ["diff", "step_0-aaaa", "nothing", "--out", str(out)])
    assert ran.exit_code == 2
    assert "step_2000-bbbb" in ran.stderr
