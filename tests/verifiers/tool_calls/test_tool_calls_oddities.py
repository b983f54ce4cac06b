"""What each format's writers get away with, what makes a call malformed, what makes its arguments invalid."""

from __future__ import annotations

import json
from typing import Any

import pytest

from verifiers.tool_calls import ToolCallsVerifier
from verifiers.verdict import Verdict

BOOK = {
    "name": "book",
    "parameters": {
        "type": "object",
        "properties": {
            "place": {"type": "string"},
            "guests": {"type": "integer"},
            "outdoor": {"type": "boolean"},
            "wishes": {"type": "array", "items": {"type": "string"}},
            "contact": {"type": "object"},
            "note": {"type": ["null", "integer"]},
        },
    },
}
PING = {"name": "ping", "parameters": {"type": "object", "properties": {}}}
SQRT = {"name": "math.sqrt", "parameters": {"type": "object", "properties": {"x": {"type": "number"}}}}


def book(**arguments: Any) -> list[dict[str, Any]]:
    return [{"name": "book", "arguments": arguments}]


def judged(response: str, calls: list[dict[str, Any]]) -> Verdict:
    return ToolCallsVerifier().verify(response, {"tools": [BOOK, PING, SQRT], "calls": calls})


NOMA = book(place="Noma", guests=4)
PINGED = [{"name": "ping", "arguments": {}}]
TWO = [*NOMA, *PINGED]
NOMA_JSON = '{"name": "book", "arguments": {"place": "Noma", "guests": 4}}'
PING_JSON = '{"name": "ping", "arguments": {}}'
PING_OPENAI = (
    '{"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": %s}]}'
)
QWEN = "<tool_call>\n<function=book>\n%s</function>\n</tool_call>"

