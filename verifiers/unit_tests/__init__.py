"""Judges code by tests: a response's program runs jailed, its verdict is reached outside.

In: a response with Python code, a reference with tests. Out: a `Verdict` with a part for each test. The rules
are in docs/verifiers/unit_tests.md.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from typing import Any

from verifiers import sandbox
from verifiers.sandbox import SandboxError
from verifiers.sandbox.values import ValueCodecError
from verifiers.unit_tests.cases import BadReferenceError, Suite, read_suite
from verifiers.unit_tests.extract import Found, Missing, find_code
from verifiers.unit_tests.results import CodeError, Result
from verifiers.unit_tests.session import Session
from verifiers.verdict import Outcome, Part, Verdict, verifier_error

__all__ = ["UnitTestsVerifier"]

_ATTEMPTS = 2


class UnitTestsVerifier:
    """The verifier `unit_tests`. Picklable and safe in threads: the jail belongs to the process, not to it.

    Args:
        allow_unsafe: run programs even where no jail can be had. They can then read this machine's files.
    """

    name = "unit_tests"
    version = "2"

    def __init__(self, *, allow_unsafe: bool = False) -> None:
        self.allow_unsafe = allow_unsafe

    def verify(self, response: str, reference: Mapping[str, Any]) -> Verdict:
        """The verdict on the last Python code of `response` by `reference["tests"]`."""
        try:
            suite = read_suite(reference)
        except BadReferenceError as error:
            return verifier_error(str(error))
        found = find_code(response, suite.root_name)
        if isinstance(found, Missing):
            return Verdict(0.0, found.outcome, (), found.detail)
        return self._judge(suite, found)

    def _judge(self, suite: Suite, found: Found) -> Verdict:
        """The verdict; for a sample it is reached twice, and void where the two differ in correctness."""
        began = time.monotonic()
        verdict = self._run(suite, found)
        quick = time.monotonic() - began < suite.total_timeout_s / 2  # both together in the time of one
        if not quick or not verdict.parts or not _is_rerun(suite, found.code):
            return verdict
        again = self._run(suite, found)
        if again.outcome == "verifier_error" or again.correctness == verdict.correctness:
            return verdict
        return verifier_error(f"flaky: {verdict.detail}; judged again, {again.detail}")

    def _run(self, suite: Suite, found: Found) -> Verdict:
        failure = ""
        for _ in range(_ATTEMPTS):  # a zygote that was killed from outside is replaced once
            try:
                runner = sandbox.runner(allow_unsafe=self.allow_unsafe)
                with runner.turns, Session(suite, found.code, runner) as session:
                    return _verdict(suite, session.results())
            except CodeError as error:
                if error.is_syntax and not found.fenced:
                    return Verdict(0.0, "no_answer", (), "no code block, and the text is not Python")
                return _verdict(suite, [error.result] * len(suite.tests))
            except (BadReferenceError, ValueCodecError) as error:
                return verifier_error(str(error))
            except (SandboxError, OSError) as error:
                failure = str(error)
        return verifier_error(f"sandbox: {failure}")


def _is_rerun(suite: Suite, code: str) -> bool:
    """Whether a program is of the sample: a share `suite.rerun` of all, by a hash of its text."""
    digest = hashlib.sha256(f"{suite.entry_point}\0{code}".encode(errors="replace")).digest()
    return int.from_bytes(digest[:8], "big") < suite.rerun * 2**64


def _verdict(suite: Suite, results: list[Result]) -> Verdict:
    passed = [result.status == "passed" for result in results]
    parts = tuple(Part(f"test_{number}", float(value)) for number, value in enumerate(passed))
    if all(passed):
        return Verdict(1.0, "correct", parts, f"{len(passed)} of {len(passed)} tests passed")
    correctness = sum(passed) / len(passed) if suite.partial else 0.0
    first = passed.index(False)
    outcome: Outcome = "wrong"
    if correctness > 0.0:
        outcome = "partial"
    elif any(result.status == "timeout" for result in results):
        outcome = "timeout"
    detail = f"{sum(passed)} of {len(passed)} tests passed; test {first}: {results[first].detail}"
    return Verdict(correctness, outcome, parts, detail)
