"""The plan of a refresh: everything that is decided before an engine loads.

In: configuration and the names of checkpoint or recording. Out: `Plan`: pool, policy, identity of the
pass, which rollouts to ask for in which order, what the journal already holds, and a forecast. Every
fault of configuration, pool or checkpoint is found here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl

from curriculum.config import Config, PoolConfig
from curriculum.errors import UsageError
from curriculum.evidence import newest_evidence
from curriculum.policy import Policy, Sources, find_source, open_policy
from curriculum.pool.layouts import ReadOptions
from curriculum.pool.read import Pool, read_pool
from curriculum.pool.write import check
from curriculum.result import Forecast
from curriculum.reviews import Reviews, apply_reviews, read_reviews
from curriculum.scoring.forecast import Evidence, expected_tokens, forecast, longest_first
from curriculum.scoring.identity import PassIdentity, pass_identity
from curriculum.scoring.journal import judged_keys
from curriculum.scoring.loop import PromptTask
from curriculum.scoring.schedule import Ask
from curriculum.scoring.visits import pass_visits
from pipelines.observed import VISITS, FreshRule, observed_groups
from pipelines.schemas import POOL
from verifiers import registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A refresh, ready to run."""

    config: Config
    pool: Pool
    table: pl.DataFrame  # pipelines.schemas.POOL
    policy: Policy
    reviews: Reviews
    visits: pl.DataFrame  # pipelines.observed.VISITS: what the pass knows of the trainer's rollouts
    observed: pl.DataFrame  # pipelines.observed.OBSERVED: planned prompts that these spare the pass
    identity: PassIdentity
    verifiers: dict[str, str]
    prompts: Mapping[str, PromptTask]
    asks: list[Ask]
    judged: pl.DataFrame  # curriculum.scoring.journal.judged_keys
    forecast: Forecast

    @property
    def pass_folder(self) -> Path:
        """Where the pass keeps its settings and its journal."""
        return pass_folder(self.config, self.identity)

    @property
    def journal(self) -> Path:
        """Where the judged rollouts of the pass are."""
        return self.pass_folder / "journal"


def pass_folder(config: Config, identity: PassIdentity) -> Path:
    """The folder of a pass."""
    return config.output.dir / "passes" / identity.pass_id


def make_plan(config: Config, sources: Sources, *, restart: bool = False) -> Plan:
    """Reads and checks everything a refresh needs; with `restart`, as if the journal were empty.

    Raises:
        UsageError: whatever is wrong with configuration, pool, checkpoint, recording or verifiers.
        EngineError: the journal of the pass cannot be read.
    """
    source = find_source(config, sources)
    reviews = read_reviews(config.pool.reviewed)
    pool = apply_reviews(_read(config), reviews, answer_after=config.pool.answer_after)
    versions = verifier_versions(
        pool.frame["verifier"].unique(), allow_unsafe=config.verification.allow_unsafe_execution
    )
    policy = open_policy(config, source, pool, key=sources.key)
    table = _table(pool, policy, config.pool.limit, reviews.dropped)
    identity = pass_identity(
        config, pool_hash=_sampled_hash(table), policy=policy.fingerprint, verifiers=versions
    )
    evidence = newest_evidence(config.output.dir)
    folder = pass_folder(config, identity)
    judged = judged_keys(folder / "journal")
    judged = judged.clear() if restart else judged
    visits = _visits(config, table, folder, restart=restart)
    observed = observed_groups(visits, _fresh_rule(config, policy)).join(judged, on="prompt_id", how="anti")
    sampled = _sampled(pool, table, evidence).join(
        observed, on="prompt_id", how="anti", maintain_order="left"
    )
    asks = _asks(sampled, policy, config.sampling.n)
    return Plan(
        config=config,
        pool=pool,
        table=table,
        policy=policy,
        reviews=reviews,
        visits=visits,
        observed=observed,
        identity=identity,
        verifiers=versions,
        prompts=_tasks(sampled, policy, config.sampling.max_tokens),
        asks=asks,
        judged=judged,
        forecast=replace(
            _forecast(asks, judged, sampled, evidence, config.sampling.max_tokens), observed=observed.height
        ),
    )


def verifier_versions(names: Iterable[str], *, allow_unsafe: bool) -> dict[str, str]:
    """Name to version of the verifiers of a pool, sorted.

    Raises:
        UsageError: one is unknown, or cannot run safely on this machine.
    """
    versions = {}
    for name in sorted(names):
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


def sandbox_level(*, allow_unsafe: bool = False) -> str:
    """The name of the jail that generated code runs in on this machine, "none" where it is not run."""
    from verifiers import sandbox

    return sandbox.level(allow_unsafe=allow_unsafe).name


def _read(config: Config) -> Pool:
    if not config.pool.sources:
        raise UsageError(
            "no pool is named", where="pool.sources", do="set it in curriculum.toml, or add --pool FILE"
        )
    pool = read_pool(config.pool.sources, read_options(config.pool))
    check(pool, config.output.layout)
    return pool


