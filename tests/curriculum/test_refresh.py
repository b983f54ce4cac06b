"""A refresh from recorded rollouts, end to end, with real worker processes."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from curriculum.errors import NothingError, UsageError
from curriculum.manifest import latest_refresh, read_manifest
from curriculum.policy import Sources
from curriculum.refresh import plan_only, refresh
from curriculum.scoring.progress import SilentView
from pipelines.schemas import DECISIONS, GROUPS, ROLLOUTS, require
from pipelines.shards import check_shards


class Notes(SilentView):
    """Keeps what a person would be told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture(scope="module")
def published(recorded, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("published")
    refresh(recorded.config(out), recorded.sources, SilentView())
    return out


def rows(refresh_folder: Path, table: str) -> pl.DataFrame:
    manifest = read_manifest(refresh_folder)
    return pl.read_parquet([refresh_folder / shard.name for shard in manifest.tables[table]])


def test_every_row_of_the_pool_has_one_decision_and_the_counts_add_up(published) -> None:
    folder = latest_refresh(published)
    decisions = rows(folder, "decisions")
    assert decisions["row"].to_list() == list(range(60))
    counts = dict(decisions.group_by(pl.col("decision").cast(pl.String)).len().iter_rows())
    assert counts == read_manifest(folder).counts
    assert counts["drop_solved"] == 20
    assert counts["keep_mixed"] > 10


def test_the_manifest_vouches_for_every_file(published) -> None:
    folder = latest_refresh(published)
    manifest = read_manifest(folder)
    named = {shard.name for shards in manifest.tables.values() for shard in shards}
    there = {str(path.relative_to(folder)) for path in folder.rglob("*.parquet")}
    assert named == there
    assert [check_shards(folder, shards) for shards in manifest.tables.values()] == [[]] * 5


def test_tables_have_their_declared_schemas(published) -> None:
    folder = latest_refresh(published)
    require(rows(folder, "rollouts"), ROLLOUTS, table="rollouts")
    require(rows(folder, "groups"), GROUPS, table="groups")
    decisions = rows(folder, "decisions").with_columns(pl.col("decision").cast(DECISIONS["decision"]))
    require(decisions, DECISIONS, table="decisions")


def test_the_set_is_what_datasets_and_polars_read(published) -> None:
    from datasets import load_dataset

    folder = latest_refresh(published)
    files = [str(path) for path in sorted((folder / "train").glob("*.parquet"))]
    by_datasets = load_dataset("parquet", data_files=files, split="train", cache_dir=str(published / "cache"))
    by_polars = pl.scan_parquet(files).collect()
    assert by_datasets.num_rows == by_polars.height > 10
    first = by_datasets[0]
    assert first["reward_model"]["style"] == "rule"
    assert first["max_tokens"] > 0
    assert by_polars["weight"].mean() == pytest.approx(1.0)
    assert set(by_polars["prompt_id"]) == set(
        rows(folder, "decisions").filter(pl.col("weight").is_not_null())["prompt_id"]
    )


def test_the_control_set_is_as_large_and_unfiltered(published) -> None:
    folder = latest_refresh(published)
    control, train = rows(folder, "control"), rows(folder, "train")
    assert control.height == train.height
    assert control.schema == train.schema
    assert control["prompt_id"].is_unique().all()
    assert set(control["prompt_id"]) != set(train["prompt_id"])


def test_the_same_command_again_publishes_the_same_refresh(recorded, tmp_path) -> None:
    notes = Notes()
    first = refresh(recorded.config(tmp_path), recorded.sources, SilentView())
    again = refresh(recorded.config(tmp_path), recorded.sources, notes)
    assert again.refresh_id == first.refresh_id
    assert any("in its journal already" in note for note in notes.notes)


def test_equal_passes_give_equal_bytes_in_any_folder(recorded, published, tmp_path) -> None:
    refresh(recorded.config(tmp_path), recorded.sources, SilentView())
    here, there = read_manifest(latest_refresh(tmp_path)), read_manifest(latest_refresh(published))
    assert here.tables == there.tables
    assert here.refresh_id == there.refresh_id


def test_another_selection_of_the_same_pass_samples_nothing_and_is_another_refresh(
    recorded, tmp_path
) -> None:
    first = refresh(recorded.config(tmp_path), recorded.sources, SilentView())
    other = refresh(recorded.config(tmp_path, selection__hard_reserve=0.0), recorded.sources, SilentView())
    assert other.pass_id == first.pass_id
    assert other.refresh_id != first.refresh_id
    assert other.seconds == 0.0
    assert other.set_rows < first.set_rows


def test_a_changed_setting_is_a_new_pass_and_said(recorded, tmp_path) -> None:
    notes = Notes()
    first = refresh(recorded.config(tmp_path), recorded.sources, SilentView())
    other = refresh(recorded.config(tmp_path, sampling__n=4), recorded.sources, notes)
    assert other.pass_id != first.pass_id
    assert other.rollouts == 240
    assert any("sampling.n: 8 -> 4" in note for note in notes.notes)


def test_restart_scores_anew_and_leaves_the_first_refresh(recorded, tmp_path) -> None:
    first = refresh(recorded.config(tmp_path), recorded.sources, SilentView())
    again = refresh(recorded.config(tmp_path), recorded.sources, SilentView(), restart=True)
    assert again.refresh_id != first.refresh_id
    assert first.path.is_dir()
    assert latest_refresh(tmp_path) == again.path
    assert_frame_equal(rows(first.path, "groups"), rows(again.path, "groups"))


def test_a_limit_defers_the_rest(recorded, tmp_path) -> None:
    result = refresh(recorded.config(tmp_path, pool__limit=24), recorded.sources, SilentView())
    decisions = rows(result.path, "decisions")
    assert result.rollouts == 24 * 8
    assert decisions.height == 60
    assert decisions.filter(pl.col("decision") == "defer_unlikely").height == 36


def test_a_dry_run_forecasts_and_writes_nothing(recorded, tmp_path) -> None:
    out = tmp_path / "out"
    forecast = plan_only(recorded.config(out), recorded.sources, SilentView())
    assert (forecast.prompts, forecast.rollouts, forecast.rollouts_left) == (60, 480, 480)
    assert forecast.tokens == 480 * 64
    assert not out.exists()


def test_the_forecast_rests_on_the_newest_refresh(recorded, tmp_path) -> None:
    result = refresh(recorded.config(tmp_path), recorded.sources, SilentView())
    forecast = plan_only(recorded.config(tmp_path, sampling__n=4), recorded.sources, SilentView())
    assert result.refresh_id in forecast.basis
    assert forecast.tokens == pytest.approx(result.tokens / 2, rel=0.02)


def test_published_text_is_left_out_when_not_wanted(recorded, tmp_path) -> None:
    result = refresh(recorded.config(tmp_path, output__keep_text=False), recorded.sources, SilentView())
    assert rows(result.path, "rollouts")["text"].null_count() == result.rollouts


def test_rollouts_are_published_in_parts_of_whole_prompts(recorded, published, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("curriculum.publish.ROLLOUT_PART_ROWS", 100)
    result = refresh(recorded.config(tmp_path), recorded.sources, SilentView())
    parts = [pl.read_parquet(path) for path in sorted((result.path / "rollouts").iterdir())]
    assert len(parts) == 5
    assert sum(part["prompt_id"].n_unique() for part in parts) == 60
    assert_frame_equal(pl.concat(parts), rows(latest_refresh(published), "rollouts"))


@pytest.mark.parametrize("layout", ["verl", "trl", "native"])
def test_sets_in_each_layout(recorded, tmp_path, layout) -> None:
    result = refresh(recorded.config(tmp_path, output__layout=layout), recorded.sources, SilentView())
    columns = rows(result.path, "train").columns
    wanted = {
        "verl": {"data_source", "prompt", "reward_model", "extra_info"},
        "trl": {"prompt", "solution"},
        "native": {"prompt", "verifier", "reference"},
    }[layout]
    assert wanted <= set(columns)
    assert {"prompt_id", "weight", "pass_rate", "p_mixed", "max_tokens", "domain"} <= set(columns)


def test_a_pool_without_signal_publishes_nothing_and_keeps_the_old_set(recorded, tmp_path) -> None:
    kept = refresh(recorded.config(tmp_path), recorded.sources, SilentView())
    solved = tmp_path / "solved.jsonl"
    lines = recorded.pool.read_text().splitlines()
    solved.write_text("\n".join(lines[::3]))  # the prompts that are always right
    with pytest.raises(NothingError, match="worth training on") as caught:
        refresh(recorded.config(tmp_path, pool__sources=[str(solved)]), recorded.sources, SilentView())
    assert "20 drop_solved" in caught.value.where
    assert latest_refresh(tmp_path) == kept.path


def test_recorded_rollouts_are_judged_anew_whatever_the_recording_says(recorded, tmp_path) -> None:
    lying = tmp_path / "lying.jsonl"
    lying.write_text(
        "\n".join(
            json.dumps(json.loads(line) | {"correctness": 1.0, "outcome": "correct"})
            for line in recorded.rollouts.read_text().splitlines()
        )
    )
    result = refresh(
        recorded.config(tmp_path / "out"),
        Sources(recording=lying, key="extra_info.index"),
        SilentView(),
    )
    assert 0 < rows(result.path, "rollouts")["correctness"].mean() < 0.7


def test_a_journal_can_be_replayed(recorded, tmp_path) -> None:
    first = refresh(recorded.config(tmp_path / "a"), recorded.sources, SilentView())
    journal = tmp_path / "a" / "passes" / first.pass_id / "journal"
    again = refresh(recorded.config(tmp_path / "b"), Sources(recording=journal), SilentView())
    assert_frame_equal(rows(first.path, "groups"), rows(again.path, "groups"))


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (Sources(), "needs recorded rollouts"),
        (Sources(recording=Path("nowhere.jsonl")), "no recording at"),
    ],
)
def test_a_missing_recording_is_said(recorded, tmp_path, sources, message) -> None:
    with pytest.raises(UsageError, match=message):
        refresh(recorded.config(tmp_path), sources, SilentView())


