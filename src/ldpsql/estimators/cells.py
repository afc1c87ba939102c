"""Answers from an estimated table of people per cell, and the designs that give them.

A cell is a combination of codes, and of the signs of the private measures where there are any.
All reports are one group, and cells are its nodes; an answer is a weighted sum of them. With u the
weight of each report for a query (C u = w, C the channel and w the weights of the cells) its
variance is that of a sum over people drawn from a larger population:

    sum over cells of people there x E[u^2 | cell]  -  (sum of people x w)^2 / people.

Estimated people enter a variance only where they are not negative, and what two more reports add,
those that move the answer most (`estimate.PSEUDO_PEOPLE`), is added. These are reports and not
people: where few holders of a value give it away, none of them may have done so. The channel need
not be square: each `Channel` says which u is used. Source: docs/spec/uldp.md#0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import ClassVar

import numpy as np

from ldpsql.algebra.boxes import Box, LinearQuery, Weight, codes_of
from ldpsql.algebra.estimate import Array
from ldpsql.algebra.numerics import multiply_outer
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import Codes
from ldpsql.estimators.linear import (
    CellQuery,
    GroupAnswer,
    GroupCells,
    GroupPart,
    LinearEstimator,
    Moments,
    Source,
    clip_to,
    describe_known,
    split_known,
)
from ldpsql.estimators.linear_design import LinearDesign
from ldpsql.reports.report import Pair, Rows
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import WORDS, Digit, Face, Part, Plan, RowsOfWords, Term

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
    def weigh_reports(self, rows: Rows, weights: Array) -> Array:
        """The weight of the report of each row in queries, shape (m, r).

        weights: of the cells, (m, cells).  rows: as for `totals`.
        """

    @abstractmethod
    def second(self, totals: Array, left: Array, right: Array) -> Array:
        """Sum over cells of totals x E[product of two queries' weights of a report], shape (..., k,
        l).

        totals: (..., cells).  left, right: weights of the cells, (k, cells) and (l, cells).
        """

    @abstractmethod
    def spread(self, weights: Array) -> Array:
        """The most that a pseudo-report adds to a sum of squares of a query's weights, shape (k,).

        The square of the weight of a report that people in some cells never send, or hardly ever,
        if that is more than the mean square differs between cells.
        """

    @abstractmethod
    def extremes(self, weights: Array) -> Array:
        """The least and the largest weight of a report in queries, shape (2, m).

        weights: of the cells, (m, cells).
        """


@dataclass(frozen=True, eq=False)
class MatrixChannel(Channel):
    """A channel as a matrix of probabilities, shape (reports, cells), inverted by least squares.

    With the channel Q, D = diag(Q 1) and X = Q' D^-1 Q, the estimate of the people per cell is
    X^-1 Q' D^-1 c: a report *contributes* a fixed amount to every answer. It is the unbiased linear
    estimate of least variance for people spread evenly, and for a square Q the inverse. Source:
    docs/spec/rr-optimum.md#2 (after McKenna, Maity, Mazumdar, Miklau, VLDB 2020).

    shares: where the variance is to be least for others, people per cell, with mean 1: D = Q shares
    then. Unbiased in any case.  rare: up to which share of its largest probability a report counts
    as one that people in some cells hardly ever send (`spread`).
    """

    matrix: Array
    shares: Array | None = None
    rare: float = 0.0

    @property
    def cells(self) -> int:
        """How many there are."""
        return int(self.matrix.shape[1])

    @cached_property
    def information(self) -> Array:
        """X, shape (cells, cells); with even shares its rows and columns sum to 1."""
        return np.asarray(self.matrix.T @ (self.matrix / self._totals))

    @property
    def _totals(self) -> Array:
        """The diagonal of D; reports that nobody sends count as 1 to keep 0/0 out."""
        shares = np.ones(self.cells) if self.shares is None else self.shares
        totals = (self.matrix @ shares)[:, None]
        return np.where(totals > 0.0, totals, 1.0)

    @cached_property
    def inverse(self) -> Array:
        """X^-1; the pseudo-inverse, so 0 in directions that no report tells about."""
        inverse = np.linalg.pinv(self.information, rcond=1e-13, hermitian=True)
        return np.asarray(inverse, dtype=np.float64)

    @cached_property
    def contributions(self) -> Array:
        """Contribution of a report to the estimate of every cell, shape (reports, cells)."""
        return np.asarray((self.matrix / self._totals) @ self.inverse)

    def blind(self, amounts: Array) -> Array:
        """The part of a query that no report tells anything about, shape (cells,)."""
        return amounts - self.information @ (self.inverse @ amounts)

    def totals(self, rows: Rows, pair: Pair) -> Array:
        """X^-1 Q' D^-1 c, c the sums of u v over the reports of each kind."""
        return np.asarray(rows.moment(*pair) @ self.contributions[rows.columns[-1]])

    def weigh_reports(self, rows: Rows, weights: Array) -> Array:
        """The weights of the cells that a report contributes to, each times how much."""
        return np.asarray((weights @ self.contributions.T)[:, rows.columns[-1]])

    def second(self, totals: Array, left: Array, right: Array) -> Array:
        """By the probabilities of all reports."""
        one = self.contributions @ left.T
        other = one if right is left else self.contributions @ right.T
        sets, pairs = math.prod(totals.shape[:-1]), len(left) * len(right)
        count, cells = self.matrix.shape
        if pairs * cells * (count + sets) < sets * count * (cells + pairs):
            # Of many sets: what reports from a cell add to every pair is the same for all of them.
            products = (one[:, :, None] * other[:, None, :]).reshape(count, pairs)
            found = totals @ (self.matrix.T @ products)
            return np.asarray(found.reshape(*totals.shape[:-1], len(left), len(right)))
        reports = totals @ self.matrix.T
        return np.asarray((one.T * reports[..., None, :]) @ other)

    def spread(self, weights: Array) -> Array:
        """By the reports that are rare in some cell."""
        squares = (self.contributions @ weights.T) ** 2
        # Reports that come from some cells only, or hardly from others.
        least, most = self.matrix.min(axis=1), self.matrix.max(axis=1)
        is_partial = (least <= self.rare * most) & (most > 0.0)
        partial = squares[is_partial].max(axis=0, initial=0.0)
        return np.asarray(np.maximum(np.ptp(self.matrix.T @ squares, axis=0), partial))

    def extremes(self, weights: Array) -> Array:
        """Over all reports."""
        amounts = self.contributions @ weights.T
        return np.array([amounts.min(axis=0), amounts.max(axis=0)])


