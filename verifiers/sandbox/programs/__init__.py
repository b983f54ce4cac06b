"""What runs inside a jail: a solution, a script, the judge of assertions, or a probe.

In: a channel, whose first frame says which (see `frames`). Out: frames of plain data, then an exit status.

A solution and a judge never share a process: the judge holds the tests and asks through its own channel,
and the trusted side passes the question on.
"""

from __future__ import annotations

from collections.abc import Callable

from verifiers.sandbox import frames
from verifiers.sandbox.channel import Channel, ClosedError
from verifiers.sandbox.programs import judge, probe, script, solution
from verifiers.sandbox.values import MAX_BYTES, decode

__all__ = ["FAILED_TO_START", "run"]

FAILED_TO_START = 125

_PROGRAMS: dict[bytes, Callable[..., int]] = {
    frames.SOLUTION: solution.run,
    frames.SCRIPT: script.run,
    frames.JUDGE: judge.run,
    frames.PROBE: probe.run,
}


def run(channel: Channel) -> int:
    """Does what the first frame asks for; the exit status of the program."""
    try:
        kind, body = channel.receive()
        return _PROGRAMS[kind](channel, *decode(body, max_values=MAX_BYTES))
    except ClosedError:  # the trusted side has what it wanted
        return 0
