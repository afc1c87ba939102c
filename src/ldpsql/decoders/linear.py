"""The one linear estimator: an answer is a weighted sum of what single reports contribute.

The people of a survey fall into *groups*, by the question that their device drew: disjoint random
sets, whose actual sizes are known. A group has *nodes*; a report of it contributes c_k to node k,
and given the sender's record E[c_k] is 1 at the sender's own node and 0 elsewhere (for Haar
coefficients: 1, -1, or 0). So with public weights t of the people and node weights w of a query,

    Y = t sum_k w_k c_k    has    E[Y] = E[t w(own node)],

and people x mean of Y over a group is an unbiased answer, whatever the data. Groups are disjoint,
so their covariances add: each is people^2 / size x (E[Y Y'] - E[Y] E[Y']), and it contains the
randomization, the assignment of people to groups and the rounding of measures. Specification:
docs/spec/h4mda.md#1.8 (there for a fixed population; here people count as a sample, which is at
most n f (1 - f) more).

How to write a source
---------------------
A design turns a query into a `CellQuery`: weighted nodes of groups, in several independent ways
(`alternatives`) where several groups of people can answer it, and what is known without asking.
`LinearEstimator(source).answer(queries)` does the rest. A `Source` says where estimates come from:

    people, total, size, mean    how many there are, and sums of public weights
    at(group, nodes, pair)       estimates of E[u v 1(own node is k)] at nodes k, for a pair (u, v)
                                 of public weights, None standing for the constant 1
    moments(group)               second moments of the contributions of a report (`Moments`)
    pseudo_count(group, pair)    what is added to a mean of u v in variances; 0 unless estimated

`ReportedSource` implements all but `at` and `moments` on a histogram, `EvenSource` on a number of
people spread evenly over all records, which is what predictions assume.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ldpsql.boxes import Box, LinearQuery, Weight
from ldpsql.decoders.base import PlannedQuery
from ldpsql.estimate import Estimates
from ldpsql.numerics import Array, weigh_by_precision
from ldpsql.report import Histogram, Pair, Rows

Codes = NDArray[np.int64]

PSEUDO_PEOPLE = 2.0
"""People who are added to a group before a variance is made of estimated frequencies.

Where few people stand behind an estimate, one that happens to be low would come with too small an
error; so two more people count, as in the interval of Agresti and Coull (1998), who weigh as much
as any node of the query does. In public weights they are like all people."""


# -- queries --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupCells:
    """Nodes of one group and the weight of each, both of shape (c,)."""

    group: int
    nodes: Codes
    weights: Array


Alternative = tuple[GroupCells, ...]


@dataclass(frozen=True, eq=False)
class CellQuery(PlannedQuery):
    """A linear query by weighted nodes of groups.

    known: coefficient of what is known without asking: the number of people, or the total of
    the weight.  is_asked: whether there is more to it.  alternatives: independent ways to answer
    the rest, by disjoint groups.
    """

    known: float
    is_asked: bool
    alternatives: tuple[Alternative, ...]
    weight: Weight | None


def split_known(query: LinearQuery) -> tuple[float, list[tuple[float, Box]]]:
    """What is known without asking, and the (coefficient, box) terms that must be asked.

    known: coefficient of the number of people, or of the total of the weight, from the boxes that
    hold everybody. The sum of a private measure over everybody is not known.
    """
    boxes = [(share, box) for share, box in query.terms if not box.is_empty]
    if query.measure is not None:
        return 0.0, boxes
    known = sum(share for share, box in boxes if box.is_whole)
    return known, [(share, box) for share, box in boxes if not box.is_whole]


def describe_known(known: float) -> list[str]:
    """For EXPLAIN: what is known without asking."""
    return [f"known exactly: {known:g} x all reports"] if known else []


# -- sources --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moments:
    """Second moments of the contributions of one report to nodes k, l, given the own node m:

    E[c_k c_l] = every + same 1(k = l) + cross (1(k = m) + 1(l = m)) + own 1(k = l = m).
    """

    same: float
    every: float = 0.0
    cross: float = 0.0
    own: float = 0.0

    @property
    def node_variance(self) -> float:
        """Variance per report of one node's estimate where nobody is at the node (V0)."""
        return self.same + self.every

    def contrast_variance(self, nodes: int) -> float:
        """Variance per report of a contrast of unit norm, for people spread over all nodes (V1).

        A contrast is a weighted sum of node frequencies whose weights add up to 0.
        """
        return self.same + self.own / nodes


