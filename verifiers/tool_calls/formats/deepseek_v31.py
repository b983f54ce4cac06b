"""DeepSeek v3.1: `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`.

In: a text and the place of a `<｜tool▁call▁begin｜>`. Out: the one call after it. The markers around the
whole list carry nothing and are passed over. Markers spelt with ASCII bars and underscores are read too.
"""

from __future__ import annotations

import re

from verifiers.tool_calls.call import Broken, Format, Reading
from verifiers.tool_calls.json_text import NotJson, call, decode

BEGIN = r"<[｜|]tool[▁_]call[▁_]begin[｜|]>"
SEPARATOR = r"<[｜|]tool[▁_]sep[｜|]>"
END = r"<[｜|]tool[▁_]call[▁_]end[｜|]>"
NAME = r"[^\s<>{}]{1,256}+(?: [^\s<>{}]{1,256}+){0,15}+"
"""A tool's name, which may hold single spaces."""
LIST_MARKS = r"<[｜|]tool[▁_]calls[▁_](?:begin|end)[｜|]>"

_BEGIN = re.compile(BEGIN)
_HEAD = re.compile(rf"{BEGIN}\s*+({NAME})\s*+{SEPARATOR}\s*+")
_END = re.compile(rf"\s*+(?:{END}|(?={LIST_MARKS}|{BEGIN})|\Z)")


def read(text: str, start: int) -> Reading | None:
    """The call at `start`."""
    head = _HEAD.match(text, start)
    if head is None:
        begin = _BEGIN.match(text, start)
        return Reading((Broken("no name and separator in the call"),), begin.end() if begin else start + 1)
    return read_arguments(text, head, _END)


def read_arguments(text: str, head: re.Match[str], ending: re.Pattern[str]) -> Reading:
    """The call of the tool named in `head`, whose arguments follow it and are followed by `ending`."""
    try:
        arguments, position = decode(text, head.end())
    except NotJson as error:
        return Reading((Broken(str(error)),), max(error.position, head.end()))
    end = ending.match(text, position)
    if end is None:
        return Reading((Broken("text after the arguments"),), position)
    return Reading((call(head[1], arguments),), end.end())


FORMAT = Format("deepseek_v31", BEGIN, read)
