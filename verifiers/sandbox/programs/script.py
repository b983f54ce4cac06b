"""A script: a whole program with a standard input and output of its own.

In: SCRIPT. Out: LOADED or PROBLEM when it has ended, and an exit status as the interpreter would give.
"""

from __future__ import annotations

import atexit
import sys
import threading

from verifiers.sandbox import frames
from verifiers.sandbox.channel import Channel
from verifiers.sandbox.programs.running import execute, line_of, new_module
from verifiers.sandbox.values import encode

_FLUSH_FAILED = 120


def run(channel: Channel, prelude: str, code: str) -> int:
    """Runs the code as `__main__`; its exit status."""
    sys.argv = ["solution.py"]
    problem = execute(prelude, code, new_module("__main__"))
    status = 0 if problem is None else 1
    try:
        _leave()
    except Exception as error:  # noqa: BLE001  # an exit function or the last flush of untrusted code
        status, problem = _FLUSH_FAILED, (frames.EXCEPTION, line_of(error))
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
