"""What a trainer observed spares the next refresh its rollouts: hook to published set, by replay."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from curriculum.cli.refresh_command import command
from curriculum.hooks import CurriculumSampler, Recipe
from curriculum.manifest import read_manifest
from curriculum.plan import make_plan
from curriculum.refresh import plan_only, refresh
from curriculum.scoring.passes import open_pass
from curriculum.scoring.progress import SilentView
from curriculum.summary import render_forecast, render_summary

PROMPTS, OBSERVED, GROUP = 300, 200, 8
RATES = (1.0, 0.0, 0.4)  # of the recording's prompts, in turn


@pytest.fixture(scope="module")
def pool(record, tmp_path_factory):
    return record(tmp_path_factory.mktemp("pool"), prompts=PROMPTS)


@pytest.fixture(scope="module")
def full(pool, tmp_path_factory):
    """A refresh that samples everything."""
    return refresh(pool.config(tmp_path_factory.mktemp("full")), pool.sources, SilentView())


def train(out: Path, ids: list[str], *, seed: int = 1) -> None:
    """Observes a fresh group of each of the pool's first prompts, 25 a step."""
    run = CurriculumSampler(out, Recipe(batch_size=8), group_size=GROUP)
    draw = random.Random(seed)
    for start in range(0, len(ids), 25):
        here = range(start, min(start + 25, len(ids)))
        rewards = [float(draw.random() < RATES[i % 3]) for i in here for _ in range(GROUP)]
        run.observe([ids[i] for i in here for _ in range(GROUP)], rewards, step=start // 25)


def decisions(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "decisions.parquet").with_columns(pl.col("decision").cast(pl.String))


class Notes(SilentView):
    """Keeps what a person would be told."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def note(self, text: str) -> None:
        self.heard.append(text)


def notes_of(plan) -> str:
    view = Notes()
    open_pass(plan, view, restart=False)
    return " ".join(view.heard)


def trained_in(pool, out: Path) -> Path:
    """A first refresh, and 200 prompts of the pool observed in training."""
    first = refresh(pool.config(out, sampling__n=4), pool.sources, SilentView())
    train(out, decisions(first.path)["prompt_id"].to_list()[:OBSERVED])
    return out


@pytest.fixture(scope="module")
def trained(pool, tmp_path_factory):
    """A folder to plan in."""
    return trained_in(pool, tmp_path_factory.mktemp("trained"))


@pytest.fixture(scope="module")
def second(pool, tmp_path_factory):
    """A second refresh, of less."""
    out = trained_in(pool, tmp_path_factory.mktemp("second"))
    return refresh(pool.config(out, evidence__assume_fresh=True), pool.sources, SilentView())


def test_prompts_that_were_observed_are_not_sampled(second):
    assert second.rollouts == (PROMPTS - OBSERVED) * GROUP
    assert second.observed.prompts == OBSERVED
    assert second.observed.rollouts == OBSERVED * GROUP


def test_they_are_decided_as_full_scoring_decides(full, second):
    """By other rollouts, so that they agree as often as two scorings of such prompts do."""
    both = decisions(full.path).join(decisions(second.path), on="row", suffix="_second").head(OBSERVED)
    assert (both["decision"] == both["decision_second"]).mean() >= 0.9
    assert decisions(second.path).height == PROMPTS


def test_a_group_says_the_same_whoever_sampled_it(pool, full):
    """The very rollouts of full scoring, reported by a trainer: equal counts, so equal decisions."""
    out = full.path.parent.parent
    rollouts = pl.read_parquet(sorted((full.path / "rollouts").glob("*.parquet")))
    columns = {name: rollouts[name].to_list() for name in ("prompt_id", "correctness", "tokens")}
    run = CurriculumSampler(out, Recipe(batch_size=8), group_size=GROUP)
    run.observe(columns["prompt_id"], columns["correctness"], lengths=columns["tokens"], step=0)
    plan = make_plan(pool.config(out, sampling__seed=1, evidence__assume_fresh=True), pool.sources)
    sampled = pl.read_parquet(full.path / "groups.parquet")
    same = ["prompt_id", "rollouts", "n", "s", "correct", "wrong", "truncated", "verifier_error"]
    same += ["mean", "variance", "range", "tokens_mean", "tokens_max"]
    assert_frame_equal(plan.observed.select(same), sampled.select(same))


def test_what_rests_on_them_is_said(second):
    rows = decisions(second.path)
    assert rows["reason"].str.contains("observed at step [0-7]$").sum() == OBSERVED
    groups = pl.read_parquet(second.path / "groups.parquet")
    assert groups["observed"].sum() == OBSERVED
    written = read_manifest(second.path).observed
    assert (written["prompts"], written["first_step"], written["last_step"]) == (OBSERVED, 0, 7)
    assert sum(written["decisions"].values()) == OBSERVED
    assert second.to_json()["observed"] == written


def test_the_set_has_observed_prompts_with_their_posteriors(second):
    train = pl.read_parquet(sorted((second.path / "train").glob("*.parquet")))
    observed = pl.read_parquet(second.path / "groups.parquet").filter("observed")
    mixed = train.join(observed, on="prompt_id", how="semi")
    assert mixed.height > OBSERVED / 4
    assert mixed["pass_rate"].is_between(0, 1).all()
    assert (mixed["weight"] > 0).all()


def test_the_forecast_counts_them(pool, trained):
    forecast = plan_only(pool.config(trained, evidence__assume_fresh=True), pool.sources, SilentView())
    assert (forecast.prompts, forecast.observed) == (PROMPTS - OBSERVED, OBSERVED)
    assert forecast.rollouts_left == (PROMPTS - OBSERVED) * GROUP
    assert "200 more are not sampled" in text(render_forecast(forecast))


@pytest.mark.parametrize(("flags", "spared"), [([], OBSERVED), (["--ignore-evidence"], 0)])
def test_the_command_line_can_ignore_them(pool, trained, tmp_path, flags, spared):
    (tmp_path / "fresh.toml").write_text("[evidence]\nassume_fresh = true\n")
    more = ["--config", str(tmp_path / "fresh.toml"), "--dry-run", "--json", *flags]
    done = CliRunner().invoke(command, pool.command(trained, *more)[1:])
    forecast = json.loads(done.stdout)
    assert (forecast["observed"], forecast["prompts"]) == (spared, PROMPTS - spared)


def text(shown) -> str:
    from rich.console import Console

    console = Console(width=100)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


def test_the_summary_says_whose_rollouts_decided(second):
    assert "200 prompts by 1,600 rollouts of the trainer (steps 0 to 7)" in text(render_summary(second))


@pytest.mark.parametrize("how", [{"evidence__use": False, "evidence__assume_fresh": True}, {}])
def test_evidence_that_does_not_count_changes_nothing(pool, full, trained, how):
    """Left out by the user, or of unknown age: a recording has no training step."""
    plan = make_plan(pool.config(trained, **how), pool.sources)
    assert plan.observed.is_empty()
    assert len(plan.asks) == PROMPTS * GROUP
    assert plan.identity.pass_id == full.pass_id


def test_evidence_of_unknown_age_is_said_not_to_count(pool, trained):
    plan = make_plan(pool.config(trained, sampling__seed=1), pool.sources)
    assert "observed 200 prompts, which does not count" in notes_of(plan)


def test_a_pass_decides_by_what_it_began_with(pool, tmp_path):
    """Killed once it had begun, and continued while the trainer went on reporting."""
    first = refresh(pool.config(tmp_path, sampling__n=4), pool.sources, SilentView())
    ids = decisions(first.path)["prompt_id"].to_list()
    config = pool.config(tmp_path, evidence__assume_fresh=True)
    train(tmp_path, ids[:100])
    begun = make_plan(config, pool.sources)
    open_pass(begun, SilentView(), restart=False)
    train(tmp_path, ids[:OBSERVED], seed=2)
    assert make_plan(config, pool.sources, restart=True).observed.height == OBSERVED
    continued = refresh(config, pool.sources, SilentView())
    assert continued.observed.prompts == 100
    assert continued.rollouts == len(begun.asks) == (PROMPTS - 100) * GROUP
    again = refresh(config, pool.sources, SilentView())
    assert again.refresh_id == continued.refresh_id


def test_what_a_pass_has_sampled_is_decided_by_its_samples(pool, full, tmp_path):
    """Evidence that was ignored at first does not replace rollouts that were paid for."""
    trained_in(pool, tmp_path)
    refresh(pool.config(tmp_path, evidence__use=False), pool.sources, SilentView())
    result = refresh(pool.config(tmp_path, evidence__assume_fresh=True), pool.sources, SilentView())
    assert (result.observed.prompts, result.refresh_id) == (0, full.refresh_id)


def test_when_all_were_observed_nothing_is_sampled(pool, tmp_path):
    first = refresh(pool.config(tmp_path), pool.sources, SilentView())
    train(tmp_path, decisions(first.path)["prompt_id"].to_list())
    config = pool.config(tmp_path, sampling__seed=1, evidence__assume_fresh=True)
    result = refresh(config, pool.sources, SilentView())
    assert (result.rollouts, result.observed.prompts) == (0, PROMPTS)
    assert result.set_rows > PROMPTS / 4
    assert {row["cap"] for row in result.caps} == {None}
