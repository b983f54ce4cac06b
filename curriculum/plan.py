"""The plan of a refresh: everything that is decided before an engine loads.

In: configuration and the names of checkpoint or recording. Out: `Plan`: pool, identity of the pass,
which rollouts to ask for in which order, what the journal already holds, and a forecast. Every fault
of configuration, pool or checkpoint is found here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl

from curriculum.checkpoints import Checkpoint, resolve_checkpoint
from curriculum.config import Config
from curriculum.engines.replay import RECORDING, load_recording, recording_fingerprint
from curriculum.engines.vllm import require_vllm
from curriculum.errors import UsageError
from curriculum.evidence import newest_evidence
from curriculum.pool.keys import prompt_keys
from curriculum.pool.layouts import ReadOptions
from curriculum.pool.read import Pool, read_pool
from curriculum.render import Rendered, Renderer, policy_window
from curriculum.result import Forecast
from curriculum.scoring.forecast import Evidence, expected_tokens, forecast, longest_first
from curriculum.scoring.identity import PassIdentity, pass_identity
from curriculum.scoring.journal import judged_keys
from curriculum.scoring.loop import PromptTask
from curriculum.scoring.schedule import Ask
from pipelines.schemas import POOL
from verifiers import registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What a refresh is asked to use, beside the configuration."""

    checkpoint: str | None = None
    recording: Path | None = None
    key: str = "prompt_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A refresh, ready to run."""

    config: Config
    pool: Pool
    table: pl.DataFrame  # pipelines.schemas.POOL
    checkpoint: Checkpoint | None
    recording: pl.DataFrame  # curriculum.engines.replay.RECORDING; empty with a checkpoint
    renderer: Renderer | None
    identity: PassIdentity
    verifiers: dict[str, str]
    prompts: Mapping[str, PromptTask]
    asks: list[Ask]
    judged: pl.DataFrame  # curriculum.scoring.journal.judged_keys
    forecast: Forecast

    @property
    def policy_name(self) -> str:
        """The checkpoint's name, or "replay"."""
        return self.checkpoint.name if self.checkpoint else "replay"

    @property
    def pass_folder(self) -> Path:
        """Where the pass keeps its settings and its journal."""
        return pass_folder(self.config, self.identity)


def pass_folder(config: Config, identity: PassIdentity) -> Path:
    """The folder of a pass."""
    return config.output.dir / "passes" / identity.pass_id


def make_plan(config: Config, sources: Sources, *, restart: bool = False) -> Plan:
    """Reads and checks everything a refresh needs; with `restart`, as if the journal were empty.

    Raises:
        UsageError: whatever is wrong with configuration, pool, checkpoint, recording or verifiers.
    """
    source = _policy_source(config, sources)
    pool = _read(config)
    versions = verifier_versions(pool, allow_unsafe=config.verification.allow_unsafe_execution)
    distinct = pool.distinct
    checkpoint = source if isinstance(source, Checkpoint) else None
    renderer, tokens, window, recording = None, None, 0, pl.DataFrame(schema=RECORDING)
    if isinstance(source, Checkpoint):
        renderer = Renderer(source.path, config.chat, trust_remote_code=config.engine.trust_remote_code)
        tokens = renderer.render(distinct["prompt"].to_list())
        window = policy_window(source.path, config.engine.vllm)
        policy = source.fingerprint
    else:
        recording = load_recording(source, key=sources.key, prompt_keys=prompt_keys(pool, sources.key))
        policy = recording_fingerprint(recording)
    table = _table(pool, tokens, window, config.pool.limit)
    identity = pass_identity(config, pool_hash=_sampled_hash(table), policy=policy, verifiers=versions)
    evidence = newest_evidence(config.output.dir)
    sampled = distinct.join(
        table.filter("planned").select("row", "prompt_tokens"), on="row", how="inner", maintain_order="left"
    ).join(
        expected_tokens(distinct.select("prompt_id", "domain"), evidence),
        on="prompt_id",
        how="left",
        maintain_order="left",
    )
    asks = _asks(sampled, None if checkpoint else recording, config.sampling.n)
    journal = pass_folder(config, identity) / "journal"
    judged = judged_keys(journal).clear() if restart else judged_keys(journal)
    return Plan(
        config=config,
        pool=pool,
        table=table,
        checkpoint=checkpoint,
        recording=recording,
        renderer=renderer,
        identity=identity,
        verifiers=versions,
        prompts=_tasks(sampled, tokens, distinct, config, window),
        asks=asks,
        judged=judged,
        forecast=_forecast(asks, judged, sampled, evidence, config.sampling.max_tokens),
    )


def verifier_versions(pool: Pool, *, allow_unsafe: bool) -> dict[str, str]:
    """Name to version of every verifier the pool uses, sorted.

    Raises:
        UsageError: one is unknown, or cannot run safely on this machine.
    """
    versions = {}
    for name in pool.frame["verifier"].unique().sort():
        try:
            versions[name] = registry.get(name).version
        except registry.UnknownVerifierError as error:
            raise UsageError(
                str(error), where="the pool's verifiers", do="see [pool.verifiers] in the configuration"
            ) from error
    if "unit_tests" in versions and not allow_unsafe and sandbox_level() == "none":
        raise UsageError(
            "no jail can be made on this machine, so generated code will not be run",
            where="verifier unit_tests",
            do="`curriculum doctor` says what is missing; --allow-unsafe-execution runs it all the same",
        )
    return versions


