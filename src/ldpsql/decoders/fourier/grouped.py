"""The same queries about many disjoint sets of people at once, such as those of a GROUP BY.

Each set may have a few reports only, so none is decoded: what the reports contribute to a query
follows from the design, and is added up by set, as are products of contributions, which make the
variances. See `FourierEstimator`, whose numbers these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ldpsql.decoders.fourier.contributions import SharedContributions, bare
from ldpsql.decoders.fourier.group import Reals, zero_parts
from ldpsql.decoders.fourier.spectra import BoxQuery
from ldpsql.decoders.linear import PSEUDO_PEOPLE, multiply_outer
from ldpsql.limits import in_time
from ldpsql.report import Histograms, Rows

_AT_ONCE = 1 << 22
"""Numbers of codes of a cut bin, by set and query."""


def answer_sets(
    shared: SharedContributions, histograms: Histograms, rows: Sequence[Sequence[BoxQuery]]
) -> tuple[Reals, Reals]:
    """Unbiased answers of every histogram to every row of queries, as many in each: values (G, R,
    T) and covariances within rows (G, R, T, T)."""
    found = [_answer_row(shared, histograms, row) for row in in_time(rows)]
    values, covariances = zip(*found, strict=True)
    return np.stack(values, axis=1), np.stack(covariances, axis=1)


def _answer_row(
    shared: SharedContributions, histograms: Histograms, row: Sequence[BoxQuery]
) -> tuple[Reals, Reals]:
    values, covariance = _answer_spread(shared, histograms, row)
    group = shared.collected.group
    cuts = [(number, cut) for number, query in enumerate(row) for cut in query.cut_bins(group)]
    # As `FourierEstimator` does for one set: what cut bins are off by.
    by_people: dict[object, list[tuple[int, Reals, Reals]]] = {}
    for number, cut in cuts:
        own, spread = _answer_spread(shared, histograms, [cut.part])
        square = own[:, 0] ** 2 - spread[:, 0, 0]
        size = np.copysign(np.sqrt(np.maximum(square, 0.0)), own[:, 0])
        by_people.setdefault(cut.people, []).append((number, size, cut.excess))
    for parts in by_people.values():
        codes = len(parts[0][2])
        step = max(1, _AT_ONCE // (codes * len(row)))
        for first in range(0, len(histograms), step):
            sets = slice(first, first + step)
            off = np.zeros((len(values[sets]), len(row), codes))
            for number, size, excess in parts:
                off[:, number] += size[sets, None] * excess
            covariance[sets] += off @ off.swapaxes(1, 2) / codes
    return values, covariance


def _answer_spread(
    shared: SharedContributions, histograms: Histograms, row: Sequence[BoxQuery]
) -> tuple[Reals, Reals]:
    """As if people were spread evenly within every bin: (G, T) and (G, T, T)."""
    rows, count = histograms.load(), len(row)
    own = [contributions(shared, bare(query), rows) for query in row]
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
    even = shared.covariance(tuple(map(bare, row))) * weights
    centred = moments - multiply_outer(estimated, estimated) / people
    centred += PSEUDO_PEOPLE / people * even
    asked = np.array([bool(query.terms) for query in row])
    return values + estimated, np.where(np.outer(asked, asked), centred, 0.0)


def contributions(shared: SharedContributions, query: BoxQuery, rows: Rows) -> Reals:
    """What a report of each row, by question and phase, contributes to a query, shape (r,)."""
    collected = shared.collected
    questions, phases = rows.columns
    table, found = collected.table, np.zeros(len(questions))
    is_listed = questions < len(table.shares)
    if is_listed.any():
        cells = shared.starts[questions[is_listed]] + phases[is_listed]
        found[is_listed] = shared.of(query)[cells]
    divided = [collected.divide(collected.spectrum(query))]
    for face in in_time(table.products):
        mine = np.flatnonzero((questions >= face.first) & (questions < face.first + face.questions))
        dense = list(collected.spread(divided, face.axes)) if mine.size else []
        step = max(1, _AT_ONCE // max(1, prod(collected.face_shape(face.axes))))
        for first in in_time(range(0, len(mine), step)):
            part = mine[first : first + step]
            reports = face.read(questions[part] - face.first, phases[part], collected.odds)
            found[part] = reports.contributions(dense)[0] + zero_parts(divided)[0]
    return found
