"""A judge's calls, each in a process that is killed when it takes too long.

In: a function and its arguments. Out: what it returned and the seconds it took, or None when it was killed.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


def timed(function: Callable[..., Any], *arguments: Any, limit: float) -> tuple[Any, float] | None:
    """What `function` returned and the seconds of the call; None when it was killed after `limit` seconds.

    What it raises counts as an answer, the exception's name: graders do raise.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_call, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(limit) else None
    except (EOFError, OSError):  # a message that breaks off
        return "died", 0.0
    finally:
        process.kill()
        process.join()


def _call(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    began = time.perf_counter()
    try:
        result = function(*arguments)
    except Exception as error:  # noqa: BLE001 - a peer's own faults are a result
        result = type(error).__name__
    connection.send((result, time.perf_counter() - began))
