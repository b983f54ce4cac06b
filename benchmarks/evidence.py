"""Observed groups in place of sampled ones, with a real vLLM: what they save, and whether they decide alike.

    python benchmarks/evidence.py [--prompts 600] [--observed 200] [--keep FOLDER]

Scores the same prompts of the tiny policy with step_2000 twice, with seeds of their own: A and B. Then a
trainer observes the rollouts of A for 200 prompts of A's set, and a third refresh, C, with a seed of its own
and this evidence, samples the rest. For these prompts the decisions of C are compared with those of A, which
rest on the same rollouts, and with those of B, which rest on others. No evidence can agree with B better than
A does: that is the ceiling beside it. The same figures follow for as many prompts at random, and for a drift
of 1,000 steps (step_1000 against step_2000), which says how fast evidence grows old.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from curriculum.hooks import CurriculumSampler, Recipe

POLICY = Path(__file__).resolve().parents[1] / "data_samples" / "tiny_policy"
CURRICULUM = [sys.executable, "-c", "from curriculum.cli import main; main()"]
STEP = 1990


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--prompts", type=int, default=600)
    parser.add_argument("--observed", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="publish here, and continue what is here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        a = refresh(folder / "a", "step_2000", options.prompts, seed=1)
        b = refresh(folder / "b", "step_2000", options.prompts, seed=2)
        earlier = refresh(folder / "earlier", "step_1000", options.prompts, seed=3)
        chosen = first(decisions(a).filter(pl.col("decision").str.starts_with("keep_")), options.observed)
        if not (folder / "a" / "evidence").exists():
            observe(folder / "a", a, chosen)
        c = refresh(folder / "a", "step_2000", options.prompts, seed=4)
        report(a, b, c, earlier, chosen, first(decisions(a), options.observed))


def refresh(out: Path, checkpoint: str, prompts: int, *, seed: int) -> dict[str, Any]:
    """The result of a refresh of its own process."""
    command = [*CURRICULUM, "refresh", "--config", str(POLICY / "curriculum.toml"), "--json"]
    command += ["--ckpt", checkpoint, "--limit", str(prompts), "--seed", str(seed), "--out", str(out)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def decisions(result: dict[str, Any]) -> pl.DataFrame:
    """prompt_id and decision of what was sampled or observed."""
    folder = Path(result["path"])
    groups = pl.read_parquet(folder / "groups.parquet").select("prompt_id")
    table = pl.read_parquet(folder / "decisions.parquet").unique("prompt_id", keep="first")
    return groups.join(table, on="prompt_id").select("prompt_id", pl.col("decision").cast(pl.String))


def first(table: pl.DataFrame, count: int) -> pl.Series:
    """As many prompts: a random choice, since an id is a hash."""
    ids = table["prompt_id"].sort()
    if len(ids) < count:
        raise SystemExit(f"only {len(ids)} prompts to observe; raise --prompts")
    return ids.head(count)


def observe(out: Path, result: dict[str, Any], chosen: pl.Series) -> None:
    """What a trainer reports whose rollouts were those of `result`."""
    rollouts = pl.read_parquet(f"{result['path']}/rollouts/*.parquet")
    mine = rollouts.filter(pl.col("prompt_id").is_in(chosen.implode())).sort("prompt_id", "index")
    sampler = CurriculumSampler(out, Recipe(batch_size=8), group_size=8)
    for part in mine.iter_slices(8 * 20):
        sampler.observe(
            part["prompt_id"].to_list(),
            part["correctness"].to_list(),
            lengths=part["tokens"].to_list(),
            truncated=(part["finish"] == "length").to_list(),
            step=STEP,
        )


def report(
    a: dict[str, Any],
    b: dict[str, Any],
    c: dict[str, Any],
    earlier: dict[str, Any],
    chosen: pl.Series,
    anyone: pl.Series,
) -> None:
    spared = a["rollouts"] - c["rollouts"]
    print(f"rollouts: {a['rollouts']:,} without evidence, {c['rollouts']:,} with; {spared:,} spared")
    print(f"prompts decided by observed groups: {c['observed']['prompts']}, {c['observed']['decisions']}")
    for name, ids in (("observed, prompts of the set", chosen), ("as many at random", anyone)):
        print(f"{name} ({len(ids)}):")
        if ids is chosen:
            print(f"  C and A, the same rollouts:           {agreement(c, a, ids)}")
            print(f"  C and B, observed and full scoring:   {agreement(c, b, ids)}")
        print(f"  A and B, two full scorings (ceiling): {agreement(a, b, ids)}")
        print(f"  A and 1,000 steps earlier:            {agreement(a, earlier, ids)}")


def agreement(one: dict[str, Any], other: dict[str, Any], ids: pl.Series) -> str:
    """The share of equal decisions, with its binomial standard error; in and out of the set in brackets."""
    both = decisions(one).join(decisions(other), on="prompt_id", suffix="_other")
    both = both.filter(pl.col("prompt_id").is_in(ids.implode()))
    kept = [both[name].str.starts_with("keep_") for name in ("decision", "decision_other")]
    share = float((both["decision"] == both["decision_other"]).mean())  # type: ignore[arg-type]
    error = float(np.sqrt(share * (1 - share) / both.height))
    in_or_out = (kept[0] == kept[1]).mean()
    return f"{share:.1%} ± {error:.1%} of {both.height} (in or out of the set: {in_or_out:.1%})"


if __name__ == "__main__":
    main()
