"""Answers from an estimated table of people per cell.

A cell is a combination of codes, and of the signs of the private measures where there are any.
Reports say, without bias, how many people each cell holds; an answer is a weighted sum of cells.
With u the weight of each report for a query (C u = w, C the channel and w the weights of the
cells) its variance is that of a sum over people drawn from a larger population, as everywhere in
this library (docs/architecture.md, Decisions):

    sum over cells of people there x E[u^2 | cell]  -  (sum of people x w)^2 / people,

and for a fixed table of people (`noise`) sum of people x (E[u^2 | cell] - w^2). Estimated people
enter a variance only where they are not negative, and what two more reports add, those that move
the answer most (`linear.PSEUDO_PEOPLE`), is added. These are reports and not people: where few
holders of a value give it away, none of them may have done so. The channel need not be square: each
`Channel` says which u is used. Source: docs/spec/uldp.md#0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np

from ldpsql.boxes import LinearQuery, Side, Weight
from ldpsql.decoders.base import PlannedQuery
from ldpsql.decoders.linear import PSEUDO_PEOPLE, describe_known, split_known
from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram, Pair, Rows

# -- queries ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CellSum(PlannedQuery):
    """What a person in each cell counts, shape (cells,), beside what is known without asking.

    known: coefficient of the number of people, or of the total of the weight.
    """

    known: float
    amounts: Array
    weight: Weight | None

    @property
    def is_asked(self) -> bool:
        """Whether the reports must be asked."""
        return bool(self.amounts.any())


def shape_of(domain: RecordDomain) -> tuple[int, ...]:
    """Codes of every dimension, then two signs of every measure."""
    return (*domain.sizes, *(2 for _ in domain.bounds))


def plan_cells(query: LinearQuery, domain: RecordDomain) -> CellSum:
    """A query as a weight for every cell, numbered row by row."""
    known, boxes = split_known(query)
    total = np.zeros(shape_of(domain))
    for share, box in boxes:
        axes = [_indicate(side, size) for side, size in zip(box.sides, domain.sizes, strict=True)]
        axes += [
            np.array(domain.bounds[m]) if m == query.measure else np.ones(2)
            for m in range(len(domain.bounds))
        ]
        total += share * reduce(np.multiply.outer, axes, np.ones(()))
    return CellSum(known, total.ravel(), query.weight)


def describe_cells(query: CellSum, domain: RecordDomain) -> list[str]:
    """For EXPLAIN: how many cells of the table are summed."""
    lines = describe_known(query.known)
    if query.is_asked:
        shape = " x ".join(map(str, shape_of(domain)))
        lines.append(f"{np.count_nonzero(query.amounts)} of {shape} cells")
    return lines


def _indicate(side: Side, size: int) -> Array:
    inside = np.zeros(size)
    for low, high in ((0, size),) if side is None else side:
        inside[low:high] = 1.0
    return inside


# -- channels --------------------------------------------------------------------------------------


class Channel(ABC):
    """How reports come about from cells, and how the collector goes back."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many there are."""

    @abstractmethod
    def totals(self, rows: Rows, pair: Pair) -> Array:
        """Unbiased sums of u v over the people of each cell, shape (cells,).

        rows: all rows of a histogram, without the question, of which there is one.
        """

    @abstractmethod
    def second(self, totals: Array, left: Array, right: Array) -> Array:
        """Sum over cells of totals x E[product of two queries' weights of a report], shape (k, l).

        left, right: weights of the cells, (k, cells) and (l, cells).
        """

    @abstractmethod
    def spread(self, weights: Array) -> Array:
        """What one pseudo-report may add to a sum of squares of a query's weights, shape (k,).

        The square of the weight of a report that people in some cells never send, if that is more
        than the mean square differs between cells.
        """


