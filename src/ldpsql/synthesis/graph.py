"""Public. Sees parameters. Which columns of a synthetic table depend on each other directly.

A graph of columns with small complete parts (cliques) factors the table: one small table per
clique instead of one table of everything (Lauritzen and Spiegelhalter, 1988).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

_TRIED = 256

Pair = tuple[int, int]
Axes = tuple[int, ...]


@dataclass(frozen=True)
class JunctionTree:
    """The cliques of a triangulated graph, ascending axes each, every one after its parent.

    parents: index of each clique's parent, None for the first of a connected part.
    separators: what it shares with its parent, which is all that it shares with cliques before.
    """

    cliques: tuple[Axes, ...]
    parents: tuple[int | None, ...]
    separators: tuple[Axes, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], edges: Iterable[Pair]) -> JunctionTree:
        """The tree of a graph over axes of these sizes; it is triangulated by least fill."""
        return _tree(_cliques(sizes, edges))

    def home(self, axes: Axes) -> int:
        """A clique that holds all these axes; ValueError if none does."""
        for index, clique in enumerate(self.cliques):
            if set(axes) <= set(clique):
                return index
        raise ValueError(f"no clique holds {axes}")


def chosen(
    sizes: Sequence[int], strengths: Sequence[tuple[float, Pair]], largest: int
) -> tuple[Pair, ...]:
    """The strongest pairs whose graph has tables of at most `largest` cells together.

    strengths: (strength, pair). First those of the strongest spanning forest (Chow and Liu, 1968),
    then the others, stronger ones first; one that would make the tables too large is left out, and
    weaker ones are still tried, but not all where there are very many.
    """
    ordered = [pair for _, pair in sorted(strengths, key=lambda entry: (-entry[0], entry[1]))]
    forest = _forest(len(sizes), ordered)
    others = [pair for pair in ordered if pair not in forest]
    edges: list[Pair] = []
    for pair in [*forest, *others[:_TRIED]]:
        cells = sum(prod(sizes[a] for a in c) for c in _cliques(sizes, [*edges, pair]))
        if cells <= largest:
            edges.append(pair)
    return tuple(edges)


def _forest(axes: int, ordered: Sequence[Pair]) -> list[Pair]:
    """The pairs, taken in this order, that join parts not yet joined (Kruskal)."""
    part = list(range(axes))
    found: list[Pair] = []
    for left, right in ordered:
        one, other = part[left], part[right]
        if one != other:
            found.append((left, right))
            part = [one if place == other else place for place in part]
    return found


def _cliques(sizes: Sequence[int], edges: Iterable[Pair]) -> list[Axes]:
    """Maximal cliques of a triangulation: eliminate what needs the least fill, then space."""
    near: dict[int, set[int]] = {axis: set() for axis in range(len(sizes))}
    for left, right in edges:
        near[left].add(right)
        near[right].add(left)

    def cost(axis: int) -> tuple[int, int, int]:
        fill = sum(b not in near[a] for a, b in combinations(sorted(near[axis]), 2))
        return fill, prod(sizes[a] for a in near[axis]) * sizes[axis], axis

    costs = {axis: cost(axis) for axis in near}
    found: list[Axes] = []
    while near:
        axis = min(costs, key=lambda axis: costs[axis])
        around = near.pop(axis)
        del costs[axis]
        for other in around:
            near[other] |= around - {other}
            near[other].discard(axis)
        for other in around.union(*(near[other] for other in around)):
            costs[other] = cost(other)
        clique = tuple(sorted({axis, *around}))
        if not any(set(clique) <= set(other) for other in found):
            found.append(clique)
    return found


def _tree(cliques: list[Axes]) -> JunctionTree:
    """The spanning forest with the largest separators, by Prim's algorithm."""
    order: list[int] = []
    parents: list[int | None] = []
    separators: list[Axes] = []
    left = set(range(len(cliques)))
    while left:
        shared = [
            (len(set(cliques[new]) & set(cliques[old])), -new, -place)
            for new in left
            for place, old in enumerate(order)
        ]
        best = max(shared, default=(0, -min(left), 0))
        new, parent = (-best[1], -best[2]) if best[0] else (min(left), None)
        shared_axes = set() if parent is None else {*cliques[new]} & {*cliques[order[parent]]}
        left.remove(new)
        order.append(new)
        parents.append(parent)
        separators.append(tuple(sorted(shared_axes)))
    return JunctionTree(tuple(cliques[i] for i in order), tuple(parents), tuple(separators))
