"""The wheel shares an environment with Prime Intellect's `verifiers`, whichever is installed first.

Both put files under `verifiers/`; theirs has the `__init__.py`, ours has none. Needs the package index,
for their wheel and the build backend.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

UNREACHABLE = (
    "NewConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "SSLError",
    "Temporary failure in name resolution",
)
"""What pip says when it cannot talk to the index at all."""

USES_OURS = textwrap.dedent(
    """
    from verifiers.registry import names
    from verifiers.shaping import RewardShape
    from verifiers.verdict import graded
    from verifiers.workers import Item, VerifierWorkers
    got = []
    with VerifierWorkers(workers=1, rewards=RewardShape(), on_judged=got.extend) as workers:
        workers.submit([Item(1, "boxed", r"so \\\\boxed{42}", '{"answer": "42"}')])
    print(*names(), got[0].verdict.outcome)
    """
)
OURS_WORKS = "boxed tool_calls unit_tests correct"

USES_BOTH = "import verifiers; print(verifiers.__file__ is not None, verifiers.__version__)"

pytestmark = pytest.mark.slow


def pip(*arguments: object) -> str:
    """Runs pip; skips the test when the index cannot be reached."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries=1", "--timeout=20"]
    ran = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, check=False)
    output = ran.stdout + ran.stderr
    if ran.returncode and any(sign in output for sign in UNREACHABLE):
        pytest.skip("the package index cannot be reached")
    assert ran.returncode == 0, output
    return output


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ours")
    pip("wheel", "--no-deps", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("rlvr_curriculum-*.whl")
    return wheel


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("theirs")
    pip("download", "--no-deps", "--dest", folder, "verifiers")
    (wheel,) = folder.glob("verifiers-*.whl")
    return wheel


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_the_packages_and_nothing_else(ours: Path):
    tops = {name.partition("/")[0] for name in contents(ours)}
    info = {name for name in tops if name.endswith(".dist-info")}
    assert tops - info == {"curriculum", "verifiers", "pipelines"}
    sources = {str(path.relative_to(ROOT)) for top in tops - info for path in (ROOT / top).rglob("*.py")}
    assert sources <= contents(ours)


def test_no_file_is_in_both_wheels(ours: Path, theirs: Path):
    assert contents(ours) & contents(theirs) == set()


@pytest.mark.parametrize("ours_first", [True, False])
def test_both_work_in_one_environment(ours: Path, theirs: Path, tmp_path: Path, ours_first: bool):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    python = tmp_path / "bin" / "python"

    def run(code: str) -> str:
        command = [python, "-I", "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    for wheel in (ours, theirs) if ours_first else (theirs, ours):
        pip("--python", python, "install", "--no-deps", "--no-index", "--no-compile", wheel)
    version = theirs.name.split("-")[1]
    assert run(USES_BOTH) == f"True {version}"
    assert run(USES_OURS) == OURS_WORKS

    pip("--python", python, "uninstall", "--yes", "verifiers")
    assert run(USES_OURS) == OURS_WORKS
