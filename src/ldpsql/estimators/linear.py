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

To write a design: turn a query into a `CellQuery`, in several independent ways where several
groups of people can answer it; say by a `GroupAnswer` per group what its reports contribute, and by
`even_shares` where evenly spread people are. `ldpsql.estimators.linear_design` does the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Box, LinearQuery, Weight
from ldpsql.algebra.estimate import PSEUDO_PEOPLE, Estimates
from ldpsql.algebra.numerics import Array, distinct, join_ranges, multiply_outer, weigh_by_precision
from ldpsql.estimators.base import Codes, Estimator, PlannedQuery
from ldpsql.limits import in_time
from ldpsql.reports.report import Histogram, Pair, Rows

_DECODED_AT_ONCE, _CHUNK = 4096, 256


# -- queries --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupCells:
    """Nodes of one group and the weight of each, both of shape (c,)."""

    group: int
    nodes: Codes
    weights: Array


Alternative = tuple[GroupCells, ...]


@dataclass(frozen=True, eq=False)
class GroupPart:
    """The part of k queries that one group answers.

    nodes: the c nodes that any of them reads.  weights: of these in each query, shape (k, c).
    kinds, owners: the public weight and the row of each query.  used: which queries the group has a
    part in, (..., k), of a source of many sets of people.
    """

    group: int
    nodes: Codes
    weights: Array
    kinds: Sequence[Weight | None]
    owners: Codes
    used: NDArray[np.bool_] | None = None


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
    """The part that is known without asking, and the (coefficient, box) terms that must be asked.

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


def list_nodes(nodes: Codes) -> str:
    """Node numbers in ascending order, each once, runs written as first..last."""
    found = np.unique(nodes)
    runs = np.split(found, np.flatnonzero(np.diff(found) != 1) + 1)
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs]
    more = f", ... ({len(texts) - 12} more runs)" if len(texts) > 12 else ""
    return f"nodes {', '.join(texts[:12])}{more}"


# -- what reports contribute ----------------------------------------------------------------------


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


@dataclass(frozen=True)
class AskedGroup:
    """The people who answer one part of a question.

    question: theirs.  nodes: how many the group has.  moments: of a report's contributions.
    path: how many nodes each person is at; one in all but LGRR.  has_shares: whether estimates are
    shares of people at nodes, rather than differences of such shares.
    """

    question: int
    nodes: int
    moments: Moments
    path: int = field(default=1, kw_only=True)
    has_shares: bool = field(default=True, kw_only=True)


class GroupAnswer(AskedGroup, ABC):
    """How the people of one group answer.

    adds_up: whether it tells row by row how much reports contribute.
    """

    adds_up: ClassVar[bool] = False

    @abstractmethod
    def estimate(self, rows: Rows, pair: Pair, size: float, mean: float, nodes: Codes) -> Array:
        """Mean over people of u v times their report's contribution, at some nodes, shape (c,).

        rows: of the histogram, of the question.  size: people.  mean: of u v over them.
        """

    def contributions(self, rows: Rows, nodes: Codes, weights: Array) -> Array:
        """Contributions of each row's reports to queries, shape (m, r), of one that `adds_up`.

        rows: of the histogram, of the question.  weights: of distinct nodes (c,), shape (m, c).
        """
        raise NotImplementedError

    @abstractmethod
    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """The least and the most that a report may contribute to queries, whatever it says, shape
        (2, m); weights: of distinct nodes (c,) in each query, shape (m, c).

        It may be further out where it says so.
        """

    def spread(self, cells: GroupCells) -> float:
        """Predicted variance of what one report contributes to an answer.

        By it alternatives are weighted, so it must not look at the answers: it is the leading
        term, the noise where nobody is at the nodes.
        """
        return float(np.sum(cells.weights**2)) * self.moments.node_variance


@dataclass
class GroupedPeople:
    """How many people answered, by group; here they all weigh 1.

    sizes: people per group, shape (groups,).  answers: how every group answers.  shape: of whatever
    is one number for a set of people; a source of many sets has an axis more.
    """

    people: float
    sizes: Array
    answers: Sequence[GroupAnswer]
    shape: ClassVar[tuple[int, ...]] = ()

    def total(self, weight: Weight | None) -> float:
        """Sum of a public weight over all people; their number for None."""
        return self.people

    def size(self, group: int) -> float:
        """People in a group."""
        return float(self.sizes[group])


class Source(GroupedPeople, ABC):
    """Where node estimates come from."""

    @abstractmethod
    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """Estimates of E[u v 1(own node is k)] at nodes of a group, shape (c,)."""

    def weigh(self, group: int, nodes: Codes, weights: Array, pair: Pair) -> Array:
        """Estimates at distinct nodes of a group, times their weights (m, c) and added: shape (...,
        m)."""
        return np.asarray(weights @ self.at(group, nodes, pair))

    def weigh_products(
        self, group: int, nodes: Codes, left: Array, right: Array, pair: Pair
    ) -> Array:
        """The same with products of the weights of two lists of queries, shape (..., k, l)."""
        return np.asarray((left * self.at(group, nodes, pair)) @ right.T)

    def mean(self, group: int, pair: Pair) -> float:
        """Mean of u v over the people of a group."""
        return 1.0

    def pseudo_count(self, group: int, pair: Pair) -> float:
        """Pseudo-count of the mean of u v of a group: PSEUDO_PEOPLE times the mean over everybody,
        divided by the people of the group."""
        return 0.0


@dataclass
class EvenSource(Source):
    """Everybody spread evenly over all records, public weights 1: what a prediction assumes.

    even_shares: estimates at nodes of a group.
    """

    even_shares: Callable[[int, Codes], Array]
    _last: tuple[int, Codes, Array] | None = None
    """The last question with its answer: a covariance asks several times for the same."""

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """The part of all records at each node."""
        if self._last is None or self._last[0] != group or self._last[1] is not nodes:
            self._last = group, nodes, self.even_shares(group, nodes)
        return self._last[2]


class ReportedSource(Source):
    """A histogram, read question by question; remembers what it has read and computed."""

    def __init__(self, histogram: Histogram, answers: Sequence[GroupAnswer]) -> None:
        sizes = histogram.sizes[[answer.question for answer in answers]]
        super().__init__(float(histogram.people), sizes.astype(np.float64), answers)
        self.histogram = histogram
        self._rows: dict[int, Rows] = {}
        self._means: dict[tuple[int, Pair], float] = {}
        self._estimates: dict[tuple[int, Pair], Array] = {}

    def total(self, weight: Weight | None) -> float:
        """Sum of a public weight over all people."""
        return self.histogram.total(weight)

    def rows(self, group: int) -> Rows:
        """The histogram rows of the group's question."""
        question = self.answers[group].question
        if question not in self._rows:
            self._rows[question] = self.histogram.load(question)
        return self._rows[question]

    def mean(self, group: int, pair: Pair) -> float:
        """Mean of u v over the people of a group."""
        if pair == (None, None):
            return 1.0
        if (group, pair) not in self._means:
            rows = self.rows(group)
            moment = rows.moment(*pair)
            if self.histogram.unary:  # the rows of bit -1 hold every person once
                moment = moment[rows.columns[0] < 0]
            self._means[group, pair] = float(moment.sum()) / self.size(group)
        return self._means[group, pair]

    def pseudo_count(self, group: int, pair: Pair) -> float:
        """Two more people, who are like all people in their public weights."""
        mean = self.histogram.moment(*pair) / self.people
        return PSEUDO_PEOPLE / self.size(group) * mean

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """From the reports; all nodes of a small group are estimated at once."""
        answer, mean = self.answers[group], self.mean(group, pair)
        if (group, pair) not in self._estimates:
            self._estimates[group, pair] = np.full(answer.nodes, np.nan)
        known = self._estimates[group, pair]
        missing = nodes[np.isnan(known[nodes])]
        if missing.size:
            every = np.arange(answer.nodes)
            wanted = every if answer.nodes <= _DECODED_AT_ONCE else np.unique(missing)
            rows, size = self.rows(group), self.size(group)
            known[wanted] = answer.estimate(rows, pair, size, mean, wanted)
        return np.asarray(known[nodes])


