"""Finds verifiers by name: ours, an entry point, or a path (`my_pkg.mod:MyVerifier`, `rewards.py:score`).

In: a name. Out: a `Verifier` instance, one per process and name; a reward function is adapted. Importing this
module imports no verifier; each is loaded when first asked for.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verifiers.verdict import Verifier

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints
    from types import ModuleType

ENTRY_POINT_GROUP = "curriculum.verifiers"

BUILT_IN = {
    "boxed": "verifiers.boxed:BoxedVerifier",
    "unit_tests": "verifiers.unit_tests:UnitTestsVerifier",
    "tool_calls": "verifiers.tool_calls:ToolCallsVerifier",
}


class UnknownVerifierError(LookupError):
    """No verifier of that name, or its module cannot be imported; the message says what to do."""


def names() -> list[str]:
    """The names `get` knows without a dotted path, sorted."""
    return sorted({*BUILT_IN, *_offered().names})


@cache
def get(name: str) -> Verifier:
    """The verifier called `name`; the same instance every time.

    Raises:
        UnknownVerifierError: the name is not known, or its module, class or instance cannot be had.
    """
    target = BUILT_IN.get(name) or _entry_point(name) or name
    if ":" not in target:
        raise UnknownVerifierError(f"no verifier is called {name!r}; {_hint(name)}")
    try:
        found = load(target)
    except UnknownVerifierError as error:
        raise UnknownVerifierError(f"verifier {name!r}: {error}") from error.__cause__
    if isinstance(found, Verifier):
        return found
    from verifiers.adapters import AdapterError, adapt  # which needs this module

    try:
        return adapt(found)
    except AdapterError as error:
        raise UnknownVerifierError(f"verifier {name!r}: {error}") from error


def load(target: str) -> Any:
    """What `module:attribute` or `path/to/file.py:attribute` names; of a class, an instance.

    Raises:
        UnknownVerifierError: it cannot be imported, found or made, or is neither a verifier nor a function.
    """
    module, _, path = target.rpartition(":")
    # Importing and making a verifier runs other people's code, which may raise anything.
    try:
        found: Any = (
            _module_of_file(Path(module)) if module.endswith(".py") else importlib.import_module(module)
        )
        for attribute in path.split("."):
            found = getattr(found, attribute)
        found = found() if isinstance(found, type) else found
    except Exception as error:
        raise UnknownVerifierError(f"cannot load {target}: {type(error).__name__}: {error}") from error
    if not isinstance(found, Verifier) and not callable(found):
        raise UnknownVerifierError(
            f"{target} is a {type(found).__name__}: no function, and no verifier with name, version and "
            "verify(); see verifiers.verdict.Verifier for what it needs"
        )
    return found


def _offered() -> EntryPoints:
    from importlib.metadata import entry_points  # a third of this module's import time, and seldom needed

    return entry_points(group=ENTRY_POINT_GROUP)


def _entry_point(name: str) -> str | None:
    """What an installed package offers under `name`, as `module:attribute`.

    Raises:
        UnknownVerifierError: several packages offer different things under that name.
    """
    targets = sorted({f"{point.module}:{point.attr}" for point in _offered().select(name=name)})
    if len(targets) > 1:
        raise UnknownVerifierError(
            f"verifier {name!r} is offered by several packages: name one of {', '.join(targets)} in its place"
        )
    return targets[0] if targets else None


def _module_of_file(path: Path) -> ModuleType:
    """The module in a file that need not be on the import path; its folder is put there for its imports."""
    path = path.resolve()
    name = f"{path.stem}_py"  # its own, should there be a module called as the file
    spec = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise FileNotFoundError(f"there is no file {path}")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _hint(name: str) -> str:
    known = names()
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}, or module.path:Class"
