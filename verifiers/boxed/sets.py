"""Sets out of sets: what a set's condition admits, unions, intersections and differences.

In: `Value`s that are sets. Out: one `Value`, a `Region` where it is a set of real numbers.
"""

from __future__ import annotations

from math import ceil, floor

from verifiers.boxed.algebra import as_fraction, integer
from verifiers.boxed.bounds import UnreadableError
from verifiers.boxed.regions import complement, intersection, union
from verifiers.boxed.relations import as_region
from verifiers.boxed.values import Named, Quantity, Region, SetOf, Union, Value, Word

_MAX_MEMBERS = 200


def condition(elements: list[Value], conditions: list[Value], joiner: str) -> Value:
    """The numbers that a set's condition admits: real ones, or whole ones where \\mathbb{Z} is named."""
    regions = [item for item in conditions if isinstance(item, Region)]
    if len(regions) != len(conditions):
        raise UnreadableError("a set condition that is no range of numbers")
    found = Region((union(regions) if joiner == "or" else intersected(regions)).intervals)
    domains = [
        item.value.text for item in elements if isinstance(item, Named) and isinstance(item.value, Word)
    ]
    if not domains:
        return found
    if domains != ["integers"]:
        raise UnreadableError(f"a set of {domains[0]}")
    return SetOf(tuple(Quantity(integer(number)) for number in _whole_numbers(found)))


def _whole_numbers(region: Region) -> list[int]:
    """The integers in `region`, at most `_MAX_MEMBERS`."""
    found: list[int] = []
    for piece in region.intervals:
        low = None if piece.low is None else as_fraction(piece.low)
        high = None if piece.high is None else as_fraction(piece.high)
        if low is None or high is None or high - low > _MAX_MEMBERS:
            raise UnreadableError("too many integers, or between ends that are no fractions")
        numbers = range(ceil(low), floor(high) + 1)
        found += [n for n in numbers if (n > low or piece.low_closed) and (n < high or piece.high_closed)]
    return found


def intersected(regions: list[Region]) -> Region:
    """The numbers in all of `regions`, which name one variable."""
    result = regions[0]
    for region in regions[1:]:
        result = intersection(result, region)
    return Region(result.intervals, regions[0].variable)


def combined(operation: str, left: Value, right: Value) -> Value:
    """`left` cup, cap or setminus `right`."""
    first, second = as_region(left), as_region(right)
    if first is not None and second is not None:
        if operation == "cup":
            return union([first, second])
        return intersection(first, second if operation == "cap" else complement(second))
    if operation != "cup":
        raise UnreadableError(f"{operation} of sets that are not real numbers")
    parts = [
        part for value in (left, right) for part in (value.parts if isinstance(value, Union) else (value,))
    ]
    return Union(tuple(parts))