class Source(ABC):
    """Where node estimates and their second moments come from; see the module."""

    if TYPE_CHECKING:  # a field of some sources, and computed by others

        @property
        def people(self) -> float:
            """Number of people."""

    @abstractmethod
    def total(self, weight: Weight | None) -> float:
        """Sum of a public weight over all people; their number for None."""

    @abstractmethod
    def size(self, group: int) -> float:
        """People in a group."""

    @abstractmethod
    def mean(self, group: int, pair: Pair) -> float:
        """Mean of u v over the people of a group."""

    @abstractmethod
    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """Estimates of E[u v 1(own node is k)] at nodes of a group, shape (c,)."""

    @abstractmethod
    def moments(self, group: int) -> Moments:
        """Second moments of the contributions of a report of the group."""

    def pseudo_count(self, group: int, pair: Pair) -> float:
        """What `PSEUDO_PEOPLE` add to the mean of u v of a group in a variance."""
        return 0.0

    def own_nodes(self, group: int) -> int:
        """How many nodes of a group each person is at; one in all but LGRR."""
        return 1

    def squares(self, group: int, nodes: Codes, weights: Array, kind: Weight | None) -> Array:
        """E[t^2 w^2] at the own nodes, per query, kept within what is possible, shape (k,).

        weights: shape (k, c). Noise may push the estimate outside of the possible.
        """
        squares = weights**2
        most = squares.max(axis=1) * self.mean(group, (kind, kind)) * self.own_nodes(group)
        return np.asarray(np.clip(squares @ self.at(group, nodes, (kind, kind)), 0.0, most))

    def spread(self, cells: GroupCells) -> float:
        """Predicted variance, per person, of what a group contributes to an answer.

        By it alternatives are weighted, so it must not look at the answers: it is the leading
        term, the noise where nobody is at the nodes. inf for a group without reports.
        """
        size = self.size(cells.group)
        if not size:
            return float(np.inf)
        return float(np.sum(cells.weights**2)) * self.moments(cells.group).node_variance / size


