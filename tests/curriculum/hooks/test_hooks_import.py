"""The hook inside other people's processes: light, and free of names that they may use."""

import ast
import subprocess
import sys
from pathlib import Path

import curriculum.hooks

ADAPTERS = {"nemo_rl", "openrlhf", "prime_rl", "skyrl", "slime", "trl", "verl"}
"""One file a trainer, which is loaded only where that trainer is."""

FOLDER = Path(curriculum.hooks.__file__).parent
HEAVY = {
    "polars",
    "torch",
    "vllm",
    "sklearn",
    "datasets",
    "verifiers",
    "pipelines",
    "transformers",
    "pydantic",
}

OF_A_TRAINER = {"trl.py", "trl_callback.py"}
"""Modules that the package does not import: they subclass what the trainer's own libraries have."""


def test_importing_loads_nothing_heavy():
    code = f"import sys, curriculum.hooks; print(*sorted({HEAVY!r} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


def test_opening_a_set_loads_nothing_heavy_either(small):
    code = "import sys; from pathlib import Path; from curriculum.hooks import open_published; "
    code += "open_published(Path(sys.argv[1])); "
    code += f"print(*sorted({HEAVY | {'pandas'}!r} & set(sys.modules)))"
    command = [sys.executable, "-c", code, str(small.out)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""


def test_importing_takes_less_than_half_a_second():
    code = "import time; t = time.process_time(); import curriculum.hooks; print(time.process_time() - t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    assert min(runs) < 0.5


def test_no_module_imports_anything_heavy_even_inside_a_function():
    for path in FOLDER.glob("*.py"):
        if path.stem.startswith(tuple(ADAPTERS)):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            heavy = {name.partition(".")[0] for name in names} & HEAVY
            assert not heavy or path.name in OF_A_TRAINER, path.name
            assert "curriculum.manifest" not in names


def test_no_adapter_is_loaded_before_it_is_asked_for():
    code = "import sys, curriculum.hooks; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {f"curriculum.hooks.{name}" for name in ADAPTERS} & set(ran.stdout.split())


def test_what_is_exported_exists():
    assert curriculum.hooks.__all__ == sorted(curriculum.hooks.__all__)
    assert all(hasattr(curriculum.hooks, name) for name in curriculum.hooks.__all__)
