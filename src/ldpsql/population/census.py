"""Intervals about those who answered, where they are the whole population.

A standard error contains that the n people who answered are a sample of a larger population. An
unbiased answer's variance is, by the law of total variance, that of its noise for the people as
they are, plus that of the sample: S = n (E[q q'] - E[q] E[q']) for linear queries q, which is what
a census leaves out. It is estimated from answers to the products of queries, which are linear
queries themselves. Reports tell no squares of measures, nor do those of levels that are drawn at
random: of a row with sums of them the part is left out that a regression on who is counted
explains, C C(q)^+ C' with C the covariance of what a person adds to the row with the q of all its
queries. That is never more than S; the rest stays in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from ldpsql.algebra.boxes import LinearQuery, multiply
from ldpsql.algebra.estimate import Array, Estimates
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.engine.sample import Estimators, Sample
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import AnyDecoder, AnyEstimator, Estimator, PlannedQuery
from ldpsql.planner.plan import Key, make_linear_queries

_MOST_QUERIES, _MOST_TERMS = 12, 256
"""Of a row, and terms of a product, beyond which the part of the sample stays in."""
_LEAST_PEOPLE = 100.0
"""Directions of q that vary by fewer people's worth explain nothing: they are mostly noise."""


@dataclass(frozen=True)
class CensusEstimator(Estimator[PlannedQuery]):
    """The answers of an estimator of a design, whose covariance lacks the part of the sample.

    linear: what the design planned, query by query.
    """

    own: AnyEstimator
    design: AnyDecoder
    people: int
    linear: Mapping[PlannedQuery, LinearQuery]

    def answer_rows(self, rows: Sequence[Sequence[PlannedQuery]]) -> list[Estimates]:
        """One joint answer per row, whose covariance is that of its noise where it can be told."""
        found = self.own.answer_rows(rows)
        if not self.people:
            return found
        planned: dict[LinearQuery, Any] = {}
        asked = [[self.linear[query] for query in row] for row in rows]
        wanted = [self._plan_products(row, planned) for row in asked]
        values = self.own.values(list(planned.values()))
        totals = dict(zip(planned, values.tolist(), strict=True))
        return [
            self._without_sample(estimates, row, own, totals)
            # What few reports leave unknown stays in, too.
            if own is not None and all(isfinite(totals[query]) for query in own)
            else estimates
            for estimates, row, own in zip(found, asked, wanted, strict=True)
        ]

    def _plan_products(
        self, row: Sequence[LinearQuery], planned: dict[LinearQuery, Any]
    ) -> list[LinearQuery] | None:
        """The `products` of a row, which join those planned; None also where the design does not
        collect them: who satisfies two conditions at once may be unknown where each is not."""
        found = products(row, self.design.domain)
        if found is None:
            return None
        try:
            planned |= {
                query: self.design.prepare(query) for query in found if query not in planned
            }
        except UnsupportedSQL:
            return None
        return found

    def values(self, queries: Sequence[PlannedQuery]) -> Array:
        """The values of the estimator."""
        return self.own.values(queries)

    def influence(self, queries: Sequence[PlannedQuery], slopes: Array) -> Array:
        """The extremes of the estimator."""
        return self.own.influence(queries, slopes)

    def _without_sample(
        self,
        estimates: Estimates,
        row: Sequence[LinearQuery],
        own: Sequence[LinearQuery],
        totals: Mapping[LinearQuery, float],
    ) -> Estimates:
        size, people = len(row), self.people
        pairs = np.triu_indices(size)
        together, counts = np.zeros((size, size)), np.array([totals[query] for query in own[:size]])
        together[pairs] = [totals[query] for query in own[size : size + len(pairs[0])]]
        together = together + np.triu(together, 1).T
        sampled = together - np.outer(counts, counts) / people
        sums = [place for place, query in enumerate(row) if _is_sum(query, self.design.domain)]
        if sums:
            rest = [totals[query] for query in own[size + len(pairs[0]) :]]
            values = np.nan_to_num(estimates.values[sums])
            shared = sampled.copy()
            shared[sums] = np.reshape(rest, (-1, size)) - np.outer(values, counts) / people
            sampled = explain(shared, sampled, own[:size])
        return replace(estimates, covariance=subtract(estimates.covariance, sampled))


