"""Public. Sees parameters. The table of greatest entropy with given small tables.

Iterative proportional fitting (Deming and Stephan, 1940) over a junction tree: the joint table is
the product of the clique tables over that of the separators, and fitting one clique at a time,
walking along the tree, is fitting the joint table (Jirousek and Preucil, 1995). Where the columns
make one clique, this is fitting the full table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.synthesis.graph import Axes, JunctionTree

Integers = NDArray[np.int64]
Cells = Mapping[int, Integers]

_SWEEPS = 60
_SETTLED = 1e-7


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
        return margin(self.beliefs[home], self.tree.cliques[home], axes)

    def draw(self, count: int, random: np.random.Generator) -> dict[int, Integers]:
        """Cells of `count` people, axis by axis: clique after clique, given what is known."""
        found: dict[int, Integers] = {}
        for sampler in self._samplers:
            found.update(sampler.draw(found, count, random))
        return found

    @cached_property
    def _samplers(self) -> tuple[_Sampler, ...]:
        tree = self.tree
        return tuple(
            _Sampler.of(belief, clique, separator)
            for belief, clique, separator in zip(
                self.beliefs, tree.cliques, tree.separators, strict=True
            )
        )

    def chances(self, axis: int, cells: Cells) -> Array:
        """Probability of cell 1 of an axis of two cells, given the cells of all other axes."""
        odds = np.zeros(len(next(iter(cells.values()))))
        for clique, separator, belief in zip(
            self.tree.cliques, self.tree.separators, self.beliefs, strict=True
        ):
            if axis in clique:
                odds += _log_odds(belief, clique, axis, cells)
            if axis in separator:
                odds -= _log_odds(margin(belief, clique, separator), separator, axis, cells)
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0))))


def fitted(sizes: Sequence[int], tree: JunctionTree, tables: Mapping[Axes, Array]) -> Model:
    """The model of greatest entropy with these tables, each over axes of one clique.

    Tables that cannot all hold at once end in a compromise; `Model.misfit` says how far it is.
    """
    state = _State.even(sizes, tree)
    for axes, table in tables.items():
        state.tables[tree.home(axes)].append((axes, table))
    misfit = 0.0
    for _ in range(_SWEEPS):
        misfit = max((state.sweep(root) for root in state.roots), default=0.0)
        if misfit < _SETTLED:
            break
    for root in state.roots:
        state.spread(root)
    return Model(tuple(sizes), tree, tuple(state.beliefs), misfit)


@dataclass
class _State:
    """Clique tables while they are fitted; the one in focus is a margin of the joint table."""

    tree: JunctionTree
    beliefs: list[Array]
    separators: list[Array]
    tables: list[list[tuple[Axes, Array]]] = field(default_factory=list)

    @classmethod
    def even(cls, sizes: Sequence[int], tree: JunctionTree) -> _State:
        def uniform(axes: Axes) -> Array:
            shape = tuple(sizes[a] for a in axes)
            return np.full(shape, 1.0 / float(np.prod(shape)))

        beliefs = [uniform(clique) for clique in tree.cliques]
        return cls(tree, beliefs, [uniform(s) for s in tree.separators], [[] for _ in beliefs])

    @property
    def roots(self) -> list[int]:
        return [index for index, parent in enumerate(self.tree.parents) if parent is None]

    def children(self, index: int) -> Iterator[int]:
        return (child for child, parent in enumerate(self.tree.parents) if parent == index)

    def sweep(self, root: int) -> float:
        """Fit every clique under a root once, carrying the focus down and back up again."""
        misfit = self._fit(root)
        for child in self.children(root):
            self._carry(root, child, child)
            misfit = max(misfit, self.sweep(child))
            self._carry(child, root, child)
        return misfit

    def spread(self, root: int) -> None:
        """Tell every clique under a root what the root knows."""
        for child in self.children(root):
            self._carry(root, child, child)
            self.spread(child)

    def _fit(self, index: int) -> float:
        misfit, belief, clique = 0.0, self.beliefs[index], self.tree.cliques[index]
        for axes, table in self.tables[index]:
            now = margin(belief, clique, axes)
            misfit = max(misfit, float(np.abs(now - table).max()))
            belief = belief * _aligned(_ratio(table, now), axes, clique)
        self.beliefs[index] = belief / belief.sum()
        return misfit

    def _carry(self, source: int, target: int, link: int) -> None:
        """Move the focus over the separator between a clique and its parent."""
        axes, cliques = self.tree.separators[link], self.tree.cliques
        now = margin(self.beliefs[source], cliques[source], axes)
        change = _aligned(_ratio(now, self.separators[link]), axes, cliques[target])
        self.beliefs[target] = self.beliefs[target] * change
        self.separators[link] = now


@dataclass(frozen=True)
class _Sampler:
    """Draws the cells of a clique given those of its separator.

    cumulative: of the table with the separator's axes first, flat, with a 0 before it.
    """

    known: Axes
    known_sizes: tuple[int, ...]
    new: Axes
    new_sizes: tuple[int, ...]
    cumulative: Array

    @classmethod
    def of(cls, belief: Array, clique: Axes, separator: Axes) -> _Sampler:
        new = tuple(axis for axis in clique if axis not in separator)
        places = [clique.index(axis) for axis in (*separator, *new)]
        turned = belief.transpose(places)
        shape = turned.shape
        cumulative = np.concatenate([[0.0], np.cumsum(turned.ravel())])
        known = len(separator)
        return cls(separator, shape[:known], new, shape[known:], cumulative)

    def draw(
        self, found: Cells, count: int, random: np.random.Generator
    ) -> dict[int, NDArray[np.int64]]:
        block = int(np.prod(self.new_sizes))
        row = np.zeros(count, dtype=np.int64)
        for axis, size in zip(self.known, self.known_sizes, strict=True):
            row = row * size + found[axis]
        first = row * block
        low, high = self.cumulative[first], self.cumulative[first + block]
        at = low + random.random(count) * (high - low)
        cell = np.searchsorted(self.cumulative, at, side="right") - 1
        inside = np.clip(cell, first, first + block - 1) - first
        cells = np.unravel_index(inside, self.new_sizes)
        return dict(zip(self.new, (part.astype(np.int64) for part in cells), strict=True))


def margin(table: Array, clique: Axes, axes: Axes) -> Array:
    """The margin of a clique's table over some of its axes."""
    others = tuple(place for place, axis in enumerate(clique) if axis not in axes)
    return np.asarray(table.sum(axis=others))


def _aligned(table: Array, axes: Axes, clique: Axes) -> Array:
    """A table of some axes, shaped to multiply that of a clique."""
    sizes = dict(zip(axes, table.shape, strict=True))
    return table.reshape([sizes.get(axis, 1) for axis in clique])


def _ratio(wanted: Array, now: Array) -> Array:
    return np.where(now > 0, wanted / np.where(now > 0, now, 1.0), 0.0)


def _log_odds(table: Array, axes: Axes, axis: int, cells: Cells) -> Array:
    """log of table[.., 1, ..] / table[.., 0, ..] at the other cells of every person."""
    turned = np.moveaxis(table, axes.index(axis), 0)
    logs = np.log(np.maximum(turned, 1e-300))
    others = tuple(cells[other] for other in axes if other != axis)
    return np.asarray((logs[1] - logs[0])[others])
