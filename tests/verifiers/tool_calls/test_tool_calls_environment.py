"""References with an executable environment: the state that calls lead to decides, not the calls."""

from __future__ import annotations

import json

import pytest

from verifiers.tool_calls import ToolCallsVerifier

SOURCE = """
state = {"cart": {}, "log": []}

def add(item, count=1):
    if count > 100:
        raise ValueError("too many")
    state["cart"][item] = state["cart"].get(item, 0) + count

def remove(item):
    del state["cart"][item]

def look():
    return list(state["cart"])

def check_out(now=False):
    state["log"].append("paid" if now else "later")

class shop:
    open = staticmethod(lambda: state.update(door="open"))

def spin():
    while True:
        pass

def leave():
    import os
    os._exit(0)

def calculate(term):
    return eval(term)
"""
ITEM = {
    "type": "object",
    "properties": {"item": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["item"],
}
TERM = {"type": "object", "properties": {"term": {"type": "string"}}, "required": ["term"]}
SCHEMAS = {"add": ITEM, "remove": ITEM, "calculate": TERM}
NAMES = ("add", "remove", "look", "check-out", "shop.open", "spin", "leave", "calculate", "unwritten")
TOOLS = [{"name": name, "parameters": SCHEMAS.get(name)} for name in NAMES]


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def judged(made, wanted, source=SOURCE, **options):
    response = "\n".join(f"<tool_call>{json.dumps(one)}</tool_call>" for one in made)
    reference = {"tools": TOOLS, "calls": wanted, "environment": source, **options}
    return ToolCallsVerifier().verify(response, reference)


APPLES = [call("add", item="apple", count=2)]
CASES = {
    "the wanted calls": (APPLES, APPLES, 1.0),
    "another way to the same state": (
        [call("add", item="apple"), call("add", item="apple")],
        APPLES * 1,
        0.7,
    ),
    "a shorter way": (APPLES, [call("add", item="apple"), call("add", item="apple")], 1.0),
    "a reading call left out": (APPLES, [call("look"), *APPLES], 1.0),
    "an extra call that changes nothing": ([*APPLES, call("look")], APPLES, 0.7),
    "an extra call that changes something": ([*APPLES, call("check-out")], APPLES, 0.3),
    "another state": ([call("add", item="apple", count=3)], APPLES, 0.6),
    "no state but the first": ([call("look")], APPLES, 0.0),
    "arguments that the schema refuses are not carried out": (
        [call("add", item="apple", count="2")],
        APPLES,
        0.3,
    ),
    "a call that raises": ([call("add", item="apple", count=101)], APPLES, 0.6),
    "an unknown tool beside the right call": ([call("steal", item="x"), *APPLES], APPLES, 0.7),
    "order counts where the state says so": (
        [call("check-out", now=True), call("check-out")],
        [call("check-out"), call("check-out", now=True)],
        0.6,
    ),
    "a default spelt out": ([call("add", item="pear", count=1)], [call("add", item="pear")], 1.0),
    "dotted and hyphenated names": (
        [call("shop.open"), call("check-out")],
        [call("shop.open"), call("check-out")],
        1.0,
    ),
    "a call without an end": ([call("spin")], APPLES, 0.0),
    "a call that ends the process": ([*APPLES, call("leave")], APPLES, 0.3),
    "wanted calls that change nothing": ([call("look")], [call("look")], 1.0),
    "nothing wanted but reading, something else read": ([call("calculate", term="1")], [call("look")], 0.0),
}


@pytest.mark.parametrize("name", CASES)
def test_score(name):
    made, wanted, correctness = CASES[name]
    verdict = judged(made, wanted)
    assert verdict.correctness == pytest.approx(correctness), verdict


def test_no_call_is_still_no_answer():
    assert judged([], APPLES).outcome == "no_answer"


@pytest.mark.parametrize(
    ("wanted", "source", "says"),
    [
        (APPLES, "state = {", "does not load"),
        (APPLES, "def add(item, count=1): pass", "no JSON"),
        (APPLES, "state = {1, 2}\ndef add(item, count=1): pass", "no JSON"),
        (APPLES, "state = float('nan')\ndef add(item, count=1): pass", "no JSON"),
        ([call("unwritten")], SOURCE, "raises AttributeError"),
        ([call("remove", item="pear")], SOURCE, "raises KeyError"),
        ([call("leave")], SOURCE, "ended"),
        (APPLES, ["state"], "must be Python source"),
        ([{"name": "add", "accepted": {"item": ["apple"]}}], SOURCE, "exact arguments"),
    ],
)
def test_a_reference_that_cannot_be_run_is_a_verifier_error(wanted, source, says):
    verdict = judged(APPLES, wanted, source)
    assert verdict.outcome == "verifier_error"
    assert says in verdict.detail


CHANNEL = "[o for o in __import__('gc').get_objects() if type(o).__name__ == 'Channel'][0]"
FORGERIES = [
    "[f for f in __import__('gc').get_objects() if 'apple' in str(f)[:9999]] and None",
    'globals().update(_state_as_json=lambda: \'{"cart": {}, "log": [1]}\')',
    "__import__('os').environ",
    "open('/etc/passwd').read()",
    "state.clear()",
    *(
        f"{CHANNEL}.send({kind!r}, {body!r})"
        for kind in (b"R", b"E", b"L")
        for body in (b"", b"t\x00\x00\x00\x00", b"N", b"d\x00\x00\x00\x00", b"l\x01\x00\x00\x00N")
    ),
]


@pytest.mark.parametrize("term", FORGERIES)
def test_an_environment_that_evaluates_arguments_gives_nothing_away(term):
    wanted = [call("add", item="apple", count=7)]
    assert judged([call("calculate", term=term)], wanted).correctness == 0.0


def test_runs_do_not_see_each_other():
    wanted = [call("add", item="apple", count=7)]
    for _ in range(2):
        assert judged(wanted, wanted).correctness == 1.0
    assert judged([call("add", item="apple", count=3)], wanted).correctness == pytest.approx(0.6)
