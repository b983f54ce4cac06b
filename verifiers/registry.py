"""Finds verifiers by name: ours, a dotted path (`my_pkg.mod:MyVerifier`), or an entry point.

In: a name. Out: a `Verifier` instance, one per process and name. Importing this module imports no
verifier; each is loaded when first asked for.
"""

from __future__ import annotations

import difflib
import importlib
from functools import cache
from typing import TYPE_CHECKING

from verifiers.verdict import Verifier

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

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
    # Importing and making a verifier runs other people's code, which may raise anything.
    try:
        verifier = _attribute(target)
        if isinstance(verifier, type):
            verifier = verifier()
    except Exception as error:
        raise UnknownVerifierError(
            f"verifier {name!r}: cannot load {target}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(verifier, Verifier) or not callable(verifier.verify):
        raise UnknownVerifierError(
            f"verifier {name!r}: {target} is a {type(verifier).__name__} without name, version and verify(); "
            "see verifiers.verdict.Verifier for what it needs"
        )
    return verifier


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


def _attribute(target: str) -> object:
    module, _, path = target.partition(":")
    found: object = importlib.import_module(module)
    for attribute in path.split("."):
        found = getattr(found, attribute)
    return found


def _hint(name: str) -> str:
    known = names()
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}, or module.path:Class"
