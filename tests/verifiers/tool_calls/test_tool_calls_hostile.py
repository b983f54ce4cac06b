"""Whatever the response, `verify` gives a verdict, the same one each time, soon."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifiers.tool_calls import ToolCallsVerifier
from verifiers.verdict import OUTCOMES

TOOL = {
    "name": "f",
    "parameters": {"type": "object", "properties": {"x": {"type": "array", "uniqueItems": True}}},
}
WANTED = {"tools": [TOOL], "calls": [{"name": "f", "accepted": {"x": [[1], ["a"]]}}]}
UNWANTED = {"tools": [TOOL], "calls": []}
MEGABYTE = 1_000_000
LENGTHS = [290_000, MEGABYTE]

PIECES = [
    "<tool_call>", "</tool_call>", "<think>", "</think>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]",
    "<|python_tag|>", "<function=f>", "</function>", "<parameter=x>", "</parameter>",
    "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜DSML｜invoke name=\"f\">",
    "<｜DSML｜parameter name=\"x\" string=\"true\">", "</｜DSML｜parameter>", "</｜DSML｜invoke>",
    "```json\n", "```", "`", '{"name": "f", "arguments": {"x": [1]}}', '{"name": "f", "arguments": ',
    '{"name": "', '{"role": "assistant", "tool_calls": [', "[f(x=[1])]", "[f(", "x=", "f", "(", ")", "[",
    "]", "{", "}", '"', "'", "\\", ",", ":", ";", "\n", " ", "1", "1e999", "NaN", "null", "True", "-",
    "'''", '"""', "\\u00", "\ud800", "\x00", "é", "2", "words and more. ",
]  # fmt: skip
REPEATED = [
    "{", "[", "<", '{"a":', "[{", "[[1],", '{"name":', '[{"name":', '{"name": "', '{"name": {',
    '{"name": "f", ', '{"name": "f", "arguments": {"x": [', '{"role": "a"} ', '{"role":', "[f(", "[f(x=",
    "[f(x=[", "[f(x={1:", "f(", "f(x=", "[ ", "[a", "{ ", "<tool_call>", "<tool_call>{", "</tool_call>",
    "<think>", "</think>", "<think></think>", "<function=f>", "<function=f><parameter=x>",
    "<parameter=x>\n", "[TOOL_CALLS]", "[TOOL_CALLS]f[ARGS]{", "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}", '<｜DSML｜invoke name="f">', "<|python_tag|>", "```\n", "`",
    "\\", '"', "'", "'''", "\\'", '\\"', " ", "\n", "\x00", "9", "-", "a", "a ", ".", "\ud800",
    '<tool_call>{"name": "f", "arguments": {"x": [1]}}</tool_call>', '{"name": "f", "arguments": {}}\n',
    "{}", "[],",
]  # fmt: skip
WRAPPED = {
    "list of numbers": ('<tool_call>{"name": "f", "arguments": {"x": [', "1,", "1]}}</tool_call>"),
    "list of lists": ('<tool_call>{"name": "f", "arguments": {"x": [', "[],", "[]]}}</tool_call>"),
    "many keys": ('{"name": "f", "arguments": {', '"x": 1,', '"y": 1}}'),
    "digits": ('{"name": "f", "arguments": {"x": ', "9", "}}"),
    "string": ('{"name": "f", "arguments": {"x": "', "a", '"}}'),
    "escapes": ('{"name": "f", "arguments": {"x": "', "\\u0041", '"}}'),
    "quotes": ('{"name": "f", "arguments": {"x": "', '\\"', '"}}'),
    "open string": ('{"name": "', '\\"', ""),
    "Python string": ("[f(x='", "\\'", "')]"),
    "open Python string": ("[f(x='''", "\\'", ""),
    "Python list": ("[f(x=[", "1,", "])]"),
    "Python dict": ("[f(x={", "'a':1,", "})]"),
    "Python words": ("[f(", "x,", ")]"),
    "parameters": ("<function=f>", "<parameter=x>\n1\n</parameter>\n", "</function>"),
    "dsml": (
        '<｜DSML｜invoke name="f">',
        '<｜DSML｜parameter name="x">1</｜DSML｜parameter>',
        "</｜DSML｜invoke>",
    ),
    "junk number": ("[f(x=", "1", "a)]"),
    "long lists that break off": ("", "[f(" + "x," * 900 + ";\n", ""),
    "broken objects before commas": ('{"name"x' * 60, ",", ""),
    "stop tokens": ("I cannot.", "</s>", ""),
}
OPENINGS = [
    "<tool_call>", "<tool_call>```json", '<tool_call>{"name":', "<function=", "<function=f>",
    "<function=f><parameter=", "<function=f><parameter=x>", "<function=f><parameter=x></parameter>",
    "[TOOL_CALLS]", "[TOOL_CALLS]f", "[TOOL_CALLS]f[CALL_ID]", "[TOOL_CALLS]f[CALL_ID]a",
    "[TOOL_CALLS]f[ARGS]", "[TOOL_CALLS][", "<|python_tag|>", "<|python_start|>", '{"name"', '{"role"',
    "{", "[", "[{", "[f", "[f(", "[f(x", "[f(x=", "[f(x='", "[f(x=1", "f(", "f(x=1)",
    "<｜tool▁call▁begin｜>", "<｜tool▁call▁begin｜>f", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f", "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n{}", "<｜DSML｜invoke", '<｜DSML｜invoke name="f"',
    '<｜DSML｜invoke name="f">', '<｜DSML｜invoke name="f"><｜DSML｜parameter name="x"',
    '<｜DSML｜invoke name="f"><｜DSML｜parameter name="x">', "```", "```json", "</think>",
    "<tool_call>{}", "a", '{"name": "f", "arguments": {}}',
]  # fmt: skip
FILLERS = [" ", "\n", "\n ", "\t", "a", "a ", "</parameter>", "</parameter> ", '"', "'", "\u2003"]


