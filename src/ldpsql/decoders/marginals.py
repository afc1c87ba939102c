"""Answers from marginals, and conjunctions that were not collected, by maximum entropy.

Of a box on m attributes the marginals tell how many people are inside on some sets of them. Among
all tables of inside and outside, 2 x ... x 2, that agree with that, the one of most entropy is
taken: it adds no interaction that nothing was collected about. Iterative proportional fitting
finds it. Sources: Zhang et al. (CALM), CCS 2018; docs/spec/shuffle.md#3.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ldpsql.decoders.linear import (
    CellQuery,
    Codes,
    EvenSource,
    GroupCells,
    LinearEstimator,
    Moments,
    Source,
)
from ldpsql.decoders.nodes import Answer, OracleSource
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.numerics import central_slopes, fit_marginals
from ldpsql.report import Pair

BIAS = (
    "a conjunction that was not collected is fitted to its parts that were, as if there were no "
    "other interaction between the attributes, and the error bar holds the noise of the parts only"
)

Subset = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Fit:
    """One box, times a coefficient, as what is known of it.

    attributes: how many the box constrains.  subsets: of these, by their place, those that were
    collected together.  queries: the people inside the box on the attributes of each subset.
    """

    coefficient: float
    attributes: int
    subsets: tuple[Subset, ...]
    queries: tuple[CellQuery, ...]


@dataclass(frozen=True, eq=False)
class FittedQuery(CellQuery):
    """A query that no marginals answer, and what they tell of it.

    refusal: what to say where that is not wanted.
    """

    fits: tuple[Fit, ...]
    refusal: UnsupportedSQL


@dataclass(kw_only=True)
class MarginalSource(OracleSource):
    """Cells of marginals from reported oracles, weighed for people spread evenly."""

    def spread(self, cells: GroupCells) -> float:
        """See `spread_evenly`."""
        return spread_evenly(self, cells, self.answers)


@dataclass(frozen=True)
class EvenMarginals(EvenSource):
    """Everybody spread evenly over the cells of each marginal.

    answers: how each group answers.  shares: of people at each node of each group.
    """

    answers: Sequence[Answer]
    shares: Sequence[Array]

    def moments(self, group: int) -> Moments:
        """Those of the group's oracle."""
        return self.answers[group].oracle.moments

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """The share of people at each node."""
        return self.shares[group][nodes]

    def spread(self, cells: GroupCells) -> float:
        """See `spread_evenly`."""
        return spread_evenly(self, cells, self.answers)


def spread_evenly(source: Source, cells: GroupCells, answers: Sequence[Answer]) -> float:
    """Predicted variance, per person, of a group's part of an answer, for people spread evenly.

    Alternatives are weighted by it. Unlike the leading term of `Source.spread` it holds who was
    asked, which is most of the error where budgets are large. With w the weights of N nodes,
    E[Y^2] = same sum w^2 + every (sum w)^2 + 2 cross (sum w)^2 / N + own sum w^2 / N and
    E[Y] = sum w / N.
    """
    size = source.size(cells.group)
    if not size:
        return float(np.inf)
    nodes, moments = answers[cells.group].oracle.size, source.moments(cells.group)
    total, squares = float(cells.weights.sum()), float(np.sum(cells.weights**2))
    second = (moments.same + moments.own / nodes) * squares
    second += (moments.every + 2.0 * moments.cross / nodes) * total**2
    return (second - (total / nodes) ** 2) / size


