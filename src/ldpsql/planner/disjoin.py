"""Overlapping boxes to disjoint ones, as few as is easy.

A set of records is cut along one dimension after the other: codes behind which the same set of
the remaining dimensions lies stay together. The result depends on the set alone, not on how it
was written. Every box adds noise of its own, so the order of dimensions that needs the fewest is
taken, and boxes that differ in one side only are merged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise, permutations

from ldpsql.algebra.boxes import Box, CodeSet, Interval, Side, code_set, complement
from ldpsql.errors import UnsupportedSQL

MAX_BOXES = 20_000
_MAX_STEPS = 2_000_000
_REORDERED_BOXES = 40
_REORDERED_DIMENSIONS = 3

_Sides = tuple[Side, ...]


def disjoint(boxes: Sequence[Box], sizes: Sequence[int]) -> tuple[Box, ...]:
    """Disjoint boxes that hold the same records; full sides are written as None.

    UnsupportedSQL where that takes more than MAX_BOXES boxes.
    """
    pieces = cut(boxes, sizes)
    used = _find_used(pieces)
    if len(pieces) <= _REORDERED_BOXES and 1 < len(used) <= _REORDERED_DIMENSIONS:
        orders = list(permutations(used))[1:]
        pieces = min([pieces, *(_along(pieces, order, sizes) for order in orders)], key=_cost)
    return tuple(sorted(pieces, key=lambda box: _rank(box.sides)))


def cut(boxes: Sequence[Box], sizes: Sequence[int]) -> list[Box]:
    """Disjoint boxes like `disjoint`, but not necessarily the fewest: quicker."""
    normal = [box.normal(sizes) for box in boxes if not box.is_empty]
    return normal if len(normal) < 2 else _along(normal, _find_used(normal), sizes)


def outside(boxes: Sequence[Box], sizes: Sequence[int]) -> list[Box]:
    """Disjoint boxes that hold all other records; full sides are written as None."""
    normal = [box.normal(sizes) for box in boxes if not box.is_empty]
    return _cut_along(normal, _find_used(normal), sizes, inside=False)


def find_needed_sides(boxes: Sequence[Box], sizes: Sequence[int]) -> list[set[CodeSet]]:
    """Per dimension the sets of codes behind which different records lie, none where the same lie
    behind all: what must be told apart to tell who is in some boxes. UnsupportedSQL as for
    `disjoint`."""
    normal = [box.normal(sizes) for box in boxes if not box.is_empty]
    used, found = _find_used(normal), [set[CodeSet]() for _ in sizes]
    for i in used:
        order = [i, *(other for other in used if other != i)]
        pieces = _cut_along(normal, order, sizes, inside=True)
        found[i].update(side for box in pieces if (side := box.sides[i]) is not None)
    return found


def _find_used(boxes: Sequence[Box]) -> list[int]:
    """The dimensions that some box constrains."""
    return [
        i for i, sides in enumerate(zip(*(box.sides for box in boxes), strict=True)) if any(sides)
    ]


def _along(boxes: Sequence[Box], order: Sequence[int], sizes: Sequence[int]) -> list[Box]:
    """Disjoint boxes, cut along dimensions in the given order; those that differ in one side only
    are merged, until there are none."""
    pieces = _cut_along(boxes, order, sizes, inside=True)
    before = -1
    while len(pieces) != before:
        before = len(pieces)
        for i in order:
            groups: dict[_Sides, list[Side]] = {}
            for box in pieces:
                groups.setdefault((*box.sides[:i], *box.sides[i + 1 :]), []).append(box.sides[i])
            if len(groups) < len(pieces):
                pieces = [
                    Box((*key[:i], _union(sides, sizes[i]), *key[i:]))
                    for key, sides in groups.items()
                ]
    return pieces


def _cut_along(
    boxes: Sequence[Box], order: Sequence[int], sizes: Sequence[int], *, inside: bool
) -> list[Box]:
    """Disjoint boxes of the records inside, or outside, of some boxes."""
    cutter = _Cutter([sizes[i] for i in order], inside)
    pieces = []
    for piece in cutter.pieces([tuple(box.sides[i] for i in order) for box in boxes], 0):
        pieces.append(Box.of(len(sizes), dict(zip(order, piece, strict=True))))
    return pieces


class _Cutter:
    """Cuts sets of records along dimensions of the given sizes, counting its steps."""

    def __init__(self, sizes: Sequence[int], inside: bool) -> None:
        self.sizes = sizes
        self.inside = inside
        self.steps = 0

    def pieces(self, boxes: list[_Sides], at: int) -> tuple[_Sides, ...]:
        """Disjoint boxes over the dimensions from `at` on, one tuple of sides each."""
        free = (None,) * (len(self.sizes) - at)
        if not boxes or free in boxes:
            return (free,) if bool(boxes) == self.inside else ()
        if len(boxes) == 1 and self.inside:
            return tuple(boxes)
        if len(free) == 1:
            union = code_set(chain.from_iterable(box[0] or () for box in boxes))
            chosen = union if self.inside else complement(union, self.sizes[at])
            return ((_union([chosen], self.sizes[at]),),) if chosen else ()
        by_tails: dict[tuple[_Sides, ...], list[Interval]] = {}
        for intervals, members in self._segments(boxes, at):
            tails = list(dict.fromkeys(boxes[member][1:] for member in members))
            by_tails.setdefault(self.pieces(tails, at + 1), []).extend(intervals)
        found = [
            (_union([tuple(intervals)], self.sizes[at]), *tail)
            for tails, intervals in by_tails.items()
            for tail in tails
        ]
        if len(found) > MAX_BOXES:
            raise too_many_boxes()
        return tuple(sorted(found, key=_rank))

    def _segments(
        self, boxes: list[_Sides], at: int
    ) -> Iterable[tuple[list[Interval], tuple[int, ...]]]:
        """Stretches of codes that lie in the same boxes, and which boxes those are."""
        everywhere: CodeSet = ((0, self.sizes[at]),)
        ends = {0, self.sizes[at]}
        for box in boxes:
            ends.update(chain.from_iterable(box[0] or ()))
        cuts = sorted(ends)
        members: list[list[int]] = [[] for _ in cuts[1:]]
        for index, box in enumerate(boxes):
            for low, high in box[0] if box[0] is not None else everywhere:
                first, last = bisect_left(cuts, low), bisect_left(cuts, high)
                self.steps += last - first
                if self.steps > _MAX_STEPS:
                    raise too_many_boxes()
                for segment in range(first, last):
                    members[segment].append(index)
        together: dict[tuple[int, ...], list[Interval]] = {}
        for stretch, inside in zip(pairwise(cuts), members, strict=True):
            together.setdefault(tuple(inside), []).append(stretch)
        return ((intervals, inside) for inside, intervals in together.items())


def too_many_boxes() -> UnsupportedSQL:
    """The error for a condition that falls apart into too many boxes."""
    return UnsupportedSQL(
        f"the condition falls apart into more than {MAX_BOXES} boxes",
        hint="use ranges instead of long lists, or ask in several queries",
    )


def _union(sides: Sequence[Side], size: int) -> Side:
    """The union of sides; a full one is None."""
    if None in sides:
        return None
    codes = code_set(chain.from_iterable(side or () for side in sides))
    return None if codes == ((0, size),) else codes


def _cost(boxes: list[Box]) -> tuple[int, int]:
    return len(boxes), sum(len(side) for box in boxes for side in box.sides if side is not None)


def _rank(sides: _Sides) -> tuple[CodeSet, ...]:
    """Sorts boxes by their codes, dimension by dimension; a free side comes first."""
    return tuple(() if side is None else side for side in sides)
