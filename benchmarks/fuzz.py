"""Feeds generated responses and references to the verifiers for as long as one likes.

    python benchmarks/fuzz.py [boxed tool_calls unit_tests] [--minutes 5] [--seed 0] [--examples 2000]

Reports what must not be: an exception, another verdict when asked again, a verdict that changes when answer
and reference change places (`boxed`), and the slowest verdicts in CPU time. Inputs are the tests' tables,
mutated, and the strategies of the tests' own properties. Every round has a seed, which is printed: the same
round again is `--seed N --minutes 0`. The exit code is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from verifiers.boxed.equal import Conventions, same
from verifiers.boxed.read import remembered
from verifiers.registry import get
from verifiers.verdict import OUTCOMES, Verdict

TESTS = Path(__file__).resolve().parents[1] / "tests" / "verifiers"
SLOWEST_SHOWN = 3
MOST_FINDINGS = 20

Case = tuple[str, Any]
"""A response and a reference."""


def _module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, TESTS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TESTS / path).read_text().splitlines()]


@st.composite
def _mutated(draw: st.DrawFn, texts: list[str], pieces: list[str]) -> str:
    """One of `texts` with up to four edits: a piece put in, or a stretch removed, doubled or moved."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(0, 4))):
        start, length = draw(st.integers(0, len(text))), draw(st.integers(0, 8))
        stretch, rest = text[start : start + length], text[start + length :]
        put = draw(st.one_of(st.sampled_from([*pieces, "", stretch * 2]), st.text(max_size=2)))
        text = text[:start] + put + rest
    return text


