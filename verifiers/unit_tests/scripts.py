"""Runs a response's code as a program and judges what it prints.

In: an `IoTest`, the suite, the code, a `Runner`. Out: a `Result`.

Standard input is a sealed file in memory, standard output another one: real files, complete when the program
has ended, and bounded by its limit on file length.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from verifiers.sandbox import ClosedError, DeadlineError, Limits, OversizeError, Program, Runner, frames
from verifiers.sandbox.values import ValueCodecError, decode, encode
from verifiers.unit_tests.cases import IoTest, Suite
from verifiers.unit_tests.compare import same_output
from verifiers.unit_tests.results import PASSED, TIMEOUT, CodeError, Result
from verifiers.unit_tests.show import clip, short

_SPARE_BYTES = 1 << 20


def run_script(
    test: IoTest,
    suite: Suite,
    code: str,
    runner: Runner,
    limits: Limits,
    deadline_from_now: Callable[[], float],
) -> Result:
    """Passed when the program ends with status 0, in time, having printed what is expected.

    Raises:
        CodeError: the code does not compile.
        SandboxError: the jail failed.
    """
    longest = 2 * len(test.stdout.encode(errors="replace")) + _SPARE_BYTES
    with _file(test.stdin.encode(errors="surrogatepass")) as stdin, _file(None) as stdout:
        allowed = replace(limits, file_bytes=max(longest + 1, limits.file_bytes))
        with runner.start(allowed, (stdin, stdout)) as program:
            deadline = deadline_from_now()
            try:
                program.channel.send(frames.SCRIPT, encode((suite.prelude, code)), deadline=deadline)
                status = program.wait(deadline)
            except DeadlineError:
                return TIMEOUT
            except ClosedError:
                return Result("failed", "the program ended while loading")
            problem = _problem(program)
        if os.fstat(stdout).st_size > longest:
            return Result("failed", f"printed more than {longest} bytes")
        printed = os.pread(stdout, longest, 0).decode(errors="replace")
    if problem or status != 0:
        return Result("failed", clip(problem or f"ended with status {status}"))
    if same_output(test.stdout, printed, tolerance=suite.tolerance, unordered=suite.unordered):
        return PASSED
    return Result("failed", f"expected {short(test.stdout)}, printed {short(printed)}")


def _problem(program: Program) -> str:
    """What the program says went wrong; empty when it says nothing of the kind."""
    try:
        kind, body = program.channel.receive(deadline=time.monotonic(), max_body=_SPARE_BYTES)
        if kind != frames.PROBLEM:
            return ""
        what, text = decode(body)
    except (ClosedError, DeadlineError, OversizeError):
        return ""
    except (ValueCodecError, ValueError, TypeError):  # the code itself may have written this
        return "failed"
    if what == frames.SYNTAX:
        raise CodeError(Result("failed", clip(str(text))), is_syntax=True)
    return str(text)


@contextmanager
def _file(content: bytes | None) -> Iterator[int]:
    """A file in memory: sealed with `content` in it, or empty and open for writing."""
    descriptor = os.memfd_create("standard", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        if content is not None:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
            os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
