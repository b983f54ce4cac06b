"""The ways of writing calls that are read, one file each.

In: nothing. Out: `FORMATS`, in the order in which formats with the same opener are tried.
"""

from __future__ import annotations

from verifiers.tool_calls.formats import (
    deepseek_v3,
    deepseek_v31,
    deepseek_v32,
    hermes,
    llama3_json,
    mistral,
    openai,
    pythonic,
    qwen3_coder,
)

__all__ = ["FORMATS"]

FORMATS = (
    qwen3_coder.TAGGED,
    qwen3_coder.FORMAT,
    hermes.FORMAT,
    mistral.FORMAT,
    deepseek_v3.FORMAT,
    deepseek_v31.FORMAT,
    deepseek_v32.FORMAT,
    llama3_json.TAGGED,
    pythonic.TAGGED,
    openai.OBJECT,
    openai.LIST,
    llama3_json.OBJECT,
    llama3_json.LIST,
    pythonic.LIST,
)
