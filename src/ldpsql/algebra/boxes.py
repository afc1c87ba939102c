"""Sets of codes, boxes, and linear queries over them.

A *code set* is a tuple of half-open intervals, sorted, disjoint and not touching. A *box* is a
product of code sets, one side per dimension, `None` where the dimension is not constrained.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Interval = tuple[int, int]
CodeSet = tuple[Interval, ...]
Side = CodeSet | None

NOTHING: CodeSet = ()


def code_set(intervals: Iterable[Interval]) -> CodeSet:
    """The union of half-open intervals in any order, as a code set.

    >>> code_set([(4, 6), (0, 2), (5, 9), (2, 3)])
    ((0, 3), (4, 9))
    """
    merged: list[Interval] = []
    for low, high in sorted(pair for pair in intervals if pair[0] < pair[1]):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def codes(members: Iterable[int]) -> CodeSet:
    """The code set of single codes: codes([3, 1, 2, 7]) is ((1, 4), (7, 8))."""
    return code_set((member, member + 1) for member in members)


def intersect(left: CodeSet, right: CodeSet) -> CodeSet:
    """Codes in both, by one sweep over the two sorted lists."""
    result: list[Interval] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low = max(left[i][0], right[j][0])
        high = min(left[i][1], right[j][1])
        if low < high:
            result.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(result)


def complement(chosen: CodeSet, size: int) -> CodeSet:
    """Codes of 0..size-1 outside the set.

    >>> complement(((1, 3),), 5)
    ((0, 1), (3, 5))
    """
    starts = [0, *(high for _, high in chosen)]
    ends = [*(low for low, _ in chosen), size]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low < high)


def cardinality(chosen: CodeSet) -> int:
    """How many codes the set holds."""
    return sum(high - low for low, high in chosen)


def codes_of(side: Side, size: int) -> CodeSet:
    """The codes of a side: all of them where it leaves its dimension free."""
    return ((0, size),) if side is None else side


@dataclass(frozen=True)
class Box:
    """A product of code sets over d dimensions; `sides[i] is None` leaves dimension i free."""

    sides: tuple[Side, ...]

    @classmethod
    def whole(cls, dimensions: int) -> Box:
        """The box that holds every record."""
        return cls((None,) * dimensions)

    @classmethod
    def of(cls, dimensions: int, sides: Mapping[int, Side]) -> Box:
        """The box that constrains some dimensions, by their index, and no others."""
        return cls(tuple(sides.get(dimension) for dimension in range(dimensions)))

    @property
    def is_empty(self) -> bool:
        """Whether no record can lie inside."""
        return NOTHING in self.sides

    @property
    def is_whole(self) -> bool:
        """Whether every record lies inside."""
        return self.sides.count(None) == len(self.sides)

    def __and__(self, other: Box) -> Box:
        """The intersection of two boxes."""
        # Most sides of wide tables are None on both; a list takes less time than a generator.
        sides = [
            left if right is None else right if left is None else intersect(left, right)
            for left, right in zip(self.sides, other.sides, strict=True)
        ]
        return Box(tuple(sides))

    def volume(self, sizes: Sequence[int]) -> int:
        """How many combinations of codes are inside, for domains of these sizes."""
        sides = zip(self.sides, sizes, strict=True)
        return math.prod(size if own is None else cardinality(own) for own, size in sides)

    def share(self, sizes: Sequence[int]) -> float:
        """The share of all combinations of codes that are inside, for domains of these sizes."""
        sides = zip(self.sides, sizes, strict=True)
        return math.prod(1.0 if own is None else cardinality(own) / size for own, size in sides)

    def normal(self, sizes: Sequence[int]) -> Box:
        """The same box with every full side written as None."""
        return Box(
            tuple(
                None if side == ((0, size),) else side
                for side, size in zip(self.sides, sizes, strict=True)
            )
        )


Terms = tuple[tuple[float, Box], ...]
"""A sum of indicators of boxes, each with its coefficient."""


def meet(left: Iterable[Box], right: Collection[Box]) -> Iterator[Box]:
    """The intersections of every two boxes that are not empty."""
    both = (a & b for a in left for b in right)
    return (box for box in both if not box.is_empty)


def multiply(left: Terms, right: Terms) -> Terms:
    """The product of two sums of boxes, without terms that are 0."""
    pairs = ((a * b, one & other) for a, one in left for b, other in right)
    return tuple((amount, box) for amount, box in pairs if amount and not box.is_empty)


@dataclass(frozen=True)
class Weight:
    """The contribution of a public column per person: its value (0 for NULL), or 1 if present."""

    column: str
    kind: Literal["value", "present"] = "value"


@dataclass(frozen=True)
class LinearQuery:
    """A sum over people of a per-person amount, restricted to disjoint boxes.

    terms: (coefficient, box) pairs; the boxes are disjoint.
    measure: index of the private measure that is summed, or None for a count.
    weight: the public column that multiplies each person's amount, or None.
    is_square: whether the measure's distance from the middle of its bounds is squared.
    """

    terms: Terms
    measure: int | None = None
    weight: Weight | None = None
    is_square: bool = False

    def __post_init__(self) -> None:
        if self.measure is not None and self.weight is not None:
            raise ValueError("a query sums a private measure or a public column, not both")

    @classmethod
    def count(cls, *boxes: Box) -> LinearQuery:
        """COUNT(*) over disjoint boxes."""
        return cls(tuple((1.0, box) for box in boxes))

    @classmethod
    def sum(cls, measure: int, *boxes: Box) -> LinearQuery:
        """SUM of a private measure over disjoint boxes."""
        return cls(tuple((1.0, box) for box in boxes), measure)