def read_options(pool: PoolConfig) -> ReadOptions:
    """How `[pool]` has a pool read."""
    return ReadOptions(
        layout=pool.layout,
        prompt_key=pool.prompt_key,
        reference_key=pool.reference_key,
        domain_key=pool.domain_key,
        verifiers=pool.verifiers,
        default_verifier=pool.default_verifier,
        default_domain=pool.default_domain,
        answer_after=pool.answer_after,
        skip_bad_rows=pool.skip_bad_rows,
    )


def _table(pool: Pool, policy: Policy, limit: int | None, dropped: frozenset[str]) -> pl.DataFrame:
    """The pool as selection sees it: schema POOL.

    A prompt needs room for one token of response. Those that a review has dropped are not sampled. With
    `limit`, the sampled prompts are those of the smallest prompt_id: a random choice, since the id is a hash,
    and the same one every time.
    """
    known = policy.prompts.lengths if policy.prompts else [None] * pool.distinct.height
    lengths = pool.distinct.select("prompt_id", prompt_tokens=pl.Series(known, dtype=pl.Int32))
    overlong = pl.lit(value=False) if policy.window is None else pl.col("prompt_tokens") >= policy.window
    first = pl.col("row").is_in(pool.distinct["row"].implode())
    table = (
        pool.frame.select("row", "prompt_id", "domain", "verifier")
        .join(lengths, on="prompt_id", how="left", maintain_order="left")
        .with_columns(overlong=overlong)
    )
    wanted = first & ~pl.col("overlong") & ~pl.col("prompt_id").is_in(list(dropped))
    fits = table.filter(wanted).sort("prompt_id")["row"]
    chosen = fits if limit is None else fits.head(limit)
    return table.with_columns(planned=pl.col("row").is_in(chosen.implode())).select(POOL.names())


def _sampled_hash(table: pl.DataFrame) -> str:
    """What of the pool decides the rollouts: which prompts are sampled."""
    digest = blake2b(digest_size=16)
    for prompt_id in table.filter("planned")["prompt_id"].sort():
        digest.update(f"{prompt_id}\n".encode())
    return digest.hexdigest()


def _visits(config: Config, table: pl.DataFrame, folder: Path, *, restart: bool) -> pl.DataFrame:
    """What trainers observed of the prompts that the pass would sample."""
    if not config.evidence.use:
        return pl.DataFrame(schema=VISITS)
    planned = table.filter("planned")["prompt_id"]
    return pass_visits(folder, config.output.dir, planned, anew=restart)


def _fresh_rule(config: Config, policy: Policy) -> FreshRule:
    evidence, n = config.evidence, config.sampling.n
    return FreshRule(
        step=policy.checkpoint.step if policy.checkpoint else None,
        wanted=n,
        min_rollouts=n / 2 if evidence.min_rollouts is None else evidence.min_rollouts,
        half_life=evidence.half_life_steps,
        truncated=config.selection.truncated,
        assume_fresh=evidence.assume_fresh,
    )


def _sampled(pool: Pool, table: pl.DataFrame, evidence: Evidence | None) -> pl.DataFrame:
    """The planned prompts: `place` among the distinct ones, prompt_tokens, `expected` tokens, and
    what the pool says of them."""
    distinct = pool.distinct.drop("prompt").with_row_index("place")
    planned = table.filter("planned").select("row", "prompt_tokens")
    expected = expected_tokens(distinct.select("prompt_id", "domain"), evidence)
    return distinct.join(planned, on="row", maintain_order="left").join(
        expected, on="prompt_id", how="left", maintain_order="left"
    )


def _asks(sampled: pl.DataFrame, policy: Policy, n: int) -> list[Ask]:
    """Every rollout of the pass, a prompt's together so that they share its cached prefix."""
    order = longest_first(sampled)
    if policy.checkpoint is not None:
        return [Ask(prompt_id, index, 0) for prompt_id in order for index in range(n)]
    recorded: dict[str, list[int]] = {}
    for prompt_id, index in policy.recording.select("prompt_id", "index").iter_rows():
        if index < n:
            recorded.setdefault(prompt_id, []).append(index)
    return [Ask(prompt_id, index, 0) for prompt_id in order for index in recorded.get(prompt_id, ())]


def _tasks(sampled: pl.DataFrame, policy: Policy, max_tokens: int) -> dict[str, PromptTask]:
    tasks = {}
    columns = sampled.select("place", "prompt_id", "verifier", "reference")
    for place, prompt_id, verifier, reference in columns.iter_rows():
        ids = policy.prompts.tokens(place) if policy.prompts else np.empty(0, np.int32)
        room = policy.room(len(ids))
        most = max_tokens if room is None else min(max_tokens, room)
        tasks[prompt_id] = PromptTask(verifier, reference, ids, most)
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
