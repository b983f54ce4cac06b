"""The schemas in which trainers keep prompts: which columns mean what, and what a ground truth becomes.

In: column names and options; ground truths. Out: `Keys`, where each part of a prompt is found;
references, and ground truths back from references.

    layout     recognised by                 reference                    domain
    verl       prompt, reward_model          reward_model.ground_truth    data_source
    native     prompt, reference             reference                    domain
    trl        prompt, and one of solution,  that one                     data_source, else domain
               answer, ground_truth, label
    skyrl      prompt, reward_spec           reward_spec.ground_truth     data_source
    slime      prompt, label, metadata       label                        data_source, else domain
    openrlhf   input, label                  label                        datasource
    nemo_rl    input, output                 output                       domain

The first that fits is taken. `prompt_key` stands in for the prompt's name, in recognising too;
`reference_key` for the reference, and a pool whose reference is named so and fits nothing else is `trl`
(`openrlhf` if its prompt is called input). A key may name a field of a struct ("extra_info.answer").
In every layout a column `verifier` names the row's own verifier.
"""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from curriculum.errors import UsageError
from curriculum.pool.columns import Fault, Path
from curriculum.pool.identity import canonical
from curriculum.pool.text import parse_json
from verifiers.tool_calls import toolrl

Layout = Literal["verl", "trl", "openrlhf", "skyrl", "nemo_rl", "slime", "native"]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

_PROMPT: dict[Layout, str] = {
    **dict.fromkeys(LAYOUTS, "prompt"),
    **dict.fromkeys(("openrlhf", "nemo_rl"), "input"),
}
_REFERENCES: dict[Layout, tuple[str, ...]] = {
    "verl": ("reward_model.ground_truth",),
    "native": ("reference",),
    "trl": ("solution", "answer", "ground_truth", "label"),
    "openrlhf": ("label",),
    "skyrl": ("reward_spec.ground_truth",),
    "nemo_rl": ("output",),
    "slime": ("label",),
}
_DOMAINS: dict[Layout, tuple[str, ...]] = {
    "verl": ("data_source",),
    "native": ("domain",),
    "trl": ("data_source", "domain"),
    "openrlhf": ("datasource",),
    "skyrl": ("data_source",),
    "nemo_rl": ("domain",),
    "slime": ("data_source", "domain"),
}
_MARKS: dict[Layout, tuple[str, ...]] = {
    "verl": ("reward_model",),
    "native": ("reference",),
    "skyrl": ("reward_spec",),
    "slime": ("metadata",),
    "trl": _REFERENCES["trl"],
    "openrlhf": _REFERENCES["openrlhf"],
    "nemo_rl": _REFERENCES["nemo_rl"],
}
"""The columns that tell a layout, beside its prompt and its reference; in the order of trying."""

_STRUCTS = {"reward_model", "reward_spec"}

_LISTS = {"unit_tests": "tests", "tool_calls": "calls"}
"""What a list, or the JSON text of one, means to a verifier."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a pool; the defaults read what can be recognised."""

    layout: Literal["auto", "verl", "trl", "openrlhf", "skyrl", "nemo_rl", "slime", "native"] = "auto"
    prompt_key: str | None = None
    reference_key: str | None = None
    domain_key: str | None = None
    verifiers: Mapping[str, str] = field(default_factory=dict)
    """Domain to verifier, for rows without a verifier of their own."""
    default_verifier: str | None = None
    default_domain: str = "default"
    """The domain of rows that name none."""
    answer_after: str | None = None
    """The mark in worked solutions behind whose last occurrence the answer stands ("####" in GSM8K)."""
    skip_bad_rows: bool = False
    """Leave out rows that cannot be read, and count them, instead of stopping."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Where the parts of a prompt are found; None where the pool has no such column."""

    layout: Layout
    prompt: Path
    reference: Path
    domain: Path | None
    verifier: Path | None

    @property
    def replaced(self) -> set[str]:
        """The columns that give way in a conversion: prompt, reference, domain, and the struct of verl's and
        SkyRL's references; not another struct of which only a field was named as one of these."""
        paths = (self.prompt, self.reference, self.domain)
        return {path[0] for path in paths if path and (len(path) == 1 or path[0] in _STRUCTS)}

    @property
    def customary(self) -> bool:
        """Whether a trainer that knows the layout finds prompt and reference without being told."""
        return (
            ".".join(self.prompt) == _PROMPT[self.layout]
            and ".".join(self.reference) in _REFERENCES[self.layout]
        )


def find_keys(columns: Sequence[str], options: ReadOptions, *, where: str) -> Keys:
    """Recognises the layout, or takes the one that is named, and finds its columns.

    Raises:
        UsageError: no layout fits, a named column is missing, or several could be the reference.
    """
    layout = _detect(columns, options, where) if options.layout == "auto" else options.layout
    prompt = _path(options.prompt_key or _PROMPT[layout], columns, where)
    if options.reference_key:
        reference = _path(options.reference_key, columns, where)
    else:
        reference = _one_reference(layout, columns, where)
    named = next((name for name in _DOMAINS[layout] if name in columns), None)
    domain = _path(options.domain_key, columns, where) if options.domain_key else (named,) if named else None
    return Keys(layout, prompt, reference, domain, ("verifier",) if "verifier" in columns else None)


