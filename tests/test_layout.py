"""The plan of the house: who may import whom, and what a file may be.

`verifiers` and `pipelines` are ground floors: they import neither each other nor `curriculum`. Both are
namespace packages, so that Prime Intellect's `verifiers` can share the environment.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("verifiers", "pipelines", "curriculum")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

FORBIDDEN = {
    "verifiers": {
        "pipelines",
        "curriculum",
        "polars",
        "pyarrow",
        "torch",
        "vllm",
        "datasets",
        "transformers",
    },
    "pipelines": {"verifiers", "curriculum", "torch", "vllm", "datasets", "transformers"},
    "curriculum": set(),
}
"""Top-level packages that no module of a package may import, anywhere in its text."""

OTHERS_NAMES = {"v1", "types", "errors", "utils"}
"""Names under `verifiers` that belong to, or would be mistaken for, the other distribution's."""

MAX_LINES = 400


def imported(path: Path) -> Iterator[str]:
    """The top-level packages that a module imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_go_one_way(package):
    wrong = {
        str(path.relative_to(ROOT)): sorted(found)
        for path in MODULES
        if path.relative_to(ROOT).parts[0] == package and (found := FORBIDDEN[package] & set(imported(path)))
    }
    assert wrong == {}


def test_the_ground_floors_are_namespace_packages():
    assert [package for package in PACKAGES if (ROOT / package / "__init__.py").exists()] == ["curriculum"]


def test_no_module_takes_a_name_of_the_other_verifiers_package():
    assert OTHERS_NAMES & {path.stem for path in (ROOT / "verifiers").iterdir()} == set()


@pytest.mark.parametrize("module", ["verifiers.registry", "verifiers.workers", "verifiers.workers.process"])
def test_verifiers_are_light_to_import(module):
    heavy = "{'polars', 'pyarrow', 'numpy', 'torch', 'vllm', 'datasets', 'asyncio', 'multiprocessing'}"
    code = f"import sys, {module}; print(*sorted({heavy} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


def test_every_file_is_short_and_says_what_it_is_for():
    assert MODULES
    wrong = []
    for path in MODULES:
        text = path.read_text()
        if len(text.splitlines()) > MAX_LINES:
            wrong.append(f"{path.relative_to(ROOT)} has more than {MAX_LINES} lines")
        if text and not ast.get_docstring(ast.parse(text)):
            wrong.append(f"{path.relative_to(ROOT)} does not begin with a docstring")
    assert wrong == []
