"""Unbiased answers of groups to which no report contributes much more than others do:
`--estimator robust`.

How contributions are bounded: `ldpsql.decoders.bounded`. All groups have one bound, and which part
of a query each of them answers is chosen together with it: usual contributions are those of least
squares over all groups (`ldpsql.decoders.consistent`). Groups answer by their *actual* sizes, so
drop-outs bias nothing; a group that has nobody has no part. Marginals have fixed parts in what
several of them hold, so there is no answer where one of these has nobody.

Source: docs/fourier.md#the-estimator-robust.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from ldpsql.decoders.base import Codes, Estimator
from ldpsql.decoders.bounded import ADDED_PEOPLE, Contributions
from ldpsql.decoders.groups import GroupTable, InformationTable
from ldpsql.decoders.linear import ReportedSource
from ldpsql.decoders.listed import ListedReports
from ldpsql.estimate import Estimates
from ldpsql.limits import in_time
from ldpsql.numerics import Array, join_ranges
from ldpsql.trees import Tree
from ldpsql_device.frozen import frozen

_KEPT = 1 << 22
"""How many contributions are kept."""
_NOTHING = 1e-9
"""Of a query's largest coefficient: smaller ones are of rounding."""


class Asked(NamedTuple):
    """A query for the whole of a table.

    known: coefficient of what is known without asking.  counted: what every record counts for, in
    the form that the design's `ListedContributions` take; None if there is nothing to ask.
    """

    known: float
    counted: Array | None


class ListedContributions(Contributions[Array]):
    """Contributions of the reports of some groups, group after group.

    reports: of every group.  shares: of the people that it has.  even: shares of people at its
    nodes if records are spread evenly.
    """

    def __init__(
        self, reports: Sequence[ListedReports], shares: Array, even: Sequence[Array]
    ) -> None:
        self.reports, self.shares = reports, shares
        self.parts = [
            slice(*ends) for ends in pairwise(accumulate((own.count for own in reports), initial=0))
        ]
        self.chances = [own.chances(each) for own, each in zip(reports, even, strict=True)]

    @abstractmethod
    def centre(self, counted: Array) -> tuple[float, Array]:
        """The mean over evenly spread records, and what is left of a query without it."""

    @abstractmethod
    def can_answer(self, counted: Array) -> bool:
        """Whether the groups tell everything that a query asks."""

    @abstractmethod
    def split(self, asked: Array) -> list[Array]:
        """The weights of the nodes of every group, shape (c,) each."""

    @abstractmethod
    def join(self, averages: Sequence[Array]) -> Array:
        """The query that the groups' nodes (c,) add up to, each counting with its share."""

    def contribute(self, asked: Array) -> Array:
        """See `Contributions`."""
        weights = zip(self.reports, self.split(asked), strict=True)
        return np.concatenate([own.contribute(each) for own, each in weights])

    def average(self, contributions: Array) -> Array:
        """See `Contributions`."""
        parts = zip(self.reports, self.parts, strict=True)
        return self.join([own.average(contributions[part]) for own, part in parts])

    def variance(self, contributions: Array) -> float:
        """See `Contributions`."""
        every = range(len(self.parts))
        spread = [self.spread_evenly(number, contributions[None])[0, 0] for number in every]
        return float(self.shares @ spread)

    def spread_evenly(self, number: int, contributions: Array) -> Array:
        """Covariance (k, k) in a group of one report's contributions, of (k, reports), if records
        are spread evenly."""
        chances, own = self.chances[number], contributions[:, self.parts[number]]
        means = own @ chances
        return np.asarray((own * chances) @ own.T - np.outer(means, means))

    def add(self, left: Array, right: Array, factor: float) -> Array:
        """See `Contributions`."""
        return np.asarray(left + factor * right)

    def largest(self, asked: Array) -> float:
        """See `Contributions`."""
        return float(np.abs(asked).max(initial=0.0))


