"""Every format: what is written in it is read back, and refused where another is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.tool_calls import ToolCallsVerifier

Arguments = dict[str, Any]
Calls = list[tuple[str, Arguments]]

TOOLS = [
    {
        "name": "book_table",
        "parameters": {
            "type": "object",
            "properties": {
                "restaurant": {"type": "string"},
                "guests": {"type": "integer"},
                "price": {"type": "number"},
                "outdoor": {"type": "boolean"},
                "wishes": {"type": "array", "items": {"type": "string"}},
                "contact": {"type": "object"},
                "note": {"type": ["null", "integer"]},
            },
        },
    },
    {"name": "ping", "parameters": {"type": "object", "properties": {}}},
    {"name": "math.sqrt", "parameters": {"type": "object", "properties": {"x": {"type": "number"}}}},
    {"name": "save_note", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
]


def hermes(calls: Calls) -> str:
    return "\n".join(f"<tool_call>\n{named(call)}\n</tool_call>" for call in calls)


def named(call: tuple[str, Arguments], key: str = "arguments") -> str:
    return json.dumps({"name": call[0], key: call[1]}, ensure_ascii=False)


def llama3_json(calls: Calls) -> str:
    return "; ".join(named(call, "parameters") for call in calls)


def llama3_tagged(calls: Calls) -> str:
    return "<|python_tag|>" + llama3_json(calls) + "<|eom_id|>"


def pythonic(calls: Calls) -> str:
    written = (
        f"{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})" for name, args in calls
    )
    return f"[{', '.join(written)}]"


def mistral_old(calls: Calls) -> str:
    entries = [{"name": name, "arguments": args, "id": "a1B2c3D4e"} for name, args in calls]
    return f"[TOOL_CALLS]{json.dumps(entries)}"


def mistral_new(calls: Calls) -> str:
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{json.dumps(args)}" for name, args in calls) + "</s>"


def qwen3_coder(calls: Calls) -> str:
    written = (
        f"<function={name}>\n{''.join(map(qwen3_parameter, args.items()))}</function>" for name, args in calls
    )
    return "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in written)


def qwen3_parameter(argument: tuple[str, Any]) -> str:
    key, value = argument
    return f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value)}\n</parameter>\n"


def deepseek_v3(calls: Calls) -> str:
    written = (
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{json.dumps(args)}\n```<｜tool▁call▁end｜>"
        for name, args in calls
    )
    return "<｜tool▁calls▁begin｜>" + "\n".join(written) + "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"


def deepseek_v31(calls: Calls) -> str:
    written = (
        f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json.dumps(args)}<｜tool▁call▁end｜>"
        for name, args in calls
    )
    return "<｜tool▁calls▁begin｜>" + "".join(written) + "<｜tool▁calls▁end｜>"


def deepseek_v32(calls: Calls) -> str:
    written = (
        f'<｜DSML｜invoke name="{name}">\n{"".join(map(dsml_parameter, args.items()))}</｜DSML｜invoke>\n'
        for name, args in calls
    )
    return f"<｜DSML｜function_calls>\n{''.join(written)}</｜DSML｜function_calls>"


def dsml_parameter(argument: tuple[str, Any]) -> str:
    key, value = argument
    is_text = isinstance(value, str)
    body = value if is_text else json.dumps(value)
    return f'<｜DSML｜parameter name="{key}" string="{str(is_text).lower()}">{body}</｜DSML｜parameter>\n'


def openai(calls: Calls) -> str:
    entries = [
        {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for name, args in calls
    ]
    return json.dumps({"role": "assistant", "content": None, "tool_calls": entries})


WRITERS = {
    "hermes": hermes, "llama3_json": llama3_json, "pythonic": pythonic, "mistral": mistral_new,
    "qwen3_coder": qwen3_coder, "deepseek_v3": deepseek_v3, "deepseek_v31": deepseek_v31,
    "deepseek_v32": deepseek_v32, "openai": openai,
}  # fmt: skip
ALL_WRITERS = [*WRITERS.items(), ("mistral", mistral_old), ("llama3_json", llama3_tagged)]


def reference(calls: Calls, **options: Any) -> dict[str, Any]:
    return {"tools": TOOLS, "calls": [{"name": name, "arguments": args} for name, args in calls], **options}


def correctness(response: str, calls: Calls, **options: Any) -> float:
    return ToolCallsVerifier().verify(response, reference(calls, **options)).correctness


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
tables = st.fixed_dictionaries(
    {},
    optional={
        "restaurant": words,
        "guests": st.integers(),
        "price": st.floats(allow_nan=False, allow_infinity=False),
        "outdoor": st.booleans(),
        "wishes": st.lists(words, max_size=3),
        "contact": st.dictionaries(words, json_values, max_size=3),
        "note": st.none() | st.integers(),
    },
)
call_lists = st.lists(
    st.tuples(st.just("book_table"), tables) | st.just(("ping", {})), min_size=1, max_size=3
)


@pytest.mark.parametrize(("form", "write"), ALL_WRITERS, ids=lambda value: getattr(value, "__name__", value))
@settings(max_examples=60, deadline=None)
@given(calls=call_lists)
def test_what_is_written_is_read_back(form, write, calls):
    response = write(calls)
    assert correctness(response, calls) == 1.0
    assert correctness(response, calls, format=form) == 1.0
    assert correctness(f"<think>{response}</think>\nThought enough.\n{response}", calls) == 1.0


@pytest.mark.parametrize(("form", "write"), WRITERS.items())
def test_a_call_in_another_format_than_asked_for_is_malformed(form, write):
    calls = [("book_table", {"restaurant": "Noma", "guests": 4})]
    for other in WRITERS:
        verdict = ToolCallsVerifier().verify(write(calls), reference(calls, format=other))
        assert verdict.outcome == ("correct" if other == form else "malformed")
        unwanted = ToolCallsVerifier().verify(write(calls), {**reference([], format=other)})
        assert unwanted.correctness == 0.0
