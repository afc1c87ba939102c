"""Public. Sees parameters. How many users each level combination gets.

Under consistent inference the average variance of a workload is F = sum over classes of E_l / I_l,
with E_l the workload's mean energy in class l and I_l the information that the allocation gives
it; F is convex in the allocation. The shares that minimise it (A-optimality) are found by
multiplicative updates that never raise F. Under direct inference F = sum over groups of
a_g / share_g, with a_g the workload's mean squared node weights times the variance of a node, and
the best shares are proportional to the roots of a_g. Both are computed from the whole workload,
without sampling queries. Specification: h4mda, section 10.3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from ldpsql.boxes import Box
from ldpsql.estimate import Array
from ldpsql.mechanisms.energies import Energies
from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.information import InformationTable
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.trees.cells import cells_of
from ldpsql.trees.covers import average_cover
from ldpsql.trees.hierarchy import Hierarchy
from ldpsql.workload import DeclaredQuery, QueryClass, Workload

SHARE_FOR_ALL = 0.01
_STEPS, _GAP = 3000, 1e-6

Squares = dict[tuple[int, ...], float]


def with_floor(shares: Array) -> Array:
    """The shares, one hundredth of all users spread evenly so that every group stays alive."""
    return np.asarray((1.0 - SHARE_FOR_ALL) * shares + SHARE_FOR_ALL / len(shares))


def by_roots(loads: Array) -> Array:
    """Shares that minimise sum of loads / shares, one hundredth spread evenly, shape (groups,)."""
    roots = np.sqrt(np.maximum(loads, 0.0))
    if not roots.any():
        return np.full(len(roots), 1.0 / len(roots))
    return with_floor(roots / roots.sum())


@dataclass(frozen=True)
class Allocation:
    """Shares of users under consistent inference."""

    table: GroupTable
    oracles: OracleTable
    energies: Energies

    def optimal(self) -> Array:
        """Shares of the groups that minimise the objective, one hundredth spread evenly."""
        shares = np.full(len(self.table.groups), 1.0 / len(self.table.groups))
        for _ in range(_STEPS):
            gain, objective = self.gains(shares)
            if gain.max() <= objective * (1.0 + _GAP):
                break
            shares = shares * np.sqrt(gain / objective)
            shares /= shares.sum()
        return with_floor(shares)

    def objective(self, shares: Array) -> float:
        """Mean variance per person of the workload's frequencies."""
        return self.gains(shares)[1]

    def gains(self, shares: Array) -> tuple[Array, float]:
        """-dF/dshare of every group, and F."""
        gain, objective = np.zeros(len(shares)), 0.0
        for energies, informs in self._parts:
            information = shares @ informs
            used = energies > 0.0
            ratio = np.asarray(np.where(used, energies / np.where(used, information, 1.0), 0.0))
            objective += float(ratio.sum())
            gain += informs @ np.where(used, ratio / np.where(used, information, 1.0), 0.0)
        return gain, objective

    @cached_property
    def _parts(self) -> list[tuple[Array, Array]]:
        """(energies of classes, information of a report of every group on each class), shapes (c,)
        and (groups, c); the class of all roots of a count is known."""
        counts = np.array(self.energies.counts)
        counts[(0,) * counts.ndim] = 0.0
        informs = np.zeros((len(self.table.groups), *counts.shape))
        for number in range(len(self.table.groups)):
            part = informs[number, ...]
            part[self._told.below[number]] = self._told.rates[number]
        informs = informs.reshape(len(informs), -1)
        parts = [(counts.ravel(), informs)]
        signs = np.array([-1 if g.sign is None else g.sign for g in self.table.groups])
        for measure, energies in enumerate(self.energies.contrasts):
            parts.append((energies.ravel(), informs * (signs == measure)[:, None]))
        return parts

    @cached_property
    def _told(self) -> InformationTable:
        return InformationTable(self.table, self.oracles)


@dataclass(frozen=True)
class DirectAllocation:
    """Shares of users under direct inference.

    A sum of a measure is one about the middle of its bounds, in units of half their distance, as
    in `energies`: so its two signs count as 1 and -1. A query that several frames answer counts in
    each with its answer weighted evenly, which the estimator's weights by inverse variance can
    only improve.
    """

    table: GroupTable
    oracles: OracleTable
    workload: Workload

    def optimal(self) -> Array:
        """Shares of the groups that minimise the objective, one hundredth spread evenly."""
        return by_roots(self.loads)

    def objective(self, shares: Array) -> float:
        """Mean leading variance per person of the workload's frequencies."""
        return float(np.sum(self.loads / shares))

    def gains(self, shares: Array) -> tuple[Array, float]:
        """-dF/dshare of every group, and F."""
        return self.loads / shares**2, self.objective(shares)

    @cached_property
    def loads(self) -> Array:
        """a_g of every group, shape (groups,)."""
        squares = np.zeros(len(self.table.groups))
        for entry in self.workload.classes:
            self._add(squares, class_squares(entry, self.table.trees), entry.measure, entry.weight)
        for query in self.workload.queries:
            scale = query.weight * (query.level**2 + query.contrast**2)
            self._add(squares, declared_squares(query, self.table.trees), query.measure, scale)
        variances = [self.oracles.support(n).node_variance for n in range(len(squares))]
        return np.asarray(squares * np.array(variances))

    def _add(self, into: Array, squares: Squares, measure: int | None, scale: float) -> None:
        """Spread a query's squared weights over the groups of every frame that can answer it."""
        if measure is None:
            squares = {levels: s for levels, s in squares.items() if any(levels)}
        frames = [
            found
            for frame in self.table.frames
            if (found := self._groups(frame, list(squares), measure)) is not None
        ]
        for groups in frames:
            for group, square in zip(groups, squares.values(), strict=True):
                signs = 1 if self.table.groups[group].sign is None else 2
                into[group] += scale * square * signs / len(frames) ** 2

    def _groups(
        self, frame: int, levels: Sequence[tuple[int, ...]], measure: int | None
    ) -> list[int] | None:
        found = [self.table.serving(frame, combination, measure) for combination in levels]
        groups = [group for group in found if group is not None]
        return groups if len(groups) == len(found) else None


def class_squares(entry: QueryClass, trees: Sequence[Hierarchy]) -> Squares:
    """Mean number of nodes that cover a query of the class, per level combination."""
    asked = dict(entry.predicates)
    axes = [
        average_cover(tree, asked[i]) if i in asked else np.eye(len(tree.counts))[0]
        for i, tree in enumerate(trees)
    ]
    found = (
        (levels, float(np.prod([axis[j] for axis, j in zip(axes, levels, strict=True)])))
        for levels in product(*(range(len(tree.counts)) for tree in trees))
    )
    return {levels: square for levels, square in found if square > 0.0}


def declared_squares(query: DeclaredQuery, trees: Sequence[Hierarchy]) -> Squares:
    """Sum of squared node weights of one query, per level combination."""
    weights: dict[tuple[int, ...], dict[int, float]] = {}
    for levels, node, share in _nodes(query, trees):
        found = weights.setdefault(levels, {})
        found[node] = found.get(node, 0.0) + share
    return {
        levels: float(np.sum(np.square(list(found.values())))) for levels, found in weights.items()
    }


def _nodes(
    query: DeclaredQuery, trees: Sequence[Hierarchy]
) -> Iterator[tuple[tuple[int, ...], int, float]]:
    for share, sides in query.terms:
        for cells in cells_of(Box(sides), trees):
            for node in cells.nodes.tolist():
                yield cells.levels, node, share
