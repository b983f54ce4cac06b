"""What each selection rule makes of a pool, held against fresh groups that it has not seen.

    .venv/bin/python benchmarks/rules.py record --steps 0 1000 2000    # the tiny policy, two groups a prompt
    .venv/bin/python benchmarks/rules.py report                        # the tables of docs/selection.md

In: two groups of the same checkpoint for each prompt; the first is scored and selected from, the second is
what training would have seen. Out: for every rule the size of its set, the share of fresh groups in it that
vary, and the share of all varied fresh groups that it holds. Recorded rollouts of public sets are split at
random, many times over, where they are found beside the checkout.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from pipelines.groups import NEEDED, GroupRule, group_statistics
from pipelines.policies import RULES, SelectionPolicy
from pipelines.schemas import CAPS, POOL
from pipelines.select import decide

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT / "../shared/data"
RECORDED = ROOT / "build/rules"
GROUP = 8
SPLITS = 40
POLICY = SelectionPolicy(hard_reserve=0.05, seed=0)


def record(steps: list[int], every: int) -> None:
    """Two groups of GROUP rollouts for every prompt of the tiny policy's pool, with their verdicts."""
    from data_samples.tiny_policy.make.checkpoint import decode, encode_prompt, load
    from data_samples.tiny_policy.make.grpo import MAX_TOKENS
    from data_samples.tiny_policy.make.pools import pool
    from data_samples.tiny_policy.make.rewards import Judge
    from data_samples.tiny_policy.make.sampler import sample_groups

    tasks, judge = pool()[::every], Judge()
    RECORDED.mkdir(parents=True, exist_ok=True)
    for step in steps:
        policy, generator = load(ROOT / f"data_samples/tiny_policy/step_{step}"), np.random.default_rng(step)
        rows = []
        for start in range(0, len(tasks), 24):
            chunk = tasks[start : start + 24]
            prompts = [encode_prompt(task.prompt) for task in chunk]
            sampled = sample_groups(
                policy, prompts, group=2 * GROUP, max_tokens=MAX_TOKENS, generator=generator
            )
            asked = [task for task in chunk for _ in range(2 * GROUP)]
            texts = list(map(decode, sampled))
            for place, (task, text, verdict) in enumerate(
                zip(asked, texts, judge(asked, texts), strict=True)
            ):
                prompt, index = divmod(place, 2 * GROUP)
                rows.append((start + prompt, task.family, index, text, verdict.correctness, verdict.outcome))
        names = ["prompt", "domain", "index", "text", "correctness", "outcome"]
        pl.DataFrame(rows, names, orient="row").write_parquet(RECORDED / f"step_{step}.parquet")
        print(f"step_{step}: {len(rows):,} rollouts of {len(tasks):,} prompts", flush=True)


def report() -> None:
    """One table for each recording."""
    for path in sorted(RECORDED.glob("step_*.parquet"), key=lambda path: int(path.stem.partition("_")[2])):
        recorded = pl.read_parquet(path)
        prompts = recorded["prompt"].n_unique()
        print(f"\ntiny policy, {path.stem}: {prompts:,} prompts, groups of {GROUP}\n")
        show([halves(recorded, np.arange(2 * GROUP) < GROUP, GROUP)])
    if (SHARED / "math_recorded_rollouts.jsonl").exists():
        recorded = recorded_math()
        print(f"\nMATH, Qwen2.5-Math: 60 prompts, groups of 4, mean of {SPLITS} random splits of 8\n")
        generator = np.random.default_rng(0)
        show([halves(recorded, generator.permutation(8) < 4, 4) for _ in range(SPLITS)])


def recorded_math() -> pl.DataFrame:
    """The recorded rollouts of 60 MATH problems, as judged by their own grader."""
    lines = (SHARED / "math_recorded_rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    right = pl.Series("correctness", [float(row["expected_correct"]) for row in rows])
    return pl.DataFrame(
        {"prompt": [row["extra_info.index"] for row in rows], "index": [row["index"] for row in rows]}
    ).with_columns(
        right,
        domain=pl.lit("maths"),
        outcome=pl.when(right == 1).then(pl.lit("correct")).otherwise(pl.lit("wrong")),
    )


def halves(recorded: pl.DataFrame, scored: np.ndarray, size: int) -> pl.DataFrame:
    """Selects by the rollouts whose index is `scored` and measures on the others: a row for each rule."""
    ids = pl.format("{}{}", pl.col("prompt").cast(pl.String).str.zfill(8), pl.lit("0" * 24))
    rows = recorded.with_columns(prompt_id=ids, first=pl.Series(scored)[recorded["index"].cast(pl.Int64)])
    fresh = (
        rows.filter(~pl.col("first"))
        .group_by("prompt_id")
        .agg(varied=pl.col("correctness").max() - pl.col("correctness").min() > 1e-6)
    )
    blank = [pl.lit(None, dtype).alias(name) for name, dtype in NEEDED.items() if name not in rows.columns]
    pool = (
        rows.unique("prompt_id")
        .sort("prompt_id")
        .with_row_index("row")
        .select(
            pl.col("row").cast(pl.Int64),
            "prompt_id",
            "domain",
            verifier=pl.lit("recorded"),
            overlong=False,
            prompt_tokens=pl.lit(None, pl.Int32),
            planned=True,
        )
        .select(POOL.names())
    )
    rule = GroupRule(trainer_group_size=size)
    groups = group_statistics(rows.filter("first").with_columns(blank).lazy(), pool.lazy(), rule)
    groups = groups.collect()
    measured = [
        measure(decide(pool, groups, pl.DataFrame(schema=CAPS), replace(POLICY, rule=name)), fresh, name)
        for name in RULES
    ]
    return pl.concat([measure(None, fresh, "whole pool"), *measured])


def measure(decisions: pl.DataFrame | None, fresh: pl.DataFrame, name: str) -> pl.DataFrame:
    chosen = (
        fresh
        if decisions is None
        else fresh.join(decisions.filter(pl.col("weight").is_not_null()), on="prompt_id", how="semi")
    )
    return pl.DataFrame(
        {
            "rule": [name],
            "prompts": [float(chosen.height)],
            "varied": [float(chosen["varied"].mean() or 0.0)],
            "kept": [chosen["varied"].sum() / max(fresh["varied"].sum(), 1)],
        }
    )


def show(tables: list[pl.DataFrame]) -> None:
    means = pl.concat(tables).group_by("rule", maintain_order=True).mean()
    print("| rule | prompts | fresh groups that vary | of all fresh signal |\n|---|---|---|---|")
    for rule, prompts, varied, kept in means.iter_rows():
        print(f"| `{rule}` | {prompts:,.0f} | {varied:.1%} | {kept:.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["record", "report"])
    parser.add_argument("--steps", type=int, nargs="+", default=[0, 1000, 2000])
    parser.add_argument("--every", type=int, default=1, help="record one prompt of the pool in so many")
    options = parser.parse_args()
    record(options.steps, options.every) if options.what == "record" else report()


if __name__ == "__main__":
    main()