READ = {
    "closing tag in a string": (
        '<tool_call>\n{"name": "book", "arguments": {"place": "a </tool_call> b"}}\n</tool_call>',
        book(place="a </tool_call> b"),
    ),
    "hermes without its closing tag": (f"<tool_call>\n{NOMA_JSON}", NOMA),
    "hermes ended by a stop token": (f"<tool_call>\n{NOMA_JSON}<|im_end|>", NOMA),
    "hermes with the name last": (
        '<tool_call>{"arguments": {"place": "a"}, "name": "book"}</tool_call>',
        book(place="a"),
    ),
    "hermes amid text": (f"Booking.\n<tool_call>{NOMA_JSON}</tool_call>\nOne moment.", NOMA),
    "hermes with a fence inside": (f"<tool_call>\n```json\n{NOMA_JSON}\n```\n</tool_call>", NOMA),
    "hermes with two calls in one tag": (f"<tool_call>\n{NOMA_JSON}\n{PING_JSON}\n</tool_call>", TWO),
    "hermes with a list in the tag": (f"<tool_call>[{NOMA_JSON}, {PING_JSON}]</tool_call>", TWO),
    "arguments as a string": (r'{"name": "book", "arguments": "{\"place\": \"a\"}"}', book(place="a")),
    "arguments as a string twice": (
        r'{"name": "book", "arguments": "\"{\\\"guests\\\": 4}\""}',
        book(guests=4),
    ),
    "null for no arguments": ('<tool_call>{"name": "ping", "arguments": null}</tool_call>', PINGED),
    "no arguments at all": ('<tool_call>{"name": "ping"}</tool_call>', PINGED),
    "llama with type function": ('{"type": "function", "name": "ping", "parameters": {}}', PINGED),
    "llama after a sentence": (f"I will book. {NOMA_JSON}", NOMA),
    "llama between sentences": (f"I will book. {NOMA_JSON} One moment.", NOMA),
    "llama before another script": (f"{NOMA_JSON} 请稍等", NOMA),
    "llama on two lines": (f"{NOMA_JSON}\n{PING_JSON}", TWO),
    "llama in a code block by itself": (f"```json\n{NOMA_JSON}\n```", NOMA),
    "a bare list": (f"[{NOMA_JSON}]", NOMA),
    "pythonic without brackets": ("book(place='Noma', guests=4)", NOMA),
    "pythonic with spaces and commas": ("[ book ( place = 'Noma' , guests = 4 , ) , ]", NOMA),
    "pythonic over lines": ('[\n  book(\n    place="Noma",\n    guests=4\n  ),\n  ping()\n]', TWO),
    "pythonic after a line of text": ("Pinging now.\n[ping()]", PINGED),
    "pythonic with JSON's words": ("[book(outdoor=true, note=null)]", book(outdoor=True, note=None)),
    "pythonic brackets in a string": ("[book(place='a)] b')]", book(place="a)] b")),
    "pythonic escapes": (r"[book(place='it\'s \u00e9\x41\101\n\N{BULLET}\d')]", book(place="it's éAA\n•\\d")),
    "pythonic raw string": (r"[book(place=r'\n')]", book(place=r"\n")),
    "pythonic triple quotes": ("[book(place='''a\n'b' ''')]", book(place="a\n'b' ")),
    "pythonic joined strings": ("[book(place='a' 'b')]", book(place="ab")),
    "pythonic tuple for a list": ("[book(wishes=('a', 'b'))]", book(wishes=["a", "b"])),
    "pythonic dict": ("[book(contact={'a': [1, None], 'b': {}})]", book(contact={"a": [1, None], "b": {}})),
    "pythonic dotted name": ("[math.sqrt(x=-2.5e-1)]", [{"name": "math.sqrt", "arguments": {"x": -0.25}}]),
    "mistral with a call id": ("[TOOL_CALLS]ping[CALL_ID]a1B2c3D4e[ARGS]{}", PINGED),
    "mistral without ARGS": ("[TOOL_CALLS]ping{}", PINGED),
    "mistral with one marker for two": (
        '[TOOL_CALLS]book[ARGS]{"place": "Noma", "guests": 4}ping[ARGS]{}',
        TWO,
    ),
    "mistral old after text": (f"Well. [TOOL_CALLS] [{NOMA_JSON}]</s>", NOMA),
    "qwen3 without tool_call": ("<function=ping>\n</function>", PINGED),
    "qwen3 with the opening tag lost": ("<function=ping>\n</function>\n</tool_call>", PINGED),
    "qwen3 closing tag in a value": (
        QWEN % "<parameter=place>\na </parameter> b\n</parameter>\n",
        book(place="a </parameter> b"),
    ),
    "qwen3 parameter not closed": (QWEN % "<parameter=place>\nNoma\n<parameter=guests>\n4\n", NOMA),
    "qwen3 Python dict": (
        QWEN % "<parameter=contact>\n{'name': 'Ida', 'old': True}\n</parameter>\n",
        book(contact={"name": "Ida", "old": True}),
    ),
    "qwen3 digits as a string": (QWEN % "<parameter=place>\n5\n</parameter>\n", book(place="5")),
    "qwen3 capital True": (QWEN % "<parameter=outdoor>\nTrue\n</parameter>\n", book(outdoor=True)),
    "deepseek without the list's marks": (
        "<｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
        PINGED,
    ),
    "openai entries alone": (
        '[{"type": "function", "function": {"name": "ping", "arguments": "{}"}}]',
        PINGED,
    ),
    "openai empty arguments": (PING_OPENAI % '{"name": "ping", "arguments": ""}', PINGED),
    "openai arguments as an object": (PING_OPENAI % NOMA_JSON, NOMA),
    "openai whole completion": (
        f'{{"id": "x", "choices": [{{"message": {PING_OPENAI % PING_JSON}}}]}}',
        PINGED,
    ),
    "openai function_call": ('{"role": "assistant", "function_call": {"name": "ping"}}', PINGED),
}


@pytest.mark.parametrize(("response", "calls"), READ.values(), ids=READ)
def test_what_is_read(response, calls):
    assert judged(response, calls).correctness == 1.0


