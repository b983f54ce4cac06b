"""Graders of boxed answers: verdicts on the shared cases, speed on real answers, and hostile inputs.

    python benchmarks/peers/boxed.py JUDGE      # started by benchmarks/peers

A false positive is a wrong answer that is accepted, a false negative a right one that is refused; cases that
are conventions are left out. Pairs are DeepScaleR golds against another spelling of the same, and recorded
GSM8K solutions whose answer is put into a box.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
from limits import timed

SHARED = Path(__file__).resolve().parents[2] / "../shared"
PAIRS = 300
HOSTILE_LIMIT = 20.0
HOSTILE = {
    "power tower": r"\boxed{9^{9^{9^{9}}}}",
    "100,000 digits": r"\boxed{" + "7" * 100_000 + "}",
    "nested braces": r"\boxed{" * 20_000 + "4" + "}" * 20_000,
    "factorial": r"\boxed{100000000!}",
    "binomial": r"\boxed{\binom{1000000000}{500000000}}",
    "product of powers": r"\boxed{(x+y+z+w)^{200}}",
    "dollars": "$" * 20_000 + r"\boxed{4}",
}

Judge = Callable[[str, str], bool]


def judge(name: str) -> Judge:
    """The grader of that name, as (response, gold) -> accepted."""
    if name == "curriculum":
        from verifiers.boxed import BoxedVerifier

        ours = BoxedVerifier()
        return lambda response, gold: ours.verify(response, {"answer": gold}).outcome == "correct"
    if name == "math-verify":
        from math_verify import parse, verify

        return lambda response, gold: verify(parse(f"\\boxed{{{gold}}}"), parse(response))
    if name == "mathruler":
        from mathruler.grader import extract_boxed_content, grade_answer

        return lambda response, gold: grade_answer(extract_boxed_content(response), gold)
    from verl_parts import reward_score

    module = reward_score(name.removeprefix("verl "))
    if name == "verl math_dapo":
        return lambda response, gold: module.compute_score(response, gold, strict_box_verify=True)["acc"]
    if name == "verl prime_math":
        return lambda response, gold: module.compute_score(response, gold)[0]
    return lambda response, gold: module.compute_score(response, gold) == 1.0


def real_pairs() -> list[tuple[str, str]]:
    """Responses and golds: as many of DeepScaleR as of GSM8K."""
    table = pl.read_parquet(SHARED / "data/deepscaler_10k_verl.parquet")
    golds = table["reward_model"].struct.field("ground_truth").gather_every(table.height // PAIRS)[:PAIRS]
    spelled = [
        gold.replace(r"\frac", r"\dfrac").replace("+", " + ").replace("(", r"\left(") for gold in golds
    ]
    spelled = [text.replace(")", r"\right)") for text in spelled]
    pairs = [(f"Hence $\\boxed{{{text}}}$.", gold) for text, gold in zip(spelled, golds, strict=True)]
    solutions = pl.read_ndjson(SHARED / "data/gsm8k_solutions.jsonl").gather_every(3200 // PAIRS)[:PAIRS]
    for text, gold in solutions.select("answer", "gold").iter_rows():
        work, _, answer = text.rpartition("A:")
        pairs.append((f"{work}\\boxed{{{answer.strip()}}}", gold))
    return pairs


def throughput(accepts: Judge) -> dict[str, object]:
    """Pairs per second of processor time and the slowest of them, on one core."""
    pairs = real_pairs()
    for response, gold in pairs[:: len(pairs) // 20]:
        accepts(response, gold)
    slowest, began = 0.0, time.process_time()
    for response, gold in pairs:
        start = time.process_time()
        accepts(response, gold)
        slowest = max(slowest, time.process_time() - start)
    return {
        "pairs/s": f"{len(pairs) / (time.process_time() - began):,.0f}",
        "slowest pair": f"{slowest * 1000:,.1f} ms",
    }


def hostile(accepts: Judge) -> dict[str, object]:
    """The slowest of the hostile inputs, and how many had to be killed."""
    results = [timed(accepts, text, "4", limit=HOSTILE_LIMIT) for text in HOSTILE.values()]
    killed = results.count(None)
    slowest = max((seconds for result in results if result for seconds in result[1:]), default=0.0)
    return {
        "slowest hostile input": f"{killed} killed at {HOSTILE_LIMIT:.0f} s" if killed else f"{slowest:.2f} s"
    }


def main() -> None:
    accepts = judge(sys.argv[1])
    cases = [json.loads(line) for line in (SHARED / "cases/math.jsonl").read_text().splitlines()]
    cases = [case for case in cases if not case["note"].startswith("?")]
    verdicts = [timed(accepts, case["response"], case["gold"], limit=30.0) for case in cases]
    accepted = [verdict is not None and verdict[0] is True for verdict in verdicts]
    wrong = [got for got, case in zip(accepted, cases, strict=True) if not case["expected"]]
    right = [got for got, case in zip(accepted, cases, strict=True) if case["expected"]]
    row = {
        "false positives": f"{sum(wrong)} of {len(wrong)}",
        "false negatives": f"{len(right) - sum(right)} of {len(right)}",
        **throughput(accepts),
        **hostile(accepts),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
