"""Runs at the collector. Sees reports. Answers from adaptive grids.

Frequencies of leaves are made non-negative with sum 1 and a cut leaf counts by the share of its
codes, so answers are biased; their covariance is that of the noise and of the sampling of people,
and holds the square of the bias as the grid itself lets expect it (`settled`). With more than two
dimensions every pair has a grid: a query on one dimension is averaged over its pairs, and one on
three or more is fitted to the 2 x 2 tables of its pairs by iterative proportional fitting.
Specification: h4mda, section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from ldpsql.boxes import Box
from ldpsql.decoders.base import PlannedQuery
from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.mechanisms.ahead.settled import Settled

_CHANGE, _CYCLES, _STEP = 1e-7, 200, 1e-4


@dataclass(frozen=True, eq=False)
class GridQuery(PlannedQuery):
    """A count: what is known of it, and the (coefficient, box) terms that must be asked."""

    known: float
    terms: tuple[tuple[float, Box], ...]


@dataclass(frozen=True)
class GridEstimator:
    """Answers from the frequencies of all grids.

    axes: the dimensions of each grid.  people: whom the answers count.
    """

    axes: tuple[tuple[int, ...], ...]
    grids: tuple[Settled, ...]
    people: float

    def answer_rows(self, rows: Sequence[Sequence[GridQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def answer(self, queries: Sequence[GridQuery]) -> Estimates:
        """Values (k,), their covariance (k, k) with the expected bias; NaN, inf without reports."""
        values = np.array([query.known for query in queries], dtype=float)
        slopes = np.zeros((len(queries), len(self.frequencies)))
        cuts = np.zeros_like(slopes)
        for number, query in enumerate(queries):
            for share, box in query.terms:
                value, slope, cut = self._box(box)
                values[number] += share * value
                slopes[number] += share * slope
                cuts[number] += share * cut
        noise, drift = np.zeros((len(queries), len(queries))), np.zeros(len(queries))
        for grid, (first, last) in zip(self.grids, pairwise(self._starts), strict=True):
            noise += grid.covariance(slopes[:, first:last]) + grid.within(cuts[:, first:last])
            drift += grid.drift(slopes[:, first:last])
        noise += np.outer(drift, drift)
        untold = ~np.isfinite(np.diagonal(noise))
        values[untold] = np.nan
        noise[untold, :] = noise[:, untold] = 0.0
        noise[untold, untold] = np.inf
        return Estimates(self.people * values, self.people**2 * noise)

    def _box(self, box: Box) -> tuple[float, Array, Array]:
        """The share of people in a box, its slope in every frequency, and where it cuts leaves."""
        asked = tuple(i for i, side in enumerate(box.sides) if side is not None)
        usable = [grid for grid, axes in enumerate(self.axes) if set(asked) <= set(axes)]
        if usable:
            rows = np.array([self._row(grid, box, asked) for grid in usable])
            row = rows.mean(axis=0)
            return float(row @ self.frequencies), row, _cut(rows).mean(axis=0)
        return self._fitted(box, asked)

    @cached_property
    def frequencies(self) -> Array:
        """Of all nodes of all grids, one after the other."""
        return np.concatenate([grid.frequencies for grid in self.grids])

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *np.cumsum([len(grid.partition.nodes) for grid in self.grids]).tolist()]

    def _row(self, grid: int, box: Box, kept: Sequence[int]) -> Array:
        """Weights of all nodes for the box, constrained on the kept dimensions only."""
        row = np.zeros(self._starts[-1])
        sides = [box.sides[axis] if axis in kept else None for axis in self.axes[grid]]
        row[self._starts[grid] : self._starts[grid + 1]] = self.grids[grid].partition.cover(sides)
        return row

    def _fitted(self, box: Box, asked: tuple[int, ...]) -> tuple[float, Array, Array]:
        pairs = list(combinations(range(len(asked)), 2))
        rows = []
        for left, right in pairs:
            axes = (asked[left], asked[right])
            grid = self.axes.index(axes)
            rows += [self._row(grid, box, kept) for kept in (axes, axes[:1], axes[1:])]
        matrix = np.array(rows)
        shares = matrix @ self.frequencies

        def fit(given: Array) -> float:
            return fitted_share(len(asked), pairs, given.reshape(-1, 3))

        slopes = _slopes(fit, shares)
        return fit(shares), slopes @ matrix, slopes @ _cut(matrix)


def _cut(rows: Array) -> Array:
    """Root of u (1 - u) for the part u of a leaf's codes that a box holds; nodes inside have 1."""
    return np.sqrt(np.maximum(rows * (1.0 - rows), 0.0))


def _slopes(function: Callable[[Array], float], at: Array) -> Array:
    """By central differences."""
    steps = np.eye(len(at)) * _STEP
    return np.array([(function(at + s) - function(at - s)) / (2.0 * _STEP) for s in steps])


def fitted_share(axes: int, pairs: Sequence[tuple[int, int]], shares: Array) -> float:
    """Share inside on all axes of the table fitted to the pairs' 2 x 2 tables.

    shares: per pair the share inside on both, on the first, on the second, shape (pairs, 3).
    """
    table = np.full((2,) * axes, 0.5**axes)
    targets = []
    for both, first, second in shares:
        target = np.array([[1.0 - first - second + both, second - both], [first - both, both]])
        target = np.maximum(target, 0.0)
        targets.append(target / target.sum())
    for _ in range(_CYCLES):
        before = table
        for (left, right), target in zip(pairs, targets, strict=True):
            others = tuple(axis for axis in range(axes) if axis not in (left, right))
            now = table.sum(axis=others, keepdims=True)
            wanted = target.reshape([2 if axis in (left, right) else 1 for axis in range(axes)])
            table = table * np.divide(wanted, now, out=np.zeros_like(now), where=now > 0.0)
        if np.abs(table - before).sum() < _CHANGE:
            break
    return float(table[(1,) * axes])
