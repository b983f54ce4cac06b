"""What one test came to.

In: nothing. Out: `Result`, and `CodeError` for code that no test can be run on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Result:
    """The end of one test."""

    status: Literal["passed", "failed", "timeout"]
    detail: str = ""


PASSED = Result("passed")
TIMEOUT = Result("timeout", "ran out of time")


class CodeError(Exception):
    """No test can be run on the code; `result` is what each of them comes to."""

    def __init__(self, result: Result, *, is_syntax: bool = False) -> None:
        super().__init__(result.detail)
        self.result = result
        self.is_syntax = is_syntax
