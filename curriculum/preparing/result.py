"""What a preparation gives back, and how a person reads it.

In: decisions and findings. Out: `Prepared`, plain JSON, and a summary for standard output.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.text import Text

from curriculum.preparing.decide import Findings
from curriculum.preparing.raw import Raw
from curriculum.preparing.references import SUSPECT
from curriculum.summary import decision_table, fact_table, figure_table, path_line
from pipelines.summary import decision_counts

MOST_CAUSES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A raw pool, accounted for row by row."""

    prepare_id: str
    path: Path | None  # the published set; None in a dry run
    pool_rows: int  # rows that could be read; each has a decision
    unreadable_rows: int
    set_rows: int
    sentinel_rows: int
    decisions: list[dict[str, Any]]  # rows of domain, decision, prompts; sorted
    duplicates: dict[str, int]  # rows per kind of duplicate
    other_references: int  # of these rows, those whose reference differs from that of the row that stays
    contamination: dict[str, int]  # prompts per evaluation set
    references: dict[str, int]  # prompts per status of their reference
    causes: list[dict[str, Any]]  # rows of verifier, cause, prompts: why references are suspect
    prompt_tokens: dict[str, int] | None  # median, most and allowed; None where they were not measured

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**asdict(self), "path": None if self.path is None else str(self.path)}


def prepared(
    prepare_id: str, raw: Raw, decisions: pl.DataFrame, found: Findings, folder: Path | None
) -> Prepared:
    """The figures of a preparation."""
    suspects = found.references.filter(pl.col("status").is_in(SUSPECT))
    causes = suspects.group_by("verifier", "cause").agg(prompts=pl.len())
    fates = decisions["decision"].cast(pl.String)
    return Prepared(
        prepare_id=prepare_id,
        path=folder,
        pool_rows=raw.rows,
        unreadable_rows=raw.unreadable.height,
        set_rows=int((fates == "keep_unscored").sum()),
        sentinel_rows=int((fates == "hold_sentinel").sum()),
        decisions=decision_counts(decisions).rename({"rows": "prompts"}).to_dicts(),
        duplicates=_counts(found.duplicates["kind"]),
        other_references=int((~found.duplicates["same_reference"].fill_null(value=True)).sum()),
        contamination=_counts(found.contamination.unique(["prompt_id", "evaluation"])["evaluation"]),
        references=_counts(found.references["status"]),
        causes=causes.sort("prompts", "cause", descending=[True, False]).head(MOST_CAUSES).to_dicts(),
        prompt_tokens=_lengths(found),
    )


def _counts(values: pl.Series) -> dict[str, int]:
    return dict(values.value_counts().sort(values.name).iter_rows())


def _lengths(found: Findings) -> dict[str, int] | None:
    if found.most_tokens is None or found.lengths.is_empty():
        return None
    tokens = found.lengths["prompt_tokens"].sort()
    return {"median": tokens[len(tokens) // 2], "most": tokens[-1], "allowed": found.most_tokens}


def render_prepared(done: Prepared) -> RenderableType:
    """The summary of a preparation."""
    facts = {
        "duplicates": _listed(done.duplicates),
        "evaluations": _listed(done.contamination),
        "references": _listed(done.references),
        "lengths": _length_line(done.prompt_tokens),
        "set": f"{done.set_rows:,} of {done.pool_rows:,} rows; {done.sentinel_rows:,} held out as sentinel",
    }
    if done.other_references:
        facts["duplicates"] += f"; {done.other_references:,} have another reference than what stays"
    if done.unreadable_rows:
        facts["unreadable"] = f"{done.unreadable_rows:,} rows, which have no decision"
    title = "Nothing was written" if done.path is None else f"prepared {done.prepare_id}"
    parts: list[RenderableType] = [Text(f"{title}\n", style="bold"), decision_table(done.decisions), Text()]
    if done.causes:
        table = figure_table("why references are suspect", "prompts")
        for row in done.causes:
            table.add_row(row["cause"], f"{row['prompts']:,}")
        parts += [table, Text()]
    parts.append(fact_table(facts))
    if done.path is not None:
        parts.append(path_line(done.path))
    return Group(*parts)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "none"


def _length_line(tokens: dict[str, int] | None) -> str:
    if tokens is None:
        return "not measured: no tokenizer was named"
    return f"median {tokens['median']:,} tokens, longest {tokens['most']:,}, allowed {tokens['allowed']:,}"
