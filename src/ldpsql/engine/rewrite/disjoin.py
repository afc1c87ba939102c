"""The second pass: overlapping boxes to disjoint ones, as few as is easy.

A set of records is cut along one dimension after the other: codes behind which the same set of
the remaining dimensions lies stay together. The result depends on the set alone, not on how it
was written. Every box adds noise of its own, so the order of dimensions that needs the fewest is
taken, and boxes that differ in one side only are merged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, permutations

from ldpsql.boxes import Box, CodeSet, Interval, Side, code_set, complement
from ldpsql.engine.plan import QueryPlan, Slice
from ldpsql.errors import UnsupportedSQL
from ldpsql.record_domain import RecordDomain

MAX_BOXES = 20_000
_MAX_STEPS = 2_000_000
_REORDERED_BOXES = 40
_REORDERED_DIMENSIONS = 3

_Sides = tuple[Side, ...]


def disjoin(plan: QueryPlan) -> QueryPlan:
    """The plan with the boxes of every slice disjoint, in an order that does not depend on how
    the question was put.

    UnsupportedSQL where that takes more than MAX_BOXES boxes.
    """
    sizes = RecordDomain.of(plan.survey.schema).sizes
    pieces = tuple(Slice(piece.condition, disjoint(piece.boxes, sizes)) for piece in plan.slices)
    return replace(plan, slices=pieces)


def disjoint(boxes: Sequence[Box], sizes: Sequence[int]) -> tuple[Box, ...]:
    """Disjoint boxes that hold the same records; full sides are written as None.

    UnsupportedSQL where that takes more than MAX_BOXES boxes.
    """
    pieces = cut(boxes, sizes)
    used = _used(pieces)
    if len(pieces) <= _REORDERED_BOXES and 1 < len(used) <= _REORDERED_DIMENSIONS:
        orders = list(permutations(used))[1:]
        pieces = min([pieces, *(_along(pieces, order, sizes) for order in orders)], key=_cost)
    return tuple(sorted(pieces, key=lambda box: _rank(box.sides)))


def cut(boxes: Sequence[Box], sizes: Sequence[int]) -> list[Box]:
    """Disjoint boxes like `disjoint`, but not necessarily the fewest: quicker."""
    normal = [box.normal(sizes) for box in boxes if not box.is_empty]
    return normal if len(normal) < 2 else _along(normal, _used(normal), sizes)


def outside(boxes: Sequence[Box], sizes: Sequence[int]) -> list[Box]:
    """Disjoint boxes that hold all other records; full sides are written as None."""
    normal = [box.normal(sizes) for box in boxes if not box.is_empty]
    used = _used(normal)
    cutter = _Cutter([sizes[i] for i in used])
    return _spread(cutter.rest([_pick(box, used) for box in normal], 0), used, sizes)


def _used(boxes: Sequence[Box]) -> list[int]:
    """The dimensions that some box constrains."""
    return [
        i for i, sides in enumerate(zip(*(box.sides for box in boxes), strict=True)) if any(sides)
    ]


def _along(boxes: Sequence[Box], order: Sequence[int], sizes: Sequence[int]) -> list[Box]:
    """Disjoint boxes, cutting along the dimensions in the given order."""
    cutter = _Cutter([sizes[i] for i in order])
    pieces = cutter.cut([_pick(box, order) for box in boxes], 0)
    return _merge(_spread(pieces, order, sizes), order, sizes)


def _pick(box: Box, order: Sequence[int]) -> _Sides:
    return tuple(box.sides[i] for i in order)


def _spread(pieces: Iterable[_Sides], order: Sequence[int], sizes: Sequence[int]) -> list[Box]:
    """Sides along some dimensions as boxes over all of them."""
    spread = []
    for piece in pieces:
        sides: list[Side] = [None] * len(sizes)
        for i, side in zip(order, piece, strict=True):
            sides[i] = side
        spread.append(Box(tuple(sides)))
    return spread


class _Cutter:
    """Cuts sets of records along dimensions of the given sizes, counting its steps."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.steps = 0

    def cut(self, boxes: list[_Sides], at: int) -> tuple[_Sides, ...]:
        """Disjoint boxes over the dimensions from `at` on, one tuple of sides each."""
        free = (None,) * (len(self.sizes) - at)
        if len(boxes) < 2:
            return tuple(boxes)
        if free in boxes:
            return (free,)
        if len(free) == 1:
            return ((self._side(_union(boxes), at),),)
        return self._pieces(boxes, at, self.cut)

    def rest(self, boxes: list[_Sides], at: int) -> tuple[_Sides, ...]:
        """Disjoint boxes over the dimensions from `at` on that hold what the boxes leave out."""
        free = (None,) * (len(self.sizes) - at)
        if not boxes:
            return (free,)
        if free in boxes:
            return ()
        if len(free) == 1:
            side = complement(_union(boxes), self.sizes[at])
            return ((self._side(side, at),),) if side else ()
        return self._pieces(boxes, at, self.rest)

    def _pieces(
        self,
        boxes: list[_Sides],
        at: int,
        behind: Callable[[list[_Sides], int], tuple[_Sides, ...]],
    ) -> tuple[_Sides, ...]:
        """Cut at one dimension; `behind` says what lies behind each of its stretches."""
        by_tails: dict[tuple[_Sides, ...], list[Interval]] = {}
        for intervals, members in self._segments(boxes, at):
            tails = list(dict.fromkeys(boxes[member][1:] for member in members))
            by_tails.setdefault(behind(tails, at + 1), []).extend(intervals)
        pieces = [
            (self._side(code_set(intervals), at), *tail)
            for tails, intervals in by_tails.items()
            for tail in tails
        ]
        if len(pieces) > MAX_BOXES:
            raise too_many_boxes()
        return tuple(sorted(pieces, key=_rank))

    def _segments(
        self, boxes: list[_Sides], at: int
    ) -> list[tuple[list[Interval], tuple[int, ...]]]:
        """Stretches of codes that lie in the same boxes, and which boxes those are."""
        size = self.sizes[at]
        everywhere: CodeSet = ((0, size),)
        ends = {0, size}
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
        for position, inside in enumerate(members):
            stretch = (cuts[position], cuts[position + 1])
            together.setdefault(tuple(inside), []).append(stretch)
        return [(intervals, inside) for inside, intervals in together.items()]

    def _side(self, codes: CodeSet, at: int) -> Side:
        return None if codes == ((0, self.sizes[at]),) else codes