@dataclass(frozen=True, eq=False)
class MatrixChannel(Channel):
    """A channel as a matrix of probabilities, shape (reports, cells), inverted by least squares.

    With the channel Q, D = diag(Q 1) and X = Q' D^-1 Q, the estimate of the people per cell is
    X^-1 Q' D^-1 c: a report *contributes* a fixed amount to every answer. It is the unbiased linear
    estimate of least variance for people spread evenly, and for a square Q the inverse. Source:
    docs/spec/rr-optimum.md#2 (after McKenna, Maity, Mazumdar, Miklau, VLDB 2020).
    """

    matrix: Array

    @property
    def cells(self) -> int:
        """How many there are."""
        return int(self.matrix.shape[1])

    @cached_property
    def information(self) -> Array:
        """X, whose rows and columns sum to 1, shape (cells, cells)."""
        return np.asarray(self.matrix.T @ (self.matrix / self._totals))

    @property
    def _totals(self) -> Array:
        """The diagonal of D; reports that nobody sends count as 1 to keep 0/0 out."""
        totals = self.matrix.sum(axis=1, keepdims=True)
        return np.where(totals > 0.0, totals, 1.0)

    @cached_property
    def inverse(self) -> Array:
        """X^-1; the pseudo-inverse, so 0 in directions that no report tells about."""
        inverse = np.linalg.pinv(self.information, rcond=1e-13, hermitian=True)
        return np.asarray(inverse, dtype=np.float64)

    @cached_property
    def contributions(self) -> Array:
        """What a report adds to the estimate of every cell, shape (reports, cells)."""
        return np.asarray((self.matrix / self._totals) @ self.inverse)

    def blind(self, amounts: Array) -> Array:
        """The part of a query that no report tells anything about, shape (cells,)."""
        return amounts - self.information @ (self.inverse @ amounts)

    def totals(self, rows: Rows, pair: Pair) -> Array:
        """See `Channel.totals`."""
        return np.asarray(rows.moment(*pair) @ self.contributions[rows.columns[-1]])

    def second(self, totals: Array, left: Array, right: Array) -> Array:
        """See `Channel.second`."""
        reports, one = (self.matrix @ totals)[:, None], self.contributions @ left.T
        other = one if right is left else self.contributions @ right.T
        return np.asarray(one.T @ (reports * other))

    def spread(self, weights: Array) -> Array:
        """See `Channel.spread`."""
        squares = (self.contributions @ weights.T) ** 2
        # Reports that come from some cells only.
        is_partial = (self.matrix.min(axis=1) == 0.0) & (self.matrix.max(axis=1) > 0.0)
        partial = squares[is_partial].max(axis=0, initial=0.0)
        return np.asarray(np.maximum(np.ptp(self.matrix.T @ squares, axis=0), partial))


# -- the estimator ---------------------------------------------------------------------------------


@dataclass(eq=False)
class ReportedTable:
    """Unbiased sums from a histogram; remembers what it has computed.

    added: pseudo-reports that count before a variance is made of estimates.
    """

    histogram: Histogram
    channel: Channel
    added: float = PSEUDO_PEOPLE
    _totals: dict[Pair, Array] = field(default_factory=dict)

    @property
    def people(self) -> float:
        """Number of reports."""
        return float(self.histogram.people)

    def total(self, weight: Weight | None) -> float:
        """Sum of a public weight over all people."""
        return self.histogram.total(weight)

    @cached_property
    def rows(self) -> Rows:
        """The reports; there is one question."""
        return self.histogram.load(0)

    def totals(self, pair: Pair) -> Array:
        """Sums of u v over the people of each cell, shape (cells,); may be negative."""
        if pair not in self._totals:
            self._totals[pair] = self.channel.totals(self.rows, pair)
        return self._totals[pair]


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
    source: ReportedTable | GivenTable

    def answer(self, queries: Sequence[CellSum]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf for what is asked of no reports."""
        known = np.array([query.known * self.source.total(query.weight) for query in queries])
        asked = [number for number, query in enumerate(queries) if query.is_asked]
        values, covariance = known.astype(float), np.zeros((len(queries), len(queries)))
        if asked and not self.source.people:
            values[asked], covariance[asked, asked] = np.nan, np.inf
        elif asked:
            chosen = [queries[number] for number in asked]
            values[asked] += [
                query.amounts @ self.source.totals((query.weight, None)) for query in chosen
            ]
            covariance[np.ix_(asked, asked)] = self._covariance(chosen)
        return Estimates(values, covariance)

    def answer_rows(self, rows: Sequence[Sequence[CellSum]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def _covariance(self, queries: Sequence[CellSum]) -> Array:
        """Block by block, one for every two weights that queries sum."""
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
            # Pseudo-reports count between two queries as far as these have cells in common, so
            # what they add to a covariance matrix is a Gram matrix.
            mean = both.sum() / people
            scaled = [
                part * np.sqrt(self.channel.spread(part) / np.sum(part**2, axis=1))[:, None]
                for part in (rows, columns)
            ]
            second = second + self.source.added * mean * (scaled[0] @ scaled[1].T)
        return np.asarray(second - np.outer(*first) / people)

    def _possible(self, left: Weight | None, right: Weight | None) -> Array:
        """Sums per cell that people could have: those of squares not negative, with the same
        total, those of products within what the squares allow (Cauchy-Schwarz)."""
        totals = self.source.totals((left, right))
        if left == right:
            positive = np.maximum(totals, 0.0)
            scale = positive.sum()
            return positive * (max(totals.sum(), 0.0) / scale) if scale > 0.0 else positive
        limit = np.sqrt(self._possible(left, left) * self._possible(right, right))
        return np.clip(totals, -limit, limit)


def noise(channel: Channel, people: Array, weights: Array) -> Array:
    """Variance of answers to queries (k, cells) about a fixed table of people, shape (k,)."""
    second = np.array([channel.second(people, row[None], row[None])[0, 0] for row in weights])
    return np.asarray(second - (weights**2) @ people)
