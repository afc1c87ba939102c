"""Trees over the codes of one dimension, and covers of code sets.

Both classes offer the same three things: how many nodes each level has, how wide they are, and
the fewest nodes that cover a code set exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ldpsql.boxes import Side
from ldpsql_device.errors import SurveyError

LARGEST_PADDING = 1024
Nodes = NDArray[np.int64]
Cover = dict[int, Nodes]


class Hierarchy(Protocol):
    """Levels of nodes over the codes 0..size-1; every level partitions them."""

    @property
    def size(self) -> int:
        """Number of codes."""
        ...

    @property
    def widths(self) -> tuple[int, ...]:
        """Codes per node, level by level from the root."""
        ...

    @property
    def counts(self) -> tuple[int, ...]:
        """Nodes per level; nodes beyond the last code are left out."""
        ...

    def cover(self, side: Side) -> Cover:
        """Level -> nodes: the fewest nodes whose codes are exactly those of the side."""
        ...


@dataclass(frozen=True)
class Tree:
    """A mixed-radix tree: level 0 is the root, level j has nodes of widths[j] codes.

    fanouts: children per node, from the root down; their product, the padded size, is at least
    `size`. Empty for a dimension with a single code. Source: H4MDA, section 3; the specification
    of levels is that of HIO (Wang et al. 2019).
    """

    size: int
    fanouts: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.size < 1 or any(fanout < 2 for fanout in self.fanouts):
            raise SurveyError("a tree needs at least one code and fan-outs of at least 2")
        if not self.size <= math.prod(self.fanouts) < LARGEST_PADDING * self.size:
            raise SurveyError(f"the fan-outs do not fit {self.size} codes")

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Codes per node, from the root (the padded size) down to 1."""
        padded = math.prod(self.fanouts)
        return tuple(
            padded // math.prod(self.fanouts[:level]) for level in range(len(self.fanouts) + 1)
        )

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Nodes per level that hold at least one code."""
        return tuple(-(-self.size // width) for width in self.widths)

    def cover(self, side: Side) -> Cover:
        """See `Hierarchy.cover`; an interval that ends at the last code may use padding."""
        if side is None:
            return {0: np.zeros(1, dtype=np.int64)}
        pieces: dict[int, list[Nodes]] = {}
        for low, high in side:
            for level, start, stop in self._runs(low, high):
                pieces.setdefault(level, []).append(np.arange(start, stop))
        return {level: np.concatenate(runs) for level, runs in sorted(pieces.items())}

    def _runs(self, low: int, high: int) -> list[tuple[int, int, int]]:
        """(level, first node, one past the last) for one interval, climbing from the leaves.

        At each level the nodes that do not fill up a parent stay; the rest climb.
        """
        runs: list[tuple[int, int, int]] = []
        start, stop = low, (self.widths[0] if high == self.size else high)
        for level in range(len(self.fanouts), 0, -1):
            fanout = self.fanouts[level - 1]
            up, down = -(-start // fanout), stop // fanout
            if up >= down:
                runs.append((level, start, stop))
                break
            runs += [(level, start, up * fanout), (level, down * fanout, stop)]
            start, stop = up, down
        else:
            runs.append((0, start, stop))
        clipped = ((level, a, min(b, self.counts[level])) for level, a, b in runs)
        return [run for run in clipped if run[1] < run[2]]


@dataclass(frozen=True)
class Leaves:
    """No hierarchy: one level, whose nodes are the codes themselves."""

    size: int

    @property
    def widths(self) -> tuple[int, ...]:
        """One code per node."""
        return (1,)

    @property
    def counts(self) -> tuple[int, ...]:
        """As many nodes as codes."""
        return (self.size,)

    def cover(self, side: Side) -> Cover:
        """See `Hierarchy.cover`: all codes of the side."""
        intervals = ((0, self.size),) if side is None else side
        members = [np.arange(low, high, dtype=np.int64) for low, high in intervals]
        return {0: np.concatenate(members)} if members else {}


def balanced(size: int, fanout: int) -> Tree:
    """The tree of least height with fan-outs of at most `fanout`, then of least padding.

    Among the multisets of 2..fanout that reach `size` in the least number of levels it takes the
    smallest product, then the smallest sum, and puts larger fan-outs nearer the root.

    >>> balanced(74, 5).fanouts, balanced(17, 4).fanouts
    ((5, 5, 3), (3, 3, 2))
    """
    height = _height(size, fanout)
    if height == 0:
        return Tree(size, ())
    if height == 1:
        return Tree(size, (max(size, 2),))
    best = min(
        (
            choice
            for choice in combinations_with_replacement(range(fanout, 1, -1), height)
            if math.prod(choice) >= size
        ),
        key=lambda choice: (math.prod(choice), sum(choice)),
    )
    return Tree(size, best)


def padded(size: int, fanout: int) -> Tree:
    """The tree with the same fan-out everywhere, of least height; its last nodes hold few codes.

    >>> padded(125, 4).counts, padded(125, 6).counts, padded(125, 7).counts
    ((1, 2, 8, 32, 125), (1, 4, 21, 125), (1, 3, 18, 125))
    """
    return Tree(size, (fanout,) * _height(size, fanout))


def _height(size: int, fanout: int) -> int:
    """The least number of levels below the root. SurveyError for an impossible fan-out."""
    if not 2 <= fanout <= 1024:
        raise SurveyError(f"fanout must lie between 2 and 1024, not {fanout}")
    height = 0
    while fanout**height < size:
        height += 1
    return height
