"""DeepSeek v3.2: `<｜DSML｜invoke name="f">` with `<｜DSML｜parameter name="k" string="true|false">` values.

In: a text and the place of a `<｜DSML｜invoke`. Out: the one call it holds. A value is text where `string`
is true and JSON where it is false; without the attribute the tool's schema decides.
"""

from __future__ import annotations

import re
from typing import Any

from verifiers.tool_calls.call import MAX_PARAMETERS, Broken, Call, Flaw, Format, Reading, Text
from verifiers.tool_calls.json_text import NotJson, find_flaw, loads

OPENER = r"<[｜|]DSML[｜|]invoke\b"

_HEAD = re.compile(r"<[｜|]DSML[｜|]invoke\s++name=\"([^\"\n]{1,256})\"\s*+>")
_PARAMETER = re.compile(
    r"\s*+<[｜|]DSML[｜|]parameter\s++name=\"([^\"\n]{1,256})\"\s*+(?:string=\"(true|false)\"\s*+)?>"
)
_CLOSE = re.compile(r"</[｜|]DSML[｜|]parameter>(?=\s*+</?[｜|]DSML[｜|])")
_END = re.compile(r"\s*+</[｜|]DSML[｜|]invoke>(?:\s*+</[｜|]DSML[｜|](?:function_calls|tool_calls)>)?")


def read(text: str, start: int) -> Reading | None:
    """The call at `start`."""
    head = _HEAD.match(text, start)
    if head is None:
        return Reading((Broken("the invoke tag has no name"),), start + 1)
    arguments: dict[str, Any] = {}
    position = head.end()
    for _ in range(MAX_PARAMETERS):
        parameter = _PARAMETER.match(text, position)
        if parameter is None:
            break
        close = _CLOSE.search(text, parameter.end())
        if close is None:
            return Reading((Broken(f"parameter {parameter[1]} is not closed"),), len(text))
        value = _value(text[parameter.end() : close.start()], parameter[2])
        repeated = parameter[1] in arguments
        arguments[parameter[1]] = Flaw(f"{parameter[1]!r} is given twice") if repeated else value
        position = close.end()
    end = _END.match(text, position)
    if end is None:
        return Reading((Broken("the invoke tag is not closed"),), position)
    return Reading((Call(head[1], arguments, find_flaw(arguments)),), end.end())


def _value(raw: str, is_string: str | None) -> Any:
    if is_string == "true":
        return raw
    if is_string is None:
        return Text(raw)
    try:
        return loads(raw)
    except NotJson as error:
        return Flaw(f"a value is {error}")


FORMAT = Format("deepseek_v32", OPENER, read)
