"""Intervals about those who answered, where they are the whole population.

A standard error contains that the n people who answered are a sample of a larger population. An
unbiased answer's variance is, by the law of total variance, that of its noise for the people as
they are, plus that of the sample: S = n (E[q q'] - E[q] E[q']) for linear queries q, which is what
a census leaves out. It is estimated from answers to the products of queries, which are linear
queries themselves. Reports tell no squares of measures: of a row with sums of them the part is left
out that a regression on who is counted explains, C C(q)^+ C' with C the covariance of what a person
adds to the row with the q of all its queries. That is never more than S; the rest stays in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from ldpsql.algebra.boxes import LinearQuery, multiply
from ldpsql.algebra.estimate import Array, Estimates
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import (
    AnyDecoder,
    AnyDesign,
    AnyEstimator,
    Bias,
    Design,
    Estimator,
    Estimators,
    PlannedQuery,
)
from ldpsql.mechanisms.rounds import Rounds
from ldpsql.reports.report import Histogram
from ldpsql.survey import Survey
from ldpsql.wording.guarantees import StatedGuarantee

_MOST_QUERIES, _MOST_TERMS = 12, 256
"""Of a row, and terms of a product, beyond which the part of the sample stays in."""
_LEAST_PEOPLE = 100.0
"""Directions of q that vary by fewer people's worth explain nothing: they are mostly noise."""


@dataclass(frozen=True, eq=False)
class CensusQuery(PlannedQuery):
    """A linear query beside its design's form of it."""

    linear: LinearQuery
    planned: PlannedQuery


class CensusDesign(Design[CensusQuery]):
    """A design whose estimators speak of the people who answered, and of nobody else."""

    def __init__(self, design: AnyDesign) -> None:
        self._own = design
        self.name, self.domain, self.epsilon = design.name, design.domain, design.epsilon

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    @property
    def guarantee(self) -> StatedGuarantee:
        """That of the design."""
        return self._own.guarantee

    @property
    def biases(self) -> Mapping[str, Bias]:
        """Those of the design."""

        def of(bias: Bias) -> Bias:
            return Bias(bias.text, lambda planned: bias.hides(planned.planned))

        return {name: of(bias) for name, bias in self._own.biases.items()}

    def prepare(self, query: LinearQuery) -> CensusQuery:
        """The design's form of the query, beside the query."""
        return CensusQuery(query, self._own.prepare(query))

    def describe(self, planned: CensusQuery) -> list[str]:
        """As the design."""
        return self._own.describe(planned.planned)

    @property
    def estimators(self) -> Estimators[CensusQuery]:
        """Those of the design, with intervals of a census."""

        def of(make: Callable[[Histogram], AnyEstimator]) -> Callable[[Histogram], CensusEstimator]:
            return lambda histogram: CensusEstimator(make(histogram), self._own, histogram.people)

        return {name: of(make) for name, make in self._own.estimators.items()}

    def variance(self, queries: Sequence[CensusQuery], people: int) -> Array:
        """As of a sample: a prediction knows of no people."""
        return self._own.variance([query.planned for query in queries], people)

    def influence(self, queries: Sequence[CensusQuery], slopes: Array, people: int) -> Array:
        """As of the design."""
        return self._own.influence([query.planned for query in queries], slopes, people)

    def to_json(self) -> Mapping[str, Any]:
        """That of the design, which it stands for."""
        return self._own.to_json()


class CensusRound(CensusDesign, Rounds):
    """A round of a design that asks in rounds."""

    def __init__(self, design: AnyDesign, rounds: Rounds) -> None:
        """rounds: the same design."""
        super().__init__(design)
        self._rounds = rounds

    @property
    def round(self) -> int:
        """Number of this round, from 1."""
        return self._rounds.round

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return self._rounds.rounds

    @property
    def earlier(self) -> int:
        """People who answered the rounds before."""
        return self._rounds.earlier

    def design_next(self, histogram: Histogram) -> AnyDesign:
        """That of the design, of no census."""
        return self._rounds.design_next(histogram)


