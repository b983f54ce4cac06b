"""Near duplicates: against all pairs, the numbers, which row stays, templates, two pools."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import polars as pl
import pytest

from pipelines import minhash
from pipelines.near_duplicates import near_duplicates
from pipelines.schemas import NEAR_DUPLICATES, SchemaError
from pipelines.text import minuses, normalised, numbers, tokens

WORDS = [f"{start}{end}" for start in "bcdfghklmnprst" for end in ("ane", "ilo", "ust", "erk", "omi")]


def prompts(texts: list[str], **columns: list[float | None]) -> pl.DataFrame:
    ids = [f"{number:032x}" for number in range(len(texts))]
    table = pl.DataFrame({"prompt_id": ids, "text": texts}, {"prompt_id": pl.String, "text": pl.String})
    return table.with_columns(pl.Series(name, values) for name, values in columns.items())


def story(seed: int, words: int = 60) -> list[str]:
    return random.Random(seed).choices(WORDS, k=words)


def edited(words: list[str], edits: int, seed: int) -> str:
    rng, words = random.Random(seed), list(words)
    for place in rng.sample(range(len(words)), edits):
        words[place] = rng.choice(WORDS)
    return " ".join(words)


def pairs(found: pl.DataFrame) -> dict[str, str]:
    return {row: kept for row, kept, _ in found.iter_rows()}


class Slow:
    """A prompt as the definition reads: its padded runs, its multiset of numbers, its minus signs."""

    def __init__(self, text: str) -> None:
        normal = normalised(pl.lit(text))
        edge = [""] * (minhash.RUN - 1)
        cut = [*edge, *pl.select(tokens(normal)).item(), *edge]
        self.runs = {tuple(cut[start : start + minhash.RUN]) for start in range(len(cut) - minhash.RUN + 1)}
        self.numbers = Counter(pl.select(numbers(normal)).item())
        self.minuses = pl.select(minuses(normal)).item()

    def similarity(self, other: Slow) -> float:
        if (self.numbers, self.minuses) != (other.numbers, other.minuses):
            return 0.0
        return len(self.runs & other.runs) / len(self.runs | other.runs)


def slow_clusters(texts: list[str], threshold: float) -> dict[int, int]:
    """The first of each cluster, by comparing all with all."""
    slow, first = [Slow(text) for text in texts], list(range(len(texts)))
    for one in range(len(texts)):
        for other in range(one):
            if slow[one].similarity(slow[other]) >= threshold:
                low, high = sorted((first[one], first[other]))
                first = [low if name == high else name for name in first]
    return {row: name for row, name in enumerate(first) if row != name}


def test_clusters_equal_those_of_comparing_all_with_all():
    texts = [edited(story(seed), edits, edits) for seed in range(8) for edits in (0, 1, 2, 5, 20)]
    found = pairs(near_duplicates(prompts(texts)))
    assert {int(row, 16): int(kept, 16) for row, kept in found.items()} == slow_clusters(texts, 0.8)
    assert len(found) >= 16


def test_similarity_is_that_to_the_row_that_stays():
    texts = [edited(story(seed), edits, edits) for seed in range(8) for edits in (0, 1, 2, 3)]
    found = near_duplicates(prompts(texts))
    for row, kept, index in found.iter_rows():
        assert index == pytest.approx(Slow(texts[int(row, 16)]).similarity(Slow(texts[int(kept, 16)])))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (r"Solve $x^2-5x+6=0$.", r"Solve \(x^{2} - 5x + 6 = 0\)", True),
        (r"Solve $x^2-5x+6=0$.", r"Solve $x^2-7x+6=0$.", False),
        ("Ann has two apples and eats one.", "Ann has 2 apples and eats 1.", False),  # too short: runs differ
        ("x " * 20 + "and 5 and 7", "x " * 20 + "and 7 and 5", False),
        (" ".join(story(1)) + " by 5", " ".join(story(1)) + " by five", True),
        (" ".join(story(1)) + " by four", " ".join(story(1)) + " by five", False),
        ("hello", "Hello!", False),
        (
            "Find the number of ways to arrange the letters of the word SUCCESS",
            "Find the number of ways to arrange the letters of the word ALABAMA",
            False,
        ),
        ("hello", "hello.", True),
        ("", "", False),
    ],
)
def test_what_is_the_same_problem(one, other, same):
    assert (near_duplicates(prompts([one, other])).height == 1) is same


def test_the_row_of_lowest_rank_stays_and_then_of_lowest_id():
    texts = [" ".join(story(3))] * 4
    assert set(pairs(near_duplicates(prompts(texts))).values()) == {f"{0:032x}"}
    found = near_duplicates(prompts(texts, rank=[None, 2.0, 1.0, 1.0]))
    assert set(pairs(found).values()) == {f"{2:032x}"}
    assert found.schema == NEAR_DUPLICATES


def test_the_order_of_rows_does_not_matter():
    texts = [edited(story(seed), edits, edits) for seed in range(30) for edits in (0, 2, 4)]
    table = prompts(texts)
    assert near_duplicates(table).equals(near_duplicates(table.sample(fraction=1, shuffle=True, seed=1)))


def test_a_long_bucket_is_found_whole_though_each_is_compared_with_few():
    copies = 5 * minhash.WINDOW
    found = near_duplicates(prompts([" ".join(story(5))] * copies))
    assert found.height == copies - 1
    assert found["duplicate_of"].n_unique() == 1


def test_templates_with_other_numbers_share_no_bucket():
    texts = [f"What is the value of {a} apples plus {b} apples in all" for a in range(40) for b in range(a)]
    compared = minhash.candidates(minhash.sketches(pl.Series(texts)), 0.8)
    assert sum(left.size for left, _ in compared) == 0


@pytest.mark.parametrize(
    ("one", "other"), [("1/3", "-1/3"), ("x+5", "x-5"), (r"x = \sqrt{2}", "x = − √2"), ("x(y)", "-x(y)")]
)
def test_another_sign_is_another_problem(one, other):
    asked = " ".join(story(6))
    assert near_duplicates(prompts([f"{asked} {one} {asked}", f"{asked} {other} {asked}"])).is_empty()


def test_an_instruction_that_many_share_makes_no_two_problems_alike():
    ask = "Let us think step by step and output the final answer within a box and nothing after it please"
    problems = [" ".join(story(seed, 12)) for seed in range(60)]
    texts = [f"{problem} {ask}" for problem in problems] + [
        f"Compute {name} {ask}" for name in ("sin x", "cos x")
    ]
    assert near_duplicates(prompts(texts)).is_empty()
    assert near_duplicates(prompts([*texts, *texts])).height == len(texts)


def test_copies_of_one_prompt_are_no_instruction():
    texts = (
        [" ".join(story(1))] * 50
        + [edited(story(1), 1, 3)]
        + [" ".join(story(seed)) for seed in range(2, 60)]
    )
    assert near_duplicates(prompts(texts)).height == 50


def test_bands_find_a_pair_at_the_threshold():
    for threshold in (0.5, 0.7, 0.8, 0.9):
        width = minhash.rows_a_band(threshold)
        assert 1 - (1 - threshold**width) ** (minhash.PERMUTATIONS // width) >= minhash.RECALL


def test_against_another_pool_each_row_points_to_the_one_it_is_most_alike_to():
    mine = prompts([edited(story(1), 2, 7), " ".join(story(2)), " ".join(story(3)), " ".join(story(3))])
    texts = [edited(story(1), 3, 8), " ".join(story(1)), " ".join(story(2))]
    theirs = pl.DataFrame({"prompt_id": ["p", "q", "r"], "text": texts})
    assert pairs(near_duplicates(mine, against=theirs)) == {f"{0:032x}": "q", f"{1:032x}": "r"}


def test_against_one_of_theirs_a_whole_bucket_of_mine_is_found():
    mine = prompts([" ".join(story(5))] * (4 * minhash.WINDOW))
    theirs = pl.DataFrame({"prompt_id": ["p"], "text": [" ".join(story(5))]})
    assert near_duplicates(mine, against=theirs).height == mine.height


def test_empty_tables_give_an_empty_table():
    none = prompts([])
    assert near_duplicates(none).equals(pl.DataFrame(schema=NEAR_DUPLICATES))
    assert near_duplicates(prompts(["a b c"]), against=none).is_empty()
    assert near_duplicates(none, against=prompts(["a b c"])).is_empty()


def test_faults_are_named():
    with pytest.raises(ValueError, match=r"threshold must lie in \(0, 1\], got 0"):
        near_duplicates(prompts(["a"]), threshold=0)
    with pytest.raises(SchemaError, match="missing: text"):
        near_duplicates(prompts(["a"]).drop("text"))


def test_signatures_estimate_similarity_without_bias():
    texts = [edited(story(seed, 200), 8, seed) for seed in range(200)] + [
        " ".join(story(seed, 200)) for seed in range(200)
    ]
    of = minhash.sketches(pl.Series(texts))
    one, other = np.arange(200), np.arange(200, 400)
    estimate = (of.signatures[one] == of.signatures[other]).mean(axis=1)
    error = estimate - minhash.similarity(of, one, other)
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(200)
    assert error.std() < 0.05
