"""The stages between a raw pool and the decision on its rows, each made once and kept.

In: the raw pool, the configuration, the work folder. Out: the tables of `Findings`.

The key of a stage is made of that of the stage before and of what it adds, so a changed setting repeats the
stages from there on.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from curriculum.config import Config
from curriculum.preparing.contradictions import contradictions
from curriculum.preparing.duplicates import (
    DUPLICATES,
    in_other_pools,
    near_texts,
    same_prompts,
    same_texts,
    texts_of,
)
from curriculum.preparing.lengths import LENGTHS, LengthRule, prompt_lengths
from curriculum.preparing.raw import Raw
from curriculum.preparing.references import REFERENCES, check_references
from curriculum.preparing.sentinel import held_out, wanted
from curriculum.preparing.texts import read_texts, set_inputs
from curriculum.preparing.work import Work, stage_key
from curriculum.scoring.progress import View
from pipelines.contamination import contamination
from pipelines.schemas import CONTAMINATION


class Stages:
    """The stages of one preparation, to be called in the order in which they stand here.

    `rows` are first rows of prompts: columns row, prompt_id, rank (`curriculum.preparing.duplicates.ranked`).
    """

    def __init__(self, raw: Raw, config: Config, work: Work, view: View) -> None:
        self.key = raw.key
        self._raw = raw
        self._config = config
        self._settings = config.prepare
        self._work = work
        self._view = view

    def references(self, versions: dict[str, str]) -> pl.DataFrame:
        """What every prompt's reference says of itself: REFERENCES; empty where none are to be checked.

        Args:
            versions: name to version of the verifiers of the pool.
        """
        self.key = stage_key(self.key, self._settings.check_references)
        if not self._settings.check_references:
            return pl.DataFrame(schema=REFERENCES)
        self._view.stage("checking references")
        self.key = stage_key(
            self.key, versions, self._settings.solution_key, self._config.verification.deadline_s
        )
        return check_references(self._raw, self._config, self.key, self._work, self._view)

    def duplicates(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Every superfluous row: DUPLICATES. Each kind is looked for among what the ones before have left."""
        self._view.stage("looking for duplicates")
        same = same_prompts(self._raw)
        texts = self._table("same_texts", lambda: same_texts(self._raw, rows))
        left = rows.join(texts, on="row", how="anti")
        near = self._near(left)
        left = left.join(near, on="row", how="anti")
        return pl.concat([same, texts, near, self._in_others(left)]).sort("row")

    def _near(self, rows: pl.DataFrame) -> pl.DataFrame:
        threshold = self._settings.near_duplicates
        if not threshold:
            return pl.DataFrame(schema=DUPLICATES)
        return self._table(
            "near_duplicates", lambda: near_texts(texts_of(self._raw, rows), threshold), threshold
        )

    def _in_others(self, rows: pl.DataFrame) -> pl.DataFrame:
        names, column = self._settings.against, self._settings.evaluation_key
        threshold = self._settings.near_duplicates or 1.0
        if not names:
            return pl.DataFrame(schema=DUPLICATES)

        def find() -> pl.DataFrame:
            others = read_texts(names, column, self._view)
            return in_other_pools(texts_of(self._raw, rows), others, threshold)

        return self._table("against", find, threshold, set_inputs(names, column))

    def contradictions(self, duplicates: pl.DataFrame, references: pl.DataFrame) -> pl.DataFrame:
        """`references`, with those that a row of the same text contradicts."""
        if references.is_empty():
            return references
        found = self._table("contradictions", lambda: contradictions(self._raw, duplicates, self._config))
        return references.update(found, on="prompt_id", how="left")

    def contamination(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Every pair of a prompt and an evaluation prompt that it holds: CONTAMINATION."""
        self._view.stage("looking for evaluation prompts")
        names, column = self._settings.evaluations, self._settings.evaluation_key
        if not names:
            self._view.note("no evaluation set is named")
            return pl.DataFrame(schema=CONTAMINATION)

        def find() -> pl.DataFrame:
            sets = read_texts(names, column, self._view)
            named = sets.select(evaluation="set", evaluation_row="place", text="text")
            return contamination(texts_of(self._raw, rows).select("prompt_id", "text"), named)

        return self._table("contamination", find, set_inputs(names, column))

    def lengths(self, rows: pl.DataFrame, rule: LengthRule | None) -> pl.DataFrame:
        """How long the prompts are: LENGTHS; empty without a rule."""
        self._view.stage("measuring prompts")
        if rule is None:
            self._view.note("prompt lengths are not measured: no tokenizer is named")
            return pl.DataFrame(schema=LENGTHS)
        inputs = (rule.fingerprint, rule.most, self._config.chat.model_dump(mode="json"))
        return self._table("lengths", lambda: prompt_lengths(self._raw, rows, rule, self._config), *inputs)

    def sentinel(self, clean: pl.DataFrame) -> pl.DataFrame:
        """The prompts to hold out, of the rows that are clean: column prompt_id."""
        self._view.stage("holding out a sentinel set")
        count = wanted(clean.height, self._settings.sentinel)
        apart, seed = self._settings.sentinel_apart, self._settings.seed
        if count == 0:
            return clean.select("prompt_id").clear()
        return self._table(
            "sentinel",
            lambda: held_out(texts_of(self._raw, clean), count, apart=apart, seed=seed),
            *(count, apart, seed),
        )

    def _table(self, stage: str, make: Callable[[], pl.DataFrame], *inputs: object) -> pl.DataFrame:
        self.key = stage_key(self.key, stage, *inputs)
        return self._work.table(stage, self.key, make)
