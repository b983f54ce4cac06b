"""Contamination: each rule, what is template, and the evidence."""

from __future__ import annotations

import polars as pl
import pytest

from pipelines.contamination import ContaminationRule, contamination
from pipelines.schemas import CONTAMINATION, SchemaError

LONG = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. "
    "How many clips did Natalia sell altogether in April and May?"
)
MEDIUM = "Determine the number of ways to arrange the letters of the word SUCCESS."
SHORT = "What is $2+2$?"


def pool(*texts: str) -> pl.DataFrame:
    ids = [f"{number:032x}" for number in range(len(texts))]
    return pl.DataFrame({"prompt_id": ids, "text": texts}, {"prompt_id": pl.String, "text": pl.String})


def held_out(*texts: str, name: str = "gsm8k") -> pl.DataFrame:
    rows = list(range(len(texts)))
    return pl.DataFrame(
        {"evaluation": [name] * len(texts), "evaluation_row": rows, "text": texts},
        {"evaluation": pl.String, "evaluation_row": pl.Int64, "text": pl.String},
    )


def rule_of(prompt: str, item: str) -> str | None:
    found = contamination(pool(prompt), held_out(item))
    return found["rule"].item() if found.height else None


@pytest.mark.parametrize(
    ("prompt", "item", "rule"),
    [
        (LONG, LONG, "equals"),
        (LONG.upper(), LONG, "equals"),
        (LONG.replace("48", "٤٨"), LONG, "equals"),
        (f"Solve this. {LONG} Think step by step, 3 times.", LONG, "covers"),
        (LONG.split("How many")[0], LONG, "covers"),
        (" ".join(LONG.split()[:7]), LONG, None),
        ("Compute 2 + 2.", "compute $2+2$", "equals"),
        ("Please say, what is 2 + 2 ?", SHORT, "contains"),
        ("Please say, what is 2 + 2, or 5?", SHORT, None),  # another number: another problem
        ("Find x", "x", None),  # too short to be looked for
        (f"Tell me: {MEDIUM} Do.", MEDIUM, "contains"),
        (f"Tell me about 5 cats: {MEDIUM}", MEDIUM, None),
        (MEDIUM.replace("SUCCESS", "ALABAMA"), MEDIUM, None),
        (LONG.replace("half", "twice"), LONG, None),  # a number of the item is missing
        ("x", "x", "equals"),
        ("", "", None),
    ],
)
def test_the_first_rule_that_holds(prompt, item, rule):
    assert rule_of(prompt, item) == rule


def test_evidence_is_the_longest_shared_span_and_coverage_its_share():
    prompt = "At 9 o'clock Natalia sold clips to 48 of her friends in April and then she sold none, or half"
    [hit] = contamination(pool(prompt), held_out(LONG), ContaminationRule(coverage=0.4)).to_dicts()
    assert hit == {
        "prompt_id": f"{0:032x}",
        "evaluation": "gsm8k",
        "evaluation_row": 0,
        "rule": "covers",
        "coverage": pytest.approx(14 / 31),
        "evidence": "natalia sold clips to 48 of her friends in april and then she sold",
    }


def test_runs_in_many_evaluation_prompts_are_template():
    ask = "Answer the following question with a single letter and nothing else at all. "
    items = [f"{ask} Which of the many birds number {n} can fly backwards over water?" for n in range(20)]
    others = [f"{ask} Why is the sky blue?", f"{ask} {LONG}"]
    assert contamination(pool(*others), held_out(*items, LONG))["evaluation_row"].to_list() == [20]


def test_runs_in_many_prompts_of_the_pool_are_template():
    ask = "Let us think step by step and output the final answer within a box. "
    many = [f"{ask} {word} and then?" for word in "abcdefghijklmnop"]
    assert contamination(pool(*many), held_out(f"{ask} Who?")).is_empty()


def test_what_is_left_out_as_template_does_not_count_as_missing():
    ask = "Answer the following question with a single letter and nothing else at all. "
    items = [f"{ask} Which of the many birds number {n} can fly backwards over water?" for n in range(20)]
    found = contamination(pool(LONG), held_out(*items, f"{ask} {LONG}"))
    assert found.select("evaluation_row", "coverage").rows() == [(20, 1.0)]


def test_every_pair_is_named_once_and_sets_are_told_apart():
    evaluation = pl.concat([held_out(LONG, SHORT, name="a"), held_out(LONG, name="b")])
    found = contamination(pool(LONG, f"{LONG} Why?"), evaluation)
    assert found.schema == CONTAMINATION
    assert found.select("prompt_id", "evaluation", "evaluation_row", "rule").rows() == [
        (f"{prompt:032x}", name, 0, rule) for prompt, rule in ((0, "equals"), (1, "covers")) for name in "ab"
    ]


def test_empty_tables_give_an_empty_table():
    assert contamination(pool(), held_out(LONG)).equals(pl.DataFrame(schema=CONTAMINATION))
    assert contamination(pool(LONG), held_out()).is_empty()


def test_faults_are_named():
    with pytest.raises(SchemaError, match="evaluation_row"):
        contamination(pool(LONG), held_out(LONG).drop("evaluation_row"))
    with pytest.raises(ValueError, match="run must be at least 2"):
        ContaminationRule(run=1)
