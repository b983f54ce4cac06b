"""What runs inside a jail: a solution that answers calls, a script, the judge of assertions, or a probe.

In: a channel, whose first frame says which (see `frames`). Out: frames of plain data, then an exit status.

A solution and a judge never share a process: the judge holds the tests and asks through its own channel,
and the trusted side passes the question on. Nothing here is relied on after untrusted code has run.
"""

from __future__ import annotations

import _sitebuiltins
import atexit
import builtins
import os
import socket
import sys
import threading
import types
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from verifiers.sandbox import frames, judge
from verifiers.sandbox.channel import Channel, ClosedError
from verifiers.sandbox.values import ValueCodecError, decode, encode

FAILED_TO_START = 125
_TEXT, _LONGEST_MESSAGE = 300, 2_000
_MUTABLE = (list, dict, set, bytearray, deque)


def run(channel: Channel) -> int:
    """Does what the first frame asks for; the exit status of the program."""
    kind, body = channel.receive()
    arguments = decode(body)
    try:
        if kind == frames.SOLUTION:
            return _solution(channel, *arguments)
        if kind == frames.SCRIPT:
            return _script(channel, *arguments)
        if kind == frames.JUDGE:
            return judge.run(channel, *arguments)
        channel.send(frames.ESCAPES, encode(_escapes()))
    except ClosedError:  # the trusted side has what it wanted
        return 0
    return 0


# --------------------------------------------------------------------------------------- solution


def _solution(channel: Channel, prelude: str, code: str, root: str) -> int:
    module = _module("solution")
    problem = _execute(prelude, code, vars(module))
    if problem is None and root and not hasattr(module, root):
        problem = (frames.MISSING, f"the code does not define {root}")
    if problem is not None:
        channel.send(frames.PROBLEM, encode(problem))
        return 1
    channel.send(frames.LOADED, encode(()))
    while True:
        _, body = channel.receive()
        channel.send(*_answer(module, *decode(body)))


def _answer(
    module: types.ModuleType, path: str, args: list[Any], kwargs: dict[str, Any]
) -> tuple[bytes, bytes]:
    watched = any(isinstance(arg, _MUTABLE) for arg in args)
    before = encode(args) if watched else b""
    try:
        value = _resolve(module, path)(*args, **kwargs)
        after = encode(args) if watched else b""
        return frames.RETURNED, encode((value, args if after != before else None))
    except ValueCodecError as error:
        return frames.UNSENDABLE, encode(str(error))
    except BaseException as error:  # noqa: BLE001  # whatever untrusted code raises is its answer
        return frames.RAISED, encode((_builtin_name(error), type(error).__name__, _message(error)))


def _resolve(module: types.ModuleType, path: str) -> Any:
    """What a path such as `f` or `Solution().f` names; every "()" makes a new instance."""
    found: Any = module
    for step in path.split("."):
        name = step.removesuffix("()")
        found = getattr(found, name)
        if name != step:
            found = found()
    return found


def _builtin_name(error: BaseException) -> str:
    return next(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")


# ----------------------------------------------------------------------------------------- script


def _script(channel: Channel, prelude: str, code: str) -> int:
    sys.argv = ["solution.py"]
    problem = _execute(prelude, code, vars(_module("__main__")))
    status = 0 if problem is None else 1
    try:
        _leave()
    except Exception as error:  # noqa: BLE001  # an exit function or the last flush of untrusted code
        status, problem = 120, (frames.EXCEPTION, _text(error))
    if problem is None:
        channel.send(frames.LOADED, encode(()))
    else:
        channel.send(frames.PROBLEM, encode(problem))
    return status


def _leave() -> None:
    """What the interpreter does at its end: waits for threads, runs exit functions, flushes."""
    me = threading.current_thread()
    while waiting := [thread for thread in threading.enumerate() if thread is not me and not thread.daemon]:
        waiting[0].join()
    atexit._run_exitfuncs()
    sys.stdout.flush()


# ------------------------------------------------------------------------------------- running code


def _module(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    sys.modules[name] = module
    # `python -S` leaves these out, and honest programs call them.
    for leave in ("exit", "quit"):
        setattr(builtins, leave, _sitebuiltins.Quitter(leave, "Ctrl-D"))
    return module


def _execute(prelude: str, code: str, namespace: dict[str, Any]) -> tuple[str, str] | None:
    """Runs the code; None, or what went wrong as (kind, text). Leaving with status 0 is not a problem."""
    try:
        compiled = compile(code, "<solution>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        return frames.SYNTAX, _text(error)
    try:
        exec(compile(prelude, "<prelude>", "exec", dont_inherit=True), namespace)  # noqa: S102  # its purpose
        exec(compiled, namespace)  # noqa: S102
    except SystemExit as error:
        if error.code in (None, 0):
            return None
        return frames.EXCEPTION, _text(error)
    except BaseException as error:  # noqa: BLE001  # whatever untrusted code raises is its result
        return frames.EXCEPTION, _text(error)
    return None


def _text(error: BaseException) -> str:
    line = " ".join(_message(error).split())
    return f"{type(error).__name__}: {line}"[:_TEXT].removesuffix(": ")


def _message(error: BaseException) -> str:
    try:
        return str(error)[:_LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001  # an exception class of untrusted code
        return ""


# ------------------------------------------------------------------------------------------ probe


def _escapes() -> list[str]:
    """What this jail should prevent and does not; empty when it holds."""
    attempts: dict[str, Callable[[], object]] = {
        "read files of the host": lambda: Path("/etc/passwd").read_bytes(),
        "write to the file system": lambda: Path("/probe").write_bytes(b""),
        "open a socket": socket.socket,
        "start a process": _start_a_process,
        "signal another process": lambda: os.kill(os.getppid() or 2, 0),
    }
    found = []
    for what, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        found.append(what)
    return found


def _start_a_process() -> None:
    if os.fork() == 0:
        os._exit(0)