# -- the estimator ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableAnswer(GroupAnswer):
    """The nodes are all cells. Moments differ between them: `Channel.second`."""

    channel: Channel
    adds_up: ClassVar[bool] = True

    def estimate(self, rows: Rows, pair: Pair, size: float, mean: float, nodes: Codes) -> Array:
        """Means of u v over people, as far as they are in each cell; may be negative."""
        return self.channel.totals(rows, pair)[nodes] / size

    def contributions(self, rows: Rows, nodes: Codes, weights: Array) -> Array:
        """The weights of the reports, as the channel gives them."""
        return self.channel.weigh_reports(rows, self._weigh_all(nodes, weights))

    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """The extremes of the channel."""
        return self.channel.extremes(self._weigh_all(nodes, weights))

    def _weigh_all(self, nodes: Codes, weights: Array) -> Array:
        every = np.zeros((len(weights), self.nodes))
        every[:, nodes] = weights
        return every

    def spread(self, cells: GroupCells) -> float:
        """There is only one way to answer."""
        return 0.0


@dataclass(frozen=True)
class TableEstimator(LinearEstimator):
    """Unbiased: nothing is clipped but what enters a variance."""

    channel: Channel

    def _group(self, part: GroupPart) -> tuple[Array, Array]:
        """Means and covariance for a report; the nodes are all cells."""
        group, nodes, weights, kinds = part.group, part.nodes, part.weights, part.kinds
        members: dict[Weight | None, list[int]] = {}
        for row, kind in enumerate(kinds):
            members.setdefault(kind, []).append(row)
        shape = *self.source.shape, len(kinds)
        means, covariance = np.zeros(shape), np.zeros((*shape, len(kinds)))
        parts = {kind: weights[rows] for kind, rows in members.items()}
        at = cache(partial(self.source.at, group, nodes))
        for left, rows in members.items():
            means[..., rows] = at((left, None)) @ parts[left].T
            for right, columns in members.items():
                block = self._block(at, (left, right), parts[left], parts[right])
                covariance[..., np.array(rows)[:, None], columns] = block
        return means, covariance

    def _block(self, at: Callable[[Pair], Array], pair: Pair, rows: Array, columns: Array) -> Array:
        """Covariance between queries of two public weights, for a report.

        at: estimates of E[u v] in every cell.
        """
        channel = self.channel
        both = _possible(at, *pair)
        second = channel.second(both, rows, columns)
        pseudo = self.source.pseudo_count(0, (None, None)) * both.sum(axis=-1)
        if np.any(pseudo):
            # Pseudo-reports count between two queries as far as these have cells in common, so
            # what they add to a covariance matrix is a Gram matrix.
            scaled = [
                part * np.sqrt(channel.spread(part) / np.sum(part**2, axis=1))[:, None]
                for part in (rows, columns)
            ]
            second = second + pseudo[..., None, None] * (scaled[0] @ scaled[1].T)
        left, right = (_possible(at, kind, None) for kind in pair)
        return np.asarray(second - multiply_outer(left @ rows.T, right @ columns.T))


