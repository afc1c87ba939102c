"""What reports contribute to queries, and the sums of products of contributions.

One report of family j and phase phi contributes c(j, phi) to a query, and the second moment of
two queries is the sum of c_a c_b over all reports. Over evenly spread records its mean is
people x sum_f q_a conj(q_b) / lambda, which costs nothing; data move the true moment away from it
by a moderate factor. That difference is taken from some families only, drawn once per histogram in
proportion to their reports, until they hold enough reports: a transform per family and query is
what costs. Of few reports the sum itself is taken.

A restricted design has fewer cells than its group. Over these alone the predicted moment is a few
per cent larger or smaller, which the same sums tell of the reports that people spread evenly over
them are expected to send.
Source: docs/spec/fourier.md#1.2 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpsql.boxes import Weight
from ldpsql.decoders.fourier.families import Batch, Complexes, batches
from ldpsql.decoders.fourier.group import Axes, Integers, Reals, parts_of
from ldpsql.decoders.fourier.spectra import BoxQuery, Collected, box_terms
from ldpsql.estimate import Array
from ldpsql.report import Histogram, Pair, Rows

ENOUGH_FAMILIES, ENOUGH_REPORTS = 128, 12_000
MOST_ODDS = 12.5
KEPT = 8
_ENTRIES, _AT_ONCE = 1 << 15, 1 << 12
_MOST_CELLS, _UNITS = 1 << 19, 1 << 32

Spectra = Sequence[Mapping[Axes, Complexes]]


# -- reports --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reported:
    """The rows of a histogram, which are sorted by family."""

    histogram: Histogram

    @cached_property
    def rows(self) -> Rows:
        """Family and phase of every row, and what it counts."""
        return self.histogram.load_all()

    @property
    def people(self) -> int:
        """Number of reports."""
        return self.histogram.people

    @property
    def sizes(self) -> Integers:
        """Reports of every family."""
        return self.histogram.sizes

    def moment(self, left: Weight | None, right: Weight | None) -> float:
        """Sum of a product of weights over all people."""
        return self.histogram.moment(left, right)

    def counts(self, batch: Batch, pair: Pair) -> Reals:
        """Sum over people of a product of weights per phase, shape (f, |H|)."""
        family, phase = self.rows.columns
        numbers, phases = batch.families, batch.cluster.phases
        low, high = np.searchsorted(family, numbers[0]), np.searchsorted(family, numbers[-1] + 1)
        # The batch may hold some of the families between its first and its last only.
        place = np.searchsorted(numbers, family[low:high])
        is_own = numbers[place] == family[low:high]
        cells = (place * phases + phase[low:high])[is_own]
        sums = self.rows.moment(*pair)[low:high][is_own]
        flat = np.bincount(cells, sums, len(numbers) * phases)
        return np.asarray(flat.reshape(len(numbers), phases))


@dataclass(frozen=True, eq=False)
class EvenReports:
    """The expected reports of _UNITS people spread evenly over the real cells of a group."""

    collected: Collected
    people: int = _UNITS

    @cached_property
    def sizes(self) -> Integers:
        """Reports of every family."""
        return np.maximum(np.rint(self.collected.table.shares * self.people), 1).astype(np.int64)

    def moment(self, left: Weight | None, right: Weight | None) -> float:
        """Their number: predictions are for weights of 1."""
        return float(self.people)

    def counts(self, batch: Batch, pair: Pair) -> Reals:
        """People per phase, shape (f, |H|)."""
        group, axes = self.collected.group, batch.cluster.axes
        sides = [((0, size),) if axis in axes else None for axis, size in enumerate(group.sizes)]
        everything = BoxQuery(0.0, box_terms([(1.0, sides)]), None, 1.0, 0.0)
        real = everything.spectrum(group)
        shares = {face: np.asarray(own / real[()]) for face, own in real.items()}
        # The share of real cells at every phase, correlated with x / s, is the phase's probability.
        law = batch.correlate(self.collected.spread([shares], axes))[0] / batch.cluster.phases
        return np.asarray(self.sizes[batch.families][:, None] * law)


# -- all contributions ----------------------------------------------------------------------------


class SharedContributions:
    """Contributions of the queries that many histograms of one design are asked.

    They follow from the design alone; those of the last few queries, without what they know and
    their weight (`bare`), are kept.
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
        parts = (
            batch.correlate(collected.spread(divided, batch.cluster.axes)).ravel()
            for batch in batches(collected.table, collected.odds)
        )
        return np.concatenate(list(parts))

    def _covariance(self, queries: tuple[BoxQuery, ...]) -> Array:
        """Covariance (k, k) of what one person contributes if records are spread evenly."""
        spectra = [self.collected.spectrum(query) for query in queries]
        pairs = [[self.collected.covariance(one, other) for other in spectra] for one in spectra]
        return np.array(pairs).reshape(len(queries), len(queries))


