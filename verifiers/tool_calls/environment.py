"""Runs calls in the executable environment of a reference, and gives the state they leave behind.

In: an environment's source, calls. Out: its state before and after them, as JSON data.

The source is Python that defines `state`, plain data, and a function for every tool; a tool `files.move` is
the `move` of an object `files`. It is trusted to be right; what a response passes to it is trusted with
nothing. So every run is a jailed process of its own, which starts from the source alone and never sees what
other calls led to; states leave it as data and are compared outside.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from verifiers import sandbox
from verifiers.sandbox import ClosedError, DeadlineError, Limits, OversizeError, Program, SandboxError, frames
from verifiers.sandbox.channel import Frame
from verifiers.sandbox.values import ValueCodecError, decode, encode
from verifiers.tool_calls.json_text import NotJson, loads

SECONDS = 5.0
"""Wall clock for loading an environment and making all the calls of one response."""
MAX_STATE_BYTES, MAX_STATE_MARKS = 4 << 20, 1_000_000
MAX_ANSWER_BYTES = 16 << 20

_LIMITS = Limits(cpu_seconds=int(SECONDS) + 1)
_ATTEMPTS = 2
_READER = "_state_as_json"
_READ_STATE = f"""

def {_READER}():
    import json
    return json.dumps(state, allow_nan=False)
"""


class EnvironmentFault(ValueError):
    """The environment cannot be used, or came to no end with these calls; says why."""


@dataclass(frozen=True, slots=True)
class Run:
    """States before and after some calls, and what the first call that raised said, if one did.

    What such a call had changed by then stays changed.
    """

    first: Any
    last: Any
    raised: str


@lru_cache(maxsize=512)
def remembered(source: str, calls: str, allow_unsafe: bool) -> Run:
    """`run` for the calls of a reference, which every rollout of its prompt is held against."""
    return run(source, json.loads(calls), allow_unsafe)


def run(source: str, calls: list[tuple[str, dict[str, Any]]], allow_unsafe: bool) -> Run:
    """Makes `calls` in a new environment.

    Raises:
        EnvironmentFault: the source does not load, `state` is no JSON, or the calls do not end in time.
        SandboxError: no jail can be had, or it failed twice.
    """
    for attempt in range(_ATTEMPTS):  # a zygote that was killed from outside is replaced once
        try:
            runner = sandbox.runner(allow_unsafe=allow_unsafe)
            with runner.turns, runner.start(_LIMITS) as program:
                return _run(program, source, calls)
        except SandboxError:
            if attempt + 1 == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def _run(program: Program, source: str, calls: list[tuple[str, dict[str, Any]]]) -> Run:
    deadline = time.monotonic() + SECONDS
    try:
        code = encode(("", source + _READ_STATE, _READER))
        program.channel.send(frames.SOLUTION, code, deadline=deadline)
        loaded = program.channel.receive(deadline=deadline, max_body=MAX_ANSWER_BYTES)
        if loaded.kind != frames.LOADED:
            raise EnvironmentFault(f"it does not load: {decode(loaded.body)[1]}")
        first = _state(program, deadline)
        answers = [_answer(program, name.replace("-", "_"), arguments, deadline) for name, arguments in calls]
        raised = [": ".join(decode(answer.body)[1:]) for answer in answers if answer.kind == frames.RAISED]
        return Run(first, _state(program, deadline), raised[0] if raised else "")
    except DeadlineError:
        raise EnvironmentFault(f"the calls do not end within {SECONDS:.0f} s") from None
    except (ClosedError, OversizeError) as error:
        raise EnvironmentFault(f"it ended, or answered too much: {error}") from None
    except (ValueCodecError, TypeError, LookupError) as error:  # its own code may have written the frames
        raise EnvironmentFault(f"what goes in or comes out is no data: {error}") from None


def _answer(program: Program, path: str, arguments: dict[str, Any], deadline: float) -> Frame:
    program.channel.send(frames.CALL, encode((path, [], arguments)), deadline=deadline)
    return program.channel.receive(deadline=deadline, max_body=MAX_ANSWER_BYTES)


def _state(program: Program, deadline: float) -> Any:
    answer = _answer(program, _READER, {}, deadline)
    said = decode(answer.body)
    if answer.kind != frames.RETURNED or not isinstance(said[0], str) or len(said[0]) > MAX_STATE_BYTES:
        raise EnvironmentFault(f"its state is no JSON of at most {MAX_STATE_BYTES} characters: {said[-1]}")
    try:
        return loads(said[0], MAX_STATE_MARKS)
    except NotJson as error:
        raise EnvironmentFault(f"its state is no JSON: {error}") from None
