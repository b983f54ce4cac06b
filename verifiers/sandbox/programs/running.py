"""Compiles and runs a text of Python as a module of its own.

In: code, a module. Out: nothing, or what went wrong in a line.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import sys
import types

from verifiers.sandbox import frames

_LINE, _LONGEST_MESSAGE = 300, 2_000


def new_module(name: str) -> types.ModuleType:
    """An empty module, registered, since dataclasses and the like look for it by name."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    # `python -S` leaves these out, and honest programs call them.
    for leave in ("exit", "quit"):
        setattr(builtins, leave, _sitebuiltins.Quitter(leave, "Ctrl-D"))
    return module


def execute(prelude: str, code: str, module: types.ModuleType) -> tuple[str, str] | None:
    """Runs both in `module`; what went wrong as (kind, line). Leaving with status 0 is not wrong."""
    try:
        compiled = compile(code, "<solution>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        return frames.SYNTAX, line_of(error)
    try:
        exec(compile(prelude, "<prelude>", "exec", dont_inherit=True), vars(module))  # noqa: S102  # its purpose
        exec(compiled, vars(module))  # noqa: S102
    except SystemExit as error:
        return None if error.code in (None, 0) else (frames.EXCEPTION, line_of(error))
    except BaseException as error:  # noqa: BLE001  # whatever untrusted code raises is its result
        return frames.EXCEPTION, line_of(error)
    return None


def line_of(error: BaseException) -> str:
    """The error's class and message, on one line."""
    line = " ".join(message_of(error).split())
    return f"{type(error).__name__}: {line}"[:_LINE].removesuffix(": ")


def message_of(error: BaseException) -> str:
    """The error's message, cut; empty where its class cannot give one."""
    try:
        return str(error)[:_LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001  # an exception class of untrusted code
        return ""
