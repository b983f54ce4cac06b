"""Makes a verifier of a reward function: a plain one, one for TRL, or one for verl.

In: a function, or the name of one. Out: a `Verifier`. The form is read from the names of the parameters:

    `completions`    TRL    f(completions=[…], prompts=[…], **columns) -> [float]
    `solution_str`   verl   f(data_source=…, solution_str=…, ground_truth=…, extra_info=…) -> float | dict
    two others       plain  f(response, truth) -> float, bool or Verdict

The truth is the reference's `answer` or, where it has none, the whole reference as JSON text. TRL columns
are the keys of the reference and the truth under each of `TRUTHS`. A plain function whose second parameter
is called `reference` gets the mapping.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from verifiers.registry import get, load
from verifiers.verdict import Verdict, Verifier, graded, verifier_error

Form = Literal["plain", "trl", "verl"]
RewardFunction: TypeAlias = Callable[..., Any]

TRUTHS = ("ground_truth", "solution", "answer", "target", "label")
"""Names of the column with the truth in the data sets that TRL functions are written for."""

_NO_TEXT = (TypeError, AttributeError, KeyError, IndexError)
"""What a function that expects chat messages raises when it is given text."""


class AdapterError(ValueError):
    """A function has no form that can be called; says which forms there are."""


@dataclass(slots=True, eq=False)
class FunctionVerifier:
    """A reward function as a verifier. Correctness is its number, clamped to 0..1.

    What it raises, and what is no finite number, is `verifier_error`; so is None, by which TRL's functions
    say that they do not apply. An async function is waited for. The function's own faults stay: it may hang
    or keep state.
    """

    function: RewardFunction
    form: Form
    data_source: str
    name: str
    version: str

    def verify(self, response: str, reference: Mapping[str, Any]) -> Verdict:
        """The verdict on `response`; the text of its prompt may lie in the reference under `prompt`."""
        call = {"plain": _call_plain, "trl": _call_trl, "verl": _call_verl}[self.form]
        try:
            return _verdict(call(self.function, response, reference, self.data_source))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - other people's code may raise anything
            return verifier_error(f"raised {type(error).__name__}: {error}")


def find(target: str, *, data_source: str = "") -> Verifier:
    """The verifier called `target`: a registered name, `module:attribute` or `path/to/file.py:attribute`.

    A class is instantiated, a function adapted.

    Args:
        target: its name.
        data_source: what a verl function is told of where the prompt comes from.

    Raises:
        UnknownVerifierError: nothing is called that, or it cannot be loaded.
        AdapterError: it is a function of no known form.
    """
    if ":" not in target:
        return get(target)
    found = load(target)
    return found if isinstance(found, Verifier) else adapt(found, data_source=data_source)


def adapt(function: RewardFunction, *, data_source: str = "") -> FunctionVerifier:
    """`function` as a verifier, of the form that its parameters tell.

    Its `version` is a hash of its own source text; what it calls is not in it.

    Raises:
        AdapterError: it has no form that can be called.
    """
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    name = f"{module}.{name or type(function).__name__}"
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        source = name
    version = hashlib.sha256(source.encode(errors="replace")).hexdigest()[:12]
    return FunctionVerifier(function, _form(function, name), data_source, name, version)


def ground_truth(reference: Mapping[str, Any]) -> str:
    """The truth as trainers keep it: the answer, or the JSON text of the reference without its prompt."""
    if "answer" in reference:
        return str(reference["answer"])
    return json.dumps({name: value for name, value in reference.items() if name != "prompt"})


# ---- the three forms


def _form(function: RewardFunction, name: str) -> Form:
    try:
        parameters = inspect.signature(function).parameters
    except ValueError as error:
        raise AdapterError(f"{name} does not tell its parameters; wrap it in a function") from error
    if "completions" in parameters:
        return "trl"
    if "solution_str" in parameters:
        return "verl"
    try:
        inspect.signature(function).bind("response", "truth")
    except TypeError as error:
        raise AdapterError(
            f"{name}({', '.join(parameters)}) is no reward function: it needs a parameter `completions` "
            "(TRL) or `solution_str` (verl), or takes a response and the truth"
        ) from error
    return "plain"


def _call_plain(function: RewardFunction, response: str, reference: Mapping[str, Any], _: str) -> object:
    parameters = list(inspect.signature(function).parameters)
    whole = parameters[1:2] == ["reference"]
    return _awaited(function(response, dict(reference) if whole else ground_truth(reference)))


def _call_verl(
    function: RewardFunction, response: str, reference: Mapping[str, Any], data_source: str
) -> object:
    extra = {"index": 0, "split": "audit", "question": str(reference.get("prompt", ""))}
    given = {
        "data_source": str(reference.get("data_source") or data_source),
        "solution_str": response,
        "ground_truth": ground_truth(reference),
        "extra_info": {**extra, "reference": dict(reference)},
    }
    return _awaited(_call_with(function, given))


def _call_trl(
    function: RewardFunction, response: str, reference: Mapping[str, Any], data_source: str
) -> object:
    """As chat messages if `completions` is annotated so; else as text, and as chat if text will not do."""
    annotation = str(inspect.signature(function).parameters["completions"].annotation).lower()
    row = dict.fromkeys(TRUTHS, ground_truth(reference)) | dict(reference)
    row |= {"reference": dict(reference), "data_source": reference.get("data_source") or data_source}
    prompt = str(row.pop("prompt", ""))
    columns = {name: [value] for name, value in row.items()}
    text = columns | {"prompts": [prompt], "completions": [response]}
    chat = columns | {
        "prompts": [[{"role": "user", "content": prompt}]],
        "completions": [[{"role": "assistant", "content": response}]],
    }
    if "dict" in annotation or "list[list" in annotation:
        return _only(_awaited(_call_with(function, chat)))
    try:
        return _only(_awaited(_call_with(function, text)))
    except _NO_TEXT as error:
        try:
            return _only(_awaited(_call_with(function, chat)))
        except _NO_TEXT:
            raise error from None


def _only(rewards: Any) -> object:
    if isinstance(rewards, str | bytes | Mapping) or not hasattr(rewards, "__len__"):
        raise ValueError(f"it returned a {type(rewards).__name__}, not a list of rewards")
    if len(rewards) != 1:
        raise ValueError(f"it returned {len(rewards)} rewards for one completion")
    return next(iter(rewards))


def _call_with(function: RewardFunction, given: dict[str, Any]) -> object:
    """Calls `function` by keyword, with what it takes of `given`."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return function(**given)
    return function(**{name: value for name, value in given.items() if name in parameters})


def _awaited(result: object) -> object:
    return asyncio.run(_wait(result)) if inspect.isawaitable(result) else result


async def _wait(result: Awaitable[object]) -> object:
    return await result


# ---- what comes back


def _verdict(result: Any) -> Verdict:
    if isinstance(result, Verdict):
        return result
    said = f"returned {result!r:.100}"
    if isinstance(result, Mapping):  # verl: the score, and what is to be logged beside it
        result = result.get("score")
    elif isinstance(result, tuple) and result:  # verl's own graders of code: the score, and metadata
        result = result[0]
    if result is None or isinstance(result, str | bytes):
        return verifier_error(f"{said}, not a number")
    try:
        score = float(result)  # numpy's and torch's scalars too
    except (TypeError, ValueError, OverflowError):
        return verifier_error(f"{said}, not a number")
    if not math.isfinite(score):
        return verifier_error(f"{said}, not a finite number")
    return graded(min(max(score, 0.0), 1.0), detail=said)