class CellContributions(ListedContributions):
    """Of groups that are asked about cells of their own: of all records, or of a marginal each.

    A query is asked by what the cells of every group of the design count for, one group after the
    other, (cells,).  places: where those of these groups are.
    """

    def __init__(
        self,
        reports: Sequence[ListedReports],
        shares: Array,
        even: Sequence[Array],
        places: Sequence[slice],
        cells: int,
    ) -> None:
        super().__init__(reports, shares, even)
        self._even, self._places, self._cells = even, places, cells

    def centre(self, counted: Array) -> tuple[float, Array]:
        """See `ListedContributions`."""
        means, rest = [], counted.copy()
        for even, place in zip(self._even, self._places, strict=True):
            means.append(float(even @ counted[place]))
            rest[place] -= means[-1]
        return sum(means), rest

    def can_answer(self, counted: Array) -> bool:
        """See `ListedContributions`: whether the usual contributions are unbiased."""
        missing = counted - self.average(self.contribute(counted))
        return self.largest(missing) <= 1e-6 * self.largest(counted)

    def split(self, asked: Array) -> list[Array]:
        """See `ListedContributions`."""
        return [asked[own] / share for own, share in zip(self._places, self.shares, strict=True)]

    def join(self, averages: Sequence[Array]) -> Array:
        """See `ListedContributions`."""
        joined = np.zeros(self._cells)
        for place, share, own in zip(self._places, self.shares, averages, strict=True):
            joined[place] = share * own
        return joined


class NodeContributions(ListedContributions):
    """Of groups of nodes of trees.

    A query is asked by what every combination of padded codes counts for, of either sign, and for
    every measure whose sign is collected by half the difference of its two signs: shape (1 +
    measures, codes of tree 1, ...).
    """

    def __init__(
        self,
        table: GroupTable,
        members: Sequence[int],
        reports: Sequence[ListedReports],
        shares: Array,
        information: InformationTable,
    ) -> None:
        even = [table.spread_evenly(g, np.arange(table.sizes[g])) for g in members]
        super().__init__(reports, shares, even)
        self.table, self.members = table, members
        every = np.zeros(len(table.groups))
        every[list(members)] = shares
        signed = [[g for g in members if table.groups[g].sign == sign] for sign in table.signs]
        # By what is asked: the information of every class of details.
        self._information = [information.total(every, own) for own in (members, *signed)]
        self._precisions = information.precisions[list(members)]

    def centre(self, counted: Array) -> tuple[float, Array]:
        """See `ListedContributions`."""
        real = tuple(slice(tree.size) for tree in self.table.trees)
        mean, rest = float(counted[0][real].mean()), counted.copy()
        rest[0] -= mean
        return mean, rest

    def can_answer(self, counted: Array) -> bool:
        """See `ListedContributions`: whether every class of details in it is informed."""
        least = _NOTHING * self.largest(counted)
        for own, known in zip(counted, self._information, strict=True):
            codes = tuple(range(known.ndim, 2 * known.ndim))
            missing = np.abs(self._find_details(own)).max(axis=codes)
            if (missing[known <= 0.0] > least).any():
                return False
        return True

    def split(self, asked: Array) -> list[Array]:
        """See `ListedContributions`: by least squares."""
        solved = []
        for own, known in zip(asked, self._information, strict=True):
            inverse = np.divide(1.0, known, out=np.zeros_like(known), where=known > 0.0)
            solved.append(np.tensordot(inverse, self._find_details(own), inverse.ndim))
        weights = []
        for group, precision in zip(self.members, self._precisions.tolist(), strict=True):
            each = precision * self._sum_codes(group, solved[0])
            sign = self.table.groups[group].sign
            if sign is not None:
                half = precision * self._sum_codes(group, solved[1 + self.table.signs.index(sign)])
                each = np.concatenate([each - half, each + half])
            weights.append(each)
        return weights

    def join(self, averages: Sequence[Array]) -> Array:
        """See `ListedContributions`."""
        shared = (share * own for share, own in zip(self.shares, averages, strict=True))
        return join_nodes(self.table, zip(self.members, shared, strict=True))

    def _find_details(self, amounts: Array) -> Array:
        """The details (`ldpsql.trees`) of every class of amounts by padded code, shape (levels of
        tree 1, ..., codes of tree 1, ...)."""
        d = len(self.table.trees)
        for axis, tree in enumerate(self.table.trees):
            # Axes of levels that were found stand in front.
            place, levels = 2 * axis, []
            own = np.moveaxis(amounts, place, -1)
            for width in tree.widths:
                means = own.reshape(*own.shape[:-1], -1, width).mean(axis=-1)
                levels.append(np.moveaxis(np.repeat(means, width, axis=-1), -1, place))
            details = np.diff(np.array(levels), axis=0, prepend=0.0)
            amounts = np.moveaxis(details, 0, axis)
        assert amounts.ndim == 2 * d
        return np.asarray(amounts)

    def _sum_codes(self, group: int, amounts: Array) -> Array:
        """Sums of amounts by padded code over the nodes of a group, shape (c,)."""
        for axis, (tree, level) in enumerate(levels_of(self.table, group)):
            own = np.moveaxis(amounts, axis, -1)
            sums = own.reshape(*own.shape[:-1], -1, tree.widths[level]).sum(axis=-1)
            amounts = np.moveaxis(sums[..., : tree.counts[level]], -1, axis)
        return amounts.ravel()