def sandbox_level() -> str:
    """The name of the jail that generated code runs in on this machine, "none" where there is none."""
    from verifiers import sandbox

    name: str = sandbox.level().name
    return name


def _policy_source(config: Config, sources: Sources) -> Checkpoint | Path:
    """The policy to sample from, or the recording that stands in for it."""
    if config.engine.kind == "replay":
        if sources.recording is None:
            raise UsageError(
                "the replay engine needs recorded rollouts", do="name a Parquet or JSONL file with --rollouts"
            )
        return sources.recording
    if sources.recording is not None:
        raise UsageError("--rollouts goes with --engine replay", do="add --engine replay")
    if sources.checkpoint is None:
        raise UsageError("no checkpoint is named", do="add --ckpt NAME, for example --ckpt step_2000")
    require_vllm()
    return resolve_checkpoint(sources.checkpoint, config.checkpoints.root)


def _read(config: Config) -> Pool:
    if not config.pool.sources:
        raise UsageError(
            "no pool is named", where="pool.sources", do="set it in curriculum.toml, or add --pool FILE"
        )
    options = config.pool
    return read_pool(
        options.sources,
        ReadOptions(
            layout=options.layout,
            prompt_key=options.prompt_key,
            reference_key=options.reference_key,
            domain_key=options.domain_key,
            verifiers=options.verifiers,
            default_verifier=options.default_verifier,
            default_domain=options.default_domain,
            skip_bad_rows=options.skip_bad_rows,
        ),
    )


def _table(pool: Pool, tokens: Rendered | None, window: int, limit: int | None) -> pl.DataFrame:
    """The pool as selection sees it: schema POOL.

    A prompt needs room for one token of response. With `limit`, the sampled prompts are those of the
    smallest prompt_id: a random choice, since the id is a hash, and the same one every time.
    """
    lengths = pl.DataFrame(
        {
            "prompt_id": pool.distinct["prompt_id"],
            "prompt_tokens": pl.Series(
                tokens.lengths if tokens else [None] * pool.distinct.height, dtype=pl.Int32
            ),
        }
    )
    table = pool.frame.select("row", "prompt_id", "domain", "verifier").join(
        lengths, on="prompt_id", how="left", maintain_order="left"
    )
    overlong = (pl.col("prompt_tokens") >= window).fill_null(value=False)
    table = table.with_columns(overlong=overlong)
    first = pl.col("row").is_in(pool.distinct["row"].implode())
    fits = table.filter(first & ~pl.col("overlong")).sort("prompt_id")
    chosen = fits["row"] if limit is None else fits["row"].head(limit)
    return table.with_columns(planned=pl.col("row").is_in(chosen.implode())).select(POOL.names())


def _sampled_hash(table: pl.DataFrame) -> str:
    """What of the pool decides the rollouts: which prompts are sampled."""
    digest = blake2b(digest_size=16)
    for prompt_id in table.filter("planned")["prompt_id"].sort():
        digest.update(f"{prompt_id}\n".encode())
    return digest.hexdigest()


def _asks(sampled: pl.DataFrame, recording: pl.DataFrame | None, n: int) -> list[Ask]:
    """Every rollout of the pass, a prompt's together so that they share its cached prefix."""
    order = longest_first(sampled)
    if recording is None:
        return [Ask(prompt_id, index, 0) for prompt_id in order for index in range(n)]
    recorded: dict[str, list[int]] = {}
    for prompt_id, index in recording.select("prompt_id", "index").iter_rows():
        if index < n:
            recorded.setdefault(prompt_id, []).append(index)
    return [Ask(prompt_id, index, 0) for prompt_id in order for index in recorded.get(prompt_id, ())]


def _tasks(
    sampled: pl.DataFrame, tokens: Rendered | None, distinct: pl.DataFrame, config: Config, window: int
) -> dict[str, PromptTask]:
    places = {prompt_id: place for place, prompt_id in enumerate(distinct["prompt_id"])}
    tasks = {}
    for prompt_id, verifier, reference in sampled.select("prompt_id", "verifier", "reference").iter_rows():
        ids = tokens.tokens(places[prompt_id]) if tokens else np.empty(0, np.int32)
        room = window - len(ids) if tokens else config.sampling.max_tokens
        tasks[prompt_id] = PromptTask(verifier, reference, ids, min(config.sampling.max_tokens, room))
    return tasks


def _forecast(
    asks: list[Ask],
    judged: pl.DataFrame,
    sampled: pl.DataFrame,
    evidence: Evidence | None,
    max_tokens: int,
) -> Forecast:
    done = judged.filter(~pl.col("error")).select("prompt_id", "index")
    asked = pl.DataFrame(
        {"prompt_id": [ask.prompt_id for ask in asks], "index": [ask.index for ask in asks]},
        schema={"prompt_id": pl.String, "index": pl.Int32},
    )
    left = (
        asked.join(done, on=["prompt_id", "index"], how="anti")
        .group_by("prompt_id")
        .agg(rollouts=pl.len())
        .join(sampled.select("prompt_id", "expected"), on="prompt_id", how="left")
    )
    return forecast(
        prompts=asked["prompt_id"].n_unique(),
        rollouts=asked.height,
        left=left,
        evidence=evidence,
        max_tokens=max_tokens,
    )
