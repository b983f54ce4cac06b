"""Every level that this machine offers holds, and where none is to be had nothing runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from verifiers.sandbox import SandboxError, levels
from verifiers.sandbox.runner import Runner, probe
from verifiers.unit_tests import UnitTestsVerifier

ADD = {"tests": [{"kind": "call", "args": [1, 2], "expected": 3}], "entry_point": "add"}
RESPONSE = "```python\ndef add(a, b): return a + b\n```"


@pytest.fixture
def without_a_jail(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only bubblewrap is tried, and it is not on the path."""
    monkeypatch.setattr(levels, "_STRONGEST_FIRST", ("bubblewrap",))
    monkeypatch.setattr(levels, "_found", {})
    monkeypatch.setenv("PATH", "/nowhere")
    yield
    levels._close_all()


@pytest.mark.parametrize("name", ["namespaces", "bubblewrap", "landlock"])
def test_level_holds(name: levels.LevelName) -> None:
    try:
        runner = Runner(name)
    except SandboxError as error:
        pytest.skip(f"not to be had here: {error}")
    try:
        assert probe(runner) == []
    finally:
        runner.close()


def test_unsafe_does_not_hold() -> None:
    runner = Runner("unsafe")
    try:
        assert "read files of the host" in probe(runner)
    finally:
        runner.close()


@pytest.mark.usefixtures("without_a_jail")
def test_without_a_jail_nothing_runs() -> None:
    assert levels.level().name == "none"
    verdict = UnitTestsVerifier().verify(RESPONSE, ADD)
    assert verdict.outcome == "verifier_error"
    assert "bwrap is not installed" in verdict.detail


@pytest.mark.usefixtures("without_a_jail")
def test_unsafe_has_to_be_asked_for() -> None:
    assert levels.level(allow_unsafe=True).name == "unsafe"
    assert UnitTestsVerifier(allow_unsafe=True).verify(RESPONSE, ADD).outcome == "correct"
    assert UnitTestsVerifier().verify(RESPONSE, ADD).outcome == "verifier_error"