LIMIT_S = 0.1


def soon(response: str) -> bool:
    """Whether a verdict takes less CPU time than the limit, in the best of a few tries."""
    return any(max(one_time(response, WANTED), one_time(response, UNWANTED)) < LIMIT_S for _ in range(5))


def one_time(response: str, reference: dict) -> float:
    before = time.thread_time()
    verdict = ToolCallsVerifier().verify(response, reference)
    elapsed = time.thread_time() - before
    assert verdict.outcome in OUTCOMES
    return elapsed


@pytest.fixture(scope="module", autouse=True)
def _warm():
    ToolCallsVerifier().verify("[f(x=[1])]", WANTED)


@pytest.mark.parametrize("piece", REPEATED, ids=ascii)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_long_repetition_is_judged_soon(piece, length):
    assert soon(piece * (length // len(piece)))


@pytest.mark.parametrize(("before", "piece", "after"), WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_long_payload_is_judged_soon(before, piece, after, length):
    assert soon(before + piece * (length // len(piece)) + after)


@pytest.mark.parametrize("filler", FILLERS, ids=ascii)
def test_a_long_wait_after_an_opening_is_judged_soon(filler):
    slow = [opening for opening in OPENINGS if not soon(opening + filler * (290_000 // len(filler)))]
    assert slow == []


def test_a_long_thought_does_not_hide_the_call_after_it():
    response = "<think>" + "hm " * MEGABYTE + '</think>{"name": "f", "arguments": {"x": ["a"]}}'
    assert ToolCallsVerifier().verify(response, WANTED).correctness == 1.0


responses = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=25).map("".join)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(PIECES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
keywords = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "enum",
        "required",
        "$ref",
        "default",
        "minimum",
        "anyOf",
        "pattern",
        "x",
        "multipleOf",
    ]
)
references = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.lists(
            st.fixed_dictionaries(
                {"name": st.just("f")}, optional={"parameters": st.dictionaries(keywords, json_values)}
            )
            | json_values,
            max_size=2,
        ),
        "calls": st.lists(
            st.fixed_dictionaries(
                {"name": st.just("f")}, optional={"arguments": json_values, "accepted": json_values}
            )
            | json_values,
            max_size=2,
        ),
        "ordered": json_values,
        "normalise": st.booleans() | json_values,
        "format": st.sampled_from(["auto", "hermes", "pythonic", "deepseek"]) | json_values,
    },
)


@settings(max_examples=500, deadline=None)
@given(response=responses, wanted=st.booleans())
def test_any_response_gets_the_same_verdict_twice(response, wanted):
    reference = WANTED if wanted else UNWANTED
    verdict = ToolCallsVerifier().verify(response, reference)
    assert verdict == ToolCallsVerifier().verify(response, reference)
    assert verdict.outcome != "verifier_error"
    assert verdict.detail.encode()
    assert "\n" not in verdict.detail


@settings(max_examples=200, deadline=None)
@given(response=responses, reference=references)
def test_any_reference_gets_a_verdict(response, reference):
    assert ToolCallsVerifier().verify(response, reference).outcome in OUTCOMES
    assert ToolCallsVerifier().verify(
        '<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>', reference
    )


def test_a_caller_deep_in_its_stack_gets_a_verdict():
    def deeper(levels: int) -> str:
        if levels:
            return deeper(levels - 1)
        return (
            ToolCallsVerifier()
            .verify('{"name": "f", "arguments": {"x": ' + "[" * 60 + "]" * 60 + "}}", WANTED)
            .outcome
        )

    room = sys.getrecursionlimit() - len(traceback.extract_stack())
    assert {deeper(room - left) for left in (50, 100, 200, 400)} <= set(OUTCOMES)


def test_verdicts_agree_across_threads_and_through_pickle():
    verifier = pickle.loads(pickle.dumps(ToolCallsVerifier()))
    response = '<tool_call>{"name": "f", "arguments": {"x": [1]}}</tool_call>'
    with ThreadPoolExecutor(4) as threads:
        verdicts = set(threads.map(lambda _: verifier.verify(response, WANTED).correctness, range(200)))
    assert verdicts == {1.0}


def test_importing_it_is_light():
    heavy = "{'jsonschema', 'polars', 'numpy', 'torch'}"
    code = f"import sys, verifiers.tool_calls; print(sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