@dataclass(frozen=True)
class CensusEstimator(Estimator[CensusQuery]):
    """The answers of an estimator of a design, whose covariance lacks the part of the sample."""

    own: AnyEstimator
    design: AnyDecoder
    people: int

    def answer_rows(self, rows: Sequence[Sequence[CensusQuery]]) -> list[Estimates]:
        """One joint answer per row, whose covariance is that of its noise where it can be told."""
        found = self.own.answer_rows([[query.planned for query in row] for row in rows])
        if not self.people:
            return found
        planned: dict[LinearQuery, Any] = {}
        wanted = [self._plan_products(row, planned) for row in rows]
        values = self.own.values(list(planned.values()))
        totals = dict(zip(planned, values.tolist(), strict=True))
        return [
            self._without_sample(estimates, row, own, totals)
            # What few reports leave unknown stays in, too.
            if own is not None and all(isfinite(totals[query]) for query in own)
            else estimates
            for estimates, row, own in zip(found, rows, wanted, strict=True)
        ]

    def _plan_products(
        self, row: Sequence[CensusQuery], planned: dict[LinearQuery, Any]
    ) -> list[LinearQuery] | None:
        """The `products` of a row, which join those planned; None also where the design does not
        collect them: who satisfies two conditions at once may be unknown where each is not."""
        found = products([query.linear for query in row])
        if found is None:
            return None
        try:
            planned |= {
                query: self.design.prepare(query) for query in found if query not in planned
            }
        except UnsupportedSQL:
            return None
        return found

    def values(self, queries: Sequence[CensusQuery]) -> Array:
        """The values of the estimator."""
        return self.own.values([query.planned for query in queries])

    def influence(self, queries: Sequence[CensusQuery], slopes: Array) -> Array:
        """The extremes of the estimator."""
        return self.own.influence([query.planned for query in queries], slopes)

    def _without_sample(
        self,
        estimates: Estimates,
        row: Sequence[CensusQuery],
        own: Sequence[LinearQuery],
        totals: Mapping[LinearQuery, float],
    ) -> Estimates:
        size, people = len(row), self.people
        pairs = np.triu_indices(size)
        together, counts = np.zeros((size, size)), np.array([totals[query] for query in own[:size]])
        together[pairs] = [totals[query] for query in own[size : size + len(pairs[0])]]
        together = together + np.triu(together, 1).T
        sampled = together - np.outer(counts, counts) / people
        sums = [place for place, query in enumerate(row) if query.linear.measure is not None]
        if sums:
            rest = [totals[query] for query in own[size + len(pairs[0]) :]]
            values = np.nan_to_num(estimates.values[sums])
            shared = sampled.copy()
            shared[sums] = np.reshape(rest, (-1, size)) - np.outer(values, counts) / people
            sampled = explain(shared, sampled, [query.linear for query in row])
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


def products(queries: Sequence[LinearQuery]) -> list[LinearQuery] | None:
    """The queries to know of a row: of every query how many people it counts; of every pair, row by
    row of the upper triangle, how many the product of both does; and of every sum of a measure what
    it and the product with each query make. None where that is too much, or no linear query."""
    if len(queries) > _MOST_QUERIES or any(query.weight is not None for query in queries):
        return None
    if any(len(a.terms) * len(b.terms) > _MOST_TERMS for a in queries for b in queries):
        return None
    counts = [LinearQuery(query.terms) for query in queries]
    pairs = [_multiply(a, b) for number, a in enumerate(counts) for b in counts[number:]]
    sums = [_multiply(a, b) for a in queries if a.measure is not None for b in counts]
    return [*counts, *pairs, *sums]


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


def of_census(survey: Survey) -> Survey:
    """The survey with intervals about those who answered it; its texts stay as they are."""
    made = copy(survey)  # not made anew: what is checked at its birth was
    own = survey.design
    design = CensusRound(own, own) if isinstance(own, Rounds) else CensusDesign(own)
    object.__setattr__(made, "design", design)
    return made
