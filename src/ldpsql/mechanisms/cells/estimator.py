"""Runs at the collector. Sees reports. Answers from an estimated table of people per cell.

Reports say, without bias, how many people each cell holds; an answer is a weighted sum of cells.
With u the weight of each report for a query (C u = w) its variance is that of a sum over people
drawn from a larger population, as everywhere in this library (docs/architecture.md, Decisions):

    sum over cells of people there x E[u^2 | cell]  -  (sum of people x w)^2 / people,

and for a fixed table of people (`noise`) sum of people x (E[u^2 | cell] - w^2). Estimated people
enter a variance only where they are not negative, and what two more reports add, those that move
the answer most, is added (see `mechanisms.doubt`). They are reports and not people: where few
holders of a value give it away, none of them may have done so. The channel
need not be square: its `Channel` says which u is used. Specification: uldp, section 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.mechanisms.cells.query import CellSum
from ldpsql.mechanisms.doubt import PEOPLE
from ldpsql.mechanisms.reported_rows import ReportedRows
from ldpsql.report import Pair


class Channel(Protocol):
    """What the estimator needs to know of how reports come about."""

    @property
    def cells(self) -> int:
        """How many there are."""
        ...

    def totals(self, reported: ReportedRows, pair: Pair) -> Array:
        """Unbiased sums of u v over the people of each cell, shape (cells,)."""
        ...

    def second(self, totals: Array, left: Array, right: Array) -> Array:
        """Sum over cells of totals x E[product of two queries' weights of a report], shape (k, l).

        left, right: weights of the cells, (k, cells) and (l, cells).
        """
        ...

    def spread(self, weights: Array) -> Array:
        """What one doubtful report may add to a sum of squares of a query's weights, shape (k,).

        The square of the weight of a report that people in some cells never send, if that is more
        than the mean square differs between cells.
        """
        ...


class Source(Protocol):
    """Where sums over the people of a cell come from."""

    @property
    def people(self) -> float:
        """Number of people."""
        ...

    @property
    def added(self) -> float:
        """Reports to add before a variance is made of estimates."""
        ...

    def total(self, weight: Weight | None) -> float:
        """Sum of a weight over all people."""
        ...

    def totals(self, pair: Pair) -> Array:
        """Sums of u v over the people of each cell, shape (cells,)."""
        ...


@dataclass(kw_only=True)
class ReportedTable(ReportedRows):
    """Unbiased sums from a histogram; remembers what it has computed."""

    channel: Channel
    added: float = PEOPLE
    _found: dict[Pair, Array] = field(default_factory=dict)

    def totals(self, pair: Pair) -> Array:
        """As the reports say; may be negative."""
        if pair not in self._found:
            self._found[pair] = self.channel.totals(self, pair)
        return self._found[pair]


@dataclass(frozen=True)
class GivenTable:
    """People per cell as given, weights 1: what a prediction assumes."""

    cells: Array
    added: float = 0.0

    @property
    def people(self) -> float:
        """Number of people."""
        return float(self.cells.sum())

    def total(self, weight: Weight | None) -> float:
        """The number of people."""
        return self.people

    def totals(self, pair: Pair) -> Array:
        """The people themselves."""
        return self.cells


@dataclass(frozen=True)
class TableEstimator:
    """Unbiased: nothing is clipped but what enters a variance."""

    channel: Channel
    source: Source

    def answer(self, queries: Sequence[CellSum]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf where there are no reports."""
        known = np.array([query.known * self.source.total(query.weight) for query in queries])
        asked = [number for number, query in enumerate(queries) if query.is_asked]
        values, covariance = known.astype(float), np.zeros((len(queries), len(queries)))
        if asked and not self.source.people:
            values[asked], covariance[asked, asked] = np.nan, np.inf
        elif asked:
            chosen = [queries[number] for number in asked]
            values[asked] += [query.amounts @ self._totals(query.weight, None) for query in chosen]
            covariance[np.ix_(asked, asked)] = self._covariance(chosen)
        return Estimates(values, covariance)

    def answer_rows(self, rows: Sequence[Sequence[CellSum]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def _totals(self, left: Weight | None, right: Weight | None) -> Array:
        return self.source.totals((left, right))

    def _covariance(self, queries: Sequence[CellSum]) -> Array:
        kinds: dict[Weight | None, list[int]] = {}
        for number, query in enumerate(queries):
            kinds.setdefault(query.weight, []).append(number)
        cells = np.array([query.amounts for query in queries])
        parts = {kind: cells[members] for kind, members in kinds.items()}
        result = np.zeros((len(queries), len(queries)))
        for left, rows in kinds.items():
            for right, columns in kinds.items():
                block = self._block(left, right, parts[left], parts[right])
                result[np.ix_(rows, columns)] = block
        return result

    def _block(
        self, left: Weight | None, right: Weight | None, rows: Array, columns: Array
    ) -> Array:
        """Covariance between queries of two weights."""
        people = self.source.people
        both = self._possible(left, right)
        first = rows @ self._possible(left, None), columns @ self._possible(right, None)
        second = self.channel.second(both, rows, columns)
        if self.source.added:
            mean = both.sum() / people
            second = second + self.source.added * mean * self._doubted(rows, columns)
        return np.asarray(second - np.outer(*first) / people)

    def _possible(self, left: Weight | None, right: Weight | None) -> Array:
        """Sums per cell that people could have: those of squares not negative, with the same
        total, those of products within what the squares allow."""
        if left == right:
            totals = self._totals(left, right)
            positive = np.maximum(totals, 0.0)
            scale = positive.sum()
            return positive * (max(totals.sum(), 0.0) / scale) if scale > 0.0 else positive
        squares = self._possible(left, left) * self._possible(right, right)
        return np.clip(self._totals(left, right), -np.sqrt(squares), np.sqrt(squares))

    def _doubted(self, rows: Array, columns: Array) -> Array:
        """What one doubtful report adds, shape (k, l): as much as queries have cells in common."""
        left, right = (
            part * np.sqrt(self.channel.spread(part) / np.sum(part**2, axis=1))[:, None]
            for part in (rows, columns)
        )
        return np.asarray(left @ right.T)


def noise(channel: Channel, people: Array, weights: Array) -> Array:
    """Variance of answers to queries (k, cells) about a fixed table of people, shape (k,)."""
    second = np.array([channel.second(people, row[None], row[None])[0, 0] for row in weights])
    return np.asarray(second - (weights**2) @ people)
