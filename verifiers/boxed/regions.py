"""Sets of real numbers: union, complement, difference, and whether two are the same.

In: `Interval`s with exact ends. Out: `Region`s in normal form (disjoint, in order, adjacent ones joined).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from verifiers.boxed.algebra import Ratio
from verifiers.boxed.bounds import UnreadableError
from verifiers.boxed.numeric import equal, sign
from verifiers.boxed.values import Interval, Region

MAX_INTERVALS = 24
EVERYTHING = Region((Interval(None, None, False, False),))


def point(value: Ratio) -> Interval:
    """The interval that holds only `value`."""
    return Interval(value, value, True, True)


def union(regions: Sequence[Region]) -> Region:
    """All numbers in any of `regions`.

    Raises:
        UnreadableError: ends that cannot be put in order, or too many intervals.
    """
    pieces = [piece for region in regions for piece in region.intervals if _is_proper(piece)]
    if len(pieces) > MAX_INTERVALS:
        raise UnreadableError(f"more than {MAX_INTERVALS} intervals")
    pieces.sort(key=cmp_to_key(_compare_low))
    joined: list[Interval] = []
    for piece in pieces:
        if joined and _touch(joined[-1], piece):
            last = joined.pop()
            high, closed = _further(last, piece)
            piece = Interval(last.low, high, last.low_closed, closed)
        joined.append(piece)
    return Region(tuple(joined), _variable(regions))


def complement(region: Region) -> Region:
    """All real numbers outside `region`, which is in normal form."""
    result: list[Interval] = []
    low, closed = None, False
    for piece in region.intervals:
        if piece.low is not None:
            result.append(Interval(low, piece.low, closed, not piece.low_closed))
        if piece.high is None:
            return Region(tuple(result), region.variable)
        low, closed = piece.high, not piece.high_closed
    result.append(Interval(low, None, closed, False))
    return union([Region(tuple(result), region.variable)])


def intersection(first: Region, second: Region) -> Region:
    """All numbers in both."""
    return complement(union([complement(first), complement(second)]))


def same_region(first: Region, second: Region) -> bool:
    """True when both hold the same numbers and do not name different variables."""
    if first.variable and second.variable and first.variable != second.variable:
        return False
    if len(first.intervals) != len(second.intervals):
        return False
    return all(
        (a.low_closed, a.high_closed) == (b.low_closed, b.high_closed)
        and _same_end(a.low, b.low)
        and _same_end(a.high, b.high)
        for a, b in zip(first.intervals, second.intervals, strict=True)
    )


def _variable(regions: Sequence[Region]) -> str:
    named = {region.variable for region in regions if region.variable}
    if len(named) > 1:
        raise UnreadableError("a union over different variables")
    return named.pop() if named else ""


def _order(first: Ratio, second: Ratio) -> int:
    direction = sign(first - second)
    if direction is None:
        raise UnreadableError("ends that cannot be put in order")
    return direction


def _is_proper(piece: Interval) -> bool:
    if piece.low is None or piece.high is None:
        return True
    direction = _order(piece.low, piece.high)
    return direction < 0 or (direction == 0 and piece.low_closed and piece.high_closed)


def _compare_low(first: Interval, second: Interval) -> int:
    if first.low is None or second.low is None:
        return (first.low is not None) - (second.low is not None)
    return _order(first.low, second.low) or second.low_closed - first.low_closed


def _touch(first: Interval, second: Interval) -> bool:
    if first.high is None or second.low is None:
        return True
    direction = _order(second.low, first.high)
    return direction < 0 or (direction == 0 and (first.high_closed or second.low_closed))


def _further(first: Interval, second: Interval) -> tuple[Ratio | None, bool]:
    if first.high is None or second.high is None:
        return None, False
    direction = _order(first.high, second.high)
    if direction == 0:
        return first.high, first.high_closed or second.high_closed
    return (first.high, first.high_closed) if direction > 0 else (second.high, second.high_closed)


def _same_end(first: Ratio | None, second: Ratio | None) -> bool:
    if first is None or second is None:
        return first is second
    return equal(first, second)
