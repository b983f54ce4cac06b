"""Honest programs and functions are never marked wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from verifiers.unit_tests import UnitTestsVerifier
from verifiers.verdict import Verdict

PROGRAMS = tomllib.loads((Path(__file__).parent / "honest_programs.toml").read_text())
DEEP = "import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)"
IMPLICIT = "def f(n):\n    return sorted(n)\nif __name__ == '__main__':\n    print(f(input()))"


def verify(code: str, test: dict[str, Any], **options: Any) -> Verdict:
    reference = {"tests": [test], "timeout_s": 20, **options}
    return UnitTestsVerifier().verify(f"```python\n{code}\n```", reference)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    program = PROGRAMS[name]
    verdict = verify(program["code"], {"kind": "io", "stdin": program["stdin"], "stdout": program["stdout"]})
    assert verdict.outcome == "correct", verdict


@pytest.mark.parametrize(
    ("code", "stdin", "stdout"),
    [
        ("print(sum(map(int, input().split())))", "1 " * 500_000, "500000"),
        ("for i in range(200_000): print(i)", "", "\n".join(map(str, range(200_000)))),
    ],
    ids=["one megabyte of input", "200,000 lines of output"],
)
def test_much_data(code: str, stdin: str, stdout: str) -> None:
    assert verify(code, {"kind": "io", "stdin": stdin, "stdout": stdout}).outcome == "correct"


@pytest.mark.parametrize(
    ("entry_point", "code", "args", "expected"),
    [
        (
            "Solution().f",
            "class Solution:\n    def f(self, a): return self.g(a)\n    def g(self, a): return a",
            [1],
            1,
        ),
        ("f", "f = lambda a, b=2: a * b", [3], 6),
        ("f", "from functools import cache\n@cache\ndef f(n): return n", [3], 3),
        ("f", "async def g(): return 1\nimport asyncio\ndef f(): return asyncio.run(g())", [], 1),
        ("f", "def f(x): return (x, [x], {'k': (x,)})", [1], [1, [1], {"k": [1]}]),
        ("f", "def f(x): return {1: x}", ["a"], {"1": "a"}),
        ("f", "from collections import Counter\ndef f(x): return Counter(x)", ["aab"], {"a": 2, "b": 1}),
        (
            "f",
            "from collections import namedtuple\nP = namedtuple('P', 'a b')\ndef f(): return P(1, 2)",
            [],
            [1, 2],
        ),
        ("f", "from enum import IntEnum\nclass E(IntEnum):\n    A = 3\ndef f(): return E.A", [], 3),
        ("f", "def f(): return 0.1 + 0.2", [], 0.3),
        ("f", "def f(n): return n / 2", [4], 2),
        ("f", "def f(): return 10 ** 400", [], 10**400),
        ("f", "def f(s): return s", ["\ud800 żółć"], "\ud800 żółć"),
        ("f", DEEP, [20_000], 20_000),
        ("f", IMPLICIT, [[2, 1]], [1, 2]),
        ("f", "print('hello')\ndef f():\n    print('noise')\n    return None", [], None),
        ("f", "def f(n):\n    n.append(1)\n    return n", [[]], [1]),
        ("f", "def f(x): return x\nexit()", [1], 1),
    ],
)
def test_function(entry_point: str, code: str, args: list[Any], expected: Any) -> None:
    test = {"kind": "call", "args": args, "expected": expected}
    verdict = verify(code, test, entry_point=entry_point)
    assert verdict.outcome == "correct", verdict


@pytest.mark.parametrize(
    ("code", "raises", "outcome"),
    [
        ("def f(): raise ValueError('no')", "ValueError", "correct"),
        ("def f(): raise KeyError('no')", "LookupError", "correct"),
        ("class Full(ValueError): pass\ndef f(): raise Full", "Full", "correct"),
        ("class Full(ValueError): pass\ndef f(): raise Full", "ValueError", "correct"),
        ("def f(): raise LookupError('no')", "KeyError", "wrong"),
        ("class E(ValueError, KeyError): pass\ndef f(): raise E", "KeyError", "wrong"),
        ("def f(): return ValueError", "ValueError", "wrong"),
        ("def f(): return 'ValueError'", "ValueError", "wrong"),
    ],
)
def test_raises(code: str, raises: str, outcome: str) -> None:
    assert verify(code, {"kind": "call", "raises": raises}, entry_point="f").outcome == outcome