def too_many_boxes() -> UnsupportedSQL:
    """The error for a condition that falls apart into too many boxes."""
    return UnsupportedSQL(
        f"the condition falls apart into more than {MAX_BOXES} boxes",
        hint="use ranges instead of long lists, or ask in several queries",
    )


def _merge(boxes: list[Box], order: Sequence[int], sizes: Sequence[int]) -> list[Box]:
    """Boxes that differ in one side only as one box, until there are none."""
    before = -1
    while len(boxes) != before:
        before = len(boxes)
        for i in order:
            groups: dict[_Sides, list[Side]] = {}
            for box in boxes:
                key = (*box.sides[:i], *box.sides[i + 1 :])
                groups.setdefault(key, []).append(box.sides[i])
            if len(groups) < len(boxes):
                boxes = [
                    Box((*key[:i], _join_sides(sides, sizes[i]), *key[i:]))
                    for key, sides in groups.items()
                ]
    return boxes


def _join_sides(sides: list[Side], size: int) -> Side:
    if None in sides:
        return None
    codes = code_set(chain.from_iterable(side or () for side in sides))
    return None if codes == ((0, size),) else codes


def _union(boxes: list[_Sides]) -> CodeSet:
    """The union of boxes of one dimension, none of them free."""
    return code_set(chain.from_iterable(box[0] or () for box in boxes))


def _cost(boxes: list[Box]) -> tuple[int, int]:
    return len(boxes), sum(len(side) for box in boxes for side in box.sides if side is not None)


def _rank(sides: _Sides) -> tuple[CodeSet, ...]:
    """Sorts boxes by their codes, dimension by dimension; a free side comes first."""
    return tuple(() if side is None else side for side in sides)
