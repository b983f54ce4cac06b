"""Which code of a response is taken: the rules of the module, one by one."""

from __future__ import annotations

import time

import pytest

from verifiers.unit_tests.extract import Found, Missing, defines, find_code

F = "def f(x):\n    return x\n"
G = "def g(x):\n    return x\n"


def block(code: str, tag: str = "python", fence: str = "```") -> str:
    return f"{fence}{tag}\n{code}{fence}\n"


@pytest.mark.parametrize(
    ("response", "name", "code"),
    [
        (block(F), "f", F),
        (f"Text.\n{block(F)}More text.", "f", F),
        (block(F, "py"), "f", F),
        (block(F, "Python"), "f", F),
        (block(F, " python title=a.py"), "f", F),
        (block(F, "{.python}"), "f", F),
        (block(F, "", "~~~"), "f", F),
        (block(F, "", "````"), "f", F),
        (block(F, ""), "f", F),
        (block(F, "", "```") + block("{}\n", "json"), "f", F),
        (block("x\n", "") + block(F), "f", F),
        (block(F) + block("x\n", ""), "f", F),
        (block(G) + block(F), "f", F),
        (block(F) + block("print(f(1))\n"), "f", F),
        (block(F) + block(F.replace("x", "y")), "f", F.replace("x", "y")),
        (block(G) + block("print(1)\n"), "f", "print(1)\n"),
        (block(F) + block("print(1)\n"), "", "print(1)\n"),
        (block(F) + "```python\ndef f(", "f", F),
        (block(F) + "```python\ndef f(", "", F),
        ("```python\r\n" + F.replace("\n", "\r\n") + "```\r\n", "f", F),
        ("1. So:\n   ```python\n   def f(x):\n       return x\n   ```\n", "f", F),
        ("````python\ns = '''\n```\n'''\n````\n", "", "s = '''\n```\n'''\n"),
        ("<think>" + block(G) + "</think>" + block(F), "f", F),
        (block(G) + "</think>" + block(F), "g", F),
        (
            block("s = '\\x0c\\u2028'\n").replace("\\x0c", "\x0c").replace("\\u2028", "\u2028"),
            "",
            "s = '\x0c\u2028'\n",
        ),
    ],
)
def test_found(response: str, name: str, code: str) -> None:
    assert find_code(response, name) == Found(code, fenced=True)


@pytest.mark.parametrize(
    ("response", "name"), [(F, "f"), (f"\n\n{F}", "f"), ("print(1)\n", ""), ("import sys\nprint(1)\n", "")]
)
def test_text_without_a_fence(response: str, name: str) -> None:
    assert find_code(response, name) == Found(response.strip("\n") + "\n", fenced=False)


@pytest.mark.parametrize(
    ("response", "name", "outcome"),
    [
        ("", "f", "no_answer"),
        ("The answer is 4.", "f", "no_answer"),
        ("The answer is 4.", "", "no_answer"),
        (G, "f", "no_answer"),
        (block("{}\n", "json"), "f", "no_answer"),
        ("<think>" + block(F), "f", "no_answer"),
        (block(F) + "</think> done", "f", "no_answer"),
        ("```python\n" + F, "f", "malformed"),
        ("```python\n" + F + "``\n", "f", "malformed"),
        ("```python\n" + F + "```python\n", "f", "malformed"),
        (block("x" * (1 << 20)), "f", "malformed"),
    ],
)
def test_missing(response: str, name: str, outcome: str) -> None:
    found = find_code(response, name)
    assert isinstance(found, Missing)
    assert found.outcome == outcome


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("def f(): pass", True),
        ("async def f(): pass", True),
        ("class f: pass", True),
        ("f = 1", True),
        ("f: int = 1", True),
        ("x = 1\ndef f(): pass", True),
        ("    def f(): pass", False),
        ("def ff(): pass", False),
        ("f == 1", False),
        ("f(1)", False),
        ("# def f(): pass", False),
    ],
)
def test_defines(code: str, answer: bool) -> None:
    assert defines(code, "f") is answer


@pytest.mark.parametrize(
    "unit", ["\n", "```\n", "`", "~~~ \n", " ", "```python\n", "<think>", "f:", "print", "def f\t"]
)
@pytest.mark.parametrize("name", ["f", ""])
def test_hostile_responses_are_read_in_linear_time(unit: str, name: str) -> None:
    started = time.process_time()
    find_code(unit * (300_000 // len(unit)), name)
    assert time.process_time() - started < 2
