"""Reward functions with well-known faults, for audits to find."""

from __future__ import annotations

import re
import subprocess
import sys
import time

calls = 0


def last_number(response, answer):
    """Takes the last number anywhere."""
    numbers = re.findall(r"-?\d+\.?\d*", response)
    return bool(numbers) and numbers[-1] == answer


def any_box_trl(completions, solution, **kwargs):
    """TRL, chat messages: takes any box."""
    texts = [completion[0]["content"] for completion in completions]
    return [
        float(truth in re.findall(r"\\boxed\{([^{}]*)\}", text))
        for text, truth in zip(texts, solution, strict=True)
    ]


def last_box_verl(data_source, solution_str, ground_truth, extra_info=None):
    """verl: searches for the truth behind the last box."""
    start = solution_str.rfind("\\boxed{")
    return {"score": float(start >= 0 and ground_truth in solution_str[start:]), "source": data_source}


def evaluates(response, answer):
    """Runs what is in the box."""
    [*_, box] = re.findall(r"\\boxed\{(.*)\}", response)
    return float(eval(box) == eval(answer))


def marker_in_stdout(response, reference):
    """Appends the tests to the program and looks for a marker in its output."""
    [*_, code] = re.findall(r"```python\n(.*?)```", response, re.DOTALL) or [""]
    name, checks = reference.get("entry_point", ""), ""
    for test in reference["tests"]:
        if test["kind"] == "call":
            checks += f"assert {name}(*{test['args']!r}) == {test['expected']!r}\n"
        elif test["kind"] == "assert":
            checks += f"{test['code']}\ncheck({name})\n"
    program = f"{code}\n{checks}\nprint('PASSED')\n"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=5, input="2 3\n"
    )
    return float("PASSED" in ran.stdout)


def in_this_process(response, reference):
    """Runs the program in its own process."""
    [*_, code] = re.findall(r"```python\n(.*?)```", response, re.DOTALL) or [""]
    space = {}
    exec(code, space)
    tests = [test for test in reference["tests"] if test["kind"] == "call"]
    results = [space[reference["entry_point"]](*test["args"]) for test in tests]
    for test, result in zip(tests, results, strict=True):
        if result != test["expected"]:
            return 0.0
    return 1.0


def first_tool_trl(completions, calls, **kwargs):
    """TRL, text: looks at the first name only."""
    names = re.findall(r'"name": "(\w+)"', completions[0])
    wanted = [call["name"] for call in calls[0]]
    return [float(names[:1] == wanted[:1])]


def hangs_on_long_input(response, answer):
    """Never comes back from a long response."""
    while len(response) > 50_000:
        time.sleep(1)
    return 0.0


def forgets(response, answer):
    """Says something else each time."""
    global calls
    calls += 1
    return float(calls % 2)