def _mostly(*strategies: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    """The first of `strategies` seven times out of ten, the last once."""
    return st.integers(0, 9).flatmap(
        lambda number: strategies[0 if number < 7 else -1 if number == 9 else len(strategies) // 2]
    )


# ---- what each verifier is given

_ODD = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _boxed() -> st.SearchStrategy[Case]:
    own = _module("boxed/test_boxed_properties.py")
    pairs = _rows("boxed/pairs.jsonl")
    texts = sorted({pair[side] for pair in pairs for side in ("one", "two")})
    answers = st.one_of(_mutated(texts, own.PIECES), own.wild)
    options = st.fixed_dictionaries(
        {},
        optional={
            "percent": st.sampled_from(["either", "value", "number"]),
            "units": st.sampled_from(["optional", "required", "ignored"]),
            "tolerance": st.floats(0, 1),
            "ordered": st.booleans(),
            "form": st.sampled_from(["integer", "fraction", "decimal", "factored", "scientific"]),
        },
    )
    two = st.one_of(
        st.tuples(answers, answers),
        st.sampled_from(pairs).flatmap(
            lambda pair: st.tuples(*(_mutated([pair[side]], own.PIECES) for side in ("one", "two")))
        ),
    )
    boxed = st.builds(_boxed_case, two, st.one_of(st.just({}), options))
    whole = _mutated([row["response"] for row in _rows("boxed/responses.jsonl")], own.PIECES)
    formats = st.lists(st.sampled_from(["boxed", "hash", "answer_line", "plain"]), min_size=1)
    free = st.tuples(whole, st.fixed_dictionaries({"answer": answers, "formats": formats}))
    return _mostly(boxed, free, st.tuples(whole, st.dictionaries(st.sampled_from(_KEYS), _ODD)))


_KEYS = ["answer", "answers", "formats", "percent", "units", "tolerance", "ordered", "form"]


def _boxed_case(two: tuple[str, str], options: dict[str, Any]) -> Case:
    return rf"so \boxed{{{two[0]}}}", {"answer": two[1], **options}


def _tool_calls() -> st.SearchStrategy[Case]:
    own = _module("tool_calls/test_tool_calls_hostile.py")
    head, *rows = _rows("tool_calls/calls.jsonl")
    responses = st.one_of(
        _mutated([row["response"] for row in rows], own.PIECES),
        st.lists(st.sampled_from(own.PIECES), max_size=12).map("".join),
    )
    references = [{**head, "calls": row["calls"], **row.get("options", {})} for row in rows]
    keys = st.sampled_from(["tools", "calls", "ordered", "normalise", "format"])
    usual = st.tuples(responses, st.sampled_from(references))
    return _mostly(usual, usual, st.tuples(responses, st.dictionaries(keys, _ODD)))


_PROGRAMS = [
    "```python\ndef f(x):\n    return x + 1\n```",
    "Sure.\n```python\nimport math\nclass S:\n    def f(self, x):\n        return [x, {1: 2.5}]\n```\nDone.",
    "<think>hm</think>```\nn = int(input())\nprint(n * 2)\n```",
    "def f(*a):\n    raise ValueError(a)",
]
_CODE = [
    "```", "```python\n", "~~~", "\n", "    ", "def f(x):\n", "return x", "print(x)", "input()", "x", "f(",
    ")", "[", "]", "lambda: x", "yield x", "exit()", "1e999", "float('nan')", "'''", "\\", "\ud800", "\x00",
]  # fmt: skip
_TESTS = [
    {"kind": "call", "args": [1], "expected": 2},
    {"kind": "call", "args": [[1, 2]], "raises": "ValueError"},
    {"kind": "assert", "code": "assert f(2) == 3"},
    {"kind": "assert", "code": "def check(candidate):\n    assert candidate(2) == 3"},
    {"kind": "io", "stdin": "3\n", "stdout": "6\n"},
]


def _unit_tests() -> st.SearchStrategy[Case]:
    plain = st.fixed_dictionaries(
        {
            "tests": st.lists(st.sampled_from(_TESTS), min_size=1, max_size=2),
            "entry_point": st.sampled_from(["f", "S().f"]),
            "timeout_s": st.just(1),
            "rerun": st.just(0),
        },
        optional={"partial": st.booleans(), "unordered": st.booleans(), "tolerance": st.floats(0, 1)},
    )
    keys = st.sampled_from(["tests", "entry_point", "setup", "prelude", "timeout_s", "memory_mb", "rerun"])
    programs = _mutated(_PROGRAMS, _CODE)
    usual = st.tuples(programs, plain)
    return _mostly(usual, usual, st.tuples(programs, st.dictionaries(keys, _ODD)))


_FIRST: list[Case] = [
    ("```python\nf = int\n```", {"tests": _TESTS[:1], "entry_point": "f"}),
    ("[f()]", {"calls": [{"name": "f", "arguments": {}}]}),
]
TARGETS = {"boxed": _boxed, "tool_calls": _tool_calls, "unit_tests": _unit_tests}

# ---- running


@dataclass
class Report:
    """What was found; `slowest` holds CPU milliseconds and the case."""

    cases: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def add(self, name: str, case: Case) -> None:
        """Judges one case, twice, and for `boxed` once with answer and reference exchanged."""
        response, reference = case
        self.cases += 1
        first, took = self._verdict(name, case)
        if first is None:
            return
        self.outcomes[first.outcome] = self.outcomes.get(first.outcome, 0) + 1
        remembered.cache_clear()
        again, took_again = self._verdict(name, case)
        self.slowest.append((min(took, took_again), repr(case)[:300]))  # one of them may hold a collection
        self.slowest = sorted(self.slowest, reverse=True)[:SLOWEST_SHOWN]
        if again is not None and again != first:
            self.findings.append(f"another verdict: {first} | {again} | {case!r}")
        inside = response.removeprefix(r"so \boxed{").removesuffix("}")
        answer = reference.get("answer")
        if name == "boxed" and isinstance(answer, str):
            usual = Conventions()
            if same(inside, answer, usual) != same(answer, inside, usual):
                self.findings.append(f"not symmetric: {inside!r} and {answer!r}")

    def _verdict(self, name: str, case: Case) -> tuple[Verdict | None, float]:
        """The verdict, None where there is an exception instead, and its CPU milliseconds."""
        before = time.thread_time()
        try:
            verdict = get(name).verify(*case)
        except Exception as error:  # noqa: BLE001 - what is looked for
            self.findings.append(f"raised {error!r}: {case!r}")
            return None, 0.0
        took = (time.thread_time() - before) * 1e3
        if verdict.outcome not in OUTCOMES or "\n" in verdict.detail or "internal fault" in verdict.detail:
            self.findings.append(f"odd verdict: {verdict} | {case!r}")
        return verdict, took


def fuzz(name: str, minutes: float, first_seed: int, examples: int) -> Report:
    """Rounds of `examples` cases with seeds from `first_seed` on, until the time is up; at least one."""
    report, strategy = Report(), TARGETS[name]()
    for case in _FIRST:  # imports, and the start of a jail
        get(name).verify(*case)
    stop, number = time.monotonic() + 60 * minutes, first_seed
    while True:
        _round(strategy, number, examples, lambda case: report.add(name, case))
        print(f"{name}: seed {number}, {report.cases:,} cases, {len(report.findings)} findings", flush=True)
        number += 1
        if time.monotonic() >= stop or len(report.findings) >= MOST_FINDINGS:
            return report


def _round(
    strategy: st.SearchStrategy[Case], number: int, examples: int, take: Callable[[Case], None]
) -> None:
    @seed(number)
    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(case: Case) -> None:
        take(case)

    run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("verifiers", nargs="*", choices=[*TARGETS, []], help="default: all")
    parser.add_argument("--minutes", type=float, default=5, help="for each verifier")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", type=int, default=2000, help="of a round")
    options = parser.parse_args()
    failed = False
    for name in options.verifiers or TARGETS:
        report = fuzz(name, options.minutes, options.seed, options.examples)
        failed |= bool(report.findings)
        print(f"{name}: {report.cases:,} cases; {report.outcomes}")
        for finding in report.findings[:MOST_FINDINGS]:
            print(f"  {finding[:600]}")
        for milliseconds, case in report.slowest:
            print(f"  {milliseconds:.1f} ms: {case}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
