"""Reads the cases of an audit.

In: `cases/<kind>/prompts.toml` and one file for each family of cases. Out: `Case`s, sorted by id.

    prompts.toml     [NAME] prompt = "…"  reference = {…}
    FAMILY.toml      defaults of the file, then  [cases.NAME] why = "…" and one of
                     response = "…"           the response as it is
                     code = "…"               Python, put into a fenced block
                     grown = {head, unit, times, tail}   a response too long to write out
                     and what differs from the defaults: prompt, answer, expected, bar,
                     hostile, lasting
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

Kind = Literal["boxed", "unit_tests", "tool_calls"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Expected = Literal["accept", "refuse", "either"]

BAR = 0.5
_CASES = Path(__file__).parent / "cases"
_PROMPTS = "prompts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One response, and what a good verifier says of it."""

    id: str
    """family/name"""
    kind: Kind
    response: str
    reference: Mapping[str, Any]
    """What our verifier of this kind reads; the text of the prompt lies in it under `prompt`."""
    expected: Expected
    """`either`: a convention on which good verifiers differ; it must only be answered, alike each time."""
    why: str
    bar: float = BAR
    """Correctness above which the response counts as accepted."""
    hostile: bool = False
    """It takes more than its share of the machine, or writes to what is not its own, unless it is jailed."""
    lasting: bool = False
    """It changes the process that it runs in, which is then not to judge other cases."""

    @property
    def family(self) -> str:
        """What it tries, for example `hedges`."""
        return self.id.partition("/")[0]


def battery(kind: Kind) -> list[Case]:
    """All cases for verifiers of `kind`, sorted by id.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no battery for {kind!r}; known: {', '.join(KINDS)}")
    prompts = _load(_CASES / kind / f"{_PROMPTS}.toml")
    files = [path for path in (_CASES / kind).glob("*.toml") if path.stem != _PROMPTS]
    cases = [case for path in files for case in _family(kind, path, prompts)]
    return sorted(cases, key=lambda case: case.id)


def _load(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _family(kind: Kind, path: Path, prompts: Mapping[str, Any]) -> list[Case]:
    defaults = _load(path)
    cases = defaults.pop("cases")
    return [_case(kind, f"{path.stem}/{name}", defaults | own, prompts) for name, own in cases.items()]


def _case(kind: Kind, name: str, given: Mapping[str, Any], prompts: Mapping[str, Any]) -> Case:
    asked = prompts[given["prompt"]]
    reference = {"prompt": asked["prompt"], **asked.get("reference", {})}
    if "answer" in given:
        reference["answer"] = given["answer"]
    if kind == "unit_tests":
        reference |= _apps_form(reference)
    return Case(
        id=name,
        kind=kind,
        response=_response(given, reference["prompt"]),
        reference=reference,
        expected=given["expected"],
        why=given["why"],
        bar=given.get("bar", BAR),
        hostile=given.get("hostile", False),
        lasting=given.get("lasting", False),
    )


def _response(given: Mapping[str, Any], prompt: str) -> str:
    if "code" in given:
        return f"```python\n{given['code'].strip()}\n```"
    if "grown" in given:
        grown = given["grown"]
        return str(grown.get("head", "") + grown["unit"] * grown["times"] + grown.get("tail", ""))
    return str(given["response"]).replace("{{prompt}}", prompt)


def _apps_form(reference: Mapping[str, Any]) -> dict[str, Any]:
    """The same tests as APPS and verl write them, beside our own keys: `inputs`, `outputs`, `fn_name`.

    Arguments are JSON, one a line. Assertions have no such form.
    """
    tests = reference["tests"]
    if tests[0]["kind"] == "io":
        return {"inputs": [test["stdin"] for test in tests], "outputs": [test["stdout"] for test in tests]}
    if tests[0]["kind"] == "call":
        return {
            "inputs": ["\n".join(map(json.dumps, test["args"])) for test in tests],
            "outputs": [json.dumps(test["expected"]) for test in tests],
            "fn_name": reference["entry_point"],
        }
    return {}
