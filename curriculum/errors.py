"""The errors a user can meet, each with what, where and what to do, and its exit code.

In: the three sentences. Out: exceptions that the command line prints without a traceback.

    CurriculumError
    ├── UsageError     2  configuration, arguments, inputs; found before the engine loads
    ├── EngineError    4  engine, disk or workers failed during the pass; the same command continues
    └── NothingError   5  nothing to publish; the old set is untouched
"""

from __future__ import annotations

from typing import ClassVar


class CurriculumError(Exception):
    """An error with a remedy: `what` happened, `where` (file, row, key), what to `do`."""

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.do = do

    def __str__(self) -> str:
        return "\n".join(line for line in (self.what, self.where, self.do) if line)


class UsageError(CurriculumError):
    """Configuration, arguments or inputs are wrong."""


class EngineError(CurriculumError):
    """The pass could not go on; what was scored is kept and the same command continues."""

    exit_code = 4


class NothingError(CurriculumError):
    """No prompt qualifies; the published set is left as it was."""

    exit_code = 5
