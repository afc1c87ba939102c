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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np

from ldpsql.algebra.boxes import Weight
from ldpsql.limits import in_time
from ldpsql.mechanisms.fourier.contributions import SharedContributions, bare
from ldpsql.mechanisms.fourier.covariances import ADDED_PEOPLE, Cuts, centre, find_cuts, spread_cuts
from ldpsql.mechanisms.fourier.group import (
    Numbers,
    Reals,
    Spectrum,
    axes_of,
    leave_zero,
    zero_parts,
)
from ldpsql.mechanisms.fourier.listed import SampledFamilies, find_cells
from ldpsql.mechanisms.fourier.questions import MovedSpectrum, SampledSums, sum_pairs
from ldpsql.mechanisms.fourier.spectra import BoxQuery, Collected
from ldpsql.mechanisms.fourier.translates import LARGEST, Translate, evaluate_everywhere, numbers
from ldpsql.reports.report import Histograms, Pair, Rows

_AT_ONCE = 1 << 22
"""How many numbers are held at once: per code of a cut bin, set and query; or frequencies, or
contributions."""
_QUERIES = 64

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


def find_patterns(
    collected: Collected, queries: Sequence[BoxQuery]
) -> dict[BoxQuery, list[tuple[int, Translate]]]:
    """Queries without what they know and their weight by the one that they are, moved about the
    group; their numbers, and by how much.

    Restricted answers continue a query otherwise at other places, so there each is by itself.
    """
    members: dict[BoxQuery, list[tuple[int, Translate]]] = {}
    for number, query in enumerate(queries):
        alone = Translate((query,), (), ())
        translate = alone if collected.restricted else Translate.of((query,), collected.group)
        members.setdefault(translate.pattern[0], []).append((number, translate))
    return members


def count_work(
    shared: SharedContributions, rows: Sequence[Sequence[BoxQuery]], histograms: Histograms
) -> int:
    """How many numbers `answer_sets` works out: contributions of every pattern and family, and of
    every query and report, and products of two within each row; or their correlations."""
    sets = _Sets(shared, histograms)
    moved, others = sets.divide_rows(list(dict.fromkeys(map(tuple, rows))))
    queries = list(dict.fromkeys(bare(query) for row in others for query in row))
    patterns = [*find_patterns(shared.collected, queries)]
    work = len(patterns) * _count_phases(shared.collected, patterns)
    products = sum(_count_sums(row) for row in others) - sum(map(len, others))
    work += (len(queries) + products) * len(histograms.counts)
    return work + sum(sets.count_correlated(members[0]) for members in moved)


def _count_phases(collected: Collected, queries: Sequence[BoxQuery]) -> int:
    return collected.kinds[0].count_phases(axes_of(map(collected.spectrum, queries)))


def _count_sums(row: Row) -> int:
    """Of contributions, and of products of two."""
    return len(row) + len(row) * (len(row) + 1) // 2


@dataclass(eq=False)
class _Sets:
    """Sets of people, and what their reports add up to."""

    shared: SharedContributions
    histograms: Histograms

    @cached_property
    def _reports(self) -> Rows:
        """The rows of their reports, of which counting the work needs none."""
        return self.histograms.load()

    @cached_property
    def _moment(self) -> Callable[[Weight | None, Weight | None], Reals]:
        """Sums of products of weights by set, kept: all rows of queries ask for the same few."""
        return cache(self.histograms.moment)

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
        values = estimated.copy()
        for a, one in enumerate(row):
            if one.known:
                values[:, a] += one.known * self._moment(one.weight, None)
        people = self._moment(None, None)[:, None, None]
        pattern: Sequence[BoxQuery] = row
        if not self.shared.collected.restricted:
            pattern = Translate.of(row, self.shared.collected.group).pattern
        even = self.shared.spread_evenly(pattern, self._moment)
        return values, centre(moments, estimated, people, even, ADDED_PEOPLE, row)

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

        def total(pair: Pair, values: Numbers) -> Numbers:
            return histograms.add_up(reports.moment(*pair) * values)

        kinds = [query.weight for query in row]
        sum_pairs(kinds, np.zeros(count), own, total, first.T, second.transpose(1, 2, 0))
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
        pairs = {*product(kinds, (None, *kinds))}
        weights = {pair: reports.moment(*pair) for pair in pairs}
        nowhere = np.zeros((1, len(collected.group.orders)), dtype=np.int64)
        questions, phases = reports.columns
        asked = [leave_zero(own) for own in divided]
        for batch, mine, families, spectra in collected.kinds[0].find_batches(asked, questions):
            part = SampledFamilies(batch, np.ones((len(batch.families), 1)), (), ())
            amounts = part.contribute(lambda *_, own=spectra: own)
            (cells,) = find_cells(batch, families, phases[mine], nowhere)
            owners = self.histograms.owners[mine]
            for number in np.unique(owners):
                own = owners == number
                there = cells[own]
                counts = {
                    pair: np.bincount(there, each[mine[own]], part.cells).astype(np.float64)
                    for pair, each in weights.items()
                }
                sums = SampledSums(kinds, whole, amounts, counts)
                part.add_translates(first[number], second[number], sums, moved)
        once, twice = evaluate_everywhere(first, moved), evaluate_everywhere(second, moved)
        even = np.ones(orders)
        for a, kind in enumerate(kinds):
            once[:, a] += np.multiply.outer(self._moment(kind, None) * whole[a], even)
            for b, other in enumerate(kinds):
                both = self._moment(kind, other) * whole[a] * whole[b]
                twice[:, a, b] += np.multiply.outer(both, even)
        for translate in translates:
            place: Any = (..., *translate.bins)
            yield once[place], twice[place]


def contributions(shared: SharedContributions, queries: Sequence[BoxQuery], rows: Rows) -> Reals:
    """Contributions of a report of each row, by question and phase, to queries, shape (k, r)."""
    collected, found = shared.collected, np.empty((len(queries), len(rows.counts)))
    asked: list[MovedSpectrum] = []
    for query, members in find_patterns(collected, queries).items():
        divided = collected.divide(collected.spectrum(query))
        numbers = np.array([number for number, _ in members])
        bins = np.zeros((len(members), len(collected.group.orders)), dtype=np.int64)
        for row, (_, translate) in zip(bins, members, strict=True):
            row[list(translate.moved)] = translate.bins
        found[numbers] = zero_parts([divided])
        asked.append(MovedSpectrum(leave_zero(divided), numbers, bins))

    def divide_all() -> list[Spectrum]:
        return [collected.divide(collected.spectrum(query)) for query in queries]

    for kind in collected.kinds:
        kind.contribute(asked, divide_all, rows, found)
    return found
