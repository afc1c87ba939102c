"""The detail basis of trees: what each level adds to the one above.

Over the padded codes of a tree let Q_j be the averaging over the nodes of level j, and
D_0 = Q_0, D_j = Q_j - Q_{j-1}. The D_j are orthogonal projections that sum to the identity. For
several trees a *class* l takes one level of each, with projection P_l = D_{l_1} x ... x D_{l_d};
they too are orthogonal and sum to the identity. Source: docs/spec/h4mda.md#10.1; for one
tree Hay, Rastogi, Miklau, Suciu 2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.boxes import Side
from ldpsql.estimate import Array
from ldpsql.trees.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class AxisDetails:
    """The details of the indicator of one side of a box, in one tree.

    means[j]: mean of the indicator over each node of level j, padding nodes included.
    counts[j]: how many of these nodes hold a code. Padding counts as covered where the side is
    free or ends at the last code, as in `Hierarchy.cover`.
    """

    widths: tuple[int, ...]
    counts: tuple[int, ...]
    means: tuple[Array, ...]

    @classmethod
    def of(cls, tree: Hierarchy, side: Side) -> AxisDetails:
        """From a code set; None stands for all codes."""
        padded = tree.widths[0]
        steps = np.zeros(padded + 1)
        for low, high in ((0, padded),) if side is None else side:
            steps[low] += 1.0
            steps[padded if high == tree.size else high] -= 1.0
        leaves = np.cumsum(steps)[:padded]
        means = tuple(leaves.reshape(-1, width).mean(axis=1) for width in tree.widths)
        return cls(tree.widths, tree.counts, means)

    @property
    def whole(self) -> float:
        """Mean of the indicator over all padded codes."""
        return float(self.means[0][0])

    def sums(self, level: int) -> Array:
        """Sum of every detail up to a level over its nodes, shape (level + 1, counts[level])."""
        return self._sums[level]

    @cached_property
    def _sums(self) -> tuple[Array, ...]:
        """By level; every group of trees asks for them anew."""
        return tuple(self._sums_at(level) for level in range(len(self.widths)))

    def _sums_at(self, level: int) -> Array:
        spread = np.array([self._spread(source, level) for source in range(level + 1)])
        return np.diff(spread, axis=0, prepend=0.0) * self.widths[level]

    def _spread(self, source: int, level: int) -> Array:
        """Means of a level as seen from the nodes of a finer one."""
        ratio = self.widths[source] // self.widths[level]
        return np.repeat(self.means[source], ratio)[: self.counts[level]]

    @cached_property
    def energies(self) -> Array:
        """Squared norms of the details over all padded codes, shape (levels,)."""
        norms = [
            float(np.sum(means**2)) * width
            for width, means in zip(self.widths, self.means, strict=True)
        ]
        return np.diff(norms, prepend=0.0)


def average_range_energies(tree: Hierarchy) -> Array:
    """Mean of `AxisDetails.energies` over all size (size + 1) / 2 intervals, shape (levels,).

    Intervals that end at the last code cover the padding too, so they are added up on their own;
    the others are all intervals of one code less.
    """
    norms = [
        (_inner_squares(tree.size - 1, width) + _tail_squares(tree, width).sum()) / width
        for width in tree.widths
    ]
    return np.diff(norms, prepend=0.0) / (tree.size * (tree.size + 1) / 2)


def average_prefix_energies(tree: Hierarchy) -> Array:
    """As `average_range_energies`, over the intervals from 0 to each code, shape (levels,)."""
    norms = []
    for width in tree.widths:
        ends = np.arange(1, tree.size, dtype=np.float64)
        squares = np.floor(ends / width) * width**2 + (ends % width) ** 2
        norms.append((float(squares.sum()) + tree.widths[0] * width) / width)
    return np.diff(norms, prepend=0.0) / tree.size


def average_equality_energies(tree: Hierarchy) -> Array:
    """As `average_range_energies`, over the single codes, shape (levels,)."""
    norms = [
        (tree.size - 1 + float(_tail_squares(tree, width)[-1])) / width for width in tree.widths
    ]
    return np.diff(norms, prepend=0.0) / tree.size


def _inner_squares(size: int, width: int) -> float:
    """Sum over all intervals of `size` codes of sum over nodes of (codes covered)^2.

    Node by node from how many intervals cover c of its codes.
    """
    total = 0.0
    for first in range(0, size, width):
        end = min(first + width, size)
        inside, before, after = end - first, first, size - end
        partial = np.arange(1, inside, dtype=np.float64)
        # Intervals that cover c < inside codes: from one end, from the other, or strictly within.
        one_sided = float(np.sum(partial**2)) * (before + after)
        within = float(np.sum(partial**2 * (inside - partial + 1)))
        total += one_sided + within + float(inside**2) * (before + 1) * (after + 1)
    return total


def _tail_squares(tree: Hierarchy, width: int) -> Array:
    """Per first code, sum over nodes of (codes covered)^2 up to the end of the padding."""
    covered = tree.widths[0] - np.arange(tree.size, dtype=np.float64)
    return np.asarray(np.floor(covered / width) * width**2 + (covered % width) ** 2)


def product_energies(axes: Sequence[Array]) -> Array:
    """||P_l q||^2 of a product query for every class l, shape (levels of axis 1, ...)."""
    result = np.ones(())
    for energies in axes:
        result = np.multiply.outer(result, energies)
    return result
