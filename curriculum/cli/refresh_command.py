"""`curriculum refresh`: scores the pool with a checkpoint and publishes the set worth training on.

In: flags, which stand for keys of the configuration. Out: a published set, its summary on standard
output.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from curriculum.cli.screen import show
from curriculum.config import load_config
from curriculum.policy import Sources
from curriculum.refresh import plan_only, refresh
from curriculum.result import Forecast, RefreshResult
from curriculum.stores import out_keys
from curriculum.summary import render_forecast, render_summary
from curriculum.view import make_view


@click.command()
@click.option("--ckpt", metavar="NAME", help="Checkpoint: a name under the checkpoint root, or a path.")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration; default ./curriculum.toml.")
@click.option("--pool", multiple=True, metavar="SOURCE", help="File, glob, folder or dataset; repeatable.")
@click.option("--verifier", metavar="NAME", help="Judge of rows whose data source names none.")
@click.option("--ckpt-root", type=click.Path(path_type=Path), help="Where checkpoints are looked for.")
@click.option("--out", metavar="DIR|URL", help="Folder to publish in, or URL to copy the set to as well.")
@click.option("--engine", type=click.Choice(["vllm", "replay"]), help="What generates the rollouts.")
@click.option("--rollouts", type=click.Path(path_type=Path), help="Recorded rollouts for --engine replay.")
@click.option("--key", default="prompt_id", show_default=True, help="Column that names a recording's prompt.")
@click.option("--n", type=int, help="Rollouts per prompt.")
@click.option("--seed", type=int, help="Seed of the pass.")
@click.option("--reviewed", multiple=True, metavar="FILE", help="Verdicts on suspect references; repeatable.")
@click.option("--limit", type=int, help="Sample at most this many prompts.")
@click.option("--ignore-evidence", is_flag=True, help="Sample prompts that the trainer has observed, too.")
@click.option("--dry-run", is_flag=True, help="Plan and forecast only.")
@click.option("--resume/--restart", default=True, show_default=True, help="Continue an interrupted pass.")
@click.option("--skip-bad-rows", is_flag=True, default=None, help="Leave out and count unreadable rows.")
@click.option("--max-error-rate", type=float, help="Stop when more rollouts than this cannot be judged.")
@click.option("--allow-unsafe-execution", is_flag=True, default=None, help="Run generated code unjailed.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    *,
    ckpt: str | None,
    config: Path | None,
    key: str,
    rollouts: Path | None,
    dry_run: bool,
    resume: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Score the pool with a checkpoint; publish the prompts whose groups carry signal.

    An interrupted refresh is continued by the same command. Progress goes to standard error, the
    summary to standard output.

    \b
    Example:
        curriculum refresh --ckpt step_2000
        curriculum refresh --ckpt step_2000 --dry-run
        curriculum refresh --engine replay --rollouts rollouts.parquet --key extra_info.index
    """
    settings = load_config(config, _overrides(flags))
    sources = Sources(checkpoint=ckpt, recording=rollouts, key=key)
    done: RefreshResult | Forecast
    with make_view(json=as_json) as view:
        if dry_run:
            done = plan_only(settings, sources, view)
        else:
            done = refresh(settings, sources, view, restart=not resume)
    if as_json:
        click.echo(json.dumps(done.to_json(), ensure_ascii=False))
    else:
        shown = render_forecast(done) if isinstance(done, Forecast) else render_summary(done)
        show(shown)


def _overrides(flags: dict[str, Any]) -> dict[str, Any]:
    """Flags by the dotted key of the configuration they stand for; None where not given."""
    return {
        "pool.sources": list(flags["pool"]) or None,
        "pool.limit": flags["limit"],
        "pool.reviewed": list(flags["reviewed"]) or None,
        "pool.default_verifier": flags["verifier"],
        "pool.skip_bad_rows": flags["skip_bad_rows"],
        "checkpoints.root": flags["ckpt_root"],
        **out_keys(flags["out"]),
        "evidence.use": False if flags["ignore_evidence"] else None,
        "engine.kind": flags["engine"],
        "sampling.n": flags["n"],
        "sampling.seed": flags["seed"],
        "verification.max_error_rate": flags["max_error_rate"],
        "verification.allow_unsafe_execution": flags["allow_unsafe_execution"],
    }
