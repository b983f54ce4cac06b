"""Finds the strongest jail this machine offers, once for each process, and keeps its runner.

In: whether running without a jail is allowed. Out: the `Runner` of this process, or the `SandboxLevel` alone.
"""

from __future__ import annotations

import atexit
import os
import threading
from dataclasses import dataclass, field

from verifiers.sandbox.host import Runner, SandboxError, probe
from verifiers.sandbox.jail import LevelName

_STRONGEST_FIRST: tuple[LevelName, ...] = ("namespaces", "bubblewrap", "landlock")

_DESCRIPTIONS: dict[LevelName, str] = {
    "namespaces": "own pid and mount namespaces, read-only minimal root, no network, seccomp, limits",
    "bubblewrap": "inside bubblewrap, minimal root, no network, seccomp, limits; namespaces are shared",
    "landlock": "Landlock, seccomp and limits; no namespaces",
    "unsafe": "seccomp and limits only, by request: programs can read this machine's files",
}


@dataclass(frozen=True, slots=True)
class SandboxLevel:
    """How programs are locked in here: the level's name, and one line about it."""

    name: LevelName
    description: str


@dataclass(slots=True)
class _Found:
    """What this process knows: the runner in use, and why stronger levels were refused."""

    runner: Runner | None = None
    refusals: list[str] = field(default_factory=list)


_lock = threading.Lock()
_found: dict[bool, _Found] = {}


def level(*, allow_unsafe: bool = False) -> SandboxLevel:
    """The level that programs of this process run at; "none" with the reasons where they are refused."""
    try:
        name = runner(allow_unsafe=allow_unsafe).level
    except SandboxError as error:
        return SandboxLevel("none", str(error))
    return SandboxLevel(name, _DESCRIPTIONS[name])


def runner(*, allow_unsafe: bool = False) -> Runner:
    """The runner of this process, started when there is none.

    Raises:
        SandboxError: no jail can be had and `allow_unsafe` is off; the message says why for each level.
    """
    with _lock:
        found = _found.get(allow_unsafe)
        if found is None:
            found = _found[allow_unsafe] = _search(allow_unsafe)
        if found.runner is None:
            raise SandboxError(f"no jail can be had ({'; '.join(found.refusals)}); {_REMEDY}")
        if not found.runner.alive:
            found.runner = Runner(found.runner.level)
        return found.runner


_REMEDY = "allow user namespaces, install bubblewrap, use Linux 5.13 or newer, or allow unsafe execution"


def _search(allow_unsafe: bool) -> _Found:
    refusals: list[str] = []
    for name in _STRONGEST_FIRST:
        try:
            return _Found(_tested(name), refusals)
        except SandboxError as error:
            refusals.append(f"{name}: {error}")
    return _Found(Runner("unsafe") if allow_unsafe else None, refusals)


def _tested(name: LevelName) -> Runner:
    candidate = Runner(name)
    try:
        escapes = probe(candidate)
    except SandboxError:
        candidate.close()
        raise
    if escapes:
        candidate.close()
        raise SandboxError(f"programs can {', '.join(escapes)}")
    return candidate


def _close_all() -> None:
    for found in _found.values():
        if found.runner is not None:
            found.runner.close()


def _forget_all() -> None:
    """In a forked child: the zygote is the parent's, and the lock may have been held."""
    global _lock  # a lock cannot be made free again
    _lock = threading.Lock()
    for found in _found.values():
        if found.runner is not None:
            found.runner.forget()
    _found.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all)
