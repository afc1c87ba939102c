"""Runs at the collector. Sees reports. Conjunctions that were not collected, by maximum entropy.

Of a box on m attributes the marginals tell how many people are inside on some sets of them. Among
all tables of inside and outside, 2 x ... x 2, that agree with that, the one of most entropy is
taken: it adds no interaction that nothing was collected about. Iterative proportional fitting
finds it. Sources: Zhang et al. (CALM), CCS 2018; Deming and Stephan 1940; specification shuffle,
section 3.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.mechanisms.cell_query import CellQuery
from ldpsql.mechanisms.marginals.estimator import Fit, FittedQuery, MarginalEstimator

BIAS = (
    "a conjunction that was not collected is fitted to its parts that were, as if there were no "
    "other interaction between the attributes, and the error bar holds the noise of the parts only"
)
_CHANGE, _CYCLES, _STEP = 1e-9, 300, 1e-4

Subset = tuple[int, ...]


@dataclass(frozen=True)
class MaxEntEstimator:
    """Fits what was not collected; the rest is answered as by the unbiased estimator."""

    collected: MarginalEstimator

    def answer_rows(self, rows: Sequence[Sequence[CellQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def answer(self, queries: Sequence[CellQuery]) -> Estimates:
        """Values (k,) and covariance (k, k): that of the parts, carried over by the slopes of the
        fit. NaN and inf where a needed marginal has no reports."""
        parts = [part for query in queries for part in _parts(query)]
        told = self.collected.answer(parts)
        people = self.collected.frequencies.people
        values, slopes = np.zeros(len(queries)), np.zeros((len(queries), len(parts)))
        start = 0
        for number, query in enumerate(queries):
            own = slice(start, start + len(_parts(query)))
            start = own.stop
            value, slope = _answered(query, told.values[own], people)
            values[number], slopes[number, own] = value, slope
        untold = ~np.isfinite(np.diagonal(told.covariance))
        lost = (slopes[:, untold] != 0.0).any(axis=1) | ~np.isfinite(values)
        slopes[:, untold] = 0.0
        noise = np.where(untold[:, None] | untold[None, :], 0.0, told.covariance)
        covariance = slopes @ noise @ slopes.T
        values[lost], covariance[lost, lost] = np.nan, np.inf
        return Estimates(values, covariance)


def _parts(query: CellQuery) -> list[CellQuery]:
    """What is asked of the marginals for a query."""
    if not isinstance(query, FittedQuery):
        return [query]
    return [part for fit in query.fits for part in fit.queries]


def _answered(query: CellQuery, told: Array, people: float) -> tuple[float, Array]:
    """The value of a query, and its slope in every part."""
    if not isinstance(query, FittedQuery):
        return float(told[0]), np.ones(1)
    value, slopes, start = query.known * people, np.zeros(len(told)), 0
    for fit in query.fits:
        own = slice(start, start + len(fit.queries))
        start = own.stop
        if np.isfinite(told[own]).all():
            share, slope = _fitted(fit, told[own] / people)
            value += fit.coefficient * people * share
            slopes[own] = fit.coefficient * slope
        else:
            value = np.nan
    return float(value), slopes


def _fitted(fit: Fit, shares: Array) -> tuple[float, Array]:
    """The share of people in a box, and its slope in the shares of its parts."""
    if len(fit.subsets[0]) == fit.attributes:
        return float(shares[0]), np.ones(1)

    def share(given: Array) -> float:
        return fitted_share(fit.attributes, fit.subsets, given)

    steps = np.eye(len(shares)) * _STEP
    slopes = [(share(shares + s) - share(shares - s)) / (2.0 * _STEP) for s in steps]
    return share(shares), np.array(slopes)


def fitted_share(attributes: int, subsets: Sequence[Subset], shares: Array) -> float:
    """The share inside on all attributes of the fitted table.

    shares: inside on the attributes of each subset, whatever the others are, shape (subsets,).
    Every part of a subset is a subset too. Tables that noise has made negative are cut off at 0.
    """
    known = {(): 1.0, **dict(zip(subsets, shares.tolist(), strict=True))}
    largest = [s for s in subsets if not any(set(s) < set(other) for other in subsets)]
    targets = [(s, _table(attributes, s, known)) for s in largest]
    table = np.full((2,) * attributes, 0.5**attributes)
    for _ in range(_CYCLES):
        before = table
        for subset, target in targets:
            others = tuple(axis for axis in range(attributes) if axis not in subset)
            now = table.sum(axis=others, keepdims=True)
            table = table * np.divide(target, now, out=np.zeros_like(now), where=now > 0.0)
        if np.abs(table - before).sum() < _CHANGE:
            break
    return float(table[(1,) * attributes])


def _table(attributes: int, subset: Subset, known: dict[Subset, float]) -> Array:
    """The table of inside (1) and outside (0) on a subset, by inclusion and exclusion."""
    table = np.zeros((2,) * len(subset))
    for cell in product((0, 1), repeat=len(subset)):
        inside = [axis for axis, bit in zip(subset, cell, strict=True) if bit]
        outside = [axis for axis, bit in zip(subset, cell, strict=True) if not bit]
        for chosen in product((False, True), repeat=len(outside)):
            added = [axis for axis, used in zip(outside, chosen, strict=True) if used]
            table[cell] += (-1) ** len(added) * known[tuple(sorted(inside + added))]
    table = np.maximum(table, 0.0)
    shape = [2 if axis in subset else 1 for axis in range(attributes)]
    return np.asarray(table / table.sum()).reshape(shape)