def bare(query: BoxQuery) -> BoxQuery:
    """What a query's contributions depend on."""
    return replace(query, known=0.0, weight=None)


# -- a sample of families -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sample:
    """Families that stand for all: (numbers, ascending; how many reports each stands for)."""

    families: Integers
    stands_for: Reals

    @classmethod
    def of(cls, sizes: Integers) -> Sample:
        """Evenly spaced reports, family after family, pick the families that hold them."""
        present = np.flatnonzero(sizes)
        bounds = np.cumsum(sizes[present])
        people = int(bounds[-1]) if len(bounds) else 0
        points = ENOUGH_FAMILIES
        while points < len(present):
            places = (np.arange(points) + 0.5) * people / points
            picked, hits = np.unique(np.searchsorted(bounds, places, "right"), return_counts=True)
            if sizes[present[picked]].sum() >= min(ENOUGH_REPORTS, people):
                return cls(present[picked], hits * people / points)
            points *= 2
        return cls.everything(sizes)

    @classmethod
    def everything(cls, sizes: Integers) -> Sample:
        """Every family with reports stands for itself."""
        present = np.flatnonzero(sizes)
        return cls(present, sizes[present].astype(np.float64))


@dataclass(eq=False)
class Sampled:
    """The families of a sample with their reports, kept for all queries of one histogram.

    exact: in double precision throughout.
    """

    collected: Collected
    reported: Reported | EvenReports
    sample: Sample
    exact: bool = False
    _excess: dict[tuple[int, frozenset[Weight | None]], Reals] = field(default_factory=dict)

    @property
    def is_few(self) -> bool:
        """Whether the sums are taken as they are: a mean over all families says little of those
        that a handful of reports drew."""
        return self.reported.people <= ENOUGH_FAMILIES

    @cached_property
    def batches(self) -> list[Batch]:
        """Its families, in batches of one cluster."""
        table, odds = self.collected.table, self.collected.odds
        return list(batches(table, odds, self.sample.families, _ENTRIES))

    def excess(self, number: int, pair: Pair) -> Reals:
        """Of one batch: sums of products of weights per phase, less their mean over the family's
        phases (of few reports: as they are), times how many reports each stands for; shape
        (f, |H|). A pair is the same either way round."""
        key = number, frozenset(pair)
        if key not in self._excess:
            batch = self.batches[number]
            counts = self.reported.counts(batch, pair)
            place = np.searchsorted(self.sample.families, batch.families)
            scale = self.sample.stands_for[place] / self.reported.sizes[batch.families]
            mean = 0.0 if self.is_few else counts.mean(axis=1, keepdims=True)
            self._excess[key] = (counts - mean) * scale[:, None]
        return self._excess[key]

    def moments(
        self,
        queries: Sequence[BoxQuery],
        spectra: Spectra,
        estimated: Array,
        groups: Sequence[Sequence[int]],
        even: Sequence[Array],
    ) -> list[Array]:
        """Sum over all reports of c_a c_b, within each group of query numbers.

        spectra: of the queries.  estimated: the sums of c over all reports, known from decoding,
        shape (k,).  even: of every group the covariance of the sums if records were spread evenly.

        What the sample misses of the sums of c themselves is taken off at the mean contribution:
        as if (c_a - mean)(c_b - mean) had been sampled.
        """
        alike: dict[tuple[Weight | None, ...], list[int]] = {}
        for number, group in enumerate(groups):
            alike.setdefault(tuple(queries[n].weight for n in group), []).append(number)
        kinds = list(alike)
        rows = [
            np.array([groups[n] for n in own], dtype=np.int64).reshape(len(own), len(kind))
            for kind, own in alike.items()
        ]
        sums = self._sum_excess(queries, spectra, rows, kinds)
        whole = np.array([own[()].real if () in own else 0.0 for own in spectra])
        moments: dict[int, Array] = {}
        moment = self.reported.moment
        for kind, own, (first, second) in zip(kinds, rows, sums, strict=True):
            if not self.is_few:
                np.add(first, whole[own] * [moment(weight, None) for weight in kind], out=first)
                pairs = np.array([[moment(one, other) for other in kind] for one in kind])
                products = whole[own][:, :, None] * whole[own][:, None, :]
                products *= pairs.reshape(len(kind), len(kind))
                np.add(second, products + [even[n] for n in alike[kind]], out=second)
            # sum c_a c_b is estimated by the sample plus what is known to be missing of the sums of
            # c_a and c_b, each at the other's mean: sum (c_a - m_a)(c_b - m_b) is what is sampled.
            means = estimated[own] / self.reported.people
            half = second / 2.0 - means[:, :, None] * (first - estimated[own])[:, None, :]
            moments |= zip(alike[kind], half + half.swapaxes(1, 2), strict=True)
        return [moments[number] for number in range(len(groups))]

    def _sum_excess(
        self,
        queries: Sequence[BoxQuery],
        spectra: Spectra,
        rows: Sequence[Integers],
        kinds: Sequence[tuple[Weight | None, ...]],
    ) -> list[tuple[Array, Array]]:
        """What the sampled families, standing for all, add to the even sums of c and of products,
        shapes (R, T) and (R, T, T), for every array of query numbers, shape (R, T), and the weights
        of its columns.

        In double precision where weights meet or a measure is far from 0: the ratio of two sums
        then has a variance that is a tiny part of theirs, and is what is left when they cancel.
        """
        divided = [self.collected.divide(own) for own in spectra]
        exact = self.exact or any(query.is_far for query in queries)
        dense: dict[Axes, NDArray[np.complexfloating]] = {}
        sums = [(np.zeros(own.shape), np.zeros((*own.shape, own.shape[1]))) for own in rows]
        for number, batch in enumerate(self.batches):
            axes = batch.cluster.axes
            parts = parts_of((axes,))[1:]
            if not self.is_few and not any(part in own for own in divided for part in parts):
                continue  # what is constant has no excess
            if axes not in dense:
                dense[axes] = self.collected.spread(divided, axes, exact=exact)
            cells = batch.correlate(dense[axes]).reshape(len(queries), -1)
            for start in range(0, cells.shape[1], _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                for own, kind, (first, second) in zip(rows, kinds, sums, strict=True):
                    self._add(number, part, cells[:, part], own, kind, first, second, exact)
        return sums

    def _add(
        self,
        number: int,
        part: slice,
        cells: NDArray[np.floating],
        rows: Integers,
        kind: tuple[Weight | None, ...],
        first: Array,
        second: Array,
        exact: bool,
    ) -> None:
        """Add the sums over a part of one batch."""
        columns = {w: np.array([n for n, own in enumerate(kind) if own == w]) for w in kind}
        precision = np.float64 if exact or len(columns) > 1 else np.float32

        def excess(pair: Pair) -> NDArray[np.floating]:
            return np.asarray(self.excess(number, pair).ravel()[part], dtype=precision)

        own: dict[Weight | None, NDArray[np.floating]] = {
            w: np.asarray(cells[rows[:, place]], dtype=precision) for w, place in columns.items()
        }
        for left, place in columns.items():
            first[:, place] += own[left] @ excess((left, None))
            for right, other in columns.items():
                weighted = own[left] * excess((left, right))
                second[:, place[:, None], other] += weighted @ own[right].swapaxes(1, 2)


def even_variances(collected: Collected, queries: Sequence[BoxQuery]) -> Array:
    """Per person, shape (k,), of people who are spread evenly over the real cells."""
    reported, spectra = EvenReports(collected), [collected.spectrum(query) for query in queries]
    is_whole = int(collected.table.phases.sum()) <= _MOST_CELLS
    sample = (Sample.everything if is_whole else Sample.of)(reported.sizes)
    people = reported.people
    means = np.array([collected.real.values(query).mean() for query in queries])
    even = [np.array([[people * collected.covariance(own, own)]]) for own in spectra]
    groups = [[number] for number in range(len(queries))]
    sampled = Sampled(collected, reported, sample, exact=True)
    moments = sampled.moments(queries, spectra, people * means, groups, even)
    return np.asarray(np.array([own[0, 0] for own in moments]) / people - means**2)
