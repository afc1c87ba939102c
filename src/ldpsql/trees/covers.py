"""How many nodes of each level cover a predicate, on average.

A node belongs to the cover of a side iff the side contains it and not its parent. So the mean
number of nodes of a level follows from how many sides of the kind contain each node; a node that
reaches into padding is contained where its codes are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ldpsql.estimate import Array
from ldpsql.trees.hierarchy import Hierarchy

Containing = Callable[[Array, Array, int], Array]


def _ranges(first: Array, end: Array, size: int) -> Array:
    return np.asarray((first + 1) * (size - end + 1) / (size * (size + 1) / 2))


def _prefixes(first: Array, end: Array, size: int) -> Array:
    return np.asarray((size - end + 1) / size)


def _single_codes(first: Array, end: Array, size: int) -> Array:
    return np.asarray((end - first == 1) / size)


_CONTAINING: Mapping[str, Containing] = {
    "range": _ranges,
    "prefix": _prefixes,
    "equality": _single_codes,
}


def average_cover(tree: Hierarchy, kind: str) -> Array:
    """Mean number of nodes per level that cover a predicate, shape (levels,).

    kind: "range" (every interval), "prefix" (every interval from 0) or "equality" (every code),
    all predicates of the kind equally likely.
    """
    chances = []
    for width, count in zip(tree.widths, tree.counts, strict=True):
        first = np.arange(count, dtype=np.float64) * width
        chances.append(_CONTAINING[kind](first, np.minimum(first + width, tree.size), tree.size))
    cover = np.array([chance.sum() for chance in chances])
    for level in range(1, len(chances)):
        parents = np.arange(tree.counts[level]) * tree.widths[level] // tree.widths[level - 1]
        cover[level] -= chances[level - 1][parents].sum()
    return cover
