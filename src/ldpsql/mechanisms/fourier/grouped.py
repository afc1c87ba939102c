"""The same queries about many disjoint sets of people at once, such as those of a GROUP BY.

A set may have only a few reports, so no set is decoded. What the reports contribute to a query
follows from the design, and is added up by set; so are products of contributions, from which the
variances follow. The numbers are those of `FourierEstimator`.

If a query is moved by u, so are its contributions: c(j, phi) becomes c(j, phi - theta_j(u)). So
queries that are one query moved about, as those of a private GROUP BY are, take one transform of
every family, from which the reports read at other phases for each. Sums over the reports of a set
are a correlation over these phases, which takes less time where there are many such queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Weight
from ldpsql.limits import in_time
from ldpsql.mechanisms.fourier.contributions import (
    SampledFamilies,
    SampledSums,
    SharedContributions,
    bare,
)
from ldpsql.mechanisms.fourier.covariances import ADDED_PEOPLE, Cuts, centre, find_cuts, spread_cuts
from ldpsql.mechanisms.fourier.families import MixedBatch, mix
from ldpsql.mechanisms.fourier.group import Axes, Integers, Reals, zero_parts
from ldpsql.mechanisms.fourier.spectra import BoxQuery, Collected, Spectrum
from ldpsql.mechanisms.fourier.translates import LARGEST, Translate, evaluate_everywhere, numbers
from ldpsql.reports.report import Histograms, Pair, Rows

_AT_ONCE = 1 << 22
"""How many numbers are held at once: per code of a cut bin, set and query; or frequencies, or
contributions."""
_QUERIES = 64
_PHASES_AT_ONCE = 1 << 18
"""Phases of families that are transformed at once."""

Row = tuple[BoxQuery, ...]
Sums = tuple[Reals, Reals]
"""Of every set the sums of contributions to a row of T queries, in their weights and without what
is known, shape (G, T), and of products of two of them, shape (G, T, T)."""


def answer_sets(
    shared: SharedContributions, histograms: Histograms, rows: Sequence[Sequence[BoxQuery]]
) -> tuple[Reals, Reals]:
    """Unbiased answers of every histogram to every row of queries, all rows of one length: values
    (G, R, T) and covariances within rows (G, R, T, T)."""
    asked = [tuple(row) for row in rows]
    cuts = [find_cuts(row, shared.collected.group) for row in asked]
    parts = dict.fromkeys((cut.part,) for own in cuts for _, cut in own)
    sets = _Sets(shared, histograms)
    sums = sets.sum_up([*(dict.fromkeys(asked) | parts)])
    found = [sets.answer(*own, sums) for own in in_time(zip(asked, cuts, strict=True))]
    values, covariances = zip(*found, strict=True)
    return np.stack(values, axis=1), np.stack(covariances, axis=1)


@dataclass(frozen=True)
class Pattern:
    """Queries that are one query moved about the group.

    query: that lies at the beginning of every axis it can be moved along.  numbers: of the queries,
    shape (k,).  bins: by how many each is moved along every axis of the group, shape (k, axes).
    """

    query: BoxQuery
    numbers: Integers
    bins: Integers


def find_patterns(collected: Collected, queries: Sequence[BoxQuery]) -> list[Pattern]:
    """Of queries without what they know and their weight.

    Restricted answers continue a query otherwise at other places, so there each is by itself.
    """
    group = collected.group
    members: dict[BoxQuery, list[tuple[int, Translate]]] = {}
    for number, query in enumerate(queries):
        alone = Translate((query,), (), ())
        translate = alone if collected.restricted else Translate.of((query,), group)
        members.setdefault(translate.pattern[0], []).append((number, translate))
    patterns = []
    for query, own in members.items():
        bins = np.zeros((len(own), len(group.orders)), dtype=np.int64)
        for row, (_, translate) in zip(bins, own, strict=True):
            row[list(translate.moved)] = translate.bins
        patterns.append(Pattern(query, np.array([number for number, _ in own]), bins))
    return patterns


def count_work(
    shared: SharedContributions, rows: Sequence[Sequence[BoxQuery]], histograms: Histograms
) -> int:
    """How many numbers `answer_sets` works out: contributions of every pattern and family, and of
    every query and report, and products of two within each row; or their correlations."""
    sets = _Sets(shared, histograms)
    moved, others = sets.divide_rows(list(dict.fromkeys(map(tuple, rows))))
    queries = list(dict.fromkeys(bare(query) for row in others for query in row))
    patterns = [pattern.query for pattern in find_patterns(shared.collected, queries)]
    work = len(patterns) * _count_phases(shared.collected, patterns)
    products = sum(_count_sums(row) for row in others) - sum(map(len, others))
    work += (len(queries) + products) * len(histograms.counts)
    return work + sum(sets.count_correlated(members[0]) for members in moved)


def _count_phases(collected: Collected, queries: Sequence[BoxQuery]) -> int:
    """Of all families, those that tell apart what is contributed to some queries."""
    about = find_moved(collected, queries)
    return sum(
        len(cluster) * prod(cluster.orders[place] for place in places)
        for cluster in collected.table.clusters
        if (places := cluster.moved(about))
    )


def _count_sums(row: Row) -> int:
    """Of contributions, and of products of two."""
    return len(row) + len(row) * (len(row) + 1) // 2


@dataclass(eq=False)
class _Sets:
    """Sets of people, and what their reports add up to."""

    shared: SharedContributions
    histograms: Histograms
    _moments: dict[Pair, Reals] = field(default_factory=dict)

    @cached_property
    def _reports(self) -> Rows:
        """The rows of their reports, of which counting the work needs none."""
        return self.histograms.load()

    def _moment(self, left: Weight | None, right: Weight | None) -> Reals:
        """Sums of products of weights by set, kept: all rows of queries ask for the same few."""
        if (left, right) not in self._moments:
            self._moments[left, right] = self.histograms.moment(left, right)
        return self._moments[left, right]

    def answer(self, row: Row, cuts: Cuts, sums: Mapping[Row, Sums]) -> tuple[Reals, Reals]:
        """Values (G, T) and covariances (G, T, T); sums: of the row, and of what it cuts."""
        values, covariance = self._answer_spread(row, sums[row])
        parts = [self._answer_spread((cut.part,), sums[(cut.part,)]) for _, cut in cuts]
        codes = max((cut.excess.size for _, cut in cuts), default=1)
        step = max(1, _AT_ONCE // (codes * len(row)))
        for first in range(0, len(values) if cuts else 0, step):
            part = slice(first, first + step)
            each = [(own[part, 0], spread[part, 0, 0]) for own, spread in parts]
            covariance[part] += spread_cuts(len(row), cuts, each)
        return values, covariance

    def _answer_spread(self, row: Row, sums: Sums) -> tuple[Reals, Reals]:
        """The same as if people were spread evenly within every bin: (G, T) and (G, T, T)."""
        estimated, moments = sums
        values, weights = np.zeros(estimated.shape), np.zeros(moments.shape)
        for a, one in enumerate(row):
            if one.known:
                values[:, a] = one.known * self._moment(one.weight, None)
            for b, other in enumerate(row[: a + 1]):
                weights[:, a, b] = weights[:, b, a] = self._moment(one.weight, other.weight)
        people = self._moment(None, None)[:, None, None]
        alike = tuple(map(bare, row))
        if not self.shared.collected.restricted:
            alike = Translate.of(alike, self.shared.collected.group).pattern
        even = self.shared.covariance(alike) * weights
        return values + estimated, centre(moments, estimated, people, ADDED_PEOPLE * even, row)

    # -- sums over the reports of every set -------------------------------------------------------

    def sum_up(self, rows: Sequence[Row]) -> dict[Row, Sums]:
        """Of rows that differ from each other."""
        moved, others = self.divide_rows(rows)
        found = dict(self._add_up(others))
        for members in moved:
            found |= zip(members, self._correlate(members), strict=True)
        return found

    def divide_rows(self, rows: Sequence[Row]) -> tuple[list[list[Row]], list[Row]]:
        """Those that are one row moved about, where a correlation takes less time than adding up
        what every report contributes to each of them; and the others."""
        collected, alike = self.shared.collected, dict[Any, list[Row]]()
        if not (collected.restricted or collected.table.products):
            for row in rows:
                alike.setdefault(Translate.of(row, collected.group).row, []).append(row)
        moved = [members for members in alike.values() if self._is_correlated(members)]
        correlated = {row for members in moved for row in members}
        return moved, [row for row in rows if row not in correlated]

    def _is_correlated(self, rows: Sequence[Row]) -> bool:
        group, row = self.shared.collected.group, rows[0]
        translate = Translate.of(row, group)
        if len(rows) == 1 or not translate.moved:  # those that lie in one place differ in `known`
            return False
        held = len(self.histograms) * numbers(translate, group)
        added_up = len(rows) * len(self.histograms.counts) * _count_sums(row)
        return held <= LARGEST and self.count_correlated(row) < added_up

    def count_correlated(self, row: Row) -> int:
        """How many numbers a correlation goes through, for all rows that are one row moved; each
        takes about as long as adding up what one report contributes."""
        phases = _count_phases(self.shared.collected, row)
        return len(self.histograms) * phases * _count_sums(row)

    def _add_up(self, rows: Sequence[Row]) -> Iterator[tuple[Row, Sums]]:
        """From what every report contributes."""
        collected = self.shared.collected
        largest = max(map(collected.group.cells, collected.group.blocks), default=1)
        most = min(_QUERIES, _AT_ONCE // max(len(self.histograms.counts), 1))
        first, asked = 0, dict[BoxQuery, None]()
        for last, row in enumerate(rows, 1):
            asked |= dict.fromkeys(map(bare, row))
            spectra = len(find_patterns(collected, list(asked))) * largest
            if len(asked) >= most or spectra >= _AT_ONCE or last == len(rows):
                amounts = contributions(self.shared, list(asked), self._reports)
                own = dict(zip(asked, amounts, strict=True))
                for each in in_time(rows[first:last]):
                    yield each, self._add_up_row(each, [own[bare(query)] for query in each])
                first, asked = last, {}

    def _add_up_row(self, row: Row, own: Sequence[Reals]) -> Sums:
        """own: what every report contributes to each query, shape (r,)."""
        histograms, reports, count = self.histograms, self._reports, len(row)
        first = np.zeros((len(histograms), count))
        second = np.zeros((len(histograms), count, count))
        for a, one in enumerate(row):
            first[:, a] = histograms.add_up(reports.moment(one.weight, None) * own[a])
            for b, other in enumerate(row[: a + 1]):
                pair = reports.moment(one.weight, other.weight)
                second[:, a, b] = second[:, b, a] = histograms.add_up(pair * own[a] * own[b])
        return first, second

    def _correlate(self, rows: Sequence[Row]) -> Iterator[Sums]:
        """Of rows that are one row moved about: reports counted by phase in place of their
        excess."""
        collected, reports = self.shared.collected, self._reports
        translates = [Translate.of(row, collected.group) for row in rows]
        row, moved = translates[0].row
        kinds, sets, count = [query.weight for query in row], len(self.histograms), len(row)
        divided = [collected.divide(collected.spectrum(query)) for query in row]
        orders, whole = collected.group.shape(moved), zero_parts(divided)
        first = np.zeros((sets, count, *orders), dtype=np.complex128)
        second = np.zeros((sets, count, count, *orders), dtype=np.complex128)
        weights = {
            (one, other): reports.moment(one, other) for one in kinds for other in (None, *kinds)
        }
        # Families that tell of none of the axes contribute the whole alone.
        told = np.zeros(len(reports.counts), dtype=np.bool_)
        nowhere = np.zeros((1, len(collected.group.orders)), dtype=np.int64)
        for batch, mine, spectra in _batch_reports(self.shared, reports, row, divided):
            told[mine] = True
            part = SampledFamilies(batch, np.ones((len(batch.families), 1)), (), ())
            amounts = part.contribute(lambda *_, own=spectra: own)
            (cells,) = _find_cells(batch, reports, mine, nowhere)
            owners = self.histograms.owners[mine]
            for number in np.unique(owners):
                own = owners == number
                there = cells[own]
                counts = {
                    pair: np.bincount(there, each[mine[own]], part.cells).astype(np.float64)
                    for pair, each in weights.items()
                }
                sums = SampledSums(kinds, amounts, counts, lambda *_, own=spectra: own)
                part.add_translates(first[number], second[number], sums, whole, moved)
        rest = np.flatnonzero(~told)
        others = {pair: self.histograms.add_up(own[rest], rest) for pair, own in weights.items()}
        once, twice = evaluate_everywhere(first, moved), evaluate_everywhere(second, moved)
        for a, kind in enumerate(kinds):
            once[:, a] += np.multiply.outer(others[kind, None], np.full(orders, whole[a]))
            for b, other in enumerate(kinds):
                both = np.full(orders, whole[a] * whole[b])
                twice[:, a, b] += np.multiply.outer(others[kind, other], both)
        for translate in translates:
            place: Any = (..., *translate.bins)
            yield once[place], twice[place]


def find_moved(collected: Collected, queries: Sequence[BoxQuery]) -> Axes:
    """The axes that some of the queries are about."""
    spectra = (collected.spectrum(query) for query in queries)
    return tuple({axis for own in spectra for face in own for axis in face})


def contributions(shared: SharedContributions, queries: Sequence[BoxQuery], rows: Rows) -> Reals:
    """Contributions of a report of each row, by question and phase, to queries, shape (k, r)."""
    collected, (questions, phases) = shared.collected, rows.columns
    table, patterns = collected.table, find_patterns(collected, queries)
    first_places = [pattern.query for pattern in patterns]
    divided = [collected.divide(collected.spectrum(query)) for query in first_places]
    found = np.empty((len(queries), len(questions)))
    for pattern, amount in zip(patterns, zero_parts(divided), strict=True):
        found[pattern.numbers] = amount
    for batch, mine, spectra in _batch_reports(shared, rows, first_places, divided):
        step = max(1, _AT_ONCE // (len(batch.families) * batch.cluster.phases))
        for first in range(0, len(patterns), step):
            some = slice(first, first + step)
            amounts = batch.correlate(spectra[some], batch.moved)
            for pattern, own in zip(patterns[some], amounts, strict=True):
                cells = _find_cells(batch, rows, mine, pattern.bins)
                found[pattern.numbers[:, None], mine] = own.ravel()[cells]
    about = find_moved(collected, first_places)
    if table.products:
        divided = [collected.divide(collected.spectrum(query)) for query in queries]
    whole = zero_parts(divided)[:, None]
    for face in in_time(table.products):
        if set(about).isdisjoint(face.axes):
            continue
        mine = np.flatnonzero((questions >= face.first) & (questions < face.first + face.questions))
        dense = list(collected.spread(divided, face.axes)) if mine.size else []
        step = max(1, _AT_ONCE // max(1, prod(collected.face_shape(face.axes))))
        for first in in_time(range(0, len(mine), step)):
            part = mine[first : first + step]
            reports = face.read(questions[part] - face.first, phases[part], collected.odds)
            found[:, part] = reports.contributions(dense) + whole
    return found


def _batch_reports(
    shared: SharedContributions,
    rows: Rows,
    queries: Sequence[BoxQuery],
    divided: Sequence[Spectrum],
) -> Iterator[tuple[MixedBatch, Integers, NDArray[np.complexfloating]]]:
    """Families that some rows of reports are of, and that tell something of the axes that queries
    are about; the rows; and the queries' spectra as the batch correlates them.

    divided: the spectra over lambda.
    """
    collected, (questions, _) = shared.collected, rows.columns
    table, about = collected.table, find_moved(collected, queries)
    drawn = np.unique(questions[questions < len(table.shares)])
    for part in shared.divide_families():
        chosen = np.intersect1d(part, drawn, assume_unique=True)
        _, blocks, mixed = mix(table, collected.odds, chosen, about, _PHASES_AT_ONCE)
        spectra = collected.spread(divided, *blocks)
        batch_of = np.full(table.questions, len(mixed))
        for number, batch in enumerate(mixed):
            batch_of[batch.families] = number
        owners = batch_of[questions]
        order = np.argsort(owners, kind="stable")
        ends = np.searchsorted(owners[order], np.arange(len(mixed) + 1))
        for batch, first, last in zip(mixed, ends, ends[1:], strict=False):
            if batch.moved:  # others tell what the whole is, and no more
                yield batch, order[first:last], spectra


def _find_cells(batch: MixedBatch, rows: Rows, mine: Integers, bins: Integers) -> Integers:
    """Where some rows of reports find what they contribute to queries that are moved by some bins,
    among the phases of the factors of a batch along which it differs, shape (k, r).

    bins: shape (k, axes of the group).
    """
    questions, phases = (own[mine] for own in rows.columns)
    families = np.searchsorted(batch.families, questions)
    cluster, cells = batch.cluster, families[None, :]
    digits, turns = np.unravel_index(phases, cluster.orders), batch.turns
    # Of an axis that a family lacks, the last column, nothing is moved.
    by_axis = np.pad(bins, ((0, 0), (0, 1)))[:, batch.names]
    for place in batch.moved:
        order, columns = cluster.orders[place], list(cluster.factors[place])
        shifts = (by_axis[..., columns] * turns[:, columns]).sum(axis=2) % order
        cells = cells * order + (digits[place] - shifts[:, families]) % order
    return np.asarray(cells)
