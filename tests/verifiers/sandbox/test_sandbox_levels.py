"""Every level that this machine offers holds, and where none is to be had nothing runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from verifiers.sandbox import SandboxError, levels
from verifiers.sandbox.host import Runner, probe
from verifiers.unit_tests import UnitTestsVerifier

ROOT = Path(__file__).resolve().parents[3]
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


def as_nobody(python: str, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-B", "-c", script],
        user=65534,
        group=65534,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_plain_user_has_a_jail_too() -> None:
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("no Python outside the environment, whose folder may be closed to others")
    # Skipped only where Python or the checkout is out of a plain user's reach; a fault of ours fails.
    reach = f"import sys; sys.path.insert(0, {str(ROOT)!r}); assert sys.version_info >= (3, 11); "
    reached = as_nobody(python, reach + "import verifiers.verdict")
    if reached.returncode != 0:
        pytest.skip(f"Python is too old, or it or the checkout is closed to others: {reached.stderr}")
    done = as_nobody(
        python,
        reach + "from verifiers import sandbox; from verifiers.unit_tests import UnitTestsVerifier; "
        f"print(sandbox.level().name, UnitTestsVerifier().verify({RESPONSE!r}, {ADD!r}).outcome)",
    )
    assert done.returncode == 0, done.stderr
    level, outcome = done.stdout.split()
    assert (level, outcome) in [(name, "correct") for name in ("namespaces", "bubblewrap", "landlock")] + [
        ("none", "verifier_error")
    ]


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
