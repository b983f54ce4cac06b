"""Runs the tests of a suite against one response's code, every program in its own jail.

In: a `Suite`, the code, a `Runner`. Out: one `Result` a test, in order.

A solution is loaded once and answers calls; when it ends, by a crash or at a deadline, the next test starts a
fresh one. Assertions run in a second jail, which asks the solution through this process. A program test is a
process of its own. What is expected of calls and outputs never leaves this process.
"""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from verifiers.sandbox import ClosedError, DeadlineError, Limits, OversizeError, Program, Runner, frames
from verifiers.sandbox.channel import Frame
from verifiers.sandbox.values import ValueCodecError, decode, encode
from verifiers.unit_tests.answers import judge_answer, most_answer_bytes
from verifiers.unit_tests.cases import AssertTest, BadReferenceError, CallTest, IoTest, Suite, Test
from verifiers.unit_tests.results import PASSED, TIMEOUT, CodeError, Result
from verifiers.unit_tests.scripts import run_script
from verifiers.unit_tests.show import clip

_MEGABYTE = 1 << 20
_MOST_TIMEOUTS = 3
_MOST_FORWARDED = 16 * _MEGABYTE
_ANSWERS = (frames.RETURNED, frames.RAISED, frames.UNSENDABLE)


class Session:
    """The programs of one verdict; a context manager that leaves none of them alive."""

    def __init__(self, suite: Suite, code: str, runner: Runner) -> None:
        self._suite = suite
        self._code = code
        self._runner = runner
        self._limits = Limits(
            memory_bytes=suite.memory_mb * _MEGABYTE,
            cpu_seconds=math.ceil(suite.total_timeout_s) + 1,
        )
        self._stop = math.inf
        self._solution: Program | None = None
        self._empty_jail: Program | None = None
        """Where the next solution will be loaded, if it was started ahead."""
        self._judge: Program | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_all()

    def results(self) -> list[Result]:
        """One result a test. After a timeout (with `partial`, the third), and when the time for all is
        used up, the rest count as timeouts.

        Raises:
            BadReferenceError: an assertion test fails without any part of the solution's.
            CodeError: the code does not compile, fails while first loaded, or lacks the entry point.
            SandboxError: a jail failed.
        """
        if any(isinstance(test, AssertTest) for test in self._suite.tests):
            self._ready_judge()  # before anything untrusted could slow it down
        self._stop = time.monotonic() + self._suite.total_timeout_s
        results: list[Result] = []
        timeouts_left = _MOST_TIMEOUTS if self._suite.partial else 1
        for number, test in enumerate(self._suite.tests):
            try:
                in_time = timeouts_left and time.monotonic() < self._stop
                result = self._run(number, test) if in_time else TIMEOUT
            except CodeError as error:
                if number == 0:
                    raise
                result = error.result  # it could be loaded before; earlier results stand
            timeouts_left -= result.status == "timeout" and timeouts_left > 0
            results.append(result)
        return results

    def _run(self, number: int, test: Test) -> Result:
        match test:
            case CallTest():
                return self._call(number, test)
            case AssertTest():
                return self._assert(number, test)
            case IoTest():
                return run_script(test, self._suite, self._code, self._runner, self._limits, self._deadline)

    def _deadline(self) -> float:
        """When a test that starts now has to be done."""
        return min(time.monotonic() + self._suite.timeout_s, self._stop)

    # ------------------------------------------------------------------------------------- calls

    def _call(self, number: int, test: CallTest) -> Result:
        try:
            question = encode((self._suite.entry_point, test.args, test.kwargs))
        except ValueCodecError as error:
            raise BadReferenceError(f"tests[{number}]: arguments cannot be sent: {error}") from error
        solution = self._loaded_solution()
        deadline = self._deadline()
        try:
            answer = _ask(solution, question, deadline, most_answer_bytes(test))
        except DeadlineError:
            self._end_solution()
            return TIMEOUT
        if answer is None:
            self._end_solution()
            return Result("failed", "the program ended during the call, or answered too much")
        return judge_answer(test, answer, self._suite)

    # -------------------------------------------------------------------------------- assertions

    def _assert(self, number: int, test: AssertTest) -> Result:
        judge = self._ready_judge()
        blameless = self._solution is None  # nothing untrusted runs before the first question
        deadline = time.monotonic() + self._suite.timeout_s
        try:
            judge.channel.send(frames.TEST, encode((test.code, self._suite.entry_point)), deadline=deadline)
            while True:
                kind, body = judge.channel.receive(deadline=deadline)
                if kind != frames.CALL:
                    return _judged(number, kind, body)
                if blameless:
                    self._loaded_solution()
                    blameless, deadline = False, self._deadline()
                answer = _ask(self._loaded_solution(), body, deadline, _MOST_FORWARDED)
                if answer is None:
                    self._end_solution()
                judge.channel.send(*(answer or (frames.GONE, b"")), deadline=deadline)
        except DeadlineError:
            self._end_all()
            if blameless:
                raise BadReferenceError(f"tests[{number}]: ran out of time without a call") from None
            return TIMEOUT
        except ClosedError:
            self._end_all()
            if blameless:
                raise BadReferenceError(f"tests[{number}]: crashed without a call") from None
            return Result("failed", "the test ended, for want of memory, while working on what was returned")

    def _ready_judge(self) -> Program:
        if self._judge is None:
            self._judge, self._empty_jail = self._runner.start_two(self._limits)
            try:
                deadline = time.monotonic() + self._suite.timeout_s
                kind, body = _load(self._judge, frames.JUDGE, (self._suite.setup,), deadline)
            except (ClosedError, DeadlineError) as error:
                raise BadReferenceError(f"'setup' did not finish: {error}") from error
            if kind == frames.PROBLEM:
                raise BadReferenceError(clip(f"'setup': {decode(body)[1]}"))
        return self._judge

    # ---------------------------------------------------------------------------------- solution

    def _loaded_solution(self) -> Program:
        if self._solution is None:
            self._solution = self._empty_jail or self._runner.start(self._limits)
            self._empty_jail = None
            try:
                self._load_solution(self._solution)
            except CodeError:
                self._end_all()  # the judge may be waiting for an answer
                raise
        return self._solution

    def _load_solution(self, solution: Program) -> None:
        code = (self._suite.prelude, self._code, self._suite.root_name)
        try:
            kind, body = _load(solution, frames.SOLUTION, code, self._deadline())
        except DeadlineError as error:
            raise CodeError(TIMEOUT) from error
        except (ClosedError, OversizeError) as error:
            raise CodeError(Result("failed", "the program ended while loading")) from error
        if kind != frames.LOADED:
            raise _code_error(body)

    def _end_solution(self) -> None:
        if self._solution is not None:
            ended, self._solution = self._solution, None
            ended.end()

    def _end_all(self) -> None:
        programs = (self._solution, self._empty_jail, self._judge)
        self._solution = self._empty_jail = self._judge = None
        with ExitStack() as ends:
            for program in programs:
                if program is not None:
                    program.kill()
                    ends.callback(program.end)


