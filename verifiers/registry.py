"""Finds verifiers by name: ours, a dotted path (`my_pkg.mod:MyVerifier`), or an entry point.

In: a name. Out: a `Verifier` instance, one per process and name. Importing this module imports no
verifier; each is loaded when first asked for.
"""

from __future__ import annotations

import difflib
import importlib
from functools import cache
from importlib.metadata import entry_points

from verifiers.verdict import Verifier

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
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))})


@cache
def get(name: str) -> Verifier:
    """The verifier called `name`.

    Raises:
        UnknownVerifierError: the name is not known, or its module or class cannot be loaded.
    """
    found = _load(name)
    verifier = found() if isinstance(found, type) else found
    if not isinstance(verifier, Verifier):
        raise UnknownVerifierError(
            f"verifier {name!r} is a {type(verifier).__name__} without name, version and verify(); "
            "see verifiers.verdict.Verifier for what it needs"
        )
    return verifier


def _load(name: str) -> object:
    target = BUILT_IN.get(name, name if ":" in name else None)
    if target is not None:
        module, _, attribute = target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UnknownVerifierError(f"verifier {name!r}: cannot load {target}: {error}") from error
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        try:
            return point.load()
        except (ImportError, AttributeError) as error:
            raise UnknownVerifierError(f"verifier {name!r}: cannot load {point.value}: {error}") from error
    known = names()
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}, or module.path:Class"
    raise UnknownVerifierError(f"no verifier is called {name!r}; {hint}")
