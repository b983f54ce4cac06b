"""The declared schemas of every table, and the check that a frame has one.

In: nothing. Out: Polars schemas, and `require`, which names what differs.
Column meanings are given beside each column; units are tokens, milliseconds or plain counts.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from polars.datatypes import DataTypeClass


def _schema(columns: Mapping[str, pl.DataType | DataTypeClass]) -> pl.Schema:
    return pl.Schema(columns)


ROLLOUTS = _schema(
    {
        "pass_id": pl.String,
        "prompt_id": pl.String,
        "index": pl.Int32,  # position in the group, fixed before generation
        "round": pl.Int32,  # which round of the schedule asked for it
        "seed": pl.Int64,
        "text": pl.String,  # the response; null when the config does not keep it
        "tokens": pl.Int32,  # response length; null when a recording does not tell
        "finish": pl.String,  # stop | length | abort
        "correctness": pl.Float64,  # raw, 0..1
        "reward": pl.Float64,  # shaped
        "outcome": pl.String,  # verifiers.verdict.Outcome
        "parts": pl.List(pl.Struct({"name": pl.String, "value": pl.Float64})),
        "mean_logprob": pl.Float64,  # per token, after temperature and top-p; null when not asked for
        "repetition": pl.Float64,  # 0..1
        "detail": pl.String,  # one line: why this outcome, or the engine's error
    }
)
"""One row per rollout, as published. The journal of a pass adds JOURNAL_ONLY."""

JOURNAL_ONLY = _schema({"verify_ms": pl.Float64})
"""Wall-clock measurements: kept in the journal, left out of published tables, which are reproducible."""

POOL = _schema(
    {
        "row": pl.Int64,  # place in the pool as read
        "prompt_id": pl.String,
        "domain": pl.String,
        "verifier": pl.String,
        "overlong": pl.Boolean,  # longer than the policy's window leaves room for
        "prompt_tokens": pl.Int32,  # null where no tokenizer was at hand
        "planned": pl.Boolean,  # False: not to be sampled this time
    }
)
"""What selection needs to know of each row of the pool, equal prompts included."""

GROUPS = _schema(
    {
        "prompt_id": pl.String,
        "domain": pl.String,
        "rollouts": pl.Int32,  # rows in the journal
        "n": pl.Int32,  # judged rollouts: without verifier_error, abort and, if so set, truncated
        "s": pl.Int32,  # judged rollouts with full marks
        "correct": pl.Int32,
        "partial": pl.Int32,
        "wrong": pl.Int32,
        "no_answer": pl.Int32,
        "malformed": pl.Int32,
        "truncated": pl.Int32,
        "timeout": pl.Int32,
        "verifier_error": pl.Int32,
        "aborted": pl.Int32,
        "mean": pl.Float64,  # of correctness over judged rollouts
        "variance": pl.Float64,  # population variance of the same
        "range": pl.Float64,  # max - min of the same
        "varied": pl.Boolean,  # range > tol
        "collapsed": pl.Boolean,  # some part varies while correctness does not
        "parts": pl.List(pl.Struct({"name": pl.String, "variance": pl.Float64})),
        "alpha": pl.Float64,  # posterior Beta of the group's best mark, which is full marks where any
        "beta": pl.Float64,  # were earned; moment-matched
        "pass_rate": pl.Float64,  # posterior mean of the chance of full marks
        "p_mixed": pl.Float64,  # probability that a fresh group of the trainer's size is mixed
        "learnability": pl.Float64,  # E[p(1-p)] under the posterior
        "tokens_mean": pl.Float64,
        "tokens_p50": pl.Float64,
        "tokens_p90": pl.Float64,
        "tokens_max": pl.Int32,
        "entropy": pl.Float64,  # nats per token, token-weighted
        "repetition": pl.Float64,
        "observed": pl.Boolean,  # rollouts of a trainer, not of this pass: pipelines/observed.py
        "observed_step": pl.Int64,  # the training step of the newest of them; null where not told
    }
)
"""One row per scored prompt, sorted by prompt_id."""

Decision = pl.Enum(
    [
        "keep_mixed",
        "keep_hard_reserve",
        "keep_unscored",
        "drop_solved",
        "drop_unsolved",
        "drop_constant_partial",
        "drop_by_rule",
        "drop_over_quota",
        "defer_truncated",
        "defer_unscorable",
        "defer_unlikely",
        "suspect_reference",
        "drop_duplicate",
        "drop_contaminated",
        "drop_overlong_prompt",
        "hold_sentinel",
    ]
)

DECISIONS = _schema(
    {
        "row": pl.Int64,
        "prompt_id": pl.String,
        "domain": pl.String,
        "decision": Decision,
        "reason": pl.String,  # a sentence with the numbers in it
        "weight": pl.Float64,  # mean 1 in the set; null outside it
        "cap": pl.Int32,  # length cap in tokens; null outside the set or where none was measured
        "retest": pl.Boolean,  # to be sampled again at the next refresh, whatever is predicted of it
    }
)
"""One row per row of the pool, sorted by row: the counts always add up to the pool."""

CAPS = _schema(
    {
        "domain": pl.String,
        "rollouts": pl.Int64,  # rollouts with a known length, aborted ones left out
        "truncated": pl.Int64,  # of which right-censored
        "pooled": pl.Boolean,  # too few finished: quantile and interval are those of all domains together
        "quantile": pl.Float64,  # the Kaplan-Meier quantile in tokens; null when not identified
        "low": pl.Float64,  # 95% interval of the quantile, a bootstrap by prompt;
        "high": pl.Float64,  # null where that end is not identified
        "identified": pl.Boolean,  # False: the quantile lies beyond the cap in force
        "cap": pl.Int32,  # the cap to use; null when no length is known
        "correct_cut": pl.Float64,  # share of correct rollouts longer than the cap
        "prompt_cap": pl.Int32,  # longest prompt that leaves room for the cap; null without a window
    }
)
"""One row per domain, sorted by domain."""

PROMPTS = _schema({"prompt_id": pl.String, "text": pl.String})
"""Prompts as text, one row a prompt: what near duplicates and contamination compare."""

NEAR_DUPLICATES = _schema(
    {
        "prompt_id": pl.String,
        "duplicate_of": pl.String,  # prompt_id of the row that stays
        "similarity": pl.Float64,  # Jaccard index of the two, 0..1
    }
)
"""One row per superfluous prompt, sorted by prompt_id."""

EVALUATION = _schema({"evaluation": pl.String, "evaluation_row": pl.Int64, "text": pl.String})
"""The prompts of evaluation sets: the name of the set, the row's place in it, and its text."""