def join_nodes(table: GroupTable, weights: Iterable[tuple[int, Array]]) -> Array:
    """What every record counts for if the nodes (c,) of some groups do, in the form that
    `NodeContributions` take."""
    trees, signs = table.trees, table.signs
    found = np.zeros((1 + len(signs), *(tree.size for tree in trees)))
    for group, own in weights:
        sign = table.groups[group].sign
        if sign is None:
            found[0] += _spread_nodes(table, group, own)
            continue
        lower, upper = own.reshape(2, -1)
        found[0] += _spread_nodes(table, group, (upper + lower) / 2.0)
        found[1 + signs.index(sign)] += _spread_nodes(table, group, (upper - lower) / 2.0)
    # Padded codes hold nobody, and count as the last ones do.
    padding = [(0, 0), *((0, tree.padded - tree.size) for tree in trees)]
    return np.pad(found, padding, mode="edge")


def _spread_nodes(table: GroupTable, group: int, amounts: Array) -> Array:
    """Amounts of the nodes of a group (c,), without sign, for every combination of codes."""
    levels = levels_of(table, group)
    spread = amounts.reshape([tree.counts[level] for tree, level in levels])
    for axis, (tree, level) in enumerate(levels):
        spread = np.take(spread, np.arange(tree.size) // tree.widths[level], axis=axis)
    return spread


def levels_of(table: GroupTable, group: int) -> list[tuple[Tree, int]]:
    """The trees, and the level of a group in each."""
    return list(zip(table.trees, table.groups[group].levels, strict=True))


class BoundedReports:
    """Bounded contributions to the queries of a design; those of the last few are kept.

    make: the contributions of the reports of some groups.  reports: how many all groups have.
    """

    def __init__(
        self, make: Callable[[tuple[int, ...]], ListedContributions], reports: int
    ) -> None:
        kept = max(4, _KEPT // max(1, reports))
        self.of_groups = lru_cache(8)(make)
        self._of = lru_cache(kept)(self._bound)

    def of(self, members: tuple[int, ...], counted: Array) -> tuple[float, Array] | None:
        """What everybody counts for anyway, and what every report of these groups contributes
        besides, shape (reports,); None if the groups do not tell it."""
        return self._of(members, counted.shape, counted.tobytes())

    def _bound(
        self, members: tuple[int, ...], shape: tuple[int, ...], counted: bytes
    ) -> tuple[float, Array] | None:
        own = self.of_groups(members)
        mean, rest = own.centre(np.frombuffer(counted).reshape(shape))
        if not own.can_answer(rest):
            return None
        if not rest.any():
            return mean, np.zeros(own.parts[-1].stop)
        return mean, own.clip(rest, own.bound(rest))


@frozen(eq=False)
class RobustEstimator(Estimator[Any]):
    """Sums of bounded contributions over the reports, group by group.

    Variances are those of the contributions of the reports themselves.  ask: what a planned query
    asks, None where no groups tell it.
    """

    source: ReportedSource
    bounded: BoundedReports
    ask: Callable[[Any], Asked | None]

    def answer_rows(self, rows: Sequence[Sequence[Any]]) -> list[Estimates]:
        """See `Estimator`."""
        return [self._answer(row) for row in in_time(rows)]

    def _answer(self, queries: Sequence[Any]) -> Estimates:
        source, kinds = self.source, [query.weight for query in queries]
        known, contributed, unanswerable = self._contribute(queries)
        values = known * np.array([source.total(kind) for kind in kinds])
        covariance = np.zeros((len(queries), len(queries)))
        if not self._members:
            values[unanswerable], covariance[unanswerable, unanswerable] = np.nan, np.inf
            return Estimates(values, covariance)
        groups = range(len(self._members))
        even = [self._own.spread_evenly(number, contributed) for number in groups]
        parts = np.array([self._predict(number, each) for number, each in enumerate(even)])
        total = parts.sum(axis=0)
        parts = np.sqrt(np.divide(parts, total, out=np.zeros_like(parts), where=total > 0.0))
        for number, group in enumerate(in_time(self._members)):
            own, scale = contributed[:, self._numbers[number]], self._scale(number)
            moment, size = source.rows(group).moment, source.size(group)
            sums = np.array([moment(k, None) @ c for k, c in zip(kinds, own, strict=True)])
            squares, weights = np.zeros_like(covariance), np.zeros_like(covariance)
            for a, one in enumerate(kinds):
                for b, other in enumerate(kinds):
                    squares[a, b] = moment(one, other) @ (own[a] * own[b])
                    weights[a, b] = source.histogram.moment(one, other) / source.people
            # One of the people added is every group's own. The others make up for how well a
            # variance is known, which hangs on the groups by the squares of their parts in it.
            added = 1.0 + (ADDED_PEOPLE - 1.0) * np.outer(parts[number], parts[number])
            values += scale * sums
            centred = squares - np.outer(sums, sums) / size + added * weights * even[number]
            covariance += scale**2 * centred
        values[unanswerable], covariance[unanswerable, unanswerable] = np.nan, np.inf
        return Estimates(values, covariance)

    def influence(self, queries: Sequence[Any], slopes: Array) -> Array:
        """See `Estimator` and `LinearEstimator.influence`."""
        known, contributed, unanswerable = self._contribute(queries)
        combined, people = slopes @ contributed, self.source.people
        is_count = np.array([query.weight is None for query in queries])
        counted = (slopes * is_count) @ contributed
        answered, ends = slopes @ known, []
        for number, group in enumerate(in_time(self._members)):
            rows, size = self.source.rows(group), self.source.size(group)
            means = counted[:, self._numbers[number]] @ rows.moment(None, None) / size
            share, own = self._scale(number) * size / people, combined[:, self._own.parts[number]]
            extremes = np.array([own.min(axis=1), own.max(axis=1)])
            answered = answered + share * means
            ends.append(share * (people + 1.0) / (size + 1.0) * (extremes - means))
        found = answered + (join_ranges(ends) if ends else 0.0)
        found = np.broadcast_to(found, (2, len(slopes))).copy()
        found[:, (slopes[:, unanswerable] != 0.0).any(axis=1)] = np.nan
        return found

    def _contribute(self, queries: Sequence[Any]) -> tuple[Array, Array, list[int]]:
        """Coefficients of what is known, (k,), contributions, (k, reports), and the numbers of the
        queries that no group can answer."""
        known, unanswerable = np.zeros(len(queries)), []
        contributed = np.zeros((len(queries), self._own.parts[-1].stop if self._members else 0))
        for number, asked in enumerate(map(self.ask, queries)):
            if asked is None:
                unanswerable.append(number)
                continue
            known[number] = asked.known
            if asked.counted is None:
                continue
            found = self.bounded.of(self._members, asked.counted) if self._members else None
            if found is None:
                unanswerable.append(number)
                continue
            known[number] += found[0]
            contributed[number] = found[1]
        return known, contributed, unanswerable

    def _predict(self, number: int, even: Array) -> Array:
        """What a group adds to variances (k,) if records are spread evenly; even: (k, k)."""
        size = self.source.size(self._members[number])
        # Of a group without a part it is 0 but for rounding.
        return self._scale(number) ** 2 * size * np.maximum(np.diagonal(even), 0.0)

    def _scale(self, number: int) -> float:
        """What a report of a group counts for: people / size of the group x its share."""
        size = self.source.size(self._members[number])
        return float(self._own.shares[number]) * self.source.people / size

    @cached_property
    def _members(self) -> tuple[int, ...]:
        """The groups that have people."""
        groups = range(len(self.source.answers))
        return tuple(group for group in groups if self.source.size(group))

    @property
    def _own(self) -> ListedContributions:
        return self.bounded.of_groups(self._members)

    @cached_property
    def _numbers(self) -> list[Codes]:
        """By group the number of every row's reports among all, shape (r,)."""
        found = []
        for number, group in enumerate(self._members):
            own = self._own.reports[number].number(self.source.rows(group).columns)
            found.append(self._own.parts[number].start + own)
        return found