def _possible(at: Callable[[Pair], Array], left: Weight | None, right: Weight | None) -> Array:
    """Means per cell that people could have, shape (..., cells): those of squares not negative,
    with the same total, those of products within what the squares allow (Cauchy-Schwarz)."""
    shares = at((left, right))
    if left != right:
        squares = _possible(at, left, left) * _possible(at, right, right)
        return clip_to(shares, np.sqrt(squares))
    positive = np.maximum(shares, 0.0)
    scale, total = (each.sum(axis=-1, keepdims=True) for each in (positive, shares))
    return np.asarray(positive * np.maximum(total, 0.0) / np.where(scale > 0.0, scale, 1.0))


# -- designs ---------------------------------------------------------------------------------------


def sum_cells(amounts: Array, known: float = 0.0, weight: Weight | None = None) -> CellQuery:
    """The query for what a person in each cell counts, shape (cells,), beside what is known."""
    if not amounts.any():
        return CellQuery(known, False, (), weight)
    return CellQuery(known, True, ((GroupCells(0, _every(len(amounts)), amounts),),), weight)


@cache
def _every(cells: int) -> Codes:
    """All cells, always the same array, which spares the estimator sorting."""
    return np.arange(cells)


def make_flat_terms(axes: Sequence[int], sizes: Sequence[int], width: int = 1) -> tuple[Term, ...]:
    """The number of a combination of bins of some attributes, row by row.

    sizes: bins of each.  width: codes of a bin.
    """
    return tuple(Term(axis, math.prod(sizes[j + 1 :]), width) for j, axis in enumerate(axes))


def make_flat_digit(sizes: Sequence[int], table: int | None = None) -> Digit:
    """The number of a cell, row by row over all attributes of a record."""
    return Digit(make_flat_terms(range(len(sizes)), sizes), math.prod(sizes), table=table)


def find_cells(box: Box, axes: Sequence[int], sizes: Sequence[int]) -> Codes:
    """The cells of a table over some attributes that lie in a box, row by row, shape (c,)."""
    cells = np.zeros(1, dtype=np.int64)
    for axis in axes:
        runs = codes_of(box.sides[axis], sizes[axis])
        codes = np.concatenate([np.arange(low, high, dtype=np.int64) for low, high in runs])
        cells = (cells[:, None] * sizes[axis] + codes).ravel()
    return cells


class TableDesign(LinearDesign[CellQuery]):
    """Plans, answers and predictions of a design, from its channel."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and (
            (self.name, self.domain, self.epsilon, self.to_json())
            == (other.name, other.domain, other.epsilon, other.to_json())
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """How reports come about, as far as the collector knows."""

    @property
    def answers(self) -> tuple[TableAnswer, ...]:
        """One question, about the cell."""
        return (TableAnswer(0, self.channel.cells, Moments(0.0), self.channel),)

    @property
    def nodes_of_sets(self) -> int:
        """All cells: a variance is that of people of whom no cell has less than nobody."""
        return self.channel.cells

    def even_shares(self, group: int, nodes: Codes) -> Array:
        """Equal shares of codes, and of what lies between the bounds of a measure."""
        return self.domain.cell_shares[nodes]

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The query as a weight for every cell, numbered row by row."""
        known, boxes = split_known(query)
        domain = self.domain
        amounts = np.zeros(math.prod(domain.sizes))
        for share, box in boxes:
            amounts[find_cells(box, range(len(domain.sizes)), domain.sizes)] += share
        for measure, count in enumerate(domain.levels):
            values = np.ones(count)
            if measure == query.measure:
                found = domain.level_squares if query.is_square else domain.level_values
                values = found(measure)
            amounts = np.multiply.outer(amounts, values).ravel()
        return sum_cells(amounts, known, query.weight)

    def describe(self, planned: CellQuery) -> list[str]:
        """How many cells are summed, for EXPLAIN."""
        lines = describe_known(planned.known)
        shape = " x ".join(map(str, self.domain.record_sizes))
        for (cells,) in planned.alternatives:
            lines.append(f"{np.count_nonzero(cells.weights)} of {shape} cells")
        return lines

    def solve(self, source: Source) -> TableEstimator:
        """Unbiased."""
        return TableEstimator(source, self.channel)


@dataclass(frozen=True, eq=False)
class RowsDesign(TableDesign):
    """One question about the cell, answered by a row of words for each cell."""

    domain: RecordDomain
    epsilon: Epsilon

    @property
    @abstractmethod
    def response(self) -> RowsOfWords:
        """The rows, one per cell."""

    @cached_property
    def plan(self) -> Plan:
        """The question."""
        sizes = self.domain.record_sizes
        return Plan(sizes, (), (Face(1, (Part((make_flat_digit(sizes),), self.response),)),))

    @cached_property
    def channel(self) -> MatrixChannel:
        """The rows as the collector uses them."""
        rows = np.array(self.response.rows, dtype=np.float64)
        return MatrixChannel(rows.T / WORDS, self.domain.cell_shares * len(rows))
