"""Trees over the codes of one dimension: covers of code sets, and details level by level.

Details: over the padded codes of a tree let Q_j be the averaging over the nodes of level j, and
D_0 = Q_0, D_j = Q_j - Q_{j-1}. The D_j are orthogonal projections that sum to the identity. For
several trees a *class* l takes one level of each, with projection P_l = D_{l_1} x ... x D_{l_d};
they too are orthogonal and sum to the identity. Source: docs/spec/h4mda.md#10.1; for one
tree Hay, Rastogi, Miklau, Suciu 2010.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Box, Side, codes_of
from ldpsql.algebra.numerics import Array
from ldpsql.algebra.workload import OF_LEVELS, Kind, count_levels
from ldpsql_device.errors import SurveyError

LARGEST_PADDING = 1024
Nodes = NDArray[np.int64]
Levels = tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """A mixed-radix tree: level 0 is the root, level j has nodes of widths[j] codes.

    fanouts: children per node, from the root down; their product, the padded size, is at least
    `size`. Without any there is no hierarchy: one level, whose nodes are the codes themselves.
    Source: H4MDA, section 3; the specification of levels is that of HIO (Wang et al. 2019).
    """

    size: int
    fanouts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.size < 1 or any(fanout < 2 for fanout in self.fanouts):
            raise SurveyError("a tree needs at least one code and fan-outs of at least 2")
        if self.fanouts and not self.size <= self.padded < LARGEST_PADDING * self.size:
            raise SurveyError(f"the fan-outs do not fit {self.size} codes")

    @property
    def padded(self) -> int:
        """Codes of a complete tree with these fan-outs."""
        return math.prod(self.fanouts) if self.fanouts else self.size

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Codes per node, from the root down to 1."""
        levels = range(len(self.fanouts) + 1)
        return tuple(math.prod(self.fanouts[level:]) for level in levels)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Nodes per level that hold at least one code."""
        return tuple(-(-self.size // width) for width in self.widths)

    def cover(self, side: Side) -> dict[int, Nodes]:
        """Level -> nodes: the fewest nodes whose codes are exactly those of the side.

        An interval that ends at the last code may use padding.
        """
        if side is None:
            return {0: np.arange(self.counts[0])}
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
        start, stop = low, (self.padded if high == self.size else high)
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

    def indicate(self, side: Side) -> Array:
        """1 for the padded codes inside; padding is inside where the side holds the last code."""
        steps = np.zeros(self.padded + 1)
        for low, high in codes_of(side, self.size):
            steps[low] += 1.0
            steps[self.padded if high == self.size else high] -= 1.0
        return np.cumsum(steps)[:-1]


def balance(size: int, fanout: int) -> Tree:
    """The tree of least height with fan-outs of at most `fanout`, then of least padding.

    Among the multisets of 2..fanout that reach `size` in the least number of levels it takes the
    smallest product, then the smallest sum, and puts larger fan-outs nearer the root.

    >>> balance(74, 5).fanouts, balance(17, 4).fanouts
    ((5, 5, 3), (3, 3, 2))
    """
    height = _height(size, fanout)
    if height <= 1:
        return Tree(size, (size,) * height)
    choices = combinations_with_replacement(range(fanout, 1, -1), height)
    reaching = (choice for choice in choices if math.prod(choice) >= size)
    return Tree(size, min(reaching, key=lambda choice: (math.prod(choice), sum(choice))))


def pad(size: int, fanout: int) -> Tree:
    """The tree with the same fan-out everywhere, of least height; its last nodes hold few codes.

    >>> pad(125, 4).counts, pad(125, 6).counts, pad(125, 7).counts
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


def cover_box(box: Box, trees: Sequence[Tree]) -> Iterator[tuple[Levels, Nodes]]:
    """The cells whose records are exactly those of the box: levels, and flattened nodes (c,).

    Each side is covered by the fewest nodes of its tree, and the cover of the box is the product
    of the covers of its sides, so there is one entry per combination of levels that occur.
    """
    covers = [tree.cover(side) for tree, side in zip(trees, box.sides, strict=True)]
    for combination in product(*(cover.items() for cover in covers)):
        nodes = np.zeros(1, dtype=np.int64)
        for tree, (level, chosen) in zip(trees, combination, strict=True):
            nodes = (nodes[:, None] * tree.counts[level] + chosen[None, :]).ravel()
        yield tuple(level for level, _ in combination), nodes


