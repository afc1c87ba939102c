"""The same queries about many disjoint sets of people at once, such as those of a GROUP BY.

A set may have only a few reports, so no set is decoded. What the reports contribute to a query
follows from the design, and is added up by set; so are products of contributions, from which the
variances follow. The numbers are those of `FourierEstimator`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ldpsql.decoders.bounded import ADDED_PEOPLE
from ldpsql.decoders.fourier.contributions import SharedContributions, bare
from ldpsql.decoders.fourier.covariances import Cuts, centre, find_cuts, spread_cuts
from ldpsql.decoders.fourier.families import batches
from ldpsql.decoders.fourier.group import Axes, Reals, zero_parts
from ldpsql.decoders.fourier.spectra import BoxQuery, Collected
from ldpsql.limits import in_time
from ldpsql.report import Histograms, Rows
from ldpsql_device.frozen import frozen

_AT_ONCE = 1 << 22
"""How many numbers are held at once: per code of a cut bin, set and query; or frequencies, or
contributions."""
_QUERIES = 64


def answer_sets(
    shared: SharedContributions, histograms: Histograms, rows: Sequence[Sequence[BoxQuery]]
) -> tuple[Reals, Reals]:
    """Unbiased answers of every histogram to every row of queries, all rows of one length: values
    (G, R, T) and covariances within rows (G, R, T, T)."""
    group, reports = shared.collected.group, histograms.load()
    largest = max(map(group.cells, group.blocks), default=1)
    at_once = min(_QUERIES, _AT_ONCE // max(largest, len(histograms.counts), 1))
    cuts = [find_cuts(row, group) for row in rows]
    found, asked = list[tuple[Reals, Reals]](), dict[BoxQuery, None]()
    first = 0
    for last, row in enumerate(rows):
        asked |= dict.fromkeys(map(bare, [*row, *(cut.part for _, cut in cuts[last])]))
        if len(asked) >= at_once or last + 1 == len(rows):
            own = dict(zip(asked, contributions(shared, list(asked), reports), strict=True))
            sets = _Sets(shared, histograms, reports, own)
            found += [sets.answer(rows[n], cuts[n]) for n in in_time(range(first, last + 1))]
            first, asked = last + 1, {}
    values, covariances = zip(*found, strict=True)
    return np.stack(values, axis=1), np.stack(covariances, axis=1)


def count_contributions(shared: SharedContributions, queries: Sequence[BoxQuery]) -> int:
    """How many numbers `contributions` works out per query, besides one per row."""
    moved = find_moved(shared.collected, queries)
    return sum(
        len(cluster) * prod(cluster.orders[place] for place in places)
        for cluster in shared.collected.table.clusters
        if (places := cluster.moved(moved))
    )


@frozen
class _Sets:
    """Sets of people, the rows of their reports, and what each row contributes to queries, shape
    (r,)."""

    shared: SharedContributions
    histograms: Histograms
    reports: Rows
    own: Mapping[BoxQuery, Reals]

    def answer(self, row: Sequence[BoxQuery], cuts: Cuts) -> tuple[Reals, Reals]:
        """Values (G, T) and covariances (G, T, T)."""
        values, covariance = self._answer_spread(row)
        sums = [self._answer_spread([cut.part]) for _, cut in cuts]
        codes = max((cut.excess.size for _, cut in cuts), default=1)
        step = max(1, _AT_ONCE // (codes * len(row)))
        for first in range(0, len(values) if cuts else 0, step):
            part = slice(first, first + step)
            each = [(own[part, 0], spread[part, 0, 0]) for own, spread in sums]
            covariance[part] += spread_cuts(len(row), cuts, each)
        return values, covariance

    def _answer_spread(self, row: Sequence[BoxQuery]) -> tuple[Reals, Reals]:
        """The same as if people were spread evenly within every bin: (G, T) and (G, T, T)."""
        histograms, rows, count = self.histograms, self.reports, len(row)
        own = [self.own[bare(query)] for query in row]
        values, estimated = (np.zeros((len(histograms), count)) for _ in range(2))
        moments, weights = (np.zeros((len(histograms), count, count)) for _ in range(2))
        for a, one in enumerate(row):
            estimated[:, a] = histograms.add_up(rows.moment(one.weight, None) * own[a])
            if one.known:
                values[:, a] = one.known * histograms.moment(one.weight, None)
            for b, other in enumerate(row[: a + 1]):
                pair = rows.moment(one.weight, other.weight)
                moments[:, a, b] = moments[:, b, a] = histograms.add_up(pair * own[a] * own[b])
                weights[:, a, b] = weights[:, b, a] = histograms.add_up(pair)
        people = histograms.moment(None, None)[:, None, None]
        even = self.shared.covariance(tuple(map(bare, row))) * weights
        return values + estimated, centre(moments, estimated, people, ADDED_PEOPLE * even, row)


def find_moved(collected: Collected, queries: Sequence[BoxQuery]) -> Axes:
    """The axes that some of the queries are about."""
    return tuple({axis for query in queries for face in collected.spectrum(query) for axis in face})


def contributions(shared: SharedContributions, queries: Sequence[BoxQuery], rows: Rows) -> Reals:
    """What a report of each row, by question and phase, contributes to queries, shape (k, r)."""
    collected, (questions, phases) = shared.collected, rows.columns
    table, about = collected.table, find_moved(collected, queries)
    divided = [collected.divide(collected.spectrum(query)) for query in queries]
    whole = zero_parts(divided)[:, None]
    found = np.repeat(whole, len(questions), axis=1)
    listed = np.flatnonzero(questions < len(table.shares))
    order = listed[np.argsort(questions[listed], kind="stable")]
    owners = questions[order]
    for batch in batches(table, collected.odds, np.unique(owners)):
        orders, moved = batch.cluster.orders, batch.cluster.moved(about)
        if not moved:  # it tells what the whole is, and no more
            continue
        mine = order[slice(*np.searchsorted(owners, batch.families[[0, -1]] + [0, 1]))]
        spectra = collected.spread(divided, batch.cluster.axes)
        step = max(1, _AT_ONCE // (len(batch.families) * prod(orders[place] for place in moved)))
        digits = np.unravel_index(phases[mine], orders)
        cells = np.searchsorted(batch.families, questions[mine])
        for place in moved:
            cells = cells * orders[place] + digits[place]
        for first in range(0, len(queries), step):
            some = slice(first, first + step)
            amounts = batch.correlate(spectra[some], moved)
            found[some, mine] = amounts.reshape(len(amounts), -1)[:, cells]
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
