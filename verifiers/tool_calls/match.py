"""Which made call answers which expected one: one-to-one, for the greatest total.

In: a matrix of whole-number scores, a row an expected call, a column a made one. Out: pairs (row, column).
"""

from __future__ import annotations

from collections.abc import Sequence

Scores = Sequence[Sequence[int]]


def best_pairs(scores: Scores, *, ordered: bool) -> list[tuple[int, int]]:
    """The pairs of greatest total score, pairs worth nothing left out.

    Where `ordered`, only pairings that keep the given order count.
    """
    if not scores or not scores[0]:
        return []
    pairs = _in_order(scores) if ordered else _assigned(scores)
    return [(row, column) for row, column in pairs if scores[row][column] > 0]


def _in_order(scores: Scores) -> list[tuple[int, int]]:
    """Best order-keeping pairing by the recurrence of the longest common subsequence."""
    rows, columns = len(scores), len(scores[0])
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            paired = scores[row][column] + best[row + 1][column + 1]
            best[row][column] = max(paired, best[row + 1][column], best[row][column + 1])
    pairs, row, column = [], 0, 0
    while row < rows and column < columns:
        if best[row][column] == scores[row][column] + best[row + 1][column + 1]:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return pairs


def _assigned(scores: Scores) -> list[tuple[int, int]]:
    """Best pairing in any order: the Hungarian method with potentials (Kuhn 1955, Munkres 1957), O(n²m)."""
    if len(scores) > len(scores[0]):
        return [(row, column) for column, row in _assigned(list(zip(*scores, strict=True)))]
    columns = len(scores[0])
    row_potential, column_potential = [0] * (len(scores) + 1), [0] * (columns + 1)
    owner = [0] * (columns + 1)
    """The row, from 1, that each column is given to; 0 for none. Column 0 stands for the row being placed."""
    for row in range(1, len(scores) + 1):
        owner[0], here = row, 0
        slack, came_from = [_FAR] * (columns + 1), [0] * (columns + 1)
        used = [False] * (columns + 1)
        while owner[here]:
            used[here] = True
            here = _nearest(scores, here, owner, row_potential, column_potential, slack, came_from, used)
        while here:
            owner[here], here = owner[came_from[here]], came_from[here]
    return [(owner[column] - 1, column - 1) for column in range(1, columns + 1) if owner[column]]


_FAR = 1 << 40


def _nearest(
    scores: Scores,
    here: int,
    owner: list[int],
    row_potential: list[int],
    column_potential: list[int],
    slack: list[int],
    came_from: list[int],
    used: list[bool],
) -> int:
    """Widens the tree of alternating paths by its cheapest column, and gives that column."""
    row = owner[here]
    free = [column for column in range(1, len(owner)) if not used[column]]
    for column in free:
        cost = -scores[row - 1][column - 1] - row_potential[row] - column_potential[column]
        if cost < slack[column]:
            slack[column], came_from[column] = cost, here
    nearest = min(free, key=slack.__getitem__)
    step = slack[nearest]
    for column in range(len(owner)):
        if used[column]:
            row_potential[owner[column]] += step
            column_potential[column] -= step
        else:
            slack[column] -= step
    return nearest