# -- the estimator --------------------------------------------------------------------------------

Entry = tuple[int, Codes, Array]
"""A query's number, nodes of a group, and their weights in the query."""


@dataclass(frozen=True)
class LinearEstimator(Estimator[CellQuery]):
    """Answers cell queries from the node estimates of a source; unbiased if these are.

    takes_sets: whether also from a source of many sets of people (`grouped`), of which no
    `answer_rows` is asked.
    """

    source: Source
    takes_sets: ClassVar[bool] = True

    def answer_rows(self, rows: Sequence[Sequence[CellQuery]]) -> list[Estimates]:
        """One joint answer per row; rows are worked out many at a time."""
        answers: list[Estimates] = []
        step = max(1, _CHUNK // max(1, *map(len, rows), 1))
        for first in in_time(range(0, len(rows), step)):
            chunk = rows[first : first + step]
            owners = np.repeat(np.arange(len(chunk)), [len(row) for row in chunk])
            joint = self._answer([query for row in chunk for query in row], owners)
            for number in range(len(chunk)):
                own = np.flatnonzero(owners == number)
                answers.append(Estimates(joint.values[own], joint.covariance[np.ix_(own, own)]))
        return answers

    def values(self, queries: Sequence[CellQuery]) -> Array:
        """The values alone. Sums of public weights are answered with their variance."""
        source = self.source
        values = np.array([query.known * source.total(query.weight) for query in queries])
        pieces, unanswerable = self.pieces(queries)
        values[unanswerable] = np.nan
        for group, entries in in_time(sorted(pieces.items())):
            asked = distinct([number for number, _, _ in entries])
            nodes, weights = merge_entries(entries, asked)
            means = source.weigh(group, nodes, weights, (None, None))
            values[asked] += source.people * self._correct(group, nodes, weights, means)
        weighed = [number for number, query in enumerate(queries) if query.weight is not None]
        if weighed:
            values[weighed] = super().values([queries[number] for number in weighed])
        return values

    def _answer(self, queries: Sequence[CellQuery], owners: Codes) -> Estimates:
        """A joint answer. owners: the row of each query; only within a row covariances matter."""
        source, k = self.source, len(queries)
        values = np.array([q.known * source.total(q.weight) for q in queries], dtype=float)
        covariance = np.zeros((k, k))
        pieces, unanswerable = self.pieces(queries)
        values[unanswerable], covariance[unanswerable, unanswerable] = np.nan, np.inf
        for group, entries in in_time(sorted(pieces.items())):
            asked = distinct([number for number, _, _ in entries])
            nodes, weights = merge_entries(entries, asked)
            kinds = [queries[number].weight for number in asked]
            means, spread = self._group(GroupPart(group, nodes, weights, kinds, owners[asked]))
            values[asked] += source.people * means
            covariance[np.ix_(asked, asked)] += source.people**2 / source.size(group) * spread
        return Estimates(values, covariance)

    def pieces(self, queries: Sequence[CellQuery]) -> tuple[dict[int, list[Entry]], list[int]]:
        """The entries that every group answers, and the numbers of queries that none can answer.

        Alternatives are weighted by their predicted variances (`GroupAnswer.spread`).
        """
        pieces: dict[int, list[Entry]] = {}
        unanswerable = []
        for number, query in enumerate(queries):
            spreads = [sum(map(self._spread, cells)) for cells in query.alternatives]
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

    def influence(self, queries: Sequence[CellQuery], slopes: Array) -> Array:
        """The extremes over all that a report may contribute.

        An answer is N (known + sum over groups of m_g), m_g the mean contribution to it in a group
        of n_g people. One more report that contributes c to group g makes N one more, which adds
        answer / N, and moves N m_g by N / n_g (c - m_g). A report with parts does so for each of
        the groups that it answers.
        """
        pieces, unanswerable = self.pieces(queries)
        answered = slopes @ np.array([query.known for query in queries], dtype=float)
        moved: dict[int, Array] = {}  # by question
        for group, entries in in_time(sorted(pieces.items())):
            asked = distinct([number for number, _, _ in entries])
            nodes, weights = merge_entries(entries, asked)
            at = self.source.at(group, nodes, (None, None))
            is_count = np.array([queries[number].weight is None for number in asked])
            means = (slopes[:, asked] * is_count) @ (weights @ at)
            combined, answer = slopes[:, asked] @ weights, self.source.answers[group]
            amounts = np.vstack([answer.extremes(nodes, combined), means])
            *extremes, means = self._correct(group, nodes, combined, amounts)
            answered = answered + means
            scale = (self.source.people + 1.0) / (self.source.size(group) + 1.0)  # with it
            before = moved.get(answer.question, np.zeros((2, len(slopes))))
            moved[answer.question] = before + scale * (np.array(extremes) - means)
        # A report to a question that no answer looks at moves nothing else.
        others = {answer.question for answer in self.source.answers} - set(moved)
        ends = [*moved.values(), *([np.zeros((2, len(slopes)))] if others else [])]
        found = answered + join_ranges(ends)
        found[:, (slopes[:, unanswerable] != 0.0).any(axis=1)] = np.nan
        return np.asarray(found)

    def _correct(self, group: int, nodes: Codes, weights: Array, amounts: Array) -> Array:
        """Contributions of reports, or their means, as the estimator counts them; weights: (m, c).

        amounts: shape (..., m).
        """
        return amounts

    def _spread(self, cells: GroupCells) -> float:
        """Predicted variance of a group's part of an answer; inf for one without reports."""
        size = self.source.size(cells.group)
        return self.source.answers[cells.group].spread(cells) / size if size else float(np.inf)

    def _group(self, part: GroupPart) -> tuple[Array, Array]:
        """Means (..., k) and covariance (..., k, k) of Y for a report of one group."""
        group, nodes, weights, kinds = part.group, part.nodes, part.weights, part.kinds
        source, answer, k = self.source, self.source.answers[group], len(kinds)
        moments = answer.moments
        members: dict[Weight | None, Codes] = {
            kind: np.array([row for row, own in enumerate(kinds) if own == kind])
            for kind in dict.fromkeys(kinds)
        }
        means, squares, scales = (np.zeros((*source.shape, k)) for _ in range(3))
        covariance = np.zeros((*source.shape, k, k))
        for kind, rows in members.items():
            means[..., rows] = source.weigh(group, nodes, weights[rows], (kind, None))
            scales[..., rows] = _add_axes(source.mean(group, (kind, kind)), 1)
            # E[t^2 w^2] at the own nodes, kept within what is possible: noise may push an
            # estimate outside of it, and without shares only the bound is known.
            own = weights[rows] ** 2
            most = own.max(axis=1) * scales[..., rows] * answer.path
            likely = source.weigh(group, nodes, own, (kind, kind)) if answer.has_shares else most
            squares[..., rows] = np.clip(likely, 0.0, most)
        # |E[Y]| <= sqrt(nodes of a person x E[t^2 w^2]) by Cauchy and Schwarz. Estimates beyond
        # it would push a variance below that of pure noise.
        likely = clip_to(means, np.sqrt(answer.path * squares))
        gram, sums = weights @ weights.T, weights.sum(axis=1)

        def weigh(own: Codes, others: Codes, pair: Pair) -> Array:
            """E[u v w], within Cauchy and Schwarz."""
            limit = np.sqrt(squares[..., own] * scales[..., others[:1]])
            return clip_to(source.weigh(group, nodes, weights[own], pair), limit)

        for left, rows in members.items():
            for right, columns in members.items():
                pair, place = (left, right), np.ix_(rows, columns)
                mean = source.mean(group, pair) + self._scatter(group, pair)
                sides = sums[rows], sums[columns]
                same = moments.same * gram[place] + moments.every * np.outer(*sides)  # noise alone
                block = _add_axes(mean, 2) * same
                if moments.own or moments.cross:
                    # E[u v w w'] at the own nodes, within Cauchy and Schwarz too.
                    second = clip_to(
                        source.weigh_products(group, nodes, weights[rows], weights[columns], pair),
                        np.sqrt(multiply_outer(squares[..., rows], squares[..., columns])),
                    )
                    if left == right:
                        every = np.arange(len(rows))
                        second[..., every, every] = squares[..., rows]
                    pseudo = source.pseudo_count(group, pair)
                    if np.any(pseudo):  # no prediction assumes any
                        added = pseudo_squares(weights[rows], weights[columns])
                        second += _add_axes(pseudo, 2) * added
                    one = weigh(rows, columns, pair)
                    other = one if left == right else weigh(columns, rows, pair)
                    firsts = multiply_outer(one, sides[1]) + multiply_outer(sides[0], other)
                    block = block + moments.own * second + moments.cross * firsts
                covariance[..., rows[:, None], columns] = block
        if not moments.own and not moments.cross:
            likely = self._limit_by_noise(part, likely, covariance)
        return means, covariance - multiply_outer(likely, likely)  # E[Y Y'] - E[Y] E[Y]'

    def _limit_by_noise(self, part: GroupPart, likely: Array, covariance: Array) -> Array:
        """Means (..., k) within E[Y Y'] of every owner, where that is noise alone, as of Hadamard
        entries, and does not depend on the frequencies."""
        answer = self.source.answers[part.group]
        if part.used is not None:
            likely = np.where(part.used, likely, 0.0)
        for owner in distinct(part.owners):
            mine = np.flatnonzero(part.owners == owner)
            if len(mine) > 1:
                second = answer.path / answer.moments.same * covariance[..., mine[:, None], mine]
                if part.used is not None:
                    is_used = part.used[..., mine]
                    second = np.where(is_used[..., :, None] & is_used[..., None, :], second, 0.0)
                likely[..., mine] = limit_jointly(likely[..., mine], second)
        return likely

    def _scatter(self, group: int, pair: Pair) -> float | Array:
        """The variance of public weights, or their covariance, among the pseudo-people of a group.

        Without weights, or where all weigh alike, it is 0, and a ratio of sums keeps the error that
        its weights give it. Few people may all weigh nothing, and still others do not.
        """
        people = self.source.pseudo_count(group, (None, None))
        if None in pair or not np.any(people):
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
    """The second moments E[w_i w_j] of one pseudo-person, shape (k, l).

    For a query with itself the largest of its squared weights; between queries as far as they have
    the same nodes. It is a Gram matrix, so a covariance matrix stays positive semidefinite.

    left, right: node weights, shapes (k, c) and (l, c).
    """
    scaled = []
    for weights in (left, right):
        norms = np.sqrt(np.sum(weights**2, axis=1, keepdims=True))
        largest = np.abs(weights).max(axis=1, keepdims=True)
        scaled.append(weights * largest / np.where(norms > 0.0, norms, 1.0))  # of norm max |w|
    return np.asarray(scaled[0] @ scaled[1].T)


def limit_jointly(means: Array, second: Array) -> Array:
    """Means m scaled down, if need be, so that m m' does not exceed the second moments.

    m m' <= S for a positive semidefinite S holds iff m' S^+ m <= 1. It holds for true means; where
    few reports estimate them, clipping each by itself does not ensure it, and the variance of a
    difference of two answers would come out as nothing.

    means: shape (..., k).  second: (..., k, k).
    """
    inverse = np.linalg.pinv(second, rcond=1e-10, hermitian=True)  # S^+, for S may be singular
    excess = (means[..., None, :] @ inverse @ means[..., :, None])[..., 0]
    if (excess <= 1.0).all():
        return means
    return np.asarray(means / np.sqrt(np.maximum(excess, 1.0)))


def _add_axes(number: float | Array, count: int) -> Array:
    """Numbers, one or one for each of many sets of people, with axes of length 1 more."""
    return np.asarray(number)[(..., *(None,) * count)]
