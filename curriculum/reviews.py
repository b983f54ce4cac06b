"""Reviews of suspect references: the file that a refresh writes for a person, and what was decided in it.

In: suspects and the pool. Out: `suspects.csv` beside the decisions, a row for each suspect with an empty
`verdict`. Back in: that file with verdicts, named under `pool.reviewed`:

    accept   the reference stands; the prompt is not suspected again
    fix      the text in `answer` becomes the reference, as it stands there or as it was edited
    drop     the prompt is left out from now on
    (empty)  not reviewed yet

Several files may be named; of two verdicts on a prompt the later counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from curriculum.errors import UsageError
from curriculum.pool.amend import with_references
from curriculum.pool.read import Pool
from verifiers import registry
from verifiers.verdict import AnswerVerifier

FILE_NAME = "suspects.csv"
VERDICTS = ("accept", "fix", "drop")
COLUMNS = (
    *("prompt_id", "verdict", "answer", "reference", "agreeing", "rollouts", "passes", "posterior"),
    *("domain", "prompt"),
)


@dataclass(frozen=True, slots=True)
class Reviews:
    """What was decided, by prompt_id."""

    accepted: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    fixed: Mapping[str, str] = field(default_factory=dict)
    """The answer to be taken for the reference."""


def read_reviews(paths: Sequence[str]) -> Reviews:
    """The verdicts in these files.

    Raises:
        UsageError: a file or column is missing, or a verdict cannot be read.
    """
    verdicts: dict[str, tuple[str, str]] = {}
    for path in paths:
        rows = _read(Path(path))
        for line, (prompt_id, verdict, answer) in enumerate(rows.iter_rows(), 2):
            word = (verdict or "").strip().lower()
            if not word:
                continue
            if word not in VERDICTS or (word == "fix" and not (answer or "").strip()):
                raise UsageError(
                    f"verdict {word!r} without an answer"
                    if word in VERDICTS
                    else f"unknown verdict {word!r}",
                    where=f"{path}, record {line}, prompt_id {prompt_id}",
                    do="write accept, fix (with the right answer in `answer`), drop, or nothing",
                )
            verdicts[prompt_id] = (word, (answer or "").strip())

    def those(word: str) -> frozenset[str]:
        return frozenset(prompt_id for prompt_id, (given, _) in verdicts.items() if given == word)

    fixed = {prompt_id: verdicts[prompt_id][1] for prompt_id in sorted(those("fix"))}
    return Reviews(those("accept"), those("drop"), fixed)


def apply_reviews(pool: Pool, reviews: Reviews, *, answer_after: str | None) -> Pool:
    """The pool with the references that were fixed; see `with_references`.

    Raises:
        UsageError: a prompt's verifier does not compare answers, or its reference is not text.
    """
    fixes = pool.distinct.filter(pl.col("prompt_id").is_in(list(reviews.fixed)))
    references = {}
    for prompt_id, name, reference in fixes.select("prompt_id", "verifier", "reference").iter_rows():
        verifier = registry.get(name)
        if not isinstance(verifier, AnswerVerifier):
            raise UsageError(
                f"verifier {name} has no answers that could be put in a reference",
                where=f"reviewed prompt {prompt_id}",
                do="mend the reference in the pool itself, and write drop or nothing in the review",
            )
        references[prompt_id] = verifier.with_answer(json.loads(reference), reviews.fixed[prompt_id])
    return with_references(pool, references, answer_after=answer_after)


def review_table(suspects: pl.DataFrame, pool: Pool) -> pl.DataFrame:
    """What a person needs to judge each suspect: COLUMNS, sorted by prompt_id."""
    asked = pl.col("prompt").list.last().struct.field("content").alias("prompt")
    return (
        suspects.join(pool.distinct.select("prompt_id", "reference", "domain", asked), on="prompt_id")
        .with_columns(pl.col("posterior").round(4), verdict=pl.lit(None, pl.String))
        .select(COLUMNS)
        .sort("prompt_id")
    )


def _read(path: Path) -> pl.DataFrame:
    try:
        rows = pl.read_csv(path, infer_schema=False)
        return rows.select("prompt_id", "verdict", "answer")
    except FileNotFoundError as error:
        raise UsageError("no such file of reviews", where=str(path), do="see pool.reviewed") from error
    except pl.exceptions.PolarsError as error:
        raise UsageError(
            "the file of reviews cannot be read",
            where=f"{path}: {error}",
            do=f"it needs the columns prompt_id, verdict and answer of a refresh's {FILE_NAME}",
        ) from error
