"""Prompts that stand in the pool twice, with answers that exclude each other: one of the two is wrong.

In: rows with the same text as another and another reference. Out: what the reference of the row that stays
is worth then, schema REFERENCES. Answers are compared by the verifier: 1/2 and 0.5 exclude nothing.

Only `boxed` references can contradict each other: other tests, or other tools, are no contradiction.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import polars as pl

from curriculum.config import Config
from curriculum.errors import EngineError
from curriculum.preparing.probes import Probe, probes
from curriculum.preparing.raw import Raw
from curriculum.preparing.references import REFERENCES
from curriculum.scoring.judges import worker_count
from verifiers.shaping import RewardShape
from verifiers.verdict import Outcome
from verifiers.workers import Item, Judged, VerifierWorkers, WorkersError

VERIFIER = "boxed"


def contradictions(raw: Raw, duplicates: pl.DataFrame, config: Config) -> pl.DataFrame:
    """The rows that stay although a row of the same text has an answer that excludes theirs: REFERENCES.

    Args:
        raw: the pool.
        duplicates: schema curriculum.preparing.duplicates.DUPLICATES.
        config: how verdicts are reached.

    Raises:
        EngineError: the workers cannot go on.
    """
    pairs = duplicates.filter(pl.col("kind") == "same text", ~pl.col("same_reference"))
    asked = _probes(raw, {*pairs["row"], *pairs["duplicate_of_row"]})
    items, stays = [], {}
    for row, kept, prompt_id in (
        pairs.sort("row").select("row", "duplicate_of_row", "duplicate_of").iter_rows()
    ):
        other, own = asked.get(row), asked.get(kept)
        if other is not None and own is not None:
            items.append(Item(row, VERIFIER, other.response, own.reference))
            stays[row] = prompt_id
    found: dict[str, str] = {}
    for row, outcome in sorted(_judged(items, config).items()):
        if outcome not in ("correct", "verifier_error"):
            said = asked[row].response.removeprefix("\\boxed{").removesuffix("}")
            found.setdefault(stays[row], f"row {row} has the same text and another answer, {said[:60]}")
    rows = [(prompt_id, VERIFIER, "contradicted", "answer", cause) for prompt_id, cause in found.items()]
    return pl.DataFrame(rows, schema=REFERENCES, orient="row").sort("prompt_id")


def _probes(raw: Raw, rows: set[int]) -> dict[int, Probe]:
    """By row, the response that gives its answer and its reference; of rows whose answer can be read."""
    wanted = pl.DataFrame({"row": sorted(rows)}, schema={"row": pl.Int64})
    found = {}
    for part in range(raw.parts if rows else 0):
        frame = raw.frame(part).join(wanted, on="row", how="semi").filter(pl.col("verifier") == VERIFIER)
        for row, reference in frame.select("row", "reference").iter_rows():
            probe = next(probes(VERIFIER, reference, "", None))
            if not probe.cause:
                found[row] = probe
    return found


def _judged(items: Sequence[Item], config: Config) -> dict[int, Outcome]:
    outcomes: dict[Hashable, Outcome] = {}

    def take(batch: Sequence[Judged]) -> None:
        outcomes.update({one.key: one.verdict.outcome for one in batch})

    if items:
        try:
            with VerifierWorkers(
                workers=worker_count(config),
                rewards=RewardShape(),
                on_judged=take,
                deadline_s=config.verification.deadline_s,
            ) as workers:
                workers.submit(items)
        except WorkersError as error:
            raise EngineError("the verifier workers cannot go on", where=str(error)) from error
    return {key: outcome for key, outcome in outcomes.items() if isinstance(key, int)}
