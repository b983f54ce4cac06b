"""DeepSeek v3 and R1: `<｜tool▁call▁begin｜>function<｜tool▁sep｜>name`, then the arguments in a JSON fence.

In: a text and the place of a `<｜tool▁call▁begin｜>`. Out: the one call after it, or None when it is
written as v3.1.
"""

from __future__ import annotations

import re

from verifiers.tool_calls.call import Format, Reading
from verifiers.tool_calls.formats.deepseek_v31 import (
    BEGIN,
    END,
    LIST_MARKS,
    NAME,
    SEPARATOR,
    read_arguments,
)

_HEAD = re.compile(
    rf"{BEGIN}\s*+function\s*+{SEPARATOR}\s*+({NAME})[ \t]*+\n\s*+(?:```(?:json)?\s*+)?(?=\{{)"
)
_END = re.compile(rf"\s*+(?:```\s*+)?(?:{END}|(?={LIST_MARKS}|{BEGIN})|\Z)")


def read(text: str, start: int) -> Reading | None:
    """The call at `start`."""
    head = _HEAD.match(text, start)
    return read_arguments(text, head, _END) if head is not None else None


FORMAT = Format("deepseek_v3", BEGIN, read)
