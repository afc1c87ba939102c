"""How many users each level combination gets: A-optimal shares for a whole workload.

Under consistent inference the average variance is F = sum over classes of E_l / I_l, with E_l the
workload's mean energy in class l and I_l the information that the allocation gives it; F is convex
in the shares. Under direct inference F = sum over groups of a_g / share_g, with a_g the mean
squared node weights times the variance of a node, and the best shares are in proportion to the
roots of a_g. No queries are sampled: a class of queries has closed forms per axis (its sides are
independent, so means of products are products of means), a declared query counts with the cross
terms of its boxes. Specification: docs/spec/h4mda.md#10.1, docs/spec/h4mda.md#10.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from ldpsql.algebra.boxes import Box, Side
from ldpsql.algebra.numerics import Array, optimise_weights
from ldpsql.algebra.workload import DeclaredQuery, QueryClass, Workload
from ldpsql.estimators.groups import GroupTable, InformationTable
from ldpsql.estimators.linear import Moments
from ldpsql.estimators.trees import (
    AxisDetails,
    Levels,
    Tree,
    average_cover,
    average_energies,
    cover_box,
    product_energies,
)

SHARE_FOR_ALL = 0.01
_STEPS, _GAP = 3000, 1e-6
_TREES_KEPT, _SIDES_KEPT = 8, 1024
"""Several mechanisms have trees of the same fan-outs."""

Squares = dict[Levels, float]
"""Level combination -> sum of squared node weights."""


def keep_alive(shares: Array) -> Array:
    """The shares, one hundredth of all users spread evenly so that every group stays alive."""
    return np.asarray((1.0 - SHARE_FOR_ALL) * shares + SHARE_FOR_ALL / len(shares))


def share_by_roots(loads: Array) -> Array:
    """Shares that minimise sum of loads / shares, one hundredth spread evenly, shape (groups,)."""
    roots = np.sqrt(np.maximum(loads, 0.0))
    return keep_alive(roots / roots.sum()) if roots.any() else np.full(len(roots), 1.0 / len(roots))


# -- what a workload asks of the classes of details -----------------------------------------------


@dataclass(frozen=True)
class Energies:
    """Mean energies ||P_l q||^2 of a workload, per class of the trees' levels.

    counts: of what does not depend on a sign.  contrasts: per measure, of the difference of its
    two signs.
    """

    counts: Array
    contrasts: tuple[Array, ...]


@lru_cache(maxsize=_TREES_KEPT)
def workload_energies(workload: Workload, trees: tuple[Tree, ...]) -> Energies:
    """Mean energies of a workload.

    A sum of a measure about the middle of its bounds, in units of half their distance, has
    contrasts only.
    """
    shape = tuple(len(tree.counts) for tree in trees)
    counts, contrasts = np.zeros(shape), [np.zeros(shape) for _ in workload.domain.bounds]
    for entry in workload.classes:
        asked = dict(entry.predicates)
        axes = [
            average_energies(tree, asked[i])
            if i in asked
            else np.eye(len(tree.counts))[0] * tree.widths[0]  # not constrained: all at the root
            for i, tree in enumerate(trees)
        ]
        into = counts if entry.measure is None else contrasts[entry.measure]
        into += entry.weight * product_energies(axes)
    details = lru_cache(maxsize=_SIDES_KEPT)(AxisDetails)  # rows of a GROUP BY share most sides
    for query in workload.queries:
        energies = query.weight * declared_energies(query, trees, details)
        counts += query.level**2 * energies
        if query.measure is not None:
            contrasts[query.measure] += query.contrast**2 * energies
    return Energies(counts, tuple(contrasts))


def declared_energies(
    query: DeclaredQuery,
    trees: Sequence[Tree],
    details: Callable[[Tree, Side], AxisDetails] = AxisDetails,
) -> Array:
    """||P_l q||^2 of q = sum of coefficient x box, for every class l.

    details: of one side, which many queries may share.
    """
    if len(query.terms) == 1:
        ((share, sides),) = query.terms
        alone = [details(*pair).energies for pair in zip(trees, sides, strict=True)]
        return np.maximum(share**2 * product_energies(alone), 0.0)
    shares = np.array([share for share, _ in query.terms])
    grams = []
    for i, tree in enumerate(trees):
        axes = [details(tree, sides[i]) for _, sides in query.terms]
        norms = []
        for level, width in enumerate(tree.widths):
            means = np.array([axis.means[level] for axis in axes])
            norms.append(means @ means.T * width)
        # Inner products of the details of the terms' sides, shape (levels, terms, terms).
        grams.append(np.diff(np.array(norms), axis=0, prepend=0.0))
    energies = np.zeros(tuple(len(tree.counts) for tree in trees))
    for levels in product(*(range(size) for size in energies.shape)):
        inner = np.ones((len(shares), len(shares)))
        for gram, level in zip(grams, levels, strict=True):
            inner = inner * gram[level]
        energies[levels] = shares @ inner @ shares
    return np.maximum(energies, 0.0)


# -- shares ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConsistentAllocation:
    """Shares of users under consistent inference. moments: of each group's contributions."""

    table: GroupTable
    moments: Sequence[Moments]
    energies: Energies

    def optimal(self) -> Array:
        """Shares of the groups that minimise the objective, one hundredth spread evenly."""
        even = np.full(len(self.table.groups), 1.0 / len(self.table.groups))
        return keep_alive(optimise_weights(self.gains, even, steps=_STEPS, gap=_GAP))

    def gains(self, shares: Array) -> tuple[Array, float]:
        """-dF/dshare of every group, and F, the mean variance per person of the frequencies."""
        gain, objective = np.zeros(len(shares)), 0.0
        for energies, informs in self._parts:
            used = energies > 0.0
            information = np.where(used, shares @ informs, 1.0)
            ratio = np.where(used, energies / information, 0.0)
            objective += float(ratio.sum())
            gain += informs @ (ratio / information)
        return gain, objective

    @cached_property
    def _parts(self) -> list[tuple[Array, Array]]:
        """(energies of classes, information of a report of every group on each class), shapes (c,)
        and (groups, c); the class of all roots of a count is known."""
        information = InformationTable(self.table, self.moments)
        counts = np.array(self.energies.counts)
        counts[(0,) * counts.ndim] = 0.0
        groups, one = range(len(self.moments)), np.ones(len(self.moments))
        informs = np.array([information.total(one, [group]).ravel() for group in groups])
        signs = np.array([-1 if g.sign is None else g.sign for g in self.table.groups])
        contrasts = [
            (energies.ravel(), informs * (signs == measure)[:, None])
            for measure, energies in enumerate(self.energies.contrasts)
        ]
        return [(counts.ravel(), informs), *contrasts]


