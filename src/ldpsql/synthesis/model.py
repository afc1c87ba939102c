"""The table of greatest entropy with given small tables, over a graph of columns.

A graph of columns with small complete parts (cliques) factors the table: one small table per
clique instead of one table of everything (Lauritzen and Spiegelhalter, 1988). The joint table is
the product of the clique tables over that of the separators, and iterative proportional fitting of
one clique at a time, walking along a tree of them, is fitting the joint table (Jirousek and
Preucil, 1995). Where the columns make one clique, this is fitting the full table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np

from ldpsql.algebra.numerics import Array, fit_marginals
from ldpsql.synthesis.columns import Integers, StratifiedSampler

_TRIED = 256
_SWEEPS = 60
_TOLERANCE = 1e-7

Pair = tuple[int, int]
Axes = tuple[int, ...]
Cells = Mapping[int, Integers]


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
        """The tree of a graph over axes of these sizes; it is triangulated by least fill.

        Any spanning forest of the cliques with the largest separators is a junction tree; this one
        is Prim's.
        """
        left, placed = _triangulate(sizes, edges), list[Axes]()
        parents: list[int | None] = []
        separators: list[Axes] = []

        def shared(new: Axes, parent: int) -> Axes:
            return tuple(axis for axis in new if axis in placed[parent])

        while left:
            # The first clique and parent with the largest separator; without one a part begins.
            clique, parent = max(
                product(left, range(len(placed))),
                key=lambda link: len(shared(*link)),
                default=(left[0], None),
            )
            if parent is not None and not shared(clique, parent):
                clique, parent = left[0], None
            parents.append(parent)
            separators.append(() if parent is None else shared(clique, parent))
            left.remove(clique)
            placed.append(clique)
        return cls(tuple(placed), tuple(parents), tuple(separators))

    def home(self, axes: Axes) -> int:
        """A clique that holds all these axes; ValueError if none does."""
        for index, clique in enumerate(self.cliques):
            if set(axes) <= set(clique):
                return index
        raise ValueError(f"no clique holds {axes}")


def choose_pairs(
    sizes: Sequence[int], strengths: Mapping[Pair, float], largest: int
) -> tuple[Pair, ...]:
    """The strongest pairs whose graph has tables of at most `largest` cells together.

    First those of the strongest spanning forest (Chow and Liu, 1968),
    then the others, stronger ones first; one that would make the tables too large is left out, and
    weaker ones are still tried, but not all where there are very many.
    """
    ordered = sorted(strengths, key=lambda pair: (-strengths[pair], pair))
    part = list(range(len(sizes)))  # Kruskal: the number of the part that each axis is joined to
    forest: list[Pair] = []
    for left, right in ordered:
        one, other = part[left], part[right]
        if one != other:
            forest.append((left, right))
            part = [one if place == other else place for place in part]
    others = [pair for pair in ordered if pair not in forest]
    edges: list[Pair] = []
    for pair in [*forest, *others[:_TRIED]]:
        cliques = _triangulate(sizes, [*edges, pair])
        if sum(prod(sizes[axis] for axis in clique) for clique in cliques) <= largest:
            edges.append(pair)
    return tuple(edges)


def _triangulate(sizes: Sequence[int], edges: Iterable[Pair]) -> list[Axes]:
    """Maximal cliques of a triangulation: eliminate what needs the least fill, then space."""
    near: dict[int, set[int]] = {axis: set() for axis in range(len(sizes))}
    for left, right in edges:
        near[left].add(right)
        near[right].add(left)

    def cost(axis: int) -> tuple[int, int, int]:
        fill = sum(b not in near[a] for a, b in combinations(sorted(near[axis]), 2))
        return fill, prod(sizes[a] for a in near[axis]) * sizes[axis], axis

    costs = {axis: cost(axis) for axis in near}
    cliques: list[Axes] = []
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
        if not any(set(clique) <= set(other) for other in cliques):
            cliques.append(clique)
    return cliques


@dataclass(frozen=True)
class Model:
    """A distribution over cells: clique tables that agree on what they share.

    sizes: cells per axis.  beliefs: one table of probabilities per clique, axes ascending.
    misfit: the largest difference between a given table and the model's, at the end of fitting.
    """

    sizes: tuple[int, ...]
    tree: JunctionTree
    beliefs: tuple[Array, ...]
    misfit: float = 0.0

    def table(self, axes: Axes) -> Array:
        """The distribution of axes that lie in one clique, in ascending order."""
        home = self.tree.home(axes)
        return _marginal(self.beliefs[home], self.tree.cliques[home], axes)

    def draw(self, count: int, random: np.random.Generator) -> dict[int, Integers]:
        """Cells of `count` people, axis by axis: clique after clique, given what is known."""
        cells: dict[int, Integers] = {}
        for clique, separator, sampler in zip(
            self.tree.cliques, self.tree.separators, self._samplers, strict=True
        ):
            row = np.zeros(count, dtype=np.int64)
            for axis in separator:
                row = row * self.sizes[axis] + cells[axis]
            new = [axis for axis in clique if axis not in separator]
            shape = [self.sizes[axis] for axis in new]
            column = sampler.draw(row, random) % prod(shape)
            cells.update(zip(new, np.unravel_index(column, shape), strict=True))
        return cells

    @cached_property
    def _samplers(self) -> list[StratifiedSampler]:
        """Per clique, cells of its new axes given the cell of its separator."""
        samplers = []
        for belief, clique, separator in zip(
            self.beliefs, self.tree.cliques, self.tree.separators, strict=True
        ):
            known = [clique.index(axis) for axis in separator]
            new = [place for place in range(len(clique)) if place not in known]
            rows = prod(belief.shape[place] for place in known)
            weights = belief.transpose([*known, *new]).reshape(rows, -1)
            stratum = np.repeat(np.arange(rows), weights.shape[1])
            samplers.append(StratifiedSampler(stratum, weights.ravel(), rows))
        return samplers

    def chances(self, axis: int, cells: Cells) -> Array:
        """Probability of cell 1 of an axis, given that it is this or cell 0 and the cells of all
        other axes."""
        odds = np.zeros(len(next(iter(cells.values()))))
        for clique, separator, belief in zip(
            self.tree.cliques, self.tree.separators, self.beliefs, strict=True
        ):
            if axis in clique:
                odds += _log_odds(belief, clique, axis, cells)
            if axis in separator:
                odds -= _log_odds(_marginal(belief, clique, separator), separator, axis, cells)
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0))))


def fit_model(sizes: Sequence[int], tree: JunctionTree, tables: Mapping[Axes, Array]) -> Model:
    """The model of greatest entropy with these tables, each over axes of one clique.

    Tables that cannot all hold at once end in a compromise; `Model.misfit` says how far it is.
    """
    shapes = [tuple(sizes[axis] for axis in clique) for clique in tree.cliques]
    beliefs = [np.full(shape, 1.0 / prod(shape)) for shape in shapes]
    given: list[list[tuple[Axes, Array]]] = [[] for _ in beliefs]
    for axes, table in tables.items():
        given[tree.home(axes)].append((axes, table))
    children: list[list[int]] = [[] for _ in beliefs]
    roots: list[int] = []
    for index, parent in enumerate(tree.parents):
        (roots if parent is None else children[parent]).append(index)

    def impose(index: int, axes: Axes, table: Array) -> None:
        """Scale a clique's table to have this marginal."""
        places = tuple(tree.cliques[index].index(axis) for axis in axes)
        beliefs[index] = fit_marginals(beliefs[index], [(places, table)], cycles=1)

    def carry(source: int, target: int, separator: Axes) -> None:
        """Move the focus: only the clique in focus is a marginal of the joint table."""
        impose(target, separator, _marginal(beliefs[source], tree.cliques[source], separator))

    def sweep(index: int) -> float:
        """Fit every clique under one once, carrying the focus down and back up again."""
        misfit = 0.0
        for axes, table in given[index]:
            now = _marginal(beliefs[index], tree.cliques[index], axes)
            misfit = max(misfit, float(np.abs(now - table).max()))
            impose(index, axes, table)
        beliefs[index] = beliefs[index] / beliefs[index].sum()
        for child in children[index]:
            carry(index, child, tree.separators[child])
            misfit = max(misfit, sweep(child))
            carry(child, index, tree.separators[child])
        return misfit

    misfit = 0.0
    for _ in range(_SWEEPS):
        misfit = max(map(sweep, roots), default=0.0)
        if misfit < _TOLERANCE:
            break
    # Parents come before their children, so one pass makes all cliques agree.
    for child, parent in enumerate(tree.parents):
        if parent is not None:
            carry(parent, child, tree.separators[child])
    return Model(tuple(sizes), tree, tuple(beliefs), misfit)


def _marginal(table: Array, clique: Axes, axes: Axes) -> Array:
    """The marginal of a clique's table over some of its axes."""
    others = tuple(place for place, axis in enumerate(clique) if axis not in axes)
    return np.asarray(table.sum(axis=others))


def _log_odds(table: Array, axes: Axes, axis: int, cells: Cells) -> Array:
    """log of table[.., 1, ..] / table[.., 0, ..] at the other cells of every person."""
    logs = np.log(np.maximum(np.moveaxis(table, axes.index(axis), 0), 1e-300))
    others = tuple(cells[other] for other in axes if other != axis)
    return np.asarray((logs[1] - logs[0])[others])