def explain(shared: Array, sampled: Array, queries: Sequence[LinearQuery]) -> Array:
    """The covariance, shape (k, k), of the regression of k sums on who is counted.

    shared: of the sums (rows) with the counts of the same queries.  sampled: of these counts.
    """
    largest = [max((abs(a) for a, _ in query.terms), default=1.0) for query in queries]
    values, vectors = np.linalg.eigh(sampled / np.outer(largest, largest))
    is_used = values > _LEAST_PEOPLE
    half = (shared / largest) @ (vectors[:, is_used] / np.sqrt(values[is_used]))
    return np.asarray(half @ half.T)


def products(queries: Sequence[LinearQuery], domain: RecordDomain) -> list[LinearQuery] | None:
    """The queries to know of a row: of every query how many people it counts; of every pair, row by
    row of the upper triangle, how many the product of both does; and of every sum of a measure what
    it and the product with each query make. None where that is too much, or no linear query."""
    if len(queries) > _MOST_QUERIES or any(query.weight is not None for query in queries):
        return None
    if any(len(a.terms) * len(b.terms) > _MOST_TERMS for a in queries for b in queries):
        return None
    counts = [LinearQuery(domain.without_levels(query.terms)) for query in queries]
    pairs = [_multiply(a, b) for number, a in enumerate(counts) for b in counts[number:]]
    sums = [_multiply(a, b) for a in queries if _is_sum(a, domain) for b in counts]
    return [*counts, *pairs, *sums]


def _is_sum(query: LinearQuery, domain: RecordDomain) -> bool:
    """Whether what a person adds to it is drawn at random."""
    return query.measure is not None or domain.without_levels(query.terms) != query.terms


def _multiply(query: LinearQuery, count: LinearQuery) -> LinearQuery:
    """The query of those whom another one counts, by the product of coefficients."""
    return replace(query, terms=multiply(query.terms, count.terms))


def subtract(covariance: Array, part: Array) -> Array:
    """A covariance without a part of it, of which no more is taken than there is.

    Both are symmetric; the part is an estimate, so it is first made positive semidefinite, and then
    scaled so that the rest is, too. Unknown estimates stay unknown.
    """
    is_known = np.isfinite(np.diagonal(covariance)) & (np.diagonal(covariance) > 0.0)
    inside = np.ix_(is_known, is_known)
    if not is_known.any():
        return covariance
    own = covariance[inside]
    roots = np.sqrt(np.diagonal(own))
    # In units of standard errors: eigenvalues are then of one order whatever the sums are.
    scale = np.outer(roots, roots)
    values, vectors = np.linalg.eigh(own / scale)
    is_used = values > 1e-9 * values[-1]
    half = vectors[:, is_used] / np.sqrt(values[is_used])
    shares, directions = np.linalg.eigh(half.T @ (part[inside] / scale) @ half)
    kept = 1.0 - np.clip(shares, 0.0, 1.0)
    back = (vectors[:, is_used] * np.sqrt(values[is_used])) @ directions
    rest = covariance.copy()
    rest[inside] = (back * kept) @ back.T * scale
    return rest


class CensusEstimators(Estimators):
    """The estimators of a slice of a plan, with intervals of a census."""

    def __init__(self, own: Estimators, linear: Mapping[PlannedQuery, LinearQuery]) -> None:
        super().__init__(own.design, own.name, own.found)
        self._own, self._linear = own, linear

    def __getitem__(self, key: Key) -> CensusEstimator:
        return CensusEstimator(self._own[key], self.design, self.people(key), self._linear)

    def answer_all(self, rows: Sequence[Sequence[PlannedQuery]]) -> None:
        """None: a design knows of no products when it answers many keys together."""


def of_census(sample: Sample) -> Sample:
    """The sample with intervals about those who answered."""
    plan, estimators = sample.plan, list[Estimators]()
    for piece, planned, own in zip(plan.slices, plan.planned, sample.estimators, strict=True):
        rows = zip(planned, make_linear_queries(plan, piece), strict=True)
        linear = {each: query for row in rows for each, query in zip(*row, strict=True)}
        estimators.append(CensusEstimators(own, linear))
    return replace(sample, estimators=tuple(estimators))
