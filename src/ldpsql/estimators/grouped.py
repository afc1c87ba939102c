"""The same queries about many sets of people at once, such as those of a GROUP BY.

Sets with reports of their own (`GroupedSource`) are those of public columns; those of the codes of
a dimension (`CodeSource`) are told apart by the nodes that a query looks at.

Each set may have a few reports only, so nothing here has a number per node and set, but where a
variance needs it (`cells`): a report adds what it contributes to each query, and contributions are
added up by set. The numbers are those that the estimator gives for one set after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpsql.algebra.boxes import Weight
from ldpsql.algebra.estimate import PSEUDO_PEOPLE
from ldpsql.algebra.numerics import Array, distinct, multiply_outer, weigh_all_by_precision
from ldpsql.estimators.base import Codes
from ldpsql.estimators.linear import (
    CellQuery,
    GroupAnswer,
    GroupCells,
    GroupPart,
    LinearEstimator,
    Source,
    merge_entries,
)
from ldpsql.limits import in_time
from ldpsql.reports.report import Histograms, Pair, Rows

_ROWS_AT_ONCE = 1 << 23
"""Numbers by row of a histogram and query."""
_NODES_AT_ONCE = 1 << 21
"""Nodes of codes that are answered at once."""


class GroupedSource(Source):
    """Reports of many sets of people; whatever is one number for a set has the shape (G,)."""

    def __init__(self, histograms: Histograms, answers: Sequence[GroupAnswer]) -> None:
        self.histograms = histograms
        people: Any = histograms.moment(None, None)
        super().__init__(people, np.zeros(0), answers)
        self.shape = (len(histograms),)  # type: ignore[misc]  # of one set it is ()
        types = histograms.columns[0]
        self._order = np.argsort(types, kind="stable")
        self._starts = np.searchsorted(types[self._order], np.arange(histograms.types + 1))
        self._rows: dict[int, tuple[Rows, Codes]] = {}
        self._sizes: dict[int, Array] = {}
        self._moments: dict[tuple[int | None, Pair], Array] = {}

    def rows(self, group: int) -> tuple[Rows, Codes]:
        """The histogram rows of the group's question, and which they are of all."""
        question = self.answers[group].question
        if question not in self._rows:
            places = self._order[self._starts[question] : self._starts[question + 1]]
            self._rows[question] = self.histograms.load(places, 1), places
        return self._rows[question]

    def moment(self, group: int, pair: Pair) -> Array:
        """Sums of u v over the people of a group."""
        if (group, pair) not in self._moments:
            rows, places = self.rows(group)
            amounts = rows.moment(*pair)
            if self.histograms.unary:  # the rows of bit -1 hold every person once
                amounts = np.where(rows.columns[0] < 0, amounts, 0.0)
            self._moments[group, pair] = self.histograms.add_up(amounts, places)
        return self._moments[group, pair]

    def total(self, weight: Weight | None) -> Any:
        """Sums of a public weight over all people; their numbers for None."""
        return self._moment_of_all((weight, None))

    def _moment_of_all(self, pair: Pair) -> Array:
        if (None, pair) not in self._moments:
            self._moments[None, pair] = self.histograms.moment(*pair)
        return self._moments[None, pair]

    def size(self, group: int) -> Any:
        """People in a group."""
        return self.moment(group, (None, None))

    def mean(self, group: int, pair: Pair) -> Any:
        """Means of u v over the people of a group; 0 where there are none."""
        return self.moment(group, pair) / np.maximum(self.size(group), 1.0)

    def pseudo_count(self, group: int, pair: Pair) -> Any:
        """Two more people, who are like all people in their public weights."""
        size = np.maximum(self.size(group), 1.0)
        return PSEUDO_PEOPLE / size * (self._moment_of_all(pair) / self.people)

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """By set and node: for whom a few numbers of each set are not enough."""
        return self.weigh(group, nodes, np.eye(len(nodes)), pair)

    def weigh(self, group: int, nodes: Codes, weights: Array, pair: Pair) -> Array:
        """From what each report contributes, shape (G, m); 0 where a group has nobody."""
        rows, places = self.rows(group)
        amounts = rows.moment(*pair)
        found = np.empty((len(self.histograms), len(weights)))
        step = max(1, _ROWS_AT_ONCE // max(1, len(amounts)))
        for first in range(0, len(weights), step):
            part = weights[first : first + step]
            contributed = self.answers[group].contributions(rows, nodes, part)
            for query, own in enumerate(contributed, first):
                found[:, query] = self.histograms.add_up(own * amounts, places)
        return np.asarray(found / np.maximum(self.size(group), 1.0)[:, None])

    def weigh_products(
        self, group: int, nodes: Codes, left: Array, right: Array, pair: Pair
    ) -> Array:
        """The same, shape (G, k, l)."""
        products = (left[:, None, :] * right[None, :, :]).reshape(-1, len(nodes))
        found = self.weigh(group, nodes, products, pair)
        return found.reshape(-1, len(left), len(right))


@dataclass(frozen=True, eq=False)
class CodeRows(Sequence[tuple[CellQuery, ...]]):
    """A row of queries for every one of R codes of a dimension, made when it is asked for.

    firsts: rows of some kinds, of code 0.  strides: by group how far the nodes of the next code
    are.  kinds, codes: of every row, (R,).
    """

    firsts: tuple[tuple[CellQuery, ...], ...]
    strides: Codes
    kinds: Codes
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        code = self.codes[place]
        return tuple(
            replace(
                query,
                alternatives=tuple(
                    tuple(replace(c, nodes=c.nodes + self.strides[c.group] * code) for c in own)
                    for own in query.alternatives
                ),
            )
            for query in self.firsts[self.kinds[place]]
        )


class CodeSource(Source):
    """One set of people as seen from every code, which is one number of the shape (R,)."""

    def __init__(self, source: Source, strides: Codes, codes: Codes) -> None:
        people: Any = np.full(len(codes), source.people)
        super().__init__(people, source.sizes, source.answers)
        self.shape = (len(codes),)  # type: ignore[misc]
        self._source, self._strides, self._codes = source, strides, codes

    def total(self, weight: Weight | None) -> float:
        """That of the people, the same for every code."""
        return self._source.total(weight)

    def mean(self, group: int, pair: Pair) -> float:
        """That of the people."""
        return self._source.mean(group, pair)

    def size(self, group: int) -> Any:
        """People in a group, the same for every code."""
        return np.full(len(self._codes), self._source.size(group))

    def pseudo_count(self, group: int, pair: Pair) -> float:
        """That of the people."""
        return self._source.pseudo_count(group, pair)

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """By code, at the nodes moved to it; 0 where a group has nobody."""
        moved = nodes + (self._strides[group] * self._codes)[:, None]
        if not self._source.size(group):
            return np.zeros(moved.shape)
        return self._source.at(group, moved.ravel(), pair).reshape(moved.shape)

    def weigh(self, group: int, nodes: Codes, weights: Array, pair: Pair) -> Array:
        """Weighted and added, shape (R, m)."""
        return np.asarray(self.at(group, nodes, pair) @ weights.T)

    def weigh_products(
        self, group: int, nodes: Codes, left: Array, right: Array, pair: Pair
    ) -> Array:
        """The same, shape (R, k, l)."""
        at = self.at(group, nodes, pair)
        return np.asarray(np.einsum("rc,kc,lc->rkl", at, left, right))


def answer_codes(linear: LinearEstimator, rows: CodeRows) -> tuple[Array, Array]:
    """The answers to all rows, values (R, T) and covariances within rows (R, T, T)."""
    targets = len(rows.firsts[0])
    values, covariances = np.empty((len(rows), targets)), np.empty((len(rows), targets, targets))
    for kind, first in enumerate(rows.firsts):
        places = np.flatnonzero(rows.kinds == kind)
        cells = sum(len(c.nodes) for query in first for own in query.alternatives for c in own)
        step = max(1, _NODES_AT_ONCE // max(1, cells))
        for start in in_time(range(0, len(places), step)):
            part = places[start : start + step]
            source = CodeSource(linear.source, rows.strides, rows.codes[part])
            values[part], covariances[part] = _answer_row(replace(linear, source=source), first)
    return values, covariances


def answer_sets(
    linear: LinearEstimator, rows: Sequence[Sequence[CellQuery]]
) -> tuple[Array, Array]:
    """Answers of every set of a `GroupedSource` to every row of queries, as many in each: values
    (G, R, T) and covariances within rows (G, R, T, T); NaN and inf where no report could tell."""
    found = [_answer_row(linear, row) for row in in_time(rows)]
    values, covariances = zip(*found, strict=True)
    return np.stack(values, axis=1), np.stack(covariances, axis=1)


def _answer_row(linear: LinearEstimator, queries: Sequence[CellQuery]) -> tuple[Array, Array]:
    """As `LinearEstimator._answer`, but of many sets, which weight alternatives as it does: a
    group's part of an answer is that of unweighted queries times their weights."""
    source, k = linear.source, len(queries)
    (sets,), people = source.shape, np.asarray(source.people)
    values, covariance = np.zeros((sets, k)), np.zeros((sets, k, k))
    pieces: dict[int, list[tuple[int, Codes, Array]]] = {}
    shares: dict[int, list[Array]] = {}
    lost = np.zeros((sets, k), dtype=bool)
    for number, query in enumerate(queries):
        if query.known:
            values[:, number] = query.known * source.total(query.weight)
        spreads = [
            sum(_spread(source, cells) for cells in alternative)
            for alternative in query.alternatives
        ]
        if not spreads:
            lost[:, number] = query.is_asked
            continue
        weighed = weigh_all_by_precision(np.array(spreads))
        if query.is_asked:
            lost[:, number] = np.isnan(weighed).any(axis=0)
        for share, alternative in zip(np.nan_to_num(weighed), query.alternatives, strict=True):
            for cells in alternative:
                pieces.setdefault(cells.group, []).append((number, cells.nodes, cells.weights))
                shares.setdefault(cells.group, []).append(share)
    for group, entries in in_time(sorted(pieces.items())):
        numbers = [number for number, _, _ in entries]
        asked = distinct(numbers)
        nodes, weights = merge_entries(entries, asked)
        share = np.zeros((sets, len(asked)))
        share[:, np.searchsorted(asked, numbers)] = np.stack(shares[group], axis=1)
        kinds = [queries[number].weight for number in asked]
        part = GroupPart(group, nodes, weights, kinds, np.zeros(len(asked), int), share > 0.0)
        means, spread = linear._group(part)
        values[:, asked] += people[:, None] * share * means
        scale = people**2 / np.maximum(source.size(group), 1.0)
        own = scale[:, None, None] * multiply_outer(share, share) * spread
        covariance[:, asked[:, None], asked] += own
    values[lost] = np.nan
    where, which = np.nonzero(lost)
    covariance[where, which, which] = np.inf
    return values, covariance


def _spread(source: Source, cells: GroupCells) -> Array:
    """Predicted variance of a group's part of an answer by set; inf for those without reports."""
    size, spread = source.size(cells.group), source.answers[cells.group].spread(cells)
    return np.where(size > 0.0, spread / np.maximum(size, 1.0), np.inf)
