"""What reports contribute to queries, and the sums of products of contributions.

Source: docs/spec/fourier.md#1.2 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpsql import limits
from ldpsql.boxes import Weight
from ldpsql.decoders.fourier.families import Batch, batches
from ldpsql.decoders.fourier.group import Axes, Integers, Reals, parts_of
from ldpsql.decoders.fourier.spectra import BoxQuery, Collected, Spectrum, box_terms
from ldpsql.report import Histogram, Pair, Rows

ENOUGH_FAMILIES, ENOUGH_REPORTS = 128, 12_000
KEPT = 8
_ENTRIES, _AT_ONCE = 1 << 15, 1 << 12
_MOST_CELLS, _UNITS = 1 << 19, 1 << 32


def count_phases(rows: Rows, batch: Batch, pair: Pair) -> Reals:
    """Sum over people of a product of weights per phase, shape (f, |H|), from rows by family."""
    family, phase = rows.columns
    numbers, phases = batch.families, batch.cluster.phases
    low, high = np.searchsorted(family, [numbers[0], numbers[-1] + 1])
    # The batch may hold some of the families between its first and its last only.
    place = np.searchsorted(numbers, family[low:high])
    is_own = numbers[place] == family[low:high]
    cells = (place * phases + phase[low:high])[is_own]
    flat = np.bincount(cells, rows.moment(*pair)[low:high][is_own], len(numbers) * phases)
    return np.asarray(flat.reshape(len(numbers), phases))


class SharedContributions:
    """Contributions of the queries that many histograms of one design are asked.

    They follow from the design alone; those of the last few queries are kept, without what these
    know and their weight (`bare`).
    """

    def __init__(self, collected: Collected) -> None:
        self.collected = collected
        self.of = lru_cache(KEPT)(self._of)
        self.covariance = lru_cache(KEPT)(self._covariance)

    @cached_property
    def starts(self) -> Integers:
        """Where every family's phases begin among all cells, shape (families + 1,)."""
        return np.concatenate([[0], np.cumsum(self.collected.table.phases)])

    def _of(self, query: BoxQuery) -> Reals:
        """c of every cell, family after family."""
        collected = self.collected
        divided = [collected.divide(collected.spectrum(query))]
        parts = [
            batch.correlate(collected.spread(divided, batch.cluster.axes)).ravel()
            for batch in batches(collected.table, collected.odds)
        ]
        return np.concatenate(parts)

    def _covariance(self, queries: tuple[BoxQuery, ...]) -> Reals:
        """Covariance (k, k) of what one person contributes if records are spread evenly."""
        spectra = [self.collected.spectrum(query) for query in queries]
        pairs = [[self.collected.covariance(one, other) for other in spectra] for one in spectra]
        return np.array(pairs).reshape(len(queries), len(queries))


def bare(query: BoxQuery) -> BoxQuery:
    """What a query's contributions depend on."""
    return replace(query, known=0.0, weight=None)


def choose_families(sizes: Integers) -> Reals:
    """How many reports each family stands for in a sample, shape (families,); 0 for most of them.

    Evenly spaced reports, family after family, pick the families that hold them, until these hold
    enough; where there are few families, each stands for its own reports.
    """
    bounds = np.cumsum(sizes)
    points, people = ENOUGH_FAMILIES, int(bounds[-1])
    while points < np.count_nonzero(sizes):
        places = (np.arange(points) + 0.5) * people / points
        hits = np.bincount(np.searchsorted(bounds, places, "right"), minlength=len(sizes))
        if sizes[hits > 0].sum() >= min(ENOUGH_REPORTS, people):
            return np.asarray(hits * (people / points))
        points *= 2
    return sizes.astype(np.float64)


