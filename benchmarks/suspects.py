"""How many wrong references are found by the agreement of rollouts, and how many right ones are suspected.

    .venv/bin/python benchmarks/rules.py record --steps 2000     # the tiny policy, once
    .venv/bin/python benchmarks/suspects.py

In: recorded rollouts with right references. Every reference is corrupted in turn (whether one is found
depends on no other), so the figures are those of any share of corrupted ones. Out: a row for each
recording: of the wrong references of prompts that the policy solves at least half of the time, and of all it
ever solves, the share found; of the right references, the share suspected.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from curriculum.agreement import count_answers
from pipelines.suspects import SuspectRule, suspects
from verifiers import registry

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT / "../shared/data"
RECORDED = ROOT / "build/rules"
GROUP = 8


def main() -> None:
    print("| recording | prompts | found, of those solved half the time | of those ever solved | suspected |")
    print("|---|---|---|---|---|")
    before = None
    for path in sorted(RECORDED.glob("step_*.parquet"), key=lambda path: int(path.stem.partition("_")[2])):
        rollouts, gold = tiny(path)
        row(f"tiny policy, {path.stem}", rollouts, gold, SuspectRule())
        if before is not None:
            row(f"tiny policy, {path.stem} and the one before", rollouts, gold, SuspectRule(), before)
        before = rollouts
    if SHARED.exists():
        row("MATH, Qwen2.5-Math", *maths(), SuspectRule())
        rule = SuspectRule(min_rollouts=4, min_posterior=0.95)  # all four must agree
        row("GSM8K, four models, one answer each", *gsm8k(), rule)


def row(
    name: str,
    rollouts: pl.DataFrame,
    gold: dict[str, str],
    rule: SuspectRule,
    before: pl.DataFrame | None = None,
) -> None:
    """One row of the table.

    Args:
        rollouts, before: prompt_id and text, of this pass and of an earlier one.
        gold: the right answer of every prompt.
    """
    answers = list(gold.values())
    corrupted = {}
    for place, (prompt_id, answer) in enumerate(gold.items()):
        others = answers[place + 1 :] + answers[:place]
        corrupted[prompt_id] = next(other for other in others if not accepts(f"\\boxed{{{other}}}", answer))
    right, wrong = judged(rollouts, gold), judged(rollouts, corrupted)
    rates = right.group_by("prompt_id").agg(rate=pl.col("correctness").mean())
    found = suspects(in_doubt(wrong, corrupted, before), rule)
    suspected = suspects(in_doubt(right, gold, before), rule).height
    shares = []
    for least in (0.5, 1e-9):
        solved = rates.filter(pl.col("rate") >= least)
        shares.append(solved.join(found, on="prompt_id", how="semi").height / max(solved.height, 1))
    print(
        f"| {name} | {len(gold):,} | {shares[0]:.1%} | {shares[1]:.1%} | {suspected / len(gold):.1%} |",
        flush=True,
    )


def accepts(response: str, answer: str) -> bool:
    return registry.get("boxed").verify(response, {"answer": answer}).correctness == 1


def judged(rollouts: pl.DataFrame, gold: dict[str, str]) -> pl.DataFrame:
    marks = [float(accepts(text, gold[prompt_id])) for prompt_id, text in rollouts.rows()]
    return rollouts.with_columns(pass_id=pl.lit("recorded"), correctness=pl.Series(marks, dtype=pl.Float64))


def in_doubt(rollouts: pl.DataFrame, gold: dict[str, str], before: pl.DataFrame | None) -> pl.DataFrame:
    """The counted answers to the prompts that are never right, with those of an earlier pass."""
    unsolved = rollouts.filter(pl.col("correctness").max().over("prompt_id") < 1)
    if before is not None:
        doubted = before.join(unsolved, on="prompt_id", how="semi")
        earlier = judged(doubted, gold).with_columns(pass_id=pl.lit("earlier"))
        unsolved = pl.concat([unsolved, earlier]).sort("prompt_id", maintain_order=True)
    references = {prompt_id: json.dumps({"answer": answer}) for prompt_id, answer in gold.items()}
    prompts = pl.DataFrame(
        {"prompt_id": list(references), "reference": list(references.values())}
    ).with_columns(verifier=pl.lit("boxed"))
    return count_answers(unsolved, prompts)


def tiny(path: Path) -> tuple[pl.DataFrame, dict[str, str]]:
    """The arithmetic prompts, with the first group of each."""
    from data_samples.tiny_policy.make.pools import pool

    recorded = pl.read_parquet(path).filter(pl.col("domain") == "arithmetic", pl.col("index") < GROUP)
    tasks = pool()
    every = -(-len(tasks) // (pl.read_parquet(path, columns=["prompt"])["prompt"].max() + 1))
    rows = recorded.sort("prompt", "index").select(
        pl.col("prompt").cast(pl.String).alias("prompt_id"), "text"
    )
    numbers = recorded["prompt"].unique().sort()
    return rows, {str(number): tasks[number * every].reference["answer"] for number in numbers}


def maths() -> tuple[pl.DataFrame, dict[str, str]]:
    pool = pl.read_parquet(SHARED / "math_recorded_pool_verl.parquet")
    gold = {
        str(row["extra_info"]["index"]): row["reward_model"]["ground_truth"]
        for row in pool.iter_rows(named=True)
    }
    lines = (SHARED / "math_recorded_rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [(str(row["extra_info.index"]), row["text"]) for row in map(json.loads, lines)]
    return pl.DataFrame(rows, ["prompt_id", "text"], orient="row"), gold


def gsm8k() -> tuple[pl.DataFrame, dict[str, str]]:
    lines = (SHARED / "gsm8k_solutions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    boxed = [(str(row["row"]), f"\\boxed{{{row['answer'].rpartition('A:')[2].strip()}}}") for row in rows]
    return pl.DataFrame(boxed, ["prompt_id", "text"], orient="row"), {
        str(row["row"]): row["gold"] for row in rows
    }


if __name__ == "__main__":
    main()
