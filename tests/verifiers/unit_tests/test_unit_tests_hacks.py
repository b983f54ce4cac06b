"""No program earns a reward it has not earned, finds what it must not see, or outlives its slot.

The value that every test here expects is a secret that also lies in this process's environment, memory and
files: a program that finds it anywhere is rewarded, and the test fails.
"""

from __future__ import annotations

import secrets
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from verifiers import sandbox
from verifiers.unit_tests import UnitTestsVerifier

HACKS = tomllib.loads((Path(__file__).parent / "hacks.toml").read_text())
SECRET = f"SECRET-{secrets.token_hex(16)}"
TESTS = {
    "call": {"kind": "call", "args": [1], "expected": SECRET},
    "assert": {"kind": "assert", "code": f"def check(candidate):\n    assert candidate(1) == {SECRET!r}\n"},
}


@pytest.fixture(autouse=True, scope="module")
def secret_everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The secret in a world-readable file and in the environment, before the first program starts."""
    folder = tmp_path_factory.mktemp("open")
    folder.chmod(0o755)
    (folder / "secret.txt").write_text(SECRET)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURRICULUM_TEST_SECRET", SECRET)
        yield


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No process under the zygote after the verdict, when a spare that has run nothing has ended its wait."""
    yield
    until = time.monotonic() + 5
    while (left := living_programs()) and time.monotonic() < until:
        time.sleep(0.02)
    assert left == []


def living_programs() -> list[int]:
    """Processes below the zygote of this process, itself and its outer half left out."""
    below: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = stat.read_text().partition(" (")
        except OSError:
            continue
        below.setdefault(int(rest.rpartition(") ")[2].split()[1]), []).append(int(pid))
    outer = sandbox.runner().pid
    zygotes = below.get(outer, [outer])
    return [pid for zygote in zygotes for pid in below.get(zygote, [])]


def verify(code: str, test: dict[str, object], **options: object) -> str:
    reference = {"tests": [test], "entry_point": "f", "timeout_s": 0.4, "memory_mb": 256, **options}
    return UnitTestsVerifier().verify(f"```python\n{code}\n```", reference).outcome


@pytest.mark.parametrize("kind", ["call", "assert"])
@pytest.mark.parametrize("name", HACKS["verdicts"])
def test_verdict(name: str, kind: str) -> None:
    assert verify(HACKS["verdicts"][name], TESTS[kind]) in ("wrong", "timeout")


@pytest.mark.parametrize("name", HACKS["escapes"])
def test_escape(name: str) -> None:
    assert verify(HACKS["escapes"][name], TESTS["call"]) in ("wrong", "timeout")


@pytest.mark.parametrize("name", HACKS["programs"])
def test_program(name: str) -> None:
    test = {"kind": "io", "stdin": "1\n", "stdout": SECRET}
    assert verify(HACKS["programs"][name], test, entry_point="") in ("wrong", "timeout")


def test_the_secret_would_be_rewarded() -> None:
    code = f"def f(x):\n    return {SECRET!r}\n"
    assert [verify(code, test) for test in TESTS.values()] == ["correct", "correct"]