@dataclass(frozen=True)
class UnbiasedEstimator(LinearEstimator):
    """Of what was collected; UnsupportedSQL for what can only be fitted."""

    def answer_rows(self, rows: Sequence[Sequence[CellQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        for row in rows:
            for query in row:
                if isinstance(query, FittedQuery):
                    raise query.refusal
        return super().answer_rows(rows)


@dataclass(frozen=True)
class MaxEntEstimator:
    """Fits what was not collected; the rest is answered as by the unbiased estimator."""

    collected: LinearEstimator

    def answer_rows(self, rows: Sequence[Sequence[CellQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def answer(self, queries: Sequence[CellQuery]) -> Estimates:
        """Values (k,) and covariance (k, k): that of the parts, carried over by the slopes of the
        fit. NaN and inf where a needed marginal has no reports."""
        asked = [_parts_of(query) for query in queries]
        collected = self.collected.answer([part for parts in asked for part in parts])
        people = self.collected.source.people
        values, slopes = np.zeros(len(queries)), np.zeros((len(queries), len(collected)))
        start = 0
        for number, (query, parts) in enumerate(zip(queries, asked, strict=True)):
            own = slice(start, start + len(parts))
            start = own.stop
            values[number], slopes[number, own] = _answer(query, collected.values[own], people)
        is_unknown = ~np.isfinite(np.diagonal(collected.covariance))
        is_lost = (slopes[:, is_unknown] != 0.0).any(axis=1) | ~np.isfinite(values)
        slopes[:, is_unknown] = 0.0
        noise = np.where(is_unknown[:, None] | is_unknown[None, :], 0.0, collected.covariance)
        covariance = slopes @ noise @ slopes.T
        values[is_lost], covariance[is_lost, is_lost] = np.nan, np.inf
        return Estimates(values, covariance)


def _parts_of(query: CellQuery) -> list[CellQuery]:
    """What is asked of the marginals for a query."""
    if not isinstance(query, FittedQuery):
        return [query]
    return [part for fit in query.fits for part in fit.queries]


def _answer(query: CellQuery, parts: Array, people: float) -> tuple[float, Array]:
    """The value of a query from those of its parts, and its slope in every part."""
    if not isinstance(query, FittedQuery):
        return float(parts[0]), np.ones(1)
    value, slopes, start = query.known * people, np.zeros(len(parts)), 0
    for fit in query.fits:
        own = slice(start, start + len(fit.queries))
        start = own.stop
        if np.isfinite(parts[own]).all():
            share, slope = _fit(fit, parts[own] / people)
            value += fit.coefficient * people * share
            slopes[own] = fit.coefficient * slope
        else:
            value = np.nan
    return float(value), slopes


def _fit(fit: Fit, shares: Array) -> tuple[float, Array]:
    """The share of people in a box, and its slope in the shares of its parts."""
    if len(fit.subsets[0]) == fit.attributes:
        return float(shares[0]), np.ones(1)

    def share(given: Array) -> float:
        return fit_share(fit.attributes, fit.subsets, given)

    return share(shares), central_slopes(share, shares)


def fit_share(attributes: int, subsets: Sequence[Subset], shares: Array) -> float:
    """The share inside on all attributes of the fitted table.

    shares: inside on the attributes of each subset, whatever the others are, shape (subsets,).
    Every part of a subset is a subset too. Tables that noise has made negative are cut off at 0.
    """
    known = {(): 1.0, **dict(zip(subsets, shares.tolist(), strict=True))}
    largest = [s for s in subsets if not any(set(s) < set(other) for other in subsets)]
    even = np.full((2,) * attributes, 0.5**attributes)
    aims = [(subset, _two_way(subset, known)) for subset in largest]
    table = fit_marginals(even, aims)
    return float(table[(1,) * attributes])


def _two_way(subset: Subset, known: dict[Subset, float]) -> Array:
    """The table of inside (1) and outside (0) on a subset, by inclusion and exclusion."""
    table = np.zeros((2,) * len(subset))
    for cell in product((0, 1), repeat=len(subset)):
        inside = [axis for axis, bit in zip(subset, cell, strict=True) if bit]
        outside = [axis for axis, bit in zip(subset, cell, strict=True) if not bit]
        for chosen in product((False, True), repeat=len(outside)):
            added = [axis for axis, used in zip(outside, chosen, strict=True) if used]
            table[cell] += (-1) ** len(added) * known[tuple(sorted(inside + added))]
    table = np.maximum(table, 0.0)
    return np.asarray(table / table.sum())