@dataclass(eq=False)
class Sampled:
    """The families of a sample with their reports, kept for all queries of one histogram.

    One report of family j and phase phi contributes c(j, phi) to a query, and the second moment of
    two queries is the sum of c_a c_b over all reports. Over evenly spread records its mean is
    people x sum_f q_a conj(q_b) / lambda, which costs nothing; data move the true moment away from
    it by a moderate factor. That difference is taken from some families only: a transform per
    family and query is what costs. Of few reports the sum itself is taken.

    rows: of the histogram.  stands_for: see `choose_families`.
    exact: in double precision throughout.
    """

    collected: Collected
    histogram: Histogram
    rows: Rows
    stands_for: Reals
    exact: bool = False
    _excess: dict[tuple[int, frozenset[Weight | None]], Reals] = field(default_factory=dict)

    @property
    def is_few(self) -> bool:
        """Whether the sums are taken as they are: a mean over all families says little of those
        that a handful of reports drew."""
        return self.histogram.people <= ENOUGH_FAMILIES

    @cached_property
    def batches(self) -> list[Batch]:
        """Its families, in batches of one cluster."""
        chosen, collected = np.flatnonzero(self.stands_for), self.collected
        return list(batches(collected.table, collected.odds, chosen, _ENTRIES))

    def excess(self, number: int, pair: Pair) -> Reals:
        """Of one batch: sums of products of weights per phase, less their mean over the family's
        phases (of few reports: as they are), times how many reports each stands for; shape
        (f, |H|). A pair is the same either way round."""
        key = number, frozenset(pair)
        if key not in self._excess:
            batch = self.batches[number]
            counts = count_phases(self.rows, batch, pair)
            scale = self.stands_for[batch.families] / self.histogram.sizes[batch.families]
            mean = 0.0 if self.is_few else counts.mean(axis=1, keepdims=True)
            self._excess[key] = (counts - mean) * scale[:, None]
        return self._excess[key]

    def moments(
        self,
        queries: Sequence[BoxQuery],
        spectra: Sequence[Spectrum],
        estimated: Reals,
        groups: Sequence[Sequence[int]],
        even: Sequence[Reals],
    ) -> list[Reals]:
        """Sum over all reports of c_a c_b, within each group of query numbers.

        spectra: of the queries.  estimated: the sums of c over all reports, known from decoding,
        shape (k,).  even: of every group the covariance of the sums if records were spread evenly.

        What the sample misses of the sums of c themselves is taken off at the mean contribution:
        as if (c_a - mean)(c_b - mean) had been sampled.
        """
        alike: dict[tuple[Weight | None, ...], list[int]] = {}
        for number, group in enumerate(groups):
            alike.setdefault(tuple(queries[n].weight for n in group), []).append(number)
        # Query numbers (R, T) of the groups with the same weights, and what the sampled families,
        # standing for all, add to the even sums of c (R, T) and of products (R, T, T).
        sums = []
        for kind, members in alike.items():
            rows = np.array([groups[n] for n in members], dtype=np.int64)
            rows = rows.reshape(len(members), len(kind))
            sums.append((kind, rows, np.zeros(rows.shape), np.zeros((*rows.shape, len(kind)))))
        is_far = self.exact or any(query.is_far for query in queries)
        divided = [self.collected.divide(own) for own in spectra]
        dense: dict[Axes, NDArray[np.complexfloating]] = {}
        for number, batch in enumerate(limits.in_time(self.batches)):
            axes = batch.cluster.axes
            if not self.is_informed(axes, divided):
                continue
            if axes not in dense:
                dense[axes] = self.collected.spread(divided, axes, exact=is_far)
            cells = batch.correlate(dense[axes]).reshape(len(queries), -1)
            for start in range(0, cells.shape[1], _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                for own in sums:
                    self._add(number, part, cells[:, part], own, is_far=is_far)
        moments: dict[int, Reals] = {}
        whole = np.array([own[()].real if () in own else 0.0 for own in spectra])
        for kind, rows, first, second in sums:
            members = alike[kind]
            uniform = np.array([even[n] for n in members]).reshape(second.shape)
            found = self.complete(kind, whole[rows], estimated[rows], uniform, first, second)
            moments |= zip(members, found, strict=True)
        return [moments[number] for number in range(len(groups))]

    def is_informed(self, axes: Axes, divided: Sequence[Spectrum]) -> bool:
        """Whether families over some axes have an excess: what is constant has none."""
        faces = parts_of((axes,))[1:]
        return self.is_few or any(face in own for own in divided for face in faces)

    def complete(
        self,
        kind: Sequence[Weight | None],
        whole: Reals,
        estimated: Reals,
        even: Reals,
        first: Reals,
        second: Reals,
    ) -> Reals:
        """Sums of c_a c_b over all reports, shape (R, T, T), of R rows of queries in some weights.

        whole: q^(0) / N, shape (R, T).  first, second: what the sampled families, standing for all,
        add to the even sums of c (R, T) and of products (R, T, T).
        """
        moment, people = self.histogram.moment, self.histogram.people
        if not self.is_few:
            first = first + whole * [moment(weight, None) for weight in kind]
            pairs = np.array([[moment(one, other) for other in kind] for one in kind])
            products = whole[..., :, None] * whole[..., None, :]
            second = second + (products * pairs.reshape(len(kind), len(kind)) + even)
        # sum c_a c_b is estimated by the sample plus what is known to be missing of the sums of
        # c_a and c_b, each at the other's mean: sum (c_a - m_a)(c_b - m_b) is what is sampled.
        missed = (first - estimated)[..., None, :]
        half = second / 2.0 - estimated[..., :, None] / people * missed
        return np.asarray(half + half.swapaxes(-1, -2))

    def _add(
        self,
        number: int,
        part: slice,
        cells: NDArray[np.floating],
        sums: tuple[tuple[Weight | None, ...], Integers, Reals, Reals],
        *,
        is_far: bool,
    ) -> None:
        """Add the sums over a part of one batch.

        In double precision where weights meet or a measure is far from 0: the ratio of two sums
        then has a variance that is a tiny part of theirs, and is what is left when they cancel.
        """
        kind, rows, first, second = sums
        columns = {w: np.array([n for n, own in enumerate(kind) if own == w]) for w in kind}
        precision = np.float64 if is_far or len(columns) > 1 else np.float32
        own: dict[Weight | None, NDArray[np.floating]] = {
            w: np.asarray(cells[rows[:, place]], dtype=precision) for w, place in columns.items()
        }

        def excess(pair: Pair) -> NDArray[np.floating]:
            return np.asarray(self.excess(number, pair).ravel()[part], dtype=precision)

        for left, place in columns.items():
            first[:, place] += own[left] @ excess((left, None))
            for right, other in columns.items():
                weighted = own[left] * excess((left, right))
                second[:, place[:, None], other] += weighted @ own[right].swapaxes(1, 2)


def even_variances(collected: Collected, queries: Sequence[BoxQuery]) -> Reals:
    """Per person, shape (k,), of people who are spread evenly over the real cells.

    From the reports that _UNITS of them are expected to send: of all families, or of a large
    table's sample.
    """
    table, group = collected.table, collected.group
    stands_for = table.shares * _UNITS
    if int(table.phases.sum()) > _MOST_CELLS:
        stands_for = choose_families(np.maximum(np.rint(stands_for), 1).astype(np.int64))
    family, phase, counts = [], [], []
    for batch in batches(table, collected.odds, np.flatnonzero(stands_for), _ENTRIES):
        axes, phases = batch.cluster.axes, batch.cluster.phases
        sides = [((0, size),) if axis in axes else None for axis, size in enumerate(group.sizes)]
        real = BoxQuery(0.0, box_terms([(1.0, sides)]), None, 1.0, 0.0).spectrum(group)
        shares = {face: np.asarray(own / real[()]) for face, own in real.items()}
        # The share of real cells at every phase, correlated with x / s, is the phase's probability.
        law = batch.correlate(collected.spread([shares], axes))[0] / phases
        counts.append((law * stands_for[batch.families][:, None]).ravel())
        family.append(np.repeat(batch.families, phases))
        phase.append(np.tile(np.arange(phases), len(batch.families)))
    columns = np.concatenate(family), np.concatenate(phase)
    histogram = Histogram(len(table.shares), columns, np.concatenate(counts))
    spectra = [collected.spectrum(query) for query in queries]
    means = np.array([collected.real.values(query).mean() for query in queries])
    people = histogram.people
    even = [np.array([[people * collected.covariance(own, own)]]) for own in spectra]
    groups = [[number] for number in range(len(queries))]
    sampled = Sampled(collected, histogram, histogram.load_all(), stands_for, exact=True)
    moments = sampled.moments(queries, spectra, people * means, groups, even)
    return np.asarray(np.array([own[0, 0] for own in moments]) / people - means**2)
