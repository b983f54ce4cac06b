"""`curriculum prepare`: turns a raw prompt set into a clean one, with an account of every row.

In: sources, and flags that stand for keys of the configuration. Out: a published set, its summary on
standard output.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from curriculum.cli.screen import show
from curriculum.config import load_config
from curriculum.policy import Sources
from curriculum.prepare import prepare, score_prepared
from curriculum.preparing.result import Prepared, render_prepared
from curriculum.result import RefreshResult
from curriculum.stores import out_keys
from curriculum.summary import render_summary
from curriculum.view import make_view


@click.command()
@click.argument("raw", nargs=-1)
@click.option("--out", metavar="DIR|URL", help="Folder to publish in, or URL to copy the set to as well.")
@click.option("--config", type=click.Path(path_type=Path), help="Configuration; default ./curriculum.toml.")
@click.option("--verifier", metavar="NAME", help="Judge of rows whose data source names none.")
@click.option("--prompt-key", metavar="COLUMN", help="Column of the prompt.")
@click.option("--reference-key", metavar="COLUMN", help="Column of what a response is judged against.")
@click.option(
    "--answer-after", metavar="MARK", help='The answer stands behind the last MARK: "####" in GSM8K.'
)
@click.option("--solution-key", metavar="COLUMN", help="Column of a solution that the reference must accept.")
@click.option(
    "--against", multiple=True, metavar="SOURCE", help="Leave out what is in this pool; repeatable."
)
@click.option(
    "--evaluation", multiple=True, metavar="SOURCE", help="Leave out what is in this evaluation set."
)
@click.option(
    "--evaluation-key", metavar="COLUMN", help="Column of the prompts of --against and --evaluation."
)
@click.option("--ckpt", metavar="NAME", help="Checkpoint to measure prompts and score the clean ones with.")
@click.option("--tokenizer", type=click.Path(path_type=Path), help="Tokenizer to measure prompts with.")
@click.option("--max-prompt-tokens", type=int, help="Leave out longer prompts.")
@click.option("--sentinel", type=float, help="Share of the clean prompts to hold out; from 1 on, a number.")
@click.option("--layout", type=click.Choice(["same", "verl", "trl", "native"]), help="Schema of the shards.")
@click.option("--dry-run", is_flag=True, help="Account for every row, write nothing.")
@click.option("--resume/--restart", default=True, show_default=True, help="Continue where a run was killed.")
@click.option("--skip-bad-rows", is_flag=True, default=None, help="Leave out and count unreadable rows.")
@click.option("--allow-unsafe-execution", is_flag=True, default=None, help="Run solutions unjailed.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    *,
    raw: tuple[str, ...],
    config: Path | None,
    ckpt: str | None,
    dry_run: bool,
    resume: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Clean the prompts of RAW (files, globs, folders or datasets) and publish them.

    Duplicates, prompts of evaluation sets, references that their own verifier refuses and prompts that are
    too long are left out, each with its reason in decisions.parquet. With --ckpt the clean prompts are then
    scored as by `curriculum refresh`.

    \b
    Example:
        curriculum prepare gsm8k.jsonl --verifier boxed --prompt-key question --reference-key answer \\
            --answer-after "####" --evaluation math500.jsonl --out prepared
        curriculum prepare data/*.parquet --out s3://bucket/prepared --dry-run
    """
    settings = load_config(config, _overrides(raw, flags))
    scored: RefreshResult | None = None
    with make_view(json=as_json) as view:
        done = prepare(settings, view, ckpt=ckpt, dry_run=dry_run, restart=not resume)
        if ckpt and not dry_run:
            scored = score_prepared(settings, done, Sources(checkpoint=ckpt), view)
    if as_json:
        refreshed = {"refresh": scored.to_json()} if scored else {}
        click.echo(json.dumps(done.to_json() | refreshed, ensure_ascii=False))
    else:
        show(*_shown(done, scored))


def _shown(done: Prepared, scored: RefreshResult | None) -> list[RenderableType]:
    return [render_prepared(done), *([render_summary(scored)] if scored else [])]


def _overrides(raw: tuple[str, ...], flags: dict[str, Any]) -> dict[str, Any]:
    """Flags by the dotted key of the configuration they stand for; None where not given."""
    return {
        **out_keys(flags["out"]),
        "pool.sources": list(raw) or None,
        "pool.default_verifier": flags["verifier"],
        "pool.prompt_key": flags["prompt_key"],
        "pool.reference_key": flags["reference_key"],
        "pool.answer_after": flags["answer_after"],
        "pool.skip_bad_rows": flags["skip_bad_rows"],
        "prepare.solution_key": flags["solution_key"],
        "prepare.against": list(flags["against"]) or None,
        "prepare.evaluations": list(flags["evaluation"]) or None,
        "prepare.evaluation_key": flags["evaluation_key"],
        "prepare.tokenizer": flags["tokenizer"],
        "prepare.max_prompt_tokens": flags["max_prompt_tokens"],
        "prepare.sentinel": flags["sentinel"],
        "output.layout": flags["layout"],
        "verification.allow_unsafe_execution": flags["allow_unsafe_execution"],
    }
