"""The summary and the forecast as text."""

import dataclasses
import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from curriculum.cli.screen import show
from curriculum.result import Forecast, RefreshResult
from curriculum.summary import duration, render_forecast, render_summary

DECISIONS = [
    {"domain": "arithmetic", "decision": "keep_mixed", "prompts": 412},
    {"domain": "arithmetic", "decision": "drop_solved", "prompts": 1311},
    {"domain": "functions", "decision": "keep_mixed", "prompts": 88},
    {"domain": "functions", "decision": "keep_hard_reserve", "prompts": 20},
]
CAPS = [
    {
        "domain": "arithmetic",
        "rollouts": 2400,
        "truncated": 24,
        "quantile": 48.0,
        "identified": True,
        "cap": 48,
    }
    | {"correct_cut": 0.0125, "low": 45.0, "high": 52.0, "pooled": False},
    {"domain": "functions", "rollouts": 800, "truncated": 400, "quantile": None, "identified": False}
    | {"cap": 4096, "correct_cut": None, "low": 3900.0, "high": None, "pooled": False},
    {"domain": "unknown", "rollouts": 0, "truncated": 0, "quantile": None, "identified": False, "cap": None}
    | {"correct_cut": None, "low": None, "high": None, "pooled": True},
]
RESULT = RefreshResult(
    refresh_id="step_2000-3f9a61c2",
    path=Path("curriculum-out/refreshes/step_2000-3f9a61c2"),
    pass_id="3f9a61c2",
    checkpoint="step_2000",
    decisions=DECISIONS,
    caps=CAPS,
    pool_rows=1831,
    set_rows=520,
    control_rows=520,
    signal_before=0.4123,
    signal_after=0.93,
    rollouts=14_648,
    errors=3,
    tokens=1_234_567,
    seconds=812.0,
    tokens_per_s=1520.4,
    engine_hours=0.2255,
    device="cpu",
    sandbox="namespaces",
)