@dataclass(frozen=True)
class DirectAllocation:
    """Shares of users under direct inference.

    A sum of a measure is one about the middle of its bounds, in units of half their distance, as
    in `Energies`: so its two signs count as 1 and -1. A query that several sub-surveys answer
    counts in each with its answer weighted evenly, which the estimator's weights by inverse
    variance can only improve.
    """

    table: GroupTable
    moments: Sequence[Moments]
    workload: Workload

    def optimal(self) -> Array:
        """Shares of the groups that minimise the objective, one hundredth spread evenly."""
        return share_by_roots(self.loads)

    def gains(self, shares: Array) -> tuple[Array, float]:
        """-dF/dshare of every group, and F, the mean leading variance per person."""
        return self.loads / shares**2, float(np.sum(self.loads / shares))

    @cached_property
    def loads(self) -> Array:
        """a_g of every group, shape (groups,)."""
        squares = np.zeros(len(self.table.groups))
        for entry in self.workload.classes:
            self._add(squares, class_squares(entry, self.table.trees), entry.measure, entry.weight)
        for query in self.workload.queries:
            scale = query.weight * (query.level**2 + query.contrast**2)
            self._add(squares, declared_squares(query, self.table.trees), query.measure, scale)
        return np.asarray(squares * np.array([m.node_variance for m in self.moments]))

    def _add(self, into: Array, squares: Squares, measure: int | None, scale: float) -> None:
        """Spread a query's squared weights over the groups of every sub-survey that answers it."""
        if measure is None:
            squares = {levels: s for levels, s in squares.items() if any(levels)}
        usable = []
        for sub_survey in self.table.members:
            groups = [self.table.find_group(sub_survey, levels, measure) for levels in squares]
            numbers = [group for group in groups if group is not None]
            if len(numbers) == len(groups):
                usable.append(numbers)
        for numbers in usable:
            for group, square in zip(numbers, squares.values(), strict=True):
                signs = 1 if self.table.groups[group].sign is None else 2
                into[group] += scale * square * signs / len(usable) ** 2


def class_squares(entry: QueryClass, trees: Sequence[Tree]) -> Squares:
    """Mean number of nodes that cover a query of the class, per level combination."""
    asked = dict(entry.predicates)
    axes = [
        average_cover(tree, asked[i]) if i in asked else np.eye(len(tree.counts))[0]
        for i, tree in enumerate(trees)
    ]
    squares = product_energies(axes)
    return {tuple(map(int, at)): float(squares[tuple(at)]) for at in np.argwhere(squares > 0.0)}


def declared_squares(query: DeclaredQuery, trees: Sequence[Tree]) -> Squares:
    """Sum of squared node weights of one query, per level combination."""
    weights: dict[Levels, dict[int, float]] = {}
    for share, sides in query.terms:
        for levels, nodes in cover_box(Box(sides), trees):
            own = weights.setdefault(levels, {})
            for node in nodes.tolist():
                own[node] = own.get(node, 0.0) + share
    return {levels: float(np.sum(np.square(list(own.values())))) for levels, own in weights.items()}


Allocation = ConsistentAllocation | DirectAllocation


def make_allocation(
    table: GroupTable, moments: Sequence[Moments], workload: Workload, inference: str
) -> Allocation:
    """The allocation of an inference, "direct" or "consistent"."""
    if inference == "direct":
        return DirectAllocation(table, moments, workload)
    return ConsistentAllocation(table, moments, workload_energies(workload, table.trees))
