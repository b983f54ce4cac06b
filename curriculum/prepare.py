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
from curriculum.config import Config, PrepareConfig
from curriculum.errors import UsageError
from curriculum.lock import locked
from curriculum.manifest import Manifest, read_manifest
from curriculum.plan import read_options, verifier_versions
from curriculum.policy import Sources
from curriculum.preparing.decide import Findings, decide
from curriculum.preparing.duplicates import (
    DUPLICATES,
    in_other_pools,
    near_texts,
    ranked,
    same_prompts,
    same_texts,
    texts_of,
)
from curriculum.preparing.lengths import LENGTHS, length_rule, prompt_lengths
from curriculum.preparing.publish import publish
from curriculum.preparing.raw import Raw, read_raw
from curriculum.preparing.references import REFERENCES, check_references
from curriculum.preparing.result import Prepared, prepared
from curriculum.preparing.sentinel import held_out, wanted
from curriculum.preparing.texts import read_texts, set_inputs
from curriculum.preparing.work import Work, open_work, stage_key
from curriculum.refresh import library_versions, refresh
from curriculum.result import RefreshResult
from curriculum.scoring.progress import View
from curriculum.stores import open_store
from pipelines.contamination import contamination
from pipelines.schemas import CONTAMINATION


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
        open_work(home / "work", dry_run=dry_run, restart=restart) as work,
    ):
        view.stage("reading")
        raw = read_raw(_sources(config), read_options(config.pool), work)
        found, key, versions = _examine(raw, config, checkpoint, work, view)
        decisions = decide(raw, found)
        name = f"prepared-{_set_key(key, config)[:8]}"
        if dry_run:
            return prepared(name, raw, decisions, found, folder=None)
        view.stage("publishing")
        folder = publish(
            raw, decisions, found, _manifest(name, raw, decisions, config, versions), config, work
        )
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
    raw: Raw, config: Config, checkpoint: Checkpoint | None, work: Work, view: View
) -> tuple[Findings, str, dict[str, str]]:
    """What every stage finds, the key of all of it, and the versions of the verifiers."""
    settings = config.prepare
    names = raw.index["verifier"].unique()
    versions = verifier_versions(names, allow_unsafe=config.verification.allow_unsafe_execution)
    rule = length_rule(config, checkpoint)

    references = pl.DataFrame(schema=REFERENCES)
    key = stage_key(raw.key, settings.check_references)
    if settings.check_references:
        view.stage("checking references")
        references = check_references(raw, config, versions, work, view)
        key = stage_key(key, versions, settings.solution_key)

    view.stage("looking for duplicates")
    firsts = ranked(raw, references)
    duplicates, key = _duplicates(raw, firsts, settings, key, work, view)
    left = firsts.join(duplicates, on="row", how="anti")

    view.stage("looking for evaluation prompts")
    hits, key = _contamination(raw, left, settings, key, work, view)

    view.stage("measuring prompts")
    lengths = pl.DataFrame(schema=LENGTHS)
    if rule is None:
        view.note("prompt lengths are not measured: no tokenizer is named")
    else:
        key = stage_key(key, rule.fingerprint, rule.most, config.chat.model_dump(mode="json"))
        lengths = work.table("lengths", key, lambda: prompt_lengths(raw, left, rule, config))

    found = Findings(
        duplicates=duplicates,
        contamination=hits,
        references=references,
        lengths=lengths,
        most_tokens=rule.most if rule else None,
        sentinel=pl.DataFrame(schema={"prompt_id": pl.String}),
    )
    view.stage("holding out a sentinel set")
    clean = decide(raw, found).filter(pl.col("decision") == "keep_unscored")
    sentinel, key = _sentinel(raw, left.join(clean, on="row", how="semi"), settings, key, work)
    return replace(found, sentinel=sentinel), key, versions


def _duplicates(
    raw: Raw, firsts: pl.DataFrame, settings: PrepareConfig, key: str, work: Work, view: View
) -> tuple[pl.DataFrame, str]:
    """Every superfluous row, DUPLICATES: of equal prompts, then of equal texts, then of texts that are alike,
    then of what stands in other pools; each is looked for among the rows that the ones before have left."""
    same = same_prompts(raw)
    key = stage_key(key, "same texts")
    texts = work.table("same_texts", key, lambda: same_texts(raw, firsts))
    left = firsts.join(texts, on="row", how="anti")
    near = others = pl.DataFrame(schema=DUPLICATES)
    if threshold := settings.near_duplicates:
        key = stage_key(key, threshold)
        near = work.table("near_duplicates", key, lambda: near_texts(texts_of(raw, left), threshold))
        left = left.join(near, on="row", how="anti")
    if settings.against:
        key = stage_key(key, set_inputs(settings.against, settings.evaluation_key))
        others = work.table(
            "against",
            key,
            lambda: in_other_pools(
                texts_of(raw, left),
                read_texts(settings.against, settings.evaluation_key, view),
                threshold or 1.0,
            ),
        )
    return pl.concat([same, texts, near, others]).sort("row"), key


def _contamination(
    raw: Raw, rows: pl.DataFrame, settings: PrepareConfig, key: str, work: Work, view: View
) -> tuple[pl.DataFrame, str]:
    """Every pair of a prompt and an evaluation prompt that it holds: CONTAMINATION."""
    if not settings.evaluations:
        view.note("no evaluation set is named")
        return pl.DataFrame(schema=CONTAMINATION), key
    key = stage_key(key, set_inputs(settings.evaluations, settings.evaluation_key))

    def find() -> pl.DataFrame:
        sets = read_texts(settings.evaluations, settings.evaluation_key, view)
        named = sets.select(evaluation="set", evaluation_row="place", text="text")
        return contamination(texts_of(raw, rows).select("prompt_id", "text"), named)

    return work.table("contamination", key, find), key


def _sentinel(
    raw: Raw, clean: pl.DataFrame, settings: PrepareConfig, key: str, work: Work
) -> tuple[pl.DataFrame, str]:
    """The prompts that are held out: column prompt_id."""
    count = wanted(clean.height, settings.sentinel)
    key = stage_key(key, count, settings.sentinel_apart, settings.seed)

    def choose() -> pl.DataFrame:
        return held_out(texts_of(raw, clean), count, apart=settings.sentinel_apart, seed=settings.seed)

    return work.table("sentinel", key, choose), key


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
