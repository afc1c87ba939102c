"""Runs at the collector. Sees reports. Estimates for the designs of `levels`.

Each group estimates the frequencies of its nodes from its own reports:
f = (supporters / group size - q) / (p - q), by the *actual* group size, so that drop-outs bias
nothing. An answer is people x sum over groups of weighted node frequencies. Groups are disjoint
sets of people, so their covariances add; within a group the covariance follows from the four
support probabilities (`oracle.Support.covariance`) and contains the randomization, the
assignment of people to groups and the rounding of measures. Specification: h4mda, sections 1.6 to
1.9 (there with the exact population variance; here people count as a sample, which is at most
n f (1 - f) more).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.mechanisms.base import Codes
from ldpsql.mechanisms.cell_query import Alternative, CellQuery, GroupCells
from ldpsql.mechanisms.doubt import doubted, scatter_of
from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.oracle import First, Weights
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.mechanisms.reported_rows import ReportedRows
from ldpsql.report import Pair

Entry = tuple[int, Codes, Array]
Entries = list[Entry]
_WHOLE = 4096


class Frequencies(Protocol):
    """Where node frequencies come from.

    A frequency of the pair (u, v) is E[u v 1(at node)] over the people of a group, with None
    standing for the constant 1.
    """

    @property
    def people(self) -> float:
        """Number of people."""
        ...

    def total(self, weight: Weight | None) -> float:
        """Sum of a weight over all people."""
        ...

    def size(self, group: int) -> float:
        """People in a group."""
        ...

    def mean(self, group: int, pair: Pair) -> float:
        """Mean of u v over the people of a group."""
        ...

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """Frequencies at nodes of a group, shape (c,)."""
        ...

    def doubt(self, group: int, pair: Pair) -> float:
        """What people to be doubted add to the mean of u v in a variance; see `doubt`."""
        ...


@dataclass(kw_only=True)
class ReportedFrequencies(ReportedRows):
    """Unbiased frequencies from a histogram; remembers what it has computed."""

    oracles: OracleTable
    _found: dict[tuple[int, Pair], Array] = field(default_factory=dict)

    def moments_of_people(self, selector: int, pair: Pair) -> Array:
        """Sums of u v over rows that hold every person once: in a unary histogram, bit -1."""
        rows = self.rows(selector)
        moment = rows.moment(*pair)
        return moment[rows.columns[0] < 0] if self.oracles.is_unary(selector) else moment

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """Estimated frequencies at the nodes, shape (c,)."""
        size = self.oracles.sizes[group]
        if (group, pair) not in self._found:
            self._found[group, pair] = np.full(size, np.nan)
        found = self._found[group, pair]
        missing = nodes[np.isnan(found[nodes])]
        if missing.size:
            wanted = np.arange(size) if size <= _WHOLE else np.unique(missing)
            found[wanted] = self._estimate(group, wanted, pair)
        frequencies: Array = found[nodes]
        return frequencies

    def _estimate(self, group: int, nodes: Codes, pair: Pair) -> Array:
        rows, support = self.rows(group), self.oracles.support(group)
        counted = self.oracles.supporters(group, rows, nodes, [rows.moment(*pair)])[0]
        share = counted / self.size(group)
        estimate: Array = (share - support.q * self.mean(group, pair)) / (support.p - support.q)
        return estimate


@dataclass(frozen=True)
class UniformFrequencies:
    """Everybody spread evenly over all records, weights 1: what a prediction assumes."""

    people: float
    sizes: Array
    table: GroupTable

    def total(self, weight: Weight | None) -> float:
        """The number of people."""
        return self.people

    def size(self, group: int) -> float:
        """Expected people in the group."""
        return float(self.sizes[group])

    def mean(self, group: int, pair: Pair) -> float:
        """Weights are taken to be 1."""
        return 1.0

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """The part of all records at each node."""
        return self.table.even(group, nodes)

    def doubt(self, group: int, pair: Pair) -> float:
        """None: these frequencies are not estimated."""
        return 0.0


@dataclass(frozen=True)
class LevelEstimator:
    """Answers cell queries from node frequencies."""

    oracles: OracleTable
    frequencies: Frequencies

    def answer(self, queries: Sequence[CellQuery]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf where a needed group has no reports."""
        k = len(queries)
        values = np.array(
            [query.known * self.frequencies.total(query.weight) for query in queries], dtype=float
        )
        covariance = np.zeros((k, k))
        pieces, untold = self.pieces(queries)
        values[untold], covariance[untold, untold] = np.nan, np.inf
        for group, entries in sorted(pieces.items()):
            asked, estimates = self._group(group, entries, queries)
            values[asked] += estimates.values
            covariance[np.ix_(asked, asked)] += estimates.covariance
        return Estimates(values, covariance)

    def pieces(self, queries: Sequence[CellQuery]) -> tuple[dict[int, Entries], list[int]]:
        """Per group the (query, nodes, weights) that it answers, and the queries nobody can."""
        pieces: dict[int, Entries] = {}
        untold = []
        for number, query in enumerate(queries):
            shares = self._shares(query.alternatives)
            if query.is_asked and shares is None:
                untold.append(number)
                continue
            for share, alternative in zip(shares or (), query.alternatives, strict=True):
                if share == 0.0:
                    continue
                for cells in alternative:
                    entry = (number, cells.nodes, cells.weights * share)
                    pieces.setdefault(cells.group, []).append(entry)
        return pieces, untold

    def answer_rows(self, rows: Sequence[Sequence[CellQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def _shares(self, alternatives: Sequence[Alternative]) -> list[float] | None:
        """Weights of independent answers by inverse variance, summing to 1; None if none is
        usable. The variance is the predicted leading term, which does not look at the answers."""
        if not alternatives:
            return None
        spread = np.array([sum(map(self._leading, cells)) for cells in alternatives])
        if not np.isfinite(spread).any():
            return None
        precision = 1.0 / np.maximum(spread, np.finfo(float).tiny)
        return [float(share) for share in precision / precision.sum()]

    def _leading(self, cells: GroupCells) -> float:
        size = self.frequencies.size(cells.group)
        if not size:
            return float(np.inf)
        return (
            float(np.sum(cells.weights**2)) * self.oracles.support(cells.group).node_variance / size
        )

    def _group(
        self,
        group: int,
        entries: Sequence[Entry],
        queries: Sequence[CellQuery],
    ) -> tuple[Codes, Estimates]:
        """The contribution of one group to the queries that ask it."""
        asked = sorted({number for number, _, _ in entries})
        position = {number: row for row, number in enumerate(asked)}
        nodes, weights = _merged(entries, position)
        block = _GroupBlock(
            self, group, nodes, weights, tuple(queries[number].weight for number in asked)
        )
        return np.array(asked), block.estimates()


@dataclass(frozen=True)
class _GroupBlock:
    """Queries over the nodes of one group: weights of shape (k, c), and what each multiplies."""

    estimator: LevelEstimator
    group: int
    nodes: Codes
    weights: Array
    kinds: tuple[Weight | None, ...]

    def estimates(self) -> Estimates:
        """Values and covariance on the scale of all people."""
        source = self.estimator.frequencies
        people = source.people
        k = len(self.kinds)
        means, covariance = np.zeros(k), np.zeros((k, k))
        members = {
            kind: [i for i, own in enumerate(self.kinds) if own == kind] for kind in self.kinds
        }
        for kind, rows in members.items():
            means[rows] = self.weights[rows] @ self._at((kind, None))
        for left, rows in members.items():
            for right, columns in members.items():
                covariance[np.ix_(rows, columns)] = self._block(left, right, rows, columns, means)
        return Estimates(people * means, covariance * people**2 / source.size(self.group))

    def _at(self, pair: Pair) -> Array:
        return self.estimator.frequencies.at(self.group, self.nodes, pair)

    def _mean(self, pair: Pair) -> float:
        return self.estimator.frequencies.mean(self.group, pair)

    def _energy(self, kind: Weight | None, rows: Sequence[int]) -> Array:
        """E[t^2 w^2] per query, kept within what is possible: noise may push it outside."""
        squares = self.weights[rows] ** 2
        most = squares.max(axis=1) * self._mean((kind, kind))
        return np.asarray(np.clip(squares @ self._at((kind, kind)), 0.0, most))

    def _block(
        self,
        left: Weight | None,
        right: Weight | None,
        rows: Sequence[int],
        columns: Sequence[int],
        means: Array,
    ) -> Array:
        """Covariance per report between the queries of two kinds of weight.

        Estimated frequencies enter only through sums, each limited by Cauchy-Schwarz to what
        people spread over nodes could give; so a variance never falls below that of pure noise.
        Doubt is added to the second moments, and to the mean of two weights, but to no first
        moment: it must not let a mean exceed them.
        """
        pair, source = (left, right), self.estimator.frequencies
        w_left, w_right = self.weights[rows], self.weights[columns]
        share = self._at(pair)
        energy_left, energy_right = self._energy(left, rows), self._energy(right, columns)
        mean_left, mean_right = self._mean((left, left)), self._mean((right, right))
        second = _within((w_left * share) @ w_right.T, np.sqrt(np.outer(energy_left, energy_right)))
        if left == right and rows == columns:
            np.fill_diagonal(second, energy_left)
        doubt = partial(source.doubt, self.group)
        second += doubt(pair) * doubted(w_left, w_right)
        first = First(
            _within(w_left @ share, np.sqrt(energy_left * mean_right)),
            _within(w_right @ share, np.sqrt(energy_right * mean_left)),
            _within(means[list(rows)], np.sqrt(energy_left)),
            _within(means[list(columns)], np.sqrt(energy_right)),
        )
        sums = Weights(w_left.sum(axis=1), w_right.sum(axis=1), w_left @ w_right.T)
        mean = self._mean(pair) + scatter_of(doubt, pair)
        support = self.estimator.oracles.support(self.group)
        return support.covariance(sums, mean, first, second)


def _merged(entries: Sequence[Entry], position: Mapping[int, int]) -> tuple[Codes, Array]:
    """The distinct nodes of all entries (c,) and the weights of each query on them (k, c).

    Consistent inference asks every query at the same nodes, which then need no sorting.
    """
    nodes = entries[0][1]
    if all(chosen is nodes for _, chosen, _ in entries):
        weights = np.zeros((len(position), len(nodes)))
        for number, _, part in entries:
            weights[position[number]] += part
        return nodes, weights
    nodes, place = np.unique(
        np.concatenate([chosen for _, chosen, _ in entries]), return_inverse=True
    )
    owners = np.repeat(
        [position[number] for number, _, _ in entries], [len(c) for _, c, _ in entries]
    )
    weights = np.zeros((len(position), len(nodes)))
    np.add.at(weights, (owners, place), np.concatenate([w for _, _, w in entries]))
    return nodes, weights


def _within(values: Array, limit: Array) -> Array:
    return np.clip(values, -limit, limit)
