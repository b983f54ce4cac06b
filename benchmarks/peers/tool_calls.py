"""Graders of tool calls: verdicts on the shared cases and on BFCL's accepted answers, and speed.

    python benchmarks/peers/tool_calls.py JUDGE      # started by benchmarks/peers

The peers have no reader for nine formats, so every judge gets the calls as ours read them, and cases whose
calls cannot be read, or where none is wanted, are left out: only the comparison is compared.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from verifiers.tool_calls import ToolCallsVerifier, parse
from verifiers.tool_calls.call import Call, Item, Text
from verifiers.tool_calls.reference import compiled

SHARED = Path(__file__).resolve().parents[2] / "../shared"
BFCL_TYPES = {"number": "float", "object": "dict"}

Calls = list[dict[str, Any]]  # name, arguments
Judge = Callable[[Calls, dict[str, Any]], bool]


def ours(calls: Calls, reference: dict[str, Any]) -> bool:
    text = "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)
    return ToolCallsVerifier().verify(text, {**reference, "format": "auto"}).outcome == "correct"


def bfcl() -> Judge:
    """BFCL's checker of parsed calls, without the model clients that it imports for their names."""
    models = ModuleType("bfcl_eval.constants.model_config")
    names = defaultdict(lambda: SimpleNamespace(underscore_to_dot=False))
    models.__dict__["MODEL_CONFIG_MAPPING"] = names
    sys.modules[models.__name__] = models
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    def accepts(calls: Calls, reference: dict[str, Any]) -> bool:
        gold = [{call["name"]: accepted(call)} for call in reference["calls"]]
        made = [{call["name"]: call["arguments"]} for call in calls]
        kind = "parallel" if len(gold) > 1 else "simple"
        tools = [bfcl_types(tool) for tool in reference["tools"]]
        tools.sort(key=lambda tool: tool["name"] not in gold[0])  # the simple check looks at the first
        return bool(ast_checker(tools, made, gold, Language.PYTHON, kind, "any")["valid"])

    return accepts


def rlla() -> Judge:
    """ToolRL's reward as verl has it; full marks count."""
    from verl_parts import reward_score

    module = reward_score("rlla")

    def text(calls: Calls) -> str:
        lines = [json.dumps({"name": call["name"], "parameters": call["arguments"]}) for call in calls]
        return "<think>so</think>\n<tool_call>\n" + "\n".join(lines) + "\n</tool_call>"

    def accepts(calls: Calls, reference: dict[str, Any]) -> bool:
        gold = [{"name": call["name"], "arguments": chosen(accepted(call))} for call in reference["calls"]]
        made = "<|im_start|>assistant" + text(calls)
        score = module.compute_score("rlla", made, text(gold), {"experiment_name": "qwen"})
        return bool(score["accuracy_reward"] == 3.0)

    return accepts


def accepted(call: dict[str, Any]) -> dict[str, list[Any]]:
    """The accepted values of each parameter of an expected call."""
    listed = {name: [value] for name, value in call.get("arguments", {}).items()}
    return call.get("accepted", listed)


def chosen(values: dict[str, list[Any]]) -> dict[str, Any]:
    """The first accepted value of each parameter that is not left out."""
    return {name: plain(listed[0]) for name, listed in values.items() if listed[0] != ""}


def plain(value: Any) -> Any:
    """BFCL lists accepted values inside nested objects as well."""
    if isinstance(value, dict):
        return {key: plain(next(one for one in listed if one != "")) for key, listed in value.items()}
    return [plain(element) for element in value] if isinstance(value, list) else value


def bfcl_types(value: Any) -> Any:
    """A JSON Schema with the names that BFCL gives its types."""
    if isinstance(value, list):
        return [bfcl_types(element) for element in value]
    if not isinstance(value, dict):
        return value
    named = {key: bfcl_types(element) for key, element in value.items()}
    if isinstance(named.get("type"), str):
        named["type"] = BFCL_TYPES.get(named["type"], named["type"])
    return named


def shared_cases() -> list[tuple[Calls, dict[str, Any], bool]]:
    """Calls, reference, and whether they are fully right; conventions left out."""
    cases = []
    for line in (SHARED / "cases/tool_calls.jsonl").read_text().splitlines():
        case = json.loads(line)
        right = case["expected"]["min"] == 1.0
        if case["id"].startswith("conv-") or not case["reference"].get("calls"):
            continue
        if not right and case["expected"]["max"] >= 1.0:
            continue
        wanted = compiled(case["reference"])
        items = parse.read(case["response"], wanted.formats).items
        if items and all(map(comparable, items)):
            calls = [{"name": item.name, "arguments": item.arguments} for item in items]
            cases.append((calls, case["reference"], right))
    return cases


def comparable(item: Item) -> bool:
    """A call that was read, with values that have a type of their own."""
    if not isinstance(item, Call) or item.flaw:
        return False
    return not any(isinstance(value, Text) for value in item.arguments.values())


def bfcl_answers() -> list[tuple[Calls, dict[str, Any]]]:
    """Every question of three categories with its first accepted answer."""
    found = []
    for name in ("simple_python", "multiple", "parallel"):
        questions = (SHARED / f"data/bfcl/{name}.jsonl").read_text().splitlines()
        answers = (SHARED / f"data/bfcl/possible_answer_{name}.jsonl").read_text().splitlines()
        for question, answer in zip(map(json.loads, questions), map(json.loads, answers), strict=True):
            wanted = [
                {"name": n, "accepted": values}
                for call in answer["ground_truth"]
                for n, values in call.items()
            ]
            made = [{"name": call["name"], "arguments": chosen(call["accepted"])} for call in wanted]
            found.append((made, {"tools": question["function"], "calls": wanted}))
    return found


def verdict(accepts: Judge, calls: Calls, reference: dict[str, Any]) -> bool:
    """What a judge says; one that raises has refused."""
    try:
        return accepts(copy.deepcopy(calls), copy.deepcopy(reference))
    except Exception:  # noqa: BLE001 - a peer's own faults are a result
        return False


def main() -> None:
    accepts = {"curriculum": lambda: ours, "bfcl-eval": bfcl, "verl rlla (ToolRL)": rlla}[sys.argv[1]]()
    cases = shared_cases()
    judged = [(verdict(accepts, calls, reference), right) for calls, reference, right in cases]
    wrong = [got for got, right in judged if not right]
    right = [got for got, right in judged if right]
    answers = bfcl_answers()
    began = time.process_time()
    taken = sum(verdict(accepts, calls, reference) for calls, reference in answers)
    seconds = time.process_time() - began
    row = {
        "false positives": f"{sum(wrong)} of {len(wrong)}",
        "false negatives": f"{len(right) - sum(right)} of {len(right)}",
        "BFCL answers accepted": f"{taken} of {len(answers)}",
        "verdicts/s": f"{len(answers) / seconds:,.0f}",
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
