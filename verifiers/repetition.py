"""How much a text repeats itself: a cheap sign of a policy stuck in a loop.

In: a text. Out: a share in 0..1.
"""

from __future__ import annotations

WORDS = 4
"""Words in one n-gram."""

MAX_CHARS = 100_000
"""Only the end of a longer text is looked at: a loop, once entered, lasts to the end."""


def repetition(text: str) -> float:
    """The share of word 4-grams of `text` that were seen before: 1 - distinct / all.

    0.0 for a text of fewer than five words. Case and punctuation count; linear in the length.
    """
    words = text[-MAX_CHARS:].split()
    total = len(words) - WORDS + 1
    if total < 2:
        return 0.0
    distinct = set(zip(*(words[start : start + total] for start in range(WORDS)), strict=True))
    return 1.0 - len(distinct) / total
