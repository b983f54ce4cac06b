"""What the rollouts of prompts in doubt answer: those that no rollout of this pass has solved.

In: the groups of a pass, its journal, and the rollouts of earlier refreshes. Out: schema
`pipelines.schemas.ANSWERS`. Answers of one meaning count as one. Only verifiers that can say what they take
as the answer are asked (`verifiers.verdict.AnswerVerifier`), and only rollouts whose text was kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from curriculum.manifest import REFRESHES, read_manifest
from curriculum.scoring.journal import read_journal
from pipelines.schemas import ANSWERS
from verifiers import registry
from verifiers.verdict import AnswerVerifier

PROMPTS_AT_ONCE = 5_000
"""Their rollouts are in memory together."""

EARLIER = 1
"""Passes before this one whose rollouts count too; on the tiny policy a second one, older still, answers too
differently to help (benchmarks/suspects.py)."""

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
        groups.filter(pl.col("s") == 0, ~pl.col("observed"))
        .select("prompt_id")
        .join(prompts.filter(pl.col("verifier").is_in(answering)), on="prompt_id")
        .sort("prompt_id")
    )
    earlier = _earlier(out, pass_id)
    counted = [
        count_answers(_rollouts(part, journal, earlier), part)
        for part in doubted.iter_slices(PROMPTS_AT_ONCE)
    ]
    return pl.concat([pl.DataFrame(schema=ANSWERS), *counted])


def count_answers(rollouts: pl.DataFrame, prompts: pl.DataFrame) -> pl.DataFrame:
    """How often each answer was given, equal ones together: schema ANSWERS.

    Args:
        rollouts: prompt_id, pass_id, text, correctness; those of a prompt together.
        prompts: prompt_id, verifier, reference (JSON); only prompts of an AnswerVerifier are counted.
    """
    judges = {
        prompt_id: (registry.get(verifier), json.loads(reference))
        for prompt_id, verifier, reference in prompts.select("prompt_id", "verifier", "reference").iter_rows()
    }
    rows = []
    columns = rollouts.select("prompt_id", "pass_id", "text", "correctness")
    for prompt_id, group in groupby(columns.iter_rows(), key=lambda row: row[0]):
        verifier, reference = judges[prompt_id]
        if isinstance(verifier, AnswerVerifier):
            rows += _counted(prompt_id, list(group), verifier, reference)
    return pl.DataFrame(rows, ANSWERS, orient="row")


def _earlier(out: Path, pass_id: str) -> list[Path]:
    """The newest refresh of each of the last passes before this one whose rollouts are still there."""
    manifests = [
        (folder, read_manifest(folder))
        for folder in (out / REFRESHES).glob("*")
        if (folder / "manifest.json").is_file()
    ]
    newest_first = sorted(manifests, key=lambda pair: (pair[1].created_at, pair[0].name), reverse=True)
    of_pass: dict[str, Path] = {}
    for folder, manifest in newest_first:
        rollouts = manifest.tables.get("rollouts", [])
        there = bool(rollouts) and all((folder / shard.name).is_file() for shard in rollouts)
        if there and manifest.pass_id != pass_id:
            of_pass.setdefault(manifest.pass_id, folder)
    return list(of_pass.values())[:EARLIER]


def _rollouts(doubted: pl.DataFrame, journal: Path, earlier: list[Path]) -> pl.DataFrame:
    """Every rollout of these prompts with its text, sorted by prompt and index.

    Those that could not be judged are among them: a reference that cannot be read is one in doubt.
    The same text at the same place of a group is the same rollout, recorded once and judged again.
    """
    first, last = doubted["prompt_id"][0], doubted["prompt_id"][-1]
    recorded = [read_journal(journal, prompts=(first, last))]
    between = pl.col("prompt_id").is_between(pl.lit(first), pl.lit(last))
    for folder in earlier:
        parts = [folder / shard.name for shard in read_manifest(folder).tables["rollouts"]]
        recorded.append(pl.scan_parquet(parts).filter(between))
    return (
        pl.concat([rows.filter(pl.col("finish") != "abort").select(_COLUMNS) for rows in recorded])
        .join(doubted.lazy().select("prompt_id"), on="prompt_id", how="semi")
        .filter(pl.col("text").is_not_null())
        .unique(["prompt_id", "index", "text"], keep="first", maintain_order=True)
        .sort("prompt_id", "index", maintain_order=True)
        .collect()
    )


def _counted(
    prompt_id: str,
    rollouts: list[tuple[str, str, str, float]],
    verifier: AnswerVerifier,
    reference: Mapping[str, Any],
) -> list[tuple[str, str, str | None, bool, int]]:
    """Rows of ANSWERS for one prompt, from its rows of prompt_id, pass_id, text and correctness."""
    texts = [text for _, _, text, _ in rollouts]
    answers = [verifier.answer(text, reference) for text in texts]
    meaning = _meanings(verifier, reference, answers, texts)
    same = [None if answer is None else meaning[answer] for answer in answers]
    accepted = {answer for answer, (*_, mark) in zip(same, rollouts, strict=True) if mark >= 1}
    counts = Counter((pass_id, answer) for answer, (_, pass_id, *_) in zip(same, rollouts, strict=True))
    return [
        (prompt_id, pass_id, answer, answer in accepted, count) for (pass_id, answer), count in counts.items()
    ]


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