def shown(what: RenderableType, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(what)
    assert isinstance(console.file, io.StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def changed(**fields: Any) -> RefreshResult:
    return dataclasses.replace(RESULT, **fields)


def test_decisions_are_counted_per_domain_and_add_up_to_the_pool():
    lines = shown(render_summary(RESULT))
    assert "decision arithmetic functions all" in lines
    assert "keep_mixed 412 88 500" in lines
    assert "keep_hard_reserve · 20 20" in lines
    assert "drop_solved 1,311 · 1,311" in lines
    assert "all 1,723 108 1,831" in lines


def test_kept_decisions_come_first():
    first_words = [line.split(" ")[0] for line in shown(render_summary(RESULT)) if line]
    order = ["keep_mixed", "keep_hard_reserve", "drop_solved"]
    assert [word for word in first_words if word in order] == order


def test_many_domains_go_down_the_page():
    domains = [f"domain-{number}" for number in range(9)]
    rows = [{"domain": domain, "decision": "keep_mixed", "prompts": 7} for domain in domains]
    lines = shown(render_summary(changed(decisions=rows)))
    assert "domain mixed all" in lines  # the heading is in two lines: keep / mixed
    assert "domain-8 7 7" in lines
    assert "all 63 63" in lines


@pytest.mark.parametrize("width", [80, 120])
def test_figures_are_whole_at_any_width(width: int):
    """A long domain is folded before a figure is cut."""
    domain = "DigitalLearningGmbH/MATH-lighteval-level-5"
    names = ("keep_mixed", "keep_hard_reserve", "drop_solved", "drop_unsolved", "defer_truncated")
    domains = [f"{domain}-{number}" for number in range(5)]
    rows = [{"domain": d, "decision": name, "prompts": 1_234_567} for name in names for d in domains]
    text = "\n".join(shown(render_summary(changed(decisions=rows)), width))
    assert text.count("1,234,567") == 5 * 5 + 1  # and once among the tokens
    assert "…" not in text


def test_a_cap_that_is_not_identified_is_said_to_lie_beyond():
    lines = shown(render_summary(RESULT))
    assert "arithmetic 48 45 to 52 2,400 1.0% 1.2%" in lines
    assert "functions > 4,096 3,900 to > limit 800 50.0% ·" in lines
    assert "unknown unknown · 0 · ·" in lines


def test_a_cap_taken_from_all_domains_says_so():
    lines = shown(render_summary(changed(caps=[CAPS[0] | {"pooled": True}])))
    assert "arithmetic 48 all: 45 to 52 2,400 1.0% 1.2%" in lines


def test_the_rule_that_was_used_stands_beside_those_that_were_not():
    rules = [
        {"rule": "varied", "used": True, "prompts": 1520, "signal": 0.934, "signal_kept": 0.812},
        {"rule": "band", "used": False, "prompts": 0, "signal": None, "signal_kept": None},
    ]
    lines = shown(render_summary(changed(rules=rules)))
    assert "varied, used 1,520 93.4% 81.2%" in lines
    assert "band 0 · ·" in lines


def test_a_floor_that_was_not_met_is_said():
    assert not any("min_size" in line for line in shown(render_summary(RESULT)))
    lines = shown(render_summary(changed(short_of_floor=1480)))
    assert any("1,480 prompts short of selection.min_size" in line for line in lines)


def test_signal_cost_jail_and_place_are_told():
    lines = shown(render_summary(RESULT))
    assert "signal 41.2% of the sampled groups varied; 93.0% expected in the set" in lines
    assert "tokens 1,234,567 in 14,648 rollouts, 1,520 tokens/s" in lines
    assert "time 13 min 32 s of scoring, 0.226 CPU-hours on cpu" in lines
    assert "errors 3 of 14,648 rollouts could not be judged" in lines
    assert "sandbox namespaces; generated code ran in it" in lines
    assert "set 520 of 1,831 prompts; 520 at random as control" in lines
    assert lines[-1] == str(RESULT.path)


def test_what_a_replay_cannot_tell_is_said():
    replayed = changed(
        tokens=None, tokens_per_s=None, engine_hours=0.0, device="replay", sandbox=None, errors=0
    )
    lines = shown(render_summary(replayed))
    assert "tokens unknown; 14,648 rollouts" in lines
    assert "time 13 min 32 s of scoring on replay" in lines
    assert not [line for line in lines if line.startswith(("errors", "sandbox"))]


def test_a_long_place_stays_in_one_line(capsys):
    path = Path("/a/long/path") / ("x" * 100) / "refreshes" / "step_2000-3f9a61c2"
    show(render_summary(changed(path=path)))
    assert capsys.readouterr().out.splitlines()[-1] == str(path)


def test_forecast_says_what_is_left_and_what_it_rests_on():
    forecast = Forecast(
        prompts=3000,
        rollouts=24_000,
        rollouts_left=20_000,
        tokens=1_000_000,
        seconds=660.0,
        engine_hours=0.1833,
        basis="the newest refresh",
    )
    lines = shown(render_forecast(forecast))
    assert "rollouts 24,000; 4,000 of them are in the journal" in lines
    assert "time 11 min 0 s" in lines
    assert "basis the newest refresh" in lines


def test_unknown_cost_is_said_to_be_unknown():
    forecast = Forecast(
        prompts=1,
        rollouts=8,
        rollouts_left=8,
        tokens=None,
        seconds=None,
        engine_hours=None,
        basis="a recording",
    )
    lines = shown(render_forecast(forecast))
    assert {"tokens unknown", "time unknown", "engine unknown"} <= set(lines)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.99, "10.0 s"),
        (41.4, "41 s"),
        (59.6, "1 min 0 s"),
        (723, "12 min 3 s"),
        (11_523, "3 h 12 min"),
        (360_000_0, "1,000 h 0 min"),
    ],
)
def test_durations(seconds: float, said: str):
    assert duration(seconds) == said
