"""Reads a reference into tests.

In: the reference mapping of docs/verifiers/unit_tests.md. Out: a `Suite`, or `ReferenceError` with the key at
fault. Everything that is wrong with a reference is found here, before any program runs.
"""

from __future__ import annotations

import builtins
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

_PATH = re.compile(r"[^\W\d]\w*(\(\))?(\.[^\W\d]\w*(\(\))?)*(?<!\))")


_TOTAL_S = 20.0


class BadReferenceError(ValueError):
    """The reference cannot be used; says which key and why."""


@dataclass(frozen=True, slots=True)
class CallTest:
    """Calls the entry point and compares what it returns, or the kind of exception it raises."""

    args: list[Any]
    kwargs: dict[str, Any]
    expected: Any
    raises: str | None


@dataclass(frozen=True, slots=True)
class AssertTest:
    """Code that defines `check(candidate)`, or asserts by itself."""

    code: str


@dataclass(frozen=True, slots=True)
class IoTest:
    """A run of the whole program on a standard input."""

    stdin: str
    stdout: str


Test = CallTest | AssertTest | IoTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The tests of one reference and how they are judged."""

    tests: tuple[Test, ...]
    entry_point: str = ""
    """Path of what is called, such as `f` or `Solution().f`; empty where only programs are run."""
    setup: str = ""
    """Code for the assertions' side alone: helpers they use."""
    prelude: str = ""
    """Code run before the response's own, such as the imports of the prompt."""
    timeout_s: float = 5.0
    """Wall-clock seconds for each test."""
    total_timeout_s: float = 20.0
    """Wall-clock seconds for all tests together."""
    memory_mb: int = 1024
    tolerance: float | None = None
    """For floats, absolute or relative, whichever allows more; None: the last digits of a double."""
    unordered: bool = False
    partial: bool = False
    rerun: float = 0.02
    """Share of programs that are judged twice, to find verdicts that depend on chance."""

    @property
    def root_name(self) -> str:
        """What the response's code has to define; empty for programs and for bare asserts."""
        return self.entry_point.partition(".")[0].removesuffix("()")


def read_suite(reference: Mapping[str, Any]) -> Suite:
    """The suite of `reference`.

    Raises:
        BadReferenceError: a key is missing, unknown or of the wrong type, or there is no test.
    """
    if not isinstance(reference, Mapping):
        raise BadReferenceError("the reference must be an object")
    _check_spelling(reference)
    raw = reference.get("tests")
    if not isinstance(raw, Sequence) or isinstance(raw, str) or not raw:
        raise BadReferenceError("'tests' must be a list with at least one test")
    timeout_s = _number(reference, "timeout_s", 5.0, low=0.01, high=3600.0)
    suite = Suite(
        tests=tuple(_test(test, f"tests[{number}]") for number, test in enumerate(raw)),
        entry_point=_entry_point(reference),
        setup=_text(reference, "setup"),
        prelude=_text(reference, "prelude"),
        timeout_s=timeout_s,
        total_timeout_s=_number(
            reference, "total_timeout_s", max(_TOTAL_S, 4 * timeout_s), low=timeout_s, high=86400.0
        ),
        memory_mb=int(_number(reference, "memory_mb", 1024, low=64, high=1 << 20)),
        tolerance=_tolerance(reference),
        unordered=_flag(reference, "unordered"),
        partial=_flag(reference, "partial"),
        rerun=_number(reference, "rerun", 0.02, low=0.0, high=1.0),
    )
    if not suite.entry_point and any(isinstance(test, CallTest) for test in suite.tests):
        raise BadReferenceError("tests of kind 'call' need an 'entry_point'")
    return suite


def _check_spelling(reference: Mapping[str, Any]) -> None:
    """Other keys may travel in a reference, but a misspelt option must not pass as one of them."""
    known = {field.name for field in fields(Suite)}
    for key in reference:
        near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.8)
        if near and key not in known:
            raise BadReferenceError(f"unknown key {key!r}; did you mean {near[0]!r}?")


def _test(raw: object, where: str) -> Test:
    if not isinstance(raw, Mapping):
        raise BadReferenceError(f"{where} must be an object")
    match raw.get("kind"):
        case "call":
            return _call(raw, where)
        case "assert" if isinstance(raw.get("code"), str):
            return AssertTest(raw["code"])
        case "io" if isinstance(raw.get("stdin") or "", str) and isinstance(raw.get("stdout"), str):
            return IoTest(raw.get("stdin") or "", raw["stdout"])
        case "assert":
            raise BadReferenceError(f"{where}: kind 'assert' needs 'code', a string")
        case "io":
            raise BadReferenceError(f"{where}: kind 'io' needs 'stdout', a string, and 'stdin', a string")
        case other:
            raise BadReferenceError(f"{where}: kind {other!r} is none of 'call', 'assert', 'io'")


def _call(raw: Mapping[str, Any], where: str) -> CallTest:
    args, kwargs, raises = raw.get("args") or [], raw.get("kwargs") or {}, raw.get("raises")
    if not isinstance(args, Sequence) or isinstance(args, str):
        raise BadReferenceError(f"{where}: 'args' must be a list")
    if not isinstance(kwargs, Mapping) or any(not isinstance(key, str) for key in kwargs):
        raise BadReferenceError(f"{where}: 'kwargs' must be an object")
    if (raises is None and "expected" not in raw) or (raises is not None and raw.get("expected") is not None):
        raise BadReferenceError(f"{where}: kind 'call' needs either 'expected' or 'raises'")
    if raises is not None and not isinstance(raises, str):
        raise BadReferenceError(f"{where}: 'raises' must be the name of an exception")
    return CallTest(list(args), dict(kwargs), raw.get("expected"), raises)


def _entry_point(reference: Mapping[str, Any]) -> str:
    path = _text(reference, "entry_point")
    if path and (not _PATH.fullmatch(path) or path.endswith("()")):
        raise BadReferenceError(f"'entry_point' must be a path such as f or Solution().f, got {path!r}")
    if path in vars(builtins):
        raise BadReferenceError(f"'entry_point' {path!r} is a name of Python's own")
    return path


def _text(reference: Mapping[str, Any], key: str) -> str:
    value = reference.get(key) or ""
    if not isinstance(value, str):
        raise BadReferenceError(f"{key!r} must be a string")
    return value


def _flag(reference: Mapping[str, Any], key: str) -> bool:
    value = reference.get(key)
    if value is not None and not isinstance(value, bool):
        raise BadReferenceError(f"{key!r} must be true or false")
    return bool(value)


def _tolerance(reference: Mapping[str, Any]) -> float | None:
    return None if reference.get("tolerance") is None else _number(reference, "tolerance", 0, low=0, high=1e9)


def _number(reference: Mapping[str, Any], key: str, default: float, *, low: float, high: float) -> float:
    value = reference.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadReferenceError(f"{key!r} must be a number from {low:g} to {high:g}, got {value!r}")
    return value
