"""A solution: code that is loaded once and then answers calls.

In: SOLUTION, then CALL frames. Out: LOADED or PROBLEM, then an answer to each call. See `frames`.

Nothing here is relied on after untrusted code has run.
"""

from __future__ import annotations

import types
from collections import deque
from typing import Any

from verifiers.sandbox import frames
from verifiers.sandbox.channel import Channel
from verifiers.sandbox.programs.running import execute, message_of, new_module
from verifiers.sandbox.values import MAX_BYTES, ValueCodecError, decode, encode

_MUTABLE = (list, dict, set, bytearray, deque)


def run(channel: Channel, prelude: str, code: str, root: str) -> int:
    """Serves calls until the channel closes; `root` is a name the code has to define, or empty."""
    module = new_module("solution")
    problem = execute(prelude, code, module)
    if problem is None and root and not hasattr(module, root):
        problem = (frames.MISSING, f"the code does not define {root}")
    if problem is not None:
        channel.send(frames.PROBLEM, encode(problem))
        return 1
    channel.send(frames.LOADED, encode(()))
    while True:
        _, body = channel.receive()
        channel.send(*_answer(module, *decode(body, max_values=MAX_BYTES)))


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
        return frames.RAISED, encode((_built_in_base(error), type(error).__name__, message_of(error)))


def _resolve(module: types.ModuleType, path: str) -> Any:
    """What a path such as `f` or `Solution().f` names; every "()" makes a new instance."""
    found: Any = module
    for step in path.split("."):
        name = step.removesuffix("()")
        found = getattr(found, name)
        if name != step:
            found = found()
    return found


def _built_in_base(error: BaseException) -> str:
    return next(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")
