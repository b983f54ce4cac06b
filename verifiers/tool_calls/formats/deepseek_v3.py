"""DeepSeek v3 and R1: `<｜tool▁call▁begin｜>function<｜tool▁sep｜>name`, then the arguments in a JSON fence.

In: a text and the place of a `<｜tool▁call▁begin｜>`. Out: the one call after it, or None when it is
written as v3.1.
"""

from __future__ import annotations

import re

from verifiers.tool_calls.call import Broken, Format, Reading
from verifiers.tool_calls.formats.deepseek_v31 import BEGIN, END, LIST_MARKS, NAME, SEPARATOR
from verifiers.tool_calls.json_text import NotJson, call, decode

_HEAD = re.compile(
    rf"{BEGIN}\s*+function\s*+{SEPARATOR}\s*+({NAME})[ \t]*+\n\s*+(?:```(?:json)?\s*+)?(?=\{{)"
)
_END = re.compile(rf"\s*+(?:```\s*+)?(?:{END}|(?={LIST_MARKS}|{BEGIN})|\Z)")


def read(text: str, start: int) -> Reading | None:
    """The call at `start`."""
    head = _HEAD.match(text, start)
    if head is None:
        return None
    try:
        arguments, position = decode(text, head.end())
    except NotJson as error:
        return Reading((Broken(str(error)),), max(error.position, head.end()))
    end = _END.match(text, position)
    if end is None:
        return Reading((Broken("text after the arguments"),), position)
    return Reading((call(head[1], arguments),), end.end())


FORMAT = Format("deepseek_v3", BEGIN, read)
