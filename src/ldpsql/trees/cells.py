"""Boxes to cells: one node per dimension, grouped by their levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ldpsql.boxes import Box
from ldpsql.estimate import Array
from ldpsql.trees.hierarchy import Hierarchy, Nodes


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one level combination.

    levels: one per dimension, shape (d,).  nodes: flattened row-major indices, shape (c,).
    """

    levels: tuple[int, ...]
    nodes: Nodes


def cells_of(box: Box, trees: Sequence[Hierarchy]) -> list[Cells]:
    """The cells whose records are exactly those of the box.

    Each side is covered by the fewest nodes of its tree, and the cover of the box is the product
    of the covers of its sides, so there is one entry per combination of levels that occur.
    """
    covers = [tree.cover(side) for tree, side in zip(trees, box.sides, strict=True)]
    result = []
    for combination in product(*(cover.items() for cover in covers)):
        levels = tuple(level for level, _ in combination)
        nodes = np.zeros(1, dtype=np.int64)
        for tree, (level, chosen) in zip(trees, combination, strict=True):
            nodes = (nodes[:, None] * tree.counts[level] + chosen[None, :]).ravel()
        result.append(Cells(levels, nodes))
    return result


def record_shares(levels: Sequence[int], nodes: Nodes, trees: Sequence[Hierarchy]) -> Array:
    """Which part of all records each cell of a level combination holds, shape (c,)."""
    shares = np.ones(len(nodes))
    rest = nodes
    for tree, level in reversed(list(zip(trees, levels, strict=True))):
        rest, place = np.divmod(rest, tree.counts[level])
        first = place * tree.widths[level]
        shares *= (np.minimum(first + tree.widths[level], tree.size) - first) / tree.size
    return shares


def cell_count(levels: Sequence[int], trees: Sequence[Hierarchy]) -> int:
    """How many cells a level combination has."""
    count = 1
    for tree, level in zip(trees, levels, strict=True):
        count *= tree.counts[level]
    return count
