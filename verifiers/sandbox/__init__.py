"""Runs programs that nobody trusts: jailed, bounded, killed as a whole.

In: code and plain data. Out: plain data. See docs/verifiers/sandbox.md for what is covered and what is not.
"""

from verifiers.sandbox.channel import ClosedError, DeadlineError, OversizeError
from verifiers.sandbox.host import Program, Runner, SandboxError
from verifiers.sandbox.levels import SandboxLevel, level, runner
from verifiers.sandbox.limits import Limits

__all__ = [
    "ClosedError",
    "DeadlineError",
    "Limits",
    "OversizeError",
    "Program",
    "Runner",
    "SandboxError",
    "SandboxLevel",
    "level",
    "runner",
]