CONTAMINATION = _schema(
    {
        "prompt_id": pl.String,
        "evaluation": pl.String,
        "evaluation_row": pl.Int64,
        "rule": pl.String,  # equals | contains | covers
        "coverage": pl.Float64,  # share of the evaluation prompt found, templates left out, 0..1
        "evidence": pl.String,  # the longest shared span, as tokens
    }
)
"""One row per pair of a prompt and an evaluation prompt it holds, sorted by prompt_id, set and row."""


RULE_TABLE = _schema(
    {
        "rule": pl.String,
        "used": pl.Boolean,  # the rule of the set; the others are what might have been
        "prompts": pl.Int64,  # in the set, hard reserve included
        "signal": pl.Float64,  # expected share of mixed fresh groups of the trainer's size in the set
        "signal_kept": pl.Float64,  # expected share of the scored pool's mixed fresh groups that it holds
    }
)
"""One row per rule of pipelines.policies.RULES, in that order."""


ANSWERS = _schema(
    {
        "prompt_id": pl.String,
        "pass_id": pl.String,
        "answer": pl.String,  # equal in meaning where equal in text; null: rollouts that gave none
        "accepted": pl.Boolean,  # the reference accepts it
        "rollouts": pl.Int64,  # rollouts of the pass that gave it
    }
)
"""The answers to prompts in doubt: one row per prompt, pass and answer."""

SUSPECTS = _schema(
    {
        "prompt_id": pl.String,
        "answer": pl.String,  # what most rollouts answer; the reference does not accept it
        "agreeing": pl.Int64,  # rollouts that do
        "rollouts": pl.Int64,  # with and without an answer
        "passes": pl.Int64,  # that these are from, one per checkpoint
        "posterior": pl.Float64,  # chance that no other answer is likelier
    }
)
"""One row per prompt whose reference is in doubt, sorted by prompt_id."""

DOUBTS = _schema({"prompt_id": pl.String, "doubt": pl.String})
"""Prompts to be set aside for their reference, each with the reason, a sentence."""


class SchemaError(ValueError):
    """A frame does not have the schema it must have."""


def require(frame: pl.DataFrame | pl.LazyFrame, schema: pl.Schema, *, table: str) -> None:
    """Checks that `frame` has every column of `schema` with its type; more columns are allowed.

    Raises:
        SchemaError: names each missing column and each column of another type.
    """
    have = frame.collect_schema()
    missing = [name for name in schema if name not in have]
    other = [
        f"{name} is {have[name]}, not {dtype}"
        for name, dtype in schema.items()
        if name in have and have[name] != dtype
    ]
    if missing or other:
        parts = [f"missing: {', '.join(missing)}"] if missing else []
        raise SchemaError(f"table {table!r}: {'; '.join(parts + other)}")