def _load(program: Program, kind: bytes, arguments: tuple[str, ...], deadline: float) -> Frame:
    program.channel.send(kind, encode(arguments), deadline=deadline)
    return program.channel.receive(deadline=deadline, max_body=_MEGABYTE)


def _ask(solution: Program, question: bytes, deadline: float, most: int) -> Frame | None:
    """The solution's answer; None when it ended or broke the rules of the channel.

    Raises:
        DeadlineError: no answer before `deadline`.
    """
    try:
        solution.channel.send(frames.CALL, question, deadline=deadline)
        answer = solution.channel.receive(deadline=deadline, max_body=most)
    except (ClosedError, OversizeError):
        return None
    return answer if answer.kind in _ANSWERS else None


def _judged(number: int, kind: bytes, body: bytes) -> Result:
    said = decode(body)
    if kind == frames.PASSED and said > 0:
        return PASSED
    if kind == frames.FAILED:
        return Result("failed", clip(said or "the program ended during a call"))
    raise BadReferenceError(clip(f"tests[{number}]: {said or 'passes without calling the entry point'}"))


def _code_error(body: bytes) -> CodeError:
    try:
        kind, text = decode(body)
        return CodeError(Result("failed", clip(str(text))), is_syntax=kind == frames.SYNTAX)
    except (ValueCodecError, ValueError, TypeError):  # the code itself may have written this
        return CodeError(Result("failed", "the program failed while loading"))