@dataclass(kw_only=True)
class ReportedSource(Source):
    """A histogram, read group by group; remembers what it has read and computed.

    Subclasses say in `estimate` what the rows of a group tell about its nodes.
    """

    histogram: Histogram
    _rows: dict[int, Rows] = field(default_factory=dict)
    _means: dict[tuple[int, Pair], float] = field(default_factory=dict)
    _estimates: dict[tuple[int, Pair], Array] = field(default_factory=dict)

    def estimate(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """Estimates at some nodes of a group, shape (c,)."""
        raise NotImplementedError

    def node_count(self, group: int) -> int:
        """Nodes of a group."""
        raise NotImplementedError

    @property
    def people(self) -> float:
        """Number of reports."""
        return float(self.histogram.people)

    def total(self, weight: Weight | None) -> float:
        """Sum of a public weight over all people."""
        return self.histogram.total(weight)

    def size(self, group: int) -> float:
        """Reports of the group."""
        return float(self.histogram.sizes[group])

    def rows(self, group: int) -> Rows:
        """The histogram rows of a group."""
        if group not in self._rows:
            self._rows[group] = self.histogram.load(group)
        return self._rows[group]

    def moments_of_people(self, group: int, pair: Pair) -> Array:
        """Sums of u v over rows that hold every person of a group once."""
        return self.rows(group).moment(*pair)

    def mean(self, group: int, pair: Pair) -> float:
        """Mean of u v over the people of a group."""
        if pair == (None, None):
            return 1.0
        if (group, pair) not in self._means:
            total = float(self.moments_of_people(group, pair).sum())
            self._means[group, pair] = total / self.size(group)
        return self._means[group, pair]

    def pseudo_count(self, group: int, pair: Pair) -> float:
        """Two more people, who are like all people in their public weights."""
        mean = self.histogram.moment(*pair) / self.histogram.people
        return PSEUDO_PEOPLE / self.size(group) * mean

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """See `estimate`; all nodes of a small group are estimated at once."""
        size = self.node_count(group)
        if (group, pair) not in self._estimates:
            self._estimates[group, pair] = np.full(size, np.nan)
        known = self._estimates[group, pair]
        missing = nodes[np.isnan(known[nodes])]
        if missing.size:
            wanted = np.arange(size) if size <= _WHOLE else np.unique(missing)
            known[wanted] = self.estimate(group, wanted, pair)
        estimates: Array = known[nodes]
        return estimates


_WHOLE, _CHUNK = 4096, 256


@dataclass(frozen=True)
class EvenSource(Source):
    """Everybody spread evenly over all records, public weights 1: what a prediction assumes.

    count: number of people.  sizes: expected people per group, shape (groups,).
    """

    count: float
    sizes: Array

    @property
    def people(self) -> float:
        """Number of people."""
        return self.count

    def total(self, weight: Weight | None) -> float:
        """The number of people."""
        return self.count

    def size(self, group: int) -> float:
        """Expected people in the group."""
        return float(self.sizes[group])

    def mean(self, group: int, pair: Pair) -> float:
        """Weights are taken to be 1."""
        return 1.0


# -- the estimator --------------------------------------------------------------------------------

Entry = tuple[int, Codes, Array]
"""A query's number, nodes of a group, and their weights in the query."""


@dataclass(frozen=True)
class LinearEstimator:
    """Answers cell queries from the node estimates of a source; unbiased if these are."""

    source: Source

    def answer(self, queries: Sequence[CellQuery]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf where a needed group has no reports."""
        return self.answer_rows([queries])[0]

    def answer_rows(self, rows: Sequence[Sequence[CellQuery]]) -> list[Estimates]:
        """One joint answer per row; rows are worked out many at a time."""
        answers: list[Estimates] = []
        step = max(1, _CHUNK // max(1, *map(len, rows), 1))
        for first in range(0, len(rows), step):
            chunk = rows[first : first + step]
            owners = np.repeat(np.arange(len(chunk)), [len(row) for row in chunk])
            joint = self._answer([query for row in chunk for query in row], owners)
            for number in range(len(chunk)):
                own = np.flatnonzero(owners == number)
                answers.append(Estimates(joint.values[own], joint.covariance[np.ix_(own, own)]))
        return answers

    def _answer(self, queries: Sequence[CellQuery], owners: Codes) -> Estimates:
        """A joint answer. owners: the row of each query; only within a row covariances matter."""
        source, k = self.source, len(queries)
        values = np.array([q.known * source.total(q.weight) for q in queries], dtype=float)
        covariance = np.zeros((k, k))
        pieces, unanswerable = self.pieces(queries)
        values[unanswerable], covariance[unanswerable, unanswerable] = np.nan, np.inf
        for group, entries in sorted(pieces.items()):
            asked = np.unique([number for number, _, _ in entries])
            nodes, weights = merge_entries(entries, asked)
            kinds = [queries[number].weight for number in asked]
            means, spread = self._group(group, nodes, weights, kinds, owners[asked])
            values[asked] += source.people * means
            covariance[np.ix_(asked, asked)] += source.people**2 / source.size(group) * spread
        return Estimates(values, covariance)

    def pieces(self, queries: Sequence[CellQuery]) -> tuple[dict[int, list[Entry]], list[int]]:
        """What every group answers, and the numbers of the queries that no group can answer.

        Alternatives are weighted by their predicted variances (`Source.spread`).
        """
        pieces: dict[int, list[Entry]] = {}
        unanswerable = []
        for number, query in enumerate(queries):
            spreads = [sum(map(self.source.spread, cells)) for cells in query.alternatives]
            shares = weigh_by_precision(np.array(spreads, dtype=float))
            if shares is None:
                if query.is_asked:
                    unanswerable.append(number)
                continue
            for share, alternative in zip(shares.tolist(), query.alternatives, strict=True):
                for cells in alternative if share else ():
                    entry = (number, cells.nodes, cells.weights * share)
                    pieces.setdefault(cells.group, []).append(entry)
        return pieces, unanswerable

    def _group(
        self,
        group: int,
        nodes: Codes,
        weights: Array,
        kinds: Sequence[Weight | None],
        owners: Codes,
    ) -> tuple[Array, Array]:
        """Means (k,) and covariance (k, k) of Y for a report of one group.

        weights: shape (k, c).  kinds, owners: the public weight and the row of each query.
        """
        k = len(kinds)
        members: dict[Weight | None, list[int]] = {}
        for row, kind in enumerate(kinds):
            members.setdefault(kind, []).append(row)
        means, covariance = np.zeros(k), np.zeros((k, k))
        squares, scales = np.zeros(k), np.zeros(k)
        for kind, rows in members.items():
            means[rows] = weights[rows] @ self.source.at(group, nodes, (kind, None))
            squares[rows] = self.source.squares(group, nodes, weights[rows], kind)
            scales[rows] = self.source.mean(group, (kind, kind))
        moments, own_nodes = self.source.moments(group), self.source.own_nodes(group)
        # |E[Y]| <= sqrt(nodes of a person x E[t^2 w^2]) by Cauchy and Schwarz. Estimates beyond
        # it would push a variance below that of pure noise.
        limit = np.sqrt(own_nodes * squares)
        likely = np.clip(means, -limit, limit)
        gram = weights @ weights.T
        for left, rows in members.items():
            for right, columns in members.items():
                pair, place = (left, right), np.ix_(rows, columns)
                mean = self.source.mean(group, pair) + self._scatter(group, pair)
                sums = weights[rows].sum(axis=1), weights[columns].sum(axis=1)
                block = mean * (moments.same * gram[place] + moments.every * np.outer(*sums))
                if moments.own or moments.cross:
                    share = self.source.at(group, nodes, pair)
                    # E[u v w w'] at the own nodes, and E[u v w], within Cauchy and Schwarz too.
                    second = clip_to(
                        (weights[rows] * share) @ weights[columns].T,
                        np.sqrt(np.outer(squares[rows], squares[columns])),
                    )
                    if left == right:
                        np.fill_diagonal(second, squares[rows])
                    pseudo = self.source.pseudo_count(group, pair)
                    second += pseudo * pseudo_squares(weights[rows], weights[columns])
                    first = (
                        clip_to(weights[rows] @ share, np.sqrt(squares[rows] * scales[columns[0]])),
                        clip_to(
                            weights[columns] @ share, np.sqrt(squares[columns] * scales[rows[0]])
                        ),
                    )
                    block += moments.own * second + moments.cross * (
                        np.outer(first[0], sums[1]) + np.outer(sums[0], first[1])
                    )
                covariance[place] = block
        if not moments.own and not moments.cross:
            # Noise alone, as by Hadamard entries: E[Y Y'] does not depend on the frequencies.
            for owner in np.unique(owners):
                own = np.flatnonzero(owners == owner)
                if len(own) > 1:
                    second = own_nodes / moments.same * covariance[np.ix_(own, own)]
                    likely[own] = limit_jointly(likely[own], second)
        return means, covariance - np.outer(likely, likely)

    def _scatter(self, group: int, pair: Pair) -> float:
        """What pseudo-people add to the mean of u v because people differ in their weights.

        Without weights, or where all weigh alike, it is 0, and a ratio of sums keeps the error that
        its weights give it. Few people may all weigh nothing, and still others do not.
        """
        left, right = pair
        people = self.source.pseudo_count(group, (None, None))
        if left is None or right is None or not people:
            return 0.0
        one, other = (self.source.pseudo_count(group, (kind, None)) for kind in pair)
        return self.source.pseudo_count(group, pair) - one * other / people


def merge_entries(entries: Sequence[Entry], asked: Codes) -> tuple[Codes, Array]:
    """The distinct nodes of all entries (c,) and the weights of each query on them (k, c).

    asked: the queries' numbers, ascending. Where every query is about the same array of nodes, as
    in least squares, they need no sorting.
    """
    owners = np.searchsorted(asked, [number for number, _, _ in entries])
    nodes = entries[0][1]
    if all(chosen is nodes for _, chosen, _ in entries):
        weights = np.zeros((len(asked), len(nodes)))
        for owner, (_, _, part) in zip(owners, entries, strict=True):
            weights[owner] += part
        return nodes, weights
    nodes, place = np.unique(
        np.concatenate([chosen for _, chosen, _ in entries]), return_inverse=True
    )
    weights = np.zeros((len(asked), len(nodes)))
    rows = np.repeat(owners, [len(chosen) for _, chosen, _ in entries])
    np.add.at(weights, (rows, place), np.concatenate([part for _, _, part in entries]))
    return nodes, weights


def clip_to(values: Array, limit: Array) -> Array:
    """The values, none further from 0 than its limit."""
    return np.clip(values, -limit, limit)


def pseudo_squares(left: Array, right: Array) -> Array:
    """What one pseudo-person adds to E[w_i w_j], shape (k, l).

    For a query with itself the largest of its squared weights; between queries as far as they have
    the same nodes. It is a Gram matrix, so a covariance matrix stays positive semidefinite.

    left, right: node weights, shapes (k, c) and (l, c).
    """
    scaled = []
    for weights in (left, right):
        norms = np.sqrt(np.sum(weights**2, axis=1, keepdims=True))
        largest = np.abs(weights).max(axis=1, keepdims=True)
        scaled.append(weights * largest / np.where(norms > 0.0, norms, 1.0))
    return np.asarray(scaled[0] @ scaled[1].T)


def limit_jointly(means: Array, second: Array) -> Array:
    """Means m scaled down, if need be, so that m m' does not exceed the second moments.

    m m' <= S for a positive semidefinite S holds iff m' S^+ m <= 1. It holds for true means; where
    few reports estimate them, clipping each by itself does not ensure it, and the variance of a
    difference of two answers would come out as nothing.

    means: shape (k,).  second: (k, k).
    """
    excess = float(means @ np.linalg.pinv(second, rcond=1e-10, hermitian=True) @ means)
    return means / np.sqrt(excess) if excess > 1.0 else means