def _detect(columns: Sequence[str], options: ReadOptions, where: str) -> Layout:
    here = [layout for layout in _MARKS if _has(options.prompt_key or _PROMPT[layout], columns)]
    for layout in here:
        references = (_has(name, columns) for name in _REFERENCES[layout])
        if any(mark in columns for mark in _MARKS[layout]) and any(references):
            return layout
    if options.reference_key and here:
        return "trl" if "trl" in here else "openrlhf"
    known = "; ".join(f"{name}: {_PROMPT[name]}, {' | '.join(marks)}" for name, marks in _MARKS.items())
    raise UsageError(
        f"no layout fits the columns {', '.join(columns)}",
        where=where,
        do=f"name prompt_key and reference_key, or have the columns of one ({known})",
    )


def _has(key: str, columns: Sequence[str]) -> bool:
    return key in columns or ("." in key and key.partition(".")[0] in columns)


def _path(key: str, columns: Sequence[str], where: str) -> Path:
    if key in columns:
        return (key,)
    path = tuple(key.split("."))
    if len(path) > 1 and path[0] in columns:
        return path
    near = difflib.get_close_matches(key, columns, n=1)
    do = f"did you mean {near[0]!r}?" if near else f"columns: {', '.join(columns)}"
    raise UsageError(f"there is no column {key!r}", where=where, do=do)


def _one_reference(layout: Layout, columns: Sequence[str], where: str) -> Path:
    found = [name for name in _REFERENCES[layout] if _has(name, columns)]
    if len(found) > 1:
        do = f"name one: reference_key = {found[0]!r}"
        raise UsageError(f"several columns could be the reference: {', '.join(found)}", where=where, do=do)
    return _path(found[0] if found else _REFERENCES[layout][0], columns, where)


def answer_after(truth: object, mark: str | None) -> object:
    """What stands behind the last `mark` of a worked solution; without a mark, and of other values, all of
    it. A text that lacks the mark is a `Fault`."""
    if not mark or not isinstance(truth, str):
        return truth
    _, found, answer = truth.rpartition(mark)
    return answer.strip() if found else Fault(f"no {mark!r} stands in it")


def reference_of(truth: object, verifier: str, system_prompt: str = "") -> dict[str, Any] | None:
    """What a trainer's ground truth becomes; None when it is missing: null, blank or empty.

    An object, or the JSON text of one that is not empty, is taken as it is. For `unit_tests` and
    `tool_calls` a list, or the JSON text of one, becomes {"tests": …} or {"calls": …}; a list for another
    verifier names several accepted answers, {"answers": […]}, but the text "[1, 2]" is one answer. All
    else becomes {"answer": …}: text as it is, numbers and booleans as JSON writes them. For `tool_calls` the
    text of a response as ToolRL keeps it becomes its calls, with the tools of the system prompt. For
    `unit_tests` text, alone or in the list, is code that asserts (HumanEval, MBPP).

    Raises:
        ValueError: the tools of the system prompt cannot be read.
    """
    if isinstance(truth, str):
        if verifier == "tool_calls" and toolrl.is_response(truth):
            return toolrl.reference(system_prompt, truth)
        return _reference_of_text(truth, verifier)
    if truth is None or isinstance(truth, dict):
        return truth or None
    if isinstance(truth, list) and verifier in _LISTS:
        return _listed(truth, verifier) if truth else None
    if isinstance(truth, list):
        return {"answers": [_answer(item) for item in truth]} if truth else None
    return {"answer": _answer(truth)}


def _answer(truth: object) -> object:
    """Numbers and booleans as text: verifiers compare what a response says."""
    return canonical(truth) if isinstance(truth, int | float) else truth


def _listed(items: list[Any], verifier: str) -> dict[str, Any]:
    """Tests or wanted calls; a test given as text is code that asserts."""
    if verifier == "unit_tests":
        items = [{"kind": "assert", "code": item} if isinstance(item, str) else item for item in items]
    return {_LISTS[verifier]: items}


def _reference_of_text(text: str, verifier: str) -> dict[str, Any] | None:
    start = text.lstrip()[:1]
    if start == "{" or (start == "[" and verifier in _LISTS):
        try:
            value = parse_json(text)
        except (ValueError, RecursionError):
            value = None
        if value:
            return value if isinstance(value, dict) else _listed(value, verifier)
    if start and verifier == "unit_tests":
        return _listed([text], verifier)
    return {"answer": text} if start else None


def with_entry_point(reference: dict[str, Any], entry_point: str, prompt: str) -> dict[str, Any]:
    """A reference of `unit_tests` that is told what to call by a column of its own, as HumanEval's are.

    Where the prompt is the head of that function, its imports and helpers are those of response and tests.
    """
    code = {"prelude": prompt, "setup": prompt} if _defines(prompt, entry_point) else {}
    return {"entry_point": entry_point, **code, **reference}


def _defines(prompt: str, name: str) -> bool:
    if f"def {name}(" not in prompt:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes in docstrings
        try:
            body = ast.parse(prompt).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return any(isinstance(part, ast.FunctionDef) and part.name == name for part in body)


def ground_truth_of(reference: Mapping[str, Any], text: str, verifier: str) -> str:
    """The ground truth of a reference: its bare answer if that reads back the same, else its JSON `text`."""
    answer = reference.get("answer")
    bare = isinstance(answer, str) and _reference_of_text(answer, verifier) == reference
    return str(answer) if bare else text
