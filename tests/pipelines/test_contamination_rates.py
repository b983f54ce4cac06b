"""Contamination planted in a real pool in five ways is found at the rates that the documentation states.

Evaluation prompts are written into a pool of 2,000 DeepScaleR prompts; `docs/pipelines.md` has the table.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import polars as pl
import pytest

from pipelines.contamination import contamination

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
SETS = {"gsm8k": ("gsm8k_test.jsonl", "question"), "math500": ("math500.jsonl", "problem")}
PLANTED = 300

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs the public data sets beside the checkout")

REWORDINGS = [
    ("how many", "what number of"),
    ("how much", "what amount of"),
    ("altogether", "in total"),
    ("what is", "determine"),
    ("find", "compute"),
    ("each", "every"),
    ("also", "in addition"),
    ("buys", "purchases"),
    ("makes", "produces"),
    ("such that", "for which"),
    ("positive integers", "natural numbers"),
    ("if", "suppose that"),
    ("then", "next"),
    ("the value of", "the quantity"),
    ("she", "he"),
]
NAMES = ["Mira", "Tobias", "Anouk", "Ravi"]


def verbatim(text: str, rng: random.Random) -> str:
    return text


def reworded(text: str, rng: random.Random) -> str:
    """Two substitutions of those that apply, the first capitalised name replaced, and a courtesy in front."""
    applying = [pair for pair in REWORDINGS if re.search(rf"\b{pair[0]}\b", text, re.IGNORECASE)]
    for old, new in rng.sample(applying, min(2, len(applying))):
        text = re.sub(rf"\b{old}\b", new, text, count=1, flags=re.IGNORECASE)
    name = re.search(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b", text)
    if name:
        text = re.sub(rf"\b{name.group()}\b", rng.choice(NAMES), text)
    return f"Please solve the following. {text}"


def with_choices(text: str, numbers: list[int]) -> str:
    return text + "".join(f"\n({letter}) {number}" for letter, number in zip("ABCD", numbers, strict=True))


def inside(text: str, rng: random.Random) -> str:
    before = "You are taking part in a contest with 12 tasks. Here is task 7; show every step of your work."
    return f"{before}\n\n{text}\n\nWrite the final answer in a box. You have 45 minutes."


def other_digits(text: str, rng: random.Random) -> str:
    script = rng.choice(["٠١٢٣٤٥٦٧٨٩", "０１２３４５６７８９", "०१२३४५६७८९"])
    return text.translate(str.maketrans("0123456789", script))


WAYS = {"verbatim": verbatim, "reworded": reworded, "inside": inside, "other digits": other_digits}


@pytest.fixture(scope="module")
def clean() -> list[str]:
    rows = pl.read_parquet(DATA / "deepscaler_10k_verl.parquet", columns=["prompt"]).head(2000)
    return rows.select(pl.col("prompt").list.last().struct.field("content")).to_series().to_list()


def evaluation_texts(name: str) -> list[str]:
    file, column = SETS[name]
    return pl.read_ndjson(DATA / file)[column].head(PLANTED).to_list()


def found(clean: list[str], planted: list[str], items: list[str]) -> tuple[float, int]:
    """The share of planted prompts found with their own item, and how many others of the pool are hits."""
    ids = [f"{number:032x}" for number in range(len(planted) + len(clean))]
    evaluation = pl.DataFrame(
        {"evaluation": "e", "evaluation_row": range(len(items)), "text": items},
        {"evaluation": pl.String, "evaluation_row": pl.Int64, "text": pl.String},
    )
    pool = pl.DataFrame({"prompt_id": ids, "text": planted + clean})
    pairs = set(contamination(pool, evaluation).select("prompt_id", "evaluation_row").iter_rows())
    own = {(ids[row], row) for row in range(len(planted))}
    return len(pairs & own) / len(own), len({prompt for prompt, _ in pairs} & set(ids[len(planted) :]))


RATES = {
    ("gsm8k", "verbatim"): 1.0,
    ("gsm8k", "reworded"): 0.90,
    ("gsm8k", "reordered choices"): 1.0,
    ("gsm8k", "inside"): 1.0,
    ("gsm8k", "other digits"): 1.0,
    ("math500", "verbatim"): 1.0,
    ("math500", "reworded"): 0.93,
    ("math500", "reordered choices"): 0.97,
    ("math500", "inside"): 0.98,
    ("math500", "other digits"): 1.0,
}
"""The least share that is found: the rates of the documentation, rounded down."""


@pytest.mark.parametrize(("name", "way"), RATES)
def test_planted_contamination_is_found(name, way, clean):
    rng = random.Random(0)
    items = evaluation_texts(name)
    if way == "reordered choices":
        choices = [rng.sample(range(2, 500), 4) for _ in items]
        shuffled = [rng.sample(row, 4) for row in choices]
        planted = [with_choices(*pair) for pair in zip(items, shuffled, strict=True)]
        items = [with_choices(*pair) for pair in zip(items, choices, strict=True)]
    else:
        planted = [WAYS[way](text, rng) for text in items]
    share, others = found(clean, planted, items)
    assert share >= RATES[name, way]
    assert others <= 2