# -- details ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AxisDetails:
    """The details of the indicator of one side of a box (`Tree.indicate`), in one tree."""

    tree: Tree
    side: Side

    @cached_property
    def means(self) -> tuple[Array, ...]:
        """By level the mean of the indicator over each node, padding nodes included."""
        return average_nodes(self.tree, self.tree.indicate(self.side))

    @cached_property
    def sums(self) -> tuple[Array, ...]:
        """By level j the sum of every detail up to j over the level's nodes, shape (j + 1, counts);
        every group of trees asks for them anew."""
        widths, sums = self.tree.widths, []
        for level, (width, count) in enumerate(zip(widths, self.tree.counts, strict=True)):
            # Means of the levels above as seen from the nodes of this one.
            spread = [
                np.repeat(self.means[above], widths[above] // width)[:count]
                for above in range(level + 1)
            ]
            sums.append(np.diff(np.array(spread), axis=0, prepend=0.0) * width)
        return tuple(sums)

    @cached_property
    def energies(self) -> Array:
        """Squared norms of the details over all padded codes, shape (levels,)."""
        return detail_energies(self.tree, self.means)


def average_nodes(tree: Tree, leaves: Array) -> tuple[Array, ...]:
    """By level the mean of amounts of all padded codes over each node."""
    return tuple(leaves.reshape(-1, width).mean(axis=1) for width in tree.widths)


def detail_energies(tree: Tree, means: Sequence[Array]) -> Array:
    """Squared norms of the details of amounts with these means, shape (levels,)."""
    norms = [np.sum(m**2) * w for w, m in zip(tree.widths, means, strict=True)]  # of all up to l
    return np.diff(norms, prepend=0.0)


def product_energies(axes: Sequence[Array]) -> Array:
    """||P_l q||^2 of a product query for every class l, shape (levels of axis 1, ...)."""
    return reduce(np.multiply.outer, axes, np.ones(()))


# -- averages over all predicates of a kind --------------------------------------------------------
#
# kind: "range" (every interval), "prefix" (every interval from 0) or "equality" (every code), all
# predicates of the kind equally likely.


def _weigh_ends(kind: str, size: int) -> tuple[Array, Array]:
    """Per code i how many ranges or prefixes start at or before it, and which part of them all
    that end at or after it make up: so codes i <= j are inside with chance left_i x right_j."""
    codes = np.arange(size, dtype=np.float64)
    if kind == "range":
        return codes + 1.0, (size - codes) / (size * (size + 1) / 2)
    return np.ones(size), (size - codes) / size


def average_cover(tree: Tree, kind: Kind) -> Array:
    """Mean number of nodes per level that cover a predicate, shape (levels,).

    A node belongs to the cover iff the predicate holds its codes and not its parent's. Of the
    levels of a measure every code is a node, and counts by the square of its amount.
    """
    if kind in OF_LEVELS:
        cover = np.zeros(len(tree.counts))
        cover[-1] = np.sum(count_levels(kind, tree.size) ** 2)
        return cover
    left, right = _weigh_ends(kind, tree.size)
    chances = []
    for width, count in zip(tree.widths, tree.counts, strict=True):
        first = np.arange(count) * width
        last = np.minimum(first + width, tree.size) - 1
        chances.append(
            (first == last) / tree.size if kind == "equality" else left[first] * right[last]
        )
    cover = np.array([chance.sum() for chance in chances])
    for level in range(1, len(chances)):
        parents = np.arange(tree.counts[level]) * tree.widths[level] // tree.widths[level - 1]
        cover[level] -= chances[level - 1][parents].sum()  # covered by the parent
    return cover


def average_energies(tree: Tree, kind: Kind) -> Array:
    """Mean of `AxisDetails.energies` over the predicates, shape (levels,).

    The norm of a level is the sum over its nodes of (codes inside)^2 / width, hence of the chances
    of all pairs of a node's codes to be inside together; padding is inside with the last code.
    """
    codes = np.minimum(np.arange(tree.padded), tree.size - 1)
    if kind in OF_LEVELS:
        return detail_energies(tree, average_nodes(tree, count_levels(kind, tree.size)[codes]))
    norms = []
    for width in tree.widths:
        nodes = codes.reshape(-1, width)
        if kind == "equality":
            last = np.sum(nodes == tree.size - 1, axis=1)
            pairs = np.sum(width - last + last**2) / tree.size
        else:
            left, right = (ends[nodes] for ends in _weigh_ends(kind, tree.size))
            # The pair i < j counts twice, a code with itself once.
            pairs = np.sum((2.0 * np.cumsum(left, axis=1) - left) * right)
        norms.append(pairs / width)
    return np.diff(norms, prepend=0.0)
