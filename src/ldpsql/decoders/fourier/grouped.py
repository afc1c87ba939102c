"""The same queries about many disjoint sets of people at once, such as those of a GROUP BY.

A set may have only a few reports, so no set is decoded. What the reports contribute to a query
follows from the design, and is added up by set; so are products of contributions, from which the
variances follow. The numbers are those of `FourierEstimator`.

If a query is moved by u, so are its contributions: c(j, phi) becomes c(j, phi - theta_j(u)). So
queries that are one query moved about, as those of a private GROUP BY are, take one transform of
every family, from which the reports read at other phases for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.bounded import ADDED_PEOPLE
from ldpsql.decoders.fourier.contributions import SharedContributions, bare
from ldpsql.decoders.fourier.covariances import Cuts, centre, find_cuts, spread_cuts
from ldpsql.decoders.fourier.families import FamilyBatch, batches
from ldpsql.decoders.fourier.group import Axes, Integers, Reals, zero_parts
from ldpsql.decoders.fourier.spectra import BoxQuery, Collected
from ldpsql.decoders.fourier.translates import Translate
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
    most = min(_QUERIES, _AT_ONCE // max(len(histograms.counts), 1))
    cuts = [find_cuts(row, group) for row in rows]
    found, asked = list[tuple[Reals, Reals]](), dict[BoxQuery, None]()
    first = 0
    for last, row in enumerate(rows):
        asked |= dict.fromkeys(map(bare, [*row, *(cut.part for _, cut in cuts[last])]))
        spectra = len(find_patterns(shared.collected, list(asked))) * largest
        if len(asked) >= most or spectra >= _AT_ONCE or last + 1 == len(rows):
            own = dict(zip(asked, contributions(shared, list(asked), reports), strict=True))
            sets = _Sets(shared, histograms, reports, own)
            found += [sets.answer(rows[n], cuts[n]) for n in in_time(range(first, last + 1))]
            first, asked = last + 1, {}
    values, covariances = zip(*found, strict=True)
    return np.stack(values, axis=1), np.stack(covariances, axis=1)


@frozen
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
    shared: SharedContributions, rows: Sequence[Sequence[BoxQuery]], reports: int
) -> int:
    """How many numbers `answer_sets` works out of so many rows of reports: contributions of every
    pattern and family, and of every query and report; and products of two within each row."""
    queries = list(dict.fromkeys(bare(query) for row in rows for query in row))
    patterns = find_patterns(shared.collected, queries)
    about = find_moved(shared.collected, patterns)
    contributed = sum(
        len(cluster) * prod(cluster.orders[place] for place in places)
        for cluster in shared.collected.table.clusters
        if (places := cluster.moved(about))
    )
    products = sum(len(row) * (len(row) + 1) // 2 for row in rows)
    return len(patterns) * contributed + (len(queries) + products) * reports


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
        alike = tuple(map(bare, row))
        if not self.shared.collected.restricted:
            alike = Translate.of(alike, self.shared.collected.group).pattern
        even = self.shared.covariance(alike) * weights
        return values + estimated, centre(moments, estimated, people, ADDED_PEOPLE * even, row)


def find_moved(collected: Collected, patterns: Sequence[Pattern]) -> Axes:
    """The axes that some of the queries are about."""
    spectra = (collected.spectrum(pattern.query) for pattern in patterns)
    return tuple({axis for own in spectra for face in own for axis in face})


def contributions(shared: SharedContributions, queries: Sequence[BoxQuery], rows: Rows) -> Reals:
    """What a report of each row, by question and phase, contributes to queries, shape (k, r)."""
    collected, (questions, phases) = shared.collected, rows.columns
    table, patterns = collected.table, find_patterns(collected, queries)
    about = find_moved(collected, patterns)
    divided = [collected.divide(collected.spectrum(pattern.query)) for pattern in patterns]
    found = np.empty((len(queries), len(questions)))
    for pattern, amount in zip(patterns, zero_parts(divided), strict=True):
        found[pattern.numbers] = amount
    listed = np.flatnonzero(questions < len(table.shares))
    order = listed[np.argsort(questions[listed], kind="stable")]
    owners = questions[order]
    # Those over the axes of the batch before, which are often the same, and may be large.
    spread: dict[Axes, NDArray[np.complexfloating]] = {}
    for batch in batches(table, collected.odds, np.unique(owners)):
        orders, moved = batch.cluster.orders, batch.cluster.moved(about)
        if not moved:  # it tells what the whole is, and no more
            continue
        mine = order[slice(*np.searchsorted(owners, batch.families[[0, -1]] + [0, 1]))]
        if batch.cluster.axes not in spread:
            spread.clear()
            spread[batch.cluster.axes] = collected.spread(divided, batch.cluster.axes)
        spectra = spread[batch.cluster.axes]
        step = max(1, _AT_ONCE // (len(batch.families) * prod(orders[place] for place in moved)))
        families = np.searchsorted(batch.families, questions[mine])
        for first in range(0, len(patterns), step):
            some = slice(first, first + step)
            amounts = batch.correlate(spectra[some], moved)
            for pattern, own in zip(patterns[some], amounts, strict=True):
                cells = _find_cells(batch, families, phases[mine], moved, pattern.bins)
                found[pattern.numbers[:, None], mine] = own.ravel()[cells]
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


def _find_cells(
    batch: FamilyBatch, families: Integers, phases: Integers, moved: tuple[int, ...], bins: Integers
) -> Integers:
    """Where reports find what they contribute to queries that are moved by some bins, among the
    phases of the factors of a batch along which it differs, shape (k, r).

    families: of the batch, by report.  bins: shape (k, axes of the group).
    """
    cluster, cells = batch.cluster, families[None, :]
    digits, (turns, _) = np.unravel_index(phases, cluster.orders), cluster.turns
    for place in moved:
        order, factor = cluster.orders[place], cluster.factors[place]
        columns = [cluster.columns[axis] for axis in factor]
        shifts = bins[:, list(factor)] @ turns[:, columns].T % order
        cells = cells * order + (digits[place] - shifts[:, families]) % order
    return np.asarray(cells)