def test_a_recording_of_other_prompts_is_refused(recorded, tmp_path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(recorded.rollouts.read_text().replace('"extra_info.index": ', '"extra_info.index": 9'))
    with pytest.raises(UsageError, match="belongs to a prompt of the pool"):
        refresh(
            recorded.config(tmp_path / "out"),
            Sources(recording=other, key="extra_info.index"),
            SilentView(),
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"index": 0}, "share prompt and index"),
        ({"finish": "gone"}, "unknown finish 'gone'"),
    ],
)
def test_a_recording_that_cannot_be_right_is_refused(recorded, tmp_path, change, message) -> None:
    broken = tmp_path / "broken.jsonl"
    lines = [json.loads(line) | change for line in recorded.rollouts.read_text().splitlines()]
    broken.write_text("\n".join(json.dumps(line) for line in lines))
    with pytest.raises(UsageError, match=message):
        refresh(
            recorded.config(tmp_path / "out"),
            Sources(recording=broken, key="extra_info.index"),
            SilentView(),
        )


def test_a_key_that_two_prompts_share_is_refused(recorded, tmp_path) -> None:
    by_source = tmp_path / "by_source.jsonl"
    by_source.write_text(json.dumps({"data_source": "sums", "text": "\\boxed{1}"}))
    with pytest.raises(UsageError, match="does not identify a prompt: 2 values are shared"):
        refresh(
            recorded.config(tmp_path / "out"),
            Sources(recording=by_source, key="data_source"),
            SilentView(),
        )
