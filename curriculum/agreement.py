"""What the rollouts of prompts in doubt answer: those that nothing of this pass has solved.

In: the groups of a pass, its journal, and the rollouts of earlier refreshes. Out: schema
`pipelines.schemas.ANSWERS`. Answers of one meaning count as one. Only verifiers that can say what they take
as the answer are asked (`verifiers.verdict.AnswerVerifier`), and only rollouts whose text was kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from curriculum.manifest import REFRESHES, read_manifest
from curriculum.scoring.journal import read_journal
from pipelines.schemas import ANSWERS
from verifiers import registry
from verifiers.verdict import AnswerVerifier

PROMPTS_AT_ONCE = 20_000
"""Their rollouts are in memory together."""

EARLIER = 2
"""Passes before this one whose rollouts count too: an older policy answers otherwise."""

_COLUMNS = ("prompt_id", "pass_id", "index", "text", "correctness")


def answers_in_doubt(
    groups: pl.DataFrame, prompts: pl.DataFrame, journal: Path, out: Path, pass_id: str
) -> pl.DataFrame:
    """Counted answers: schema ANSWERS.

    Args:
        groups: schema GROUPS, of this pass.
        prompts: prompt_id, verifier, reference (JSON), one row for each.
        journal: of this pass.
        out: the output folder, with the earlier refreshes.
        pass_id: of this pass.
    """
    answering = [
        name for name in prompts["verifier"].unique() if isinstance(registry.get(name), AnswerVerifier)
    ]
    doubted = (
        groups.filter(pl.col("s") == 0, pl.col("n") > 0, ~pl.col("observed"))
        .select("prompt_id")
        .join(prompts.filter(pl.col("verifier").is_in(answering)), on="prompt_id")
        .sort("prompt_id")
    )
    earlier = _earlier(out, pass_id)
    rows = [
        row
        for part in doubted.iter_slices(PROMPTS_AT_ONCE)
        for row in _counted(_rollouts(part, journal, earlier), part)
    ]
    return pl.DataFrame(rows, ANSWERS, orient="row")


def _earlier(out: Path, pass_id: str) -> list[Path]:
    """The newest refresh of each of the last passes before this one."""
    manifests = [
        (folder, read_manifest(folder))
        for folder in (out / REFRESHES).glob("*")
        if (folder / "manifest.json").is_file()
    ]
    newest_first = sorted(manifests, key=lambda pair: (pair[1].created_at, pair[0].name), reverse=True)
    of_pass: dict[str, Path] = {}
    for folder, manifest in newest_first:
        if manifest.pass_id != pass_id and manifest.tables.get("rollouts"):
            of_pass.setdefault(manifest.pass_id, folder)
    return list(of_pass.values())[:EARLIER]


def _rollouts(doubted: pl.DataFrame, journal: Path, earlier: list[Path]) -> pl.DataFrame:
    """Every judged rollout of these prompts with its text, sorted by prompt, pass and index."""
    first, last = doubted["prompt_id"][0], doubted["prompt_id"][-1]
    recorded = [read_journal(journal, prompts=(first, last))]
    between = pl.col("prompt_id").is_between(pl.lit(first), pl.lit(last))
    for folder in earlier:
        parts = [folder / shard.name for shard in read_manifest(folder).tables["rollouts"]]
        recorded.append(pl.scan_parquet(parts).filter(between))
    judged = (pl.col("outcome") != "verifier_error") & (pl.col("finish") != "abort")
    return (
        pl.concat([rows.filter(judged).select(_COLUMNS) for rows in recorded])
        .join(doubted.lazy().select("prompt_id"), on="prompt_id", how="semi")
        .filter(pl.col("text").is_not_null())
        .sort("prompt_id", "pass_id", "index")
        .collect()
    )


def _counted(
    rollouts: pl.DataFrame, doubted: pl.DataFrame
) -> Iterator[tuple[str, str, str | None, bool, int]]:
    """Rows of ANSWERS."""
    judges = {
        prompt_id: (registry.get(verifier), json.loads(reference))
        for prompt_id, verifier, reference in doubted.iter_rows()
    }
    for prompt_id, group in groupby(rollouts.iter_rows(), key=lambda row: row[0]):
        verifier, reference = judges[prompt_id]
        if not isinstance(verifier, AnswerVerifier):
            continue
        rows = [(pass_id, text, mark) for _, pass_id, _, text, mark in group]
        answers = [verifier.answer(text, reference) for _, text, _ in rows]
        meaning = _meanings(verifier, reference, answers, [text for _, text, _ in rows])
        counts: Counter[tuple[str, str | None]] = Counter()
        accepted: set[str | None] = set()
        for (pass_id, _, mark), answer in zip(rows, answers, strict=True):
            same = None if answer is None else meaning[answer]
            counts[pass_id, same] += 1
            if mark >= 1:
                accepted.add(same)
        for (pass_id, same), count in sorted(counts.items(), key=lambda item: (item[0][0], item[0][1] or "")):
            yield prompt_id, pass_id, same, same in accepted, count


def _meanings(
    verifier: AnswerVerifier,
    reference: Mapping[str, Any],
    answers: list[str | None],
    responses: list[str],
) -> dict[str, str]:
    """For each answer the commonest that means the same, by the verifier's own comparison."""
    response_of = {
        answer: text for answer, text in zip(answers, responses, strict=True) if answer is not None
    }
    common = [answer for answer, _ in Counter(a for a in answers if a is not None).most_common()]
    meaning: dict[str, str] = {}
    for answer in common:
        known = dict.fromkeys(meaning.values())
        meaning[answer] = next(
            (
                other
                for other in known
                if verifier.verify(response_of[answer], verifier.with_answer(reference, other)).correctness
                >= 1
            ),
            answer,
        )
    return meaning
