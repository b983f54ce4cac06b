"""Contamination: prompts of the pool that hold a prompt of an evaluation set.

In: the pool and one or more evaluation sets as text. Out: one row a hit, with its evidence, schema
CONTAMINATION.

A prompt is a hit by the first of three rules that holds: it *equals* the evaluation prompt, token for
token; it *contains* the whole of a short one, with its numbers; or runs of eight tokens that both share
*cover* at least half of the evaluation prompt, every number of which it has. Runs that stand in many prompts
are template ("find the number of positive integers n such that") and count neither as shared nor as missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from pipelines import text
from pipelines.ngrams import runs
from pipelines.schemas import CONTAMINATION, EVALUATION, PROMPTS, require

_CHUNK_ROWS = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationRule:
    """When a prompt counts as contaminated."""

    run: int = 8
    """Tokens a shared run."""
    coverage: float = 0.5
    """Least share of the evaluation prompt that shared runs cover."""
    template_items: int = 10
    """A run that stands in more evaluation prompts than this is template."""
    template_share: float = 0.001
    """So is one that stands in a larger share of the pool, and in more than template_items prompts."""
    shortest: int = 3
    """An evaluation prompt of fewer tokens is never looked for inside another."""

    def __post_init__(self) -> None:
        if self.run < 2 or not 0 < self.coverage <= 1:
            raise ValueError(
                f"run must be at least 2 and coverage in (0, 1], got {self.run} and {self.coverage}"
            )


def contamination(
    pool: pl.DataFrame, evaluation: pl.DataFrame, rule: ContaminationRule | None = None
) -> pl.DataFrame:
    """Every pair of a pool prompt and an evaluation prompt that it holds: schema CONTAMINATION.

    Sorted by prompt_id, evaluation and evaluation_row. A pair is named once, by the first rule that holds.

    Args:
        pool: schema PROMPTS.
        evaluation: schema EVALUATION; the rows of all sets, one under the other.
        rule: thresholds; the defaults are the ones whose rates the documentation states.

    Raises:
        SchemaError: a column is missing or of another type.
    """
    rule = rule or ContaminationRule()
    require(pool, PROMPTS, table="pool")
    require(evaluation, EVALUATION, table="evaluation")
    items = _read(evaluation, "item")
    known = _runs(items, "item", rule.run)
    hits, shared, said = [], [], []
    for start in range(0, max(pool.height, 1), _CHUNK_ROWS):
        prompts = _read(pool.slice(start, _CHUNK_ROWS), "prompt", start)
        hits += [_equal(prompts, items), _contained(prompts, items, rule)]
        shared.append(_runs(prompts, "prompt", rule.run).join(known, on="hash", how="semi"))
        said.append(prompts.select("prompt", "numbers", "stated").join(shared[-1], on="prompt", how="semi"))
    pairs = _coverage(pl.concat(shared), known, pool.height, rule)
    hits.append(_covered(pairs, pl.concat(said), items, rule))
    return (
        pl.concat(hits)
        .unique(["prompt", "item"], keep="first", maintain_order=True)
        .join(items.select("item", "evaluation", "evaluation_row"), on="item")
        .join(pool.select("prompt_id").with_row_index("prompt"), on="prompt")
        .select(pl.col(name).cast(dtype) for name, dtype in CONTAMINATION.items())
        .sort("prompt_id", "evaluation", "evaluation_row")
    )


def _read(frame: pl.DataFrame, index: str, start: int = 0) -> pl.DataFrame:
    """The rows with their place, their tokens and what rules compare: `whole` text and `numbers`."""
    return (
        frame.with_row_index(index, start)
        .with_columns(normal=text.normalised(pl.col("text").fill_null("")))
        .with_columns(
            numbers=text.numbers(pl.col("normal")).list.join(" "),
            whole=text.tokens(pl.col("normal")).list.join(" "),
            normal=text.without_diagrams(pl.col("normal")),
        )
        .with_columns(stated=text.numbers(pl.col("normal")), tokens=text.tokens(pl.col("normal")))
        .with_columns(length=pl.col("tokens").list.len())
        .filter(pl.col("length") > 0)
        .drop("text", "normal")
    )


def _runs(frame: pl.DataFrame, index: str, length: int) -> pl.DataFrame:
    """One row a run: its hash, the place of its row as `index`, and its own place in the row."""
    found = runs(frame["tokens"], length)
    return pl.DataFrame(
        {
            "hash": found.hashes,
            index: frame[index].gather(found.rows),
            "place": found.places.astype(np.int32),
        }
    )


def _hits(pairs: pl.DataFrame, rule: str) -> pl.DataFrame:
    """Pairs in which the whole evaluation prompt was found."""
    evidence = pl.col("whole")
    return pairs.select("prompt", "item", rule=pl.lit(rule), coverage=pl.lit(1.0), evidence=evidence)


def _equal(prompts: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    return _hits(prompts.join(items.select("item", "whole"), on="whole"), "equals")


def _contained(prompts: pl.DataFrame, items: pl.DataFrame, rule: ContaminationRule) -> pl.DataFrame:
    """Evaluation prompts too short for a run, whole in a prompt that has no other numbers."""
    tiny = items.filter(pl.col("length").is_between(rule.shortest, rule.run - 1))
    found = [pl.DataFrame(schema={"hash": pl.UInt64, "prompt": pl.UInt32, "item": pl.UInt32})]
    for length in tiny["length"].unique().sort():
        wanted = _runs(tiny.filter(pl.col("length") == length), "item", length).drop("place")
        found.append(_runs(prompts, "prompt", length).drop("place").join(wanted, on="hash"))
    pairs = (
        pl.concat(found).unique(["prompt", "item"]).join(tiny.select("item", "whole", "numbers"), on="item")
    )
    return _hits(pairs.join(prompts, on=["prompt", "numbers"], how="semi"), "contains")


def _coverage(
    shared: pl.DataFrame, known: pl.DataFrame, pool_rows: int, rule: ContaminationRule
) -> pl.DataFrame:
    """Pairs that share runs, templates left out: how many tokens of the item there are to cover, the share
    of them that is, and the longest span."""
    key, most = ["prompt", "item"], max(rule.template_items, rule.template_share * pool_rows)
    common = [_in_more_than(known, "item", rule.template_items), _in_more_than(shared, "prompt", most)]
    template = pl.concat(common).unique()
    of_template = _tokens(known.join(template, on="hash", how="semi"), ["item"], rule.run)
    telling = _tokens(known, ["item"], rule.run).join(of_template, on=["item", "token"], how="anti")
    pairs = shared.join(template, on="hash", how="anti").join(known.rename({"place": "at"}), on="hash")
    return (
        _tokens(pairs.select(*key, place="at"), key, rule.run)
        .join(telling, on=["item", "token"], how="semi")
        .group_by(key)
        .agg(covered=pl.len())
        .join(telling.group_by("item").agg(telling=pl.len()), on="item")
        .with_columns(coverage=pl.col("covered") / pl.col("telling"))
        .filter(pl.col("coverage") >= rule.coverage)
        .join(_longest_span(pairs), on=key)
    )


def _covered(
    pairs: pl.DataFrame, said: pl.DataFrame, items: pl.DataFrame, rule: ContaminationRule
) -> pl.DataFrame:
    """Pairs that are hits: the prompt has every number of the item, and enough of it is covered.

    Enough of a short item is all of it, and if it has no number, in a prompt that has none either.
    """
    short = pl.col("telling") < 2 * rule.run
    said_so = pl.col("stated_item").list.set_difference("stated").list.len() == 0
    numbered = pl.col("stated_item").list.len() > 0
    whole = (pl.col("coverage") == 1) & (numbered | (pl.col("numbers") == pl.col("numbers_item")))
    return (
        pairs.join(said, on="prompt")
        .join(items, on="item", suffix="_item")
        .filter(said_so, ~short | whole)
        .select(
            "prompt",
            "item",
            rule=pl.when(short).then(pl.lit("contains")).otherwise(pl.lit("covers")),
            coverage="coverage",
            evidence=pl.col("tokens").list.slice("at", pl.col("runs") + rule.run - 1).list.join(" "),
        )
    )


def _in_more_than(found: pl.DataFrame, index: str, most: float) -> pl.DataFrame:
    """The hashes that stand in more than `most` rows."""
    counts = found.group_by("hash").agg(rows=pl.col(index).n_unique())
    return counts.filter(pl.col("rows") > most).select("hash")


def _tokens(found: pl.DataFrame, key: list[str], length: int) -> pl.DataFrame:
    """Per `key`, each token that a run covers, once."""
    within = pl.int_ranges(pl.col("place"), pl.col("place") + length, dtype=pl.Int32)
    return found.select(*key, token=within).explode("token").unique()


def _longest_span(pairs: pl.DataFrame) -> pl.DataFrame:
    """Per pair, the longest stretch of runs that follow each other in both: where in the item, how many."""
    key = ["prompt", "item"]
    stretch = [*key, "diagonal", "stretch"]
    return (
        pairs.with_columns(diagonal=pl.col("place") - pl.col("at"))
        .sort(*key, "diagonal", "at")
        .with_columns(stretch=pl.col("at") - pl.int_range(pl.len()).over(*key, "diagonal"))
        .group_by(stretch)
        .agg(pl.col("at").min(), runs=pl.len())
        .sort(*key, "runs", "at", descending=[False, False, True, False])
        .unique(key, keep="first", maintain_order=True)
        .select(*key, "at", "runs")
    )
