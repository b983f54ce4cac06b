"""What is a call and what only talks or thinks of one, and responses where no call is wanted."""

from __future__ import annotations

import pytest

from verifiers.tool_calls import ToolCallsVerifier
from verifiers.verdict import Verdict

ROLL = {"name": "roll", "parameters": {"type": "object", "properties": {"sides": {"type": "integer"}}}}
NOTE = {"name": "note", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}
BARE = '{"name": "roll", "parameters": {"sides": 20}}'
TAGGED = '<tool_call>\n{"name": "roll", "arguments": {"sides": 20}}\n</tool_call>'
OTHER = TAGGED.replace("20", "6")


def judged(response: str, *calls: dict) -> Verdict:
    return ToolCallsVerifier().verify(response, {"tools": [ROLL, NOTE], "calls": list(calls)})


def wanting_roll(response: str) -> Verdict:
    return judged(response, {"name": "roll", "arguments": {"sides": 20}})


MENTIONS = {
    "a claim": "I have called roll with sides = 20. It shows 7.",
    "a signature": "You could call roll(sides=20), but you asked about flights.",
    "a signature first": "roll(sides=20) would do, but you asked about flights.",
    "a signature on a line": "I would write\nroll(sides=20)\nbut I will not.",
    "a list in a sentence": "I would use [roll(sides=20)] here.",
    "JSON in a sentence": f"You could send {BARE} to the tool yourself.",
    "JSON in quotes": f'Send "{BARE}" to roll.',
    "JSON in inline code": f"Send `{BARE}`.",
    "JSON in a code block beside prose": f"An example:\n```json\n{BARE}\n```\nI will not send it.",
    "Python in a code block beside prose": "An example:\n```python\n[roll(sides=20)]\n```\nI will not.",
    "a tag's name": "I would write a <tool_call> tag here.",
    "both tags' names": "Calls go between <tool_call> and </tool_call> tags.",
    "a tagged call in inline code": f"Write `{TAGGED}` to roll.",
    "Mistral's token": "The [TOOL_CALLS] token starts calls.",
    "Qwen's tag": "Use <function=name> tags for that.",
}


@pytest.mark.parametrize("response", MENTIONS.values(), ids=MENTIONS)
def test_talking_of_a_call_makes_none(response):
    assert wanting_roll(response).outcome == "no_answer"
    assert judged(response).outcome == "correct"


THOUGHTS = {
    "thinking": f"<think>{TAGGED}</think>\nIt shows 7.",
    "thinking that the prompt opened": f"Maybe {TAGGED}</think>\nIt shows 7.",
    "thinking never closed": f"<think>Let me roll. {TAGGED}",
    "a broken call in thinking": '<think><tool_call>{"name": "roll"</think>It shows 7.',
    "Mistral's thinking": f"[THINK]{TAGGED}[/THINK]It shows 7.",
}


@pytest.mark.parametrize("response", THOUGHTS.values(), ids=THOUGHTS)
def test_thinking_of_a_call_makes_none(response):
    assert wanting_roll(response).outcome == "no_answer"


@pytest.mark.parametrize(
    "response",
    [
        f"<think>{OTHER}</think>{TAGGED}",
        f"or {OTHER}</think>{TAGGED}",
        f"{TAGGED}<think>{OTHER}",
        f"<think></think>{BARE}",
    ],
)
def test_the_call_beside_thinking_counts(response):
    assert wanting_roll(response).correctness == 1.0


@pytest.mark.parametrize(
    "text", ["<think>hm</think> ok", "end </think> here", "<tool_call>", "[TOOL_CALLS]x[ARGS]{}"]
)
@pytest.mark.parametrize(
    "response",
    [
        '<tool_call>{"name": "note", "arguments": {"text": "%s"}}</tool_call>',
        '{"name": "note", "parameters": {"text": "%s"}}',
        "[note(text='%s')]",
        "<function=note>\n<parameter=text>\n%s\n</parameter>\n</function>",
        '[TOOL_CALLS]note[ARGS]{"text": "%s"}',
    ],
)
def test_marks_inside_a_string_are_data(response, text):
    assert judged(response % text, {"name": "note", "arguments": {"text": text}}).correctness == 1.0


UNWANTED = {
    "a tagged call": TAGGED,
    "a bare call": BARE,
    "an invented tool": '<tool_call>{"name": "fly", "arguments": {}}</tool_call>',
    "a call after an apology": f"I cannot do that.\n{TAGGED}",
    "a call in a message with content": (
        '{"role": "assistant", "content": "Sure.", "tool_calls": [{"function": {"name": "roll"}}]}'
    ),
}


@pytest.mark.parametrize("response", UNWANTED.values(), ids=UNWANTED)
def test_any_call_is_wrong_where_none_is_wanted(response):
    verdict = judged(response)
    assert (verdict.outcome, verdict.correctness) == ("wrong", 0.0)


ANSWERS = {
    "a refusal": "None of my tools can book a flight.",
    "one word": "abc",
    "prose after thinking of a call": f"<think>{TAGGED}</think>I cannot.",
    "a message without calls": '{"role": "assistant", "content": "I cannot.", "tool_calls": []}',
    "a message in parts": '{"role": "assistant", "content": [{"type": "text", "text": "I cannot."}]}',
    "a refusal of its own": '{"role": "assistant", "content": null, "refusal": "I cannot."}',
    "JSON that is no call": '{"answer": 42}',
    "brackets in prose": "[1] The tools {roll, note} do not help.",
}


@pytest.mark.parametrize("response", ANSWERS.values(), ids=ANSWERS)
def test_words_without_a_call_are_right_where_none_is_wanted(response):
    assert judged(response).outcome == "correct"


@pytest.mark.parametrize(
    "response", ["", " \n\t", "<think>I cannot.</think>", "<think>I cannot.", "...", "<|im_end|>"]
)
def test_silence_is_no_answer_whether_or_not_a_call_is_wanted(response):
    assert judged(response).outcome == "no_answer"
    assert wanting_roll(response).outcome == "no_answer"