MALFORMED = {
    "hermes cut off": '<tool_call>\n{"name": "ping", "arg',
    "hermes empty": "<tool_call>\n</tool_call>",
    "hermes one brace too many": '<tool_call>{"name": "ping", "arguments": {}}}</tool_call>',
    "hermes one brace too few": '<tool_call>{"name": "ping", "arguments": {}</tool_call>',
    "hermes single quotes": "<tool_call>{'name': 'ping', 'arguments': {}}</tool_call>",
    "hermes trailing comma": '<tool_call>{"name": "ping", "arguments": {},}</tool_call>',
    "hermes line break in a string": '<tool_call>{"name": "ping\n", "arguments": {}}</tool_call>',
    "hermes without a name": '<tool_call>{"arguments": {}}</tool_call>',
    "hermes name no text": '<tool_call>{"name": 5, "arguments": {}}</tool_call>',
    "hermes name twice": '<tool_call>{"name": "ping", "name": "book", "arguments": {}}</tool_call>',
    "hermes holding Python": "<tool_call>ping()</tool_call>",
    "definition echoed in a tag": f"<tool_call>{json.dumps(PING | {'description': 'Ping.'})}</tool_call>",
    "definition echoed without description": json.dumps(BOOK),
    "attributes for Qwen's tags": '<tool_call><function name="ping"></function></tool_call>',
    "definition echoed": json.dumps(PING | {"description": "Ping."}),
    "llama cut off": '{"name": "ping", "parameters": {',
    "llama comment": '{"name": "ping", "parameters": {} /* now */}',
    "python tag before code": "<|python_tag|>import os",
    "pythonic bracket missing": "[ping(, ]",
    "pythonic cut off": "[book(place='a",
    "mistral cut off": '[TOOL_CALLS]ping[ARGS]{"a": ',
    "mistral without arguments": "[TOOL_CALLS]ping",
    "qwen3 cut off": "<tool_call>\n<function=book>\n<parameter=place>\nNo",
    "deepseek without a separator": "<｜tool▁call▁begin｜>ping<｜tool▁call▁end｜>",
    "deepseek broken JSON": "<｜tool▁call▁begin｜>ping<｜tool▁sep｜>{<｜tool▁call▁end｜>",
    "dsml cut off": '<｜DSML｜invoke name="book">\n<｜DSML｜parameter name="place" string="true">x',
    "openai broken": '{"role": "assistant", "tool_calls": [{"function": {"name": "ping"',
    "another dialect": '{"tool": "ping", "args": {}}',
    "brackets only": "[[[[",
}


@pytest.mark.parametrize("response", MALFORMED.values(), ids=MALFORMED)
def test_attempts_that_cannot_be_read_are_malformed_whether_or_not_a_call_is_wanted(response):
    for calls in (PINGED, []):
        verdict = judged(response, calls)
        assert (verdict.outcome, verdict.correctness) == ("malformed", 0.0)


FLAWED = {
    "bytes": "[book(place=b'a')]",
    "f-string": "[book(place=f'a')]",
    "nested call": "[book(place=ping(a='b'))]",
    "arithmetic": "[book(place='a' + 'b')]",
    "name": "[book(place=a)]",
    "set": "[book(place={'a', 'b'})]",
    "positional": "[book('a')]",
    "star": "[book(**{'place': 'a'})]",
    "argument twice": "[book(place='b', place='a')]",
    "key twice": '{"name": "book", "arguments": {"place": "b", "place": "a"}}',
    "parameter twice": QWEN % "<parameter=place>\nb\n</parameter>\n<parameter=place>\na\n</parameter>\n",
    "NaN": '{"name": "book", "arguments": {"place": NaN}}',
    "overflow": '{"name": "book", "arguments": {"place": -1e999}}',
    "Python overflow": "[book(place=1e999)]",
    "leading zero": "[book(place=020)]",
    "digits of another script": "[book(place=２)]",
    "too many digits": f'{{"name": "book", "arguments": {{"place": {"9" * 5000}}}}}',
    "arguments a list": '{"name": "book", "parameters": ["a"]}',
    "arguments a broken string": '{"name": "book", "arguments": "{"}',
    "both argument keys": '{"name": "book", "arguments": {"place": "a"}, "parameters": {"place": ""}}',
    "a second payload": '{"name": "book", "arguments": {"place": "a"}, "ping": {}}',
}


@pytest.mark.parametrize("response", FLAWED.values(), ids=FLAWED)
def test_arguments_that_are_no_values_earn_the_tool_alone(response):
    assert judged(response, book(place="a")).correctness == 0.3


def test_a_flawed_call_leaves_its_neighbour_alone():
    assert judged("[ping(), book(place=b'a')]", [*PINGED, *book(place="a")]).correctness == 0.65
