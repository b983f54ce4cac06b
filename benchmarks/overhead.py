"""The scoring stage against a bare vLLM generate over the same requests, side by side.

    python benchmarks/overhead.py [--ckpt step_2000] [--prompts 400] [--rounds 3] [--all]

Each round runs both, one after the other, each in a process of its own; the time counted begins when
the engine is loaded. The scoring stage includes its smoke run, verification in worker processes and the
journal. Only boxed prompts, or with --all those of all three verifiers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from curriculum.config import Config, load_config
from curriculum.engines.vllm import VllmEngine
from curriculum.plan import Plan, make_plan
from curriculum.policy import Sources
from curriculum.scoring.passes import open_pass
from curriculum.scoring.progress import SilentView
from curriculum.scoring.run import make_engine, score
from curriculum.seeds import rollout_seed

POLICY = Path(__file__).resolve().parents[1] / "data_samples" / "tiny_policy"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ckpt", default="step_2000")
    parser.add_argument("--prompts", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--all", action="store_true", help="prompts of all three verifiers")
    parser.add_argument("--one", choices=["bare", "scoring"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options)))
        return
    seconds: dict[str, list[float]] = {"bare": [], "scoring": []}
    for number in range(options.rounds):
        for kind in ("bare", "scoring") if number % 2 == 0 else ("scoring", "bare"):
            done = subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--one", kind], stdout=subprocess.PIPE, check=True
            )
            result = json.loads(done.stdout.splitlines()[-1])
            seconds[kind].append(result["seconds"])
            print(f"round {number}: {kind:8} {result}", flush=True)
    bare, scoring = (statistics.median(seconds[kind]) for kind in ("bare", "scoring"))
    pairs = [s / b for s, b in zip(seconds["scoring"], seconds["bare"], strict=True)]
    print(f"median: bare {bare:.2f} s, scoring {scoring:.2f} s, ratio {scoring / bare:.3f}")
    print(f"ratio per round: {', '.join(f'{pair:.3f}' for pair in pairs)}")


def measure(options: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(configuration(options, Path(folder)), Sources(checkpoint=options.ckpt))
        return bare(plan) if options.one == "bare" else scoring(plan)


def configuration(options: argparse.Namespace, folder: Path) -> Config:
    pool = pl.read_parquet(POLICY / "pool.parquet")
    config = load_config(POLICY / "curriculum.toml")
    if not options.all:
        boxed = [source for source, verifier in config.pool.verifiers.items() if verifier == "boxed"]
        pool = pool.filter(pl.col("data_source").is_in(boxed))
    pool.write_parquet(folder / "pool.parquet")
    return load_config(
        POLICY / "curriculum.toml",
        {
            "pool.sources": [str(folder / "pool.parquet")],
            "pool.limit": options.prompts,
            "output.dir": str(folder),
        },
    )


def scoring(plan: Plan) -> dict[str, float]:
    view = SilentView()
    open_pass(plan, view, restart=False)
    cpu = time.process_time()
    run = asyncio.run(score(plan, view))
    return {
        "seconds": round(run.seconds, 3),
        "rollouts": run.rollouts,
        "tokens": run.tokens,
        "front_end_cpu_s": round(time.process_time() - cpu, 3),
    }


def bare(plan: Plan) -> dict[str, float]:
    from vllm import LLM
    from vllm.inputs import TokensPrompt

    engine = make_engine(plan)
    assert isinstance(engine, VllmEngine)
    llm = LLM(**engine.arguments())
    base = engine.sampling_params()
    base.detokenize = True  # vLLM's own default
    prompts, params = [], []
    for ask in plan.asks:
        task = plan.prompts[ask.prompt_id]
        own = base.clone()
        own.seed = rollout_seed(plan.identity.pass_id, ask.prompt_id, ask.index)
        own.max_tokens = task.max_tokens
        prompts.append(TokensPrompt(prompt_token_ids=task.token_ids.tolist()))
        params.append(own)
    cpu, began = time.process_time(), time.monotonic()
    outputs = llm.generate(prompts, params, use_tqdm=False)
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    llm.llm_engine.engine_core.shutdown()  # its process would keep this one from ending
    return {
        "seconds": round(seconds, 3),
        "rollouts": len(outputs),
        "tokens": sum(len(output.outputs[0].token_ids) for output in outputs),
        "front_end_cpu_s": round(cpu, 3),
    }


if __name__ == "__main__":
    main()
