"""Single modules of verl's reward functions, without what `import verl` brings with it."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType


def reward_score(name: str) -> ModuleType:
    """`verl.utils.reward_score.<name>`, its parent packages left empty."""
    root = next(path for path in sys.path if "verl" in path.rpartition("/")[2])
    for package in ("verl", "verl.utils", "verl.utils.reward_score"):
        module = ModuleType(package)
        module.__path__ = [f"{root}/{package.replace('.', '/')}"]
        sys.modules[package] = module
    functional = ModuleType("verl.utils.py_functional")  # its real one needs half of verl
    functional.timeout_limit = lambda *_, **__: lambda function: function  # type: ignore[attr-defined]
    sys.modules["verl.utils.py_functional"] = functional
    return importlib.import_module(f"verl.utils.reward_score.{name}")
