"""A raw prompt set becomes a clean one; read top to bottom, it is the story.

In: configuration. Out: a published set in which every row has a reference its verifier accepts, says nothing
twice and nothing of an evaluation set; and an account of every row that is not in it.

    read -> check references -> duplicates -> contamination -> lengths -> sentinel -> decide -> publish

References come before duplicates, because of rows that say the same the one with the best reference stays.
Every stage keeps its table in the work folder under a key of all that decides it, so the same command
continues after a kill and a changed setting repeats only what depends on it.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime

import polars as pl

from curriculum.checkpoints import Checkpoint, resolve_checkpoint
from curriculum.config import Config
from curriculum.errors import UsageError
from curriculum.files import disk_errors
from curriculum.lock import locked
from curriculum.manifest import Manifest, read_manifest
from curriculum.plan import read_options, verifier_versions
from curriculum.policy import Sources
from curriculum.preparing.decide import Findings, decide
from curriculum.preparing.duplicates import ranked
from curriculum.preparing.lengths import length_rule
from curriculum.preparing.publish import publish
from curriculum.preparing.raw import Raw, read_raw
from curriculum.preparing.result import Prepared, prepared
from curriculum.preparing.stages import Stages
from curriculum.preparing.work import open_work, stage_key
from curriculum.refresh import library_versions, refresh
from curriculum.result import RefreshResult
from curriculum.scoring.progress import View
from curriculum.stores import open_store


def prepare(
    config: Config,
    view: View,
    *,
    ckpt: str | None = None,
    dry_run: bool = False,
    restart: bool = False,
) -> Prepared:
    """Cleans the pool of `config.pool.sources` and publishes it.

    Continues an earlier, interrupted call with the same inputs and settings, unless `restart`.

    Args:
        config: what to read, look for and hold back, and where to publish.
        view: what a person sees.
        ckpt: a checkpoint whose tokenizer and window measure the prompts.
        dry_run: account for every row, write nothing.
        restart: forget what an earlier call has finished.

    Raises:
        UsageError: configuration or inputs, or another command is writing to the output folder.
        EngineError: workers, disk or store failed; call again to continue.
        NothingError: no row is clean; what was published before is left as it was.
    """
    home = config.output.dir
    store = open_store(config.output.url)
    checkpoint = resolve_checkpoint(ckpt, config.checkpoints.root) if ckpt else None
    with (
        nullcontext() if dry_run else locked(home),
        disk_errors(home, during_pass=True),
        open_work(home / "work", dry_run=dry_run, restart=restart) as work,
    ):
        view.stage("reading")
        raw = read_raw(_sources(config), read_options(config.pool), work)
        versions = verifier_versions(
            raw.index["verifier"].unique(), allow_unsafe=config.verification.allow_unsafe_execution
        )
        stages = Stages(raw, config, work, view)
        found = _examine(raw, config, checkpoint, stages, versions)
        decisions = decide(raw, found)
        name = f"prepared-{_set_key(stages.key, config)[:8]}"
        if dry_run:
            return prepared(name, raw, decisions, found, folder=None)
        view.stage("publishing")
        manifest = _manifest(name, raw, decisions, config, versions)
        folder = publish(raw, decisions, found, manifest, config, work)
        if store is not None:
            view.note(f"copied to {store.put(folder)}")
        work.tidy()
        return prepared(name, raw, decisions, found, folder)


def score_prepared(config: Config, done: Prepared, sources: Sources, view: View) -> RefreshResult:
    """Refreshes from a set that `prepare` has published: the prompts worth training on, of the clean ones.

    Raises:
        UsageError, EngineError, NothingError: see `curriculum.refresh.refresh`.
    """
    if done.path is None:
        raise ValueError("a dry run has published nothing to score")
    shards = tuple(str(done.path / shard.name) for shard in read_manifest(done.path).tables["train"])
    moved = {} if config.output.layout == "same" else {"layout": config.output.layout, **_UNNAMED}
    pool = config.pool.model_copy(update={"sources": shards, **moved})
    return refresh(config.model_copy(update={"pool": pool}), sources, view)


_UNNAMED = dict.fromkeys(("prompt_key", "reference_key", "domain_key", "answer_after"))
"""A set in another layout than its pool has prompt, reference and domain where that layout has them."""


def _sources(config: Config) -> tuple[str, ...]:
    if not config.pool.sources:
        raise UsageError("no raw pool is named", where="pool.sources", do="curriculum prepare RAW --out DIR")
    return config.pool.sources


def _examine(
    raw: Raw, config: Config, checkpoint: Checkpoint | None, stages: Stages, versions: dict[str, str]
) -> Findings:
    """What every stage finds."""
    rule = length_rule(config, checkpoint)
    references = stages.references(versions)
    firsts = ranked(raw, references)
    duplicates = stages.duplicates(firsts)
    references = stages.contradictions(duplicates, references)
    left = firsts.join(duplicates, on="row", how="anti")
    found = Findings(
        duplicates=duplicates,
        contamination=stages.contamination(left),
        references=references,
        lengths=stages.lengths(left, rule),
        most_tokens=rule.most if rule else None,
        sentinel=left.select("prompt_id").clear(),
    )
    clean = decide(raw, found).filter(pl.col("decision") == "keep_unscored")
    return replace(found, sentinel=stages.sentinel(left.join(clean, on="row", how="semi")))


def _set_key(key: str, config: Config) -> str:
    return stage_key(key, config.output.model_dump(mode="json", exclude={"dir", "url"}), config.prepare.seed)


def _manifest(
    name: str, raw: Raw, decisions: pl.DataFrame, config: Config, versions: dict[str, str]
) -> Manifest:
    counts = decisions.group_by("decision").len().sort("decision").iter_rows()
    return Manifest(
        refresh_id=name,
        pass_id="",
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        checkpoint={"name": "prepared", "fingerprint": None, "step": None},
        pool={
            "content_hash": raw.content_hash,
            "rows": raw.rows,
            "layout": raw.keys.layout,
            "bad_rows": raw.unreadable.height,
            "files": [asdict(file) for file in raw.files],
        },
        config=config.model_dump(mode="json"),
        verifiers=versions,
        counts={str(decision): count for decision, count in counts},
        signal={"before": None, "after": None},
        caps=[],
        run={"devices": 0, "versions": library_versions()},
        tables={},
    )
