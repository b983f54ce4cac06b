"""Judges what a solution answered to one call.

In: a `CallTest`, the answer's frame, the suite's options. Out: a `Result`.
"""

from __future__ import annotations

import builtins

from verifiers.sandbox import frames
from verifiers.sandbox.channel import Frame
from verifiers.sandbox.values import ValueCodecError, decode, encode
from verifiers.unit_tests.cases import CallTest, Suite
from verifiers.unit_tests.compare import same
from verifiers.unit_tests.results import PASSED, Result
from verifiers.unit_tests.show import clip, short

_SMALL_BYTES, _SMALL_VALUES = 1 << 20, 10_000


def most_answer_bytes(test: CallTest) -> int:
    """How long an answer may be and still be right: what is expected, what was given, and room to spare."""
    return _SMALL_BYTES + 4 * len(encode((test.expected, test.args)))


def judge_answer(test: CallTest, answer: Frame, suite: Suite) -> Result:
    """Passed or failed, and why."""
    most_values = _SMALL_VALUES + most_answer_bytes(test) - _SMALL_BYTES
    try:
        said = decode(answer.body, max_values=most_values)
    except ValueCodecError as error:
        return Result("failed", f"returned what cannot be read: {error}")
    match answer.kind, said:
        case frames.RETURNED, (value, _) if test.raises is None:
            if same(test.expected, value, tolerance=suite.tolerance, unordered=suite.unordered):
                return PASSED
            return Result("failed", f"expected {short(test.expected)}, got {short(value)}")
        case frames.RETURNED, (value, _):
            return Result("failed", f"expected {test.raises}, got {short(value)}")
        case frames.RAISED, (str(builtin), str(name), str(text)):
            if test.raises is not None and _is_raised(test.raises, builtin, name):
                return PASSED
            return Result("failed", clip(f"raised {name}: {text}"))
        case frames.UNSENDABLE, str(text):
            return Result("failed", clip(f"returned no plain data: {text}"))
        case _:
            return Result("failed", "answered out of turn")


def _is_raised(expected: str, builtin: str, name: str) -> bool:
    """Whether an exception called `name`, nearest built-in base `builtin`, counts as `expected`."""
    if expected == name:
        return True
    wanted, got = getattr(builtins, expected, None), getattr(builtins, builtin, None)
    return isinstance(wanted, type) and isinstance(got, type) and issubclass(got, wanted)
