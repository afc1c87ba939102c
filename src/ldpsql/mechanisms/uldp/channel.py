"""Runs at the collector. Sees reports. The channel of reports that name a cell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.reported_rows import ReportedRows
from ldpsql.mechanisms.uldp.layout import Layout
from ldpsql.mechanisms.uldp.response import Response
from ldpsql.report import Pair


@dataclass(frozen=True)
class CellChannel:
    """Square: as many reports as records. The one linear unbiased estimator is its inverse."""

    layout: Layout

    @property
    def cells(self) -> int:
        """How many there are."""
        return self.layout.cells

    def counts(self, reported: ReportedRows, pair: Pair) -> Array:
        """Sums of u v over the reports of each cell."""
        rows = reported.rows(0)
        counted = np.bincount(rows.columns[0], rows.moment(*pair), minlength=self.cells)
        return counted.astype(np.float64)

    def totals(self, reported: ReportedRows, pair: Pair) -> Array:
        """See `Channel`."""
        return self.behind(self.counts(reported, pair)[:, None])[:, 0]

    def behind(self, counts: Array) -> Array:
        """Unbiased records behind counts of reports, both (cells, k)."""
        return self.layout.apply(Response.solve_reports, counts)

    def expected(self, people: Array) -> Array:
        """Expected reports of people, both (cells, k)."""
        return self.layout.apply(Response.backward, people)

    def worth(self, reports: Array) -> Array:
        """What each record makes of a worth per report on average, both (cells, k)."""
        return self.layout.apply(Response.forward, reports)

    def weights(self, cells: Array) -> Array:
        """The weight of each report for queries (k, cells), shape (cells, k)."""
        return self.layout.apply(Response.solve, cells.T)

    def second(self, totals: Array, left: Array, right: Array) -> Array:
        """See `Channel`."""
        reports, one = self.expected(totals[:, None]), self.weights(left)
        other = one if right is left else self.weights(right)
        return np.asarray(one.T @ (reports * other))

    def spread(self, weights: Array) -> Array:
        """See `Channel`."""
        squares = self.weights(weights) ** 2
        named = squares[self.layout.is_naming].max(axis=0, initial=0.0)
        return np.asarray(np.maximum(np.ptp(self.worth(squares), axis=0), named))

    def drawn(self, people: Array, random: np.random.Generator, count: int) -> Array:
        """Counts of simulated reports of people drawn as a table says, shape (cells, count)."""
        shares = np.maximum(self.expected(people[:, None])[:, 0], 0.0)
        size = round(float(people.sum()))
        return random.multinomial(size, shares / shares.sum(), count).T.astype(float)

    def simulated(self, people: Array, random: np.random.Generator, count: int) -> Array:
        """See `smoothing.Simulates`."""
        return self.behind(self.drawn(people, random, count)).T
