"""ToolRL's prompts as references: its tools stand in the system prompt, its calls in the ground-truth text.

In: a system prompt and a ground truth of the `rlla` data set. Out: a reference for the verifier.
"""

from __future__ import annotations

import re
from typing import Any

from verifiers.tool_calls.json_text import NotJson, loads

_TOOL = re.compile(
    r"^\d+\. Name: (?P<name>.*)\nDescription: (?P<description>(?s:.*?))\nParameters: (?P<map>.*)$",
    re.MULTILINE,
)


def is_response(ground_truth: str) -> bool:
    """Whether a ground truth is the text of a response in ToolRL's form, and no JSON."""
    tagged = "<tool_call>" in ground_truth or "<response>" in ground_truth
    return tagged and not ground_truth.lstrip().startswith(("{", "["))


def reference(system_prompt: str, ground_truth: str) -> dict[str, Any]:
    """The reference of one prompt.

    Raises:
        ValueError: the parameters of a listed tool are no JSON.
    """
    return {"tools": [_tool(match) for match in _TOOL.finditer(system_prompt)], "calls": ground_truth}


def _tool(match: re.Match[str]) -> dict[str, Any]:
    try:
        parameters = loads(match["map"])
    except NotJson as error:
        raise ValueError(f"the parameters of tool {match['name']!r} are {error}; mend the prompt") from None
    return {"name": match["name"], "description": match["description"], "parameters": parameters}
