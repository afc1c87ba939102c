"""The variance of answers: of given reports, and predicted for records spread evenly.

One report of family j and phase phi contributes c(j, phi) to a query, and the second moment of
two queries is the sum of c_a c_b over all reports. Over evenly spread records its mean is
people x sum_f q_a conj(q_b) / lambda, which costs nothing; data move the true moment away from it
by a moderate factor. That difference is taken from some families only, drawn once per histogram in
proportion to their reports, until they hold enough reports: a transform per family and query is
what costs. Of few reports the sum itself is taken.

A restricted design has fewer cells than its group. Over these alone the predicted moment is a few
per cent larger or smaller, which is worked out family by family: all of them, or of large designs
a sample that is evenly spaced in weight.
Source: docs/spec/fourier.md#1.2 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.boxes import Weight
from ldpsql.decoders.fourier.group import Axes, Integers, parts_of, spread_faces
from ldpsql.decoders.fourier.information import Collected
from ldpsql.decoders.fourier.queries import BoxQuery, Spectrum, box_transform
from ldpsql.decoders.fourier.reports import Reported
from ldpsql.decoders.fourier.transforms import Batch, Complexes, Reals, batches, correlate
from ldpsql.estimate import Array
from ldpsql.report import Pair

ENOUGH_FAMILIES = 128
ENOUGH_REPORTS = 12_000
MOST_ODDS = 12.5
_ENTRIES = 1 << 15
_AT_ONCE = 1 << 12

Floats = NDArray[np.floating]


def _places(kinds: Sequence[Weight | None]) -> dict[Weight | None, Integers]:
    """Where each weight stands, ascending."""
    return {
        weight: np.array([place for place, kind in enumerate(kinds) if kind == weight])
        for weight in dict.fromkeys(kinds)
    }


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
    """The families of a sample with their reports, kept for all queries of one histogram."""

    collected: Collected
    reported: Reported
    _excess: dict[tuple[int, frozenset[Weight | None]], Reals] = field(default_factory=dict)

    @cached_property
    def sample(self) -> Sample:
        """Which families: all of them where single reports weigh too much for a sample."""
        sizes = self.reported.histogram.sizes
        return Sample.of(sizes) if self.collected.odds <= MOST_ODDS else Sample.everything(sizes)

    @property
    def is_few(self) -> bool:
        """Whether the sums are taken as they are: a mean over all families says little of those
        that a handful of reports drew."""
        return self.reported.histogram.people <= ENOUGH_FAMILIES

    @cached_property
    def batches(self) -> list[tuple[int, Batch]]:
        """Their families, in batches of one cluster."""
        table, odds = self.collected.table, self.collected.odds
        return list(batches(table, odds, self.sample.families, _ENTRIES))

    def excess(self, number: int, pair: Pair) -> Reals:
        """Of one batch: sums of products of weights per phase, less their mean over the family's
        phases (of few reports: as they are), times how many reports each stands for; shape
        (f, |H|). A pair is the same either way round."""
        key = number, frozenset(pair)
        if key not in self._excess:
            start, batch = self.batches[number]
            counts = self.reported.counts(start, batch, pair)
            place = np.searchsorted(self.sample.families, start + batch.numbers)
            scale = (
                self.sample.stands_for[place] / self.reported.histogram.sizes[start + batch.numbers]
            )
            mean = 0.0 if self.is_few else counts.mean(axis=1, keepdims=True)
            self._excess[key] = (counts - mean) * scale[:, None]
        return self._excess[key]


@dataclass(frozen=True, eq=False)
class Contributions:
    """Of some queries, over the families of a sample.

    estimated: the sums of the contributions, shape (k,), known from decoding.
    """

    sampled: Sampled
    queries: Sequence[BoxQuery]
    estimated: Array
    _kept: dict[Axes, NDArray[np.complexfloating]] = field(default_factory=dict)

    def moments(self, groups: Sequence[Sequence[int]]) -> list[Array]:
        """Sum over all reports of c_a c_b, within each group of query numbers.

        What the sample misses of the sums of c themselves, which are known, is taken off at the
        mean contribution: as if (c_a - mean)(c_b - mean) had been sampled.
        """
        moments = [self._evenly(group) for group in groups]
        for kinds, members in self._alike(groups).items():
            rows = np.array([groups[member] for member in members], dtype=np.int64)
            rows = rows.reshape(len(members), len(kinds))
            first, second = self._excess(rows, kinds)
            # sum c_a c_b is estimated by the sample plus what is known to be missing of the sums of
            # c_a and c_b, each at the other's mean: sum (c_a - m_a)(c_b - m_b) is what is sampled.
            means = self.estimated[rows] / self.sampled.reported.histogram.people
            missed = self._even_sums(rows) + first - self.estimated[rows]
            off = means[:, :, None] * missed[:, None, :]
            second -= off + off.swapaxes(1, 2)
            for member, own in zip(members, second, strict=True):
                moments[member] += own
        return moments

    def _even_sums(self, rows: Integers) -> Array:
        """Sums of c if records were spread evenly, shaped as rows."""
        reported = self.sampled.reported
        if self.sampled.is_few:
            return np.zeros(rows.shape)
        sums = [
            reported.histogram.moment(query.weight, None) * whole
            for query, whole in zip(self.queries, self._wholes, strict=True)
        ]
        return np.array(sums)[rows]

    def _alike(self, groups: Sequence[Sequence[int]]) -> dict[tuple[Weight | None, ...], list[int]]:
        """Numbers of the groups by the weights of their queries."""
        alike: dict[tuple[Weight | None, ...], list[int]] = {}
        for number, group in enumerate(groups):
            kinds = tuple(self.queries[query].weight for query in group)
            alike.setdefault(kinds, []).append(number)
        return alike

    def _evenly(self, group: Sequence[int]) -> Array:
        """The moments if records were spread evenly, by the weights of the pairs of queries."""
        moments = np.zeros((len(group), len(group)))
        if self.sampled.is_few:
            return moments
        for i, a in enumerate(group):
            for j, b in enumerate(group[: i + 1]):
                left, right = self.queries[a], self.queries[b]
                total = self.sampled.reported.histogram.moment(left.weight, right.weight)
                whole = self._wholes[a] * self._wholes[b]
                moment = self._collected.moment(
                    self._spectra[a].faces, self._spectra[b].faces, whole
                )
                moments[i, j] = moments[j, i] = total * moment
        return moments

    @property
    def _collected(self) -> Collected:
        return self.sampled.collected

    @cached_property
    def _spectra(self) -> list[Spectrum]:
        return [self._collected.spectrum(query) for query in self.queries]

    @property
    def _wholes(self) -> list[float]:
        return [asked.whole for asked in self._spectra]

    @cached_property
    def _divided(self) -> list[dict[Axes, Complexes]]:
        return [self._collected.divide(asked.faces) for asked in self._spectra]

    def _excess(self, rows: Integers, kinds: tuple[Weight | None, ...]) -> tuple[Array, Array]:
        """What the sampled families, standing for all, add to the even sums of c and of products,
        shapes (R, T) and (R, T, T).

        rows: query numbers, shape (R, T).  kinds: the weights of each row's queries.

        In double precision where weights meet or a measure is far from 0: the ratio of two sums
        then has a variance that is a tiny part of theirs, and is what is left when they cancel.
        """
        first, second = np.zeros(rows.shape), np.zeros((*rows.shape, len(kinds)))
        members = _places(kinds).items()
        exact = np.float64 if len(members) > 1 or self._is_far else np.float32

        def excess(number: int, pair: Pair, part: slice) -> Floats:
            return np.asarray(self.sampled.excess(number, pair).ravel()[part], dtype=exact)

        for number, (_, batch) in enumerate(self.sampled.batches):
            if not self._informs(batch):
                continue
            cells = self.cells(batch).reshape(len(self.queries), -1)
            for start in range(0, cells.shape[1], _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                own: dict[Weight | None, Floats] = {
                    kind: np.asarray(cells[rows[:, place], part], dtype=exact)
                    for kind, place in members
                }
                for left, place in members:
                    first[:, place] += own[left] @ excess(number, (left, None), part)
                    for right, other in members:
                        weighted = own[left] * excess(number, (left, right), part)
                        second[:, place[:, None], other] += weighted @ own[right].swapaxes(1, 2)
        return first, (second + second.swapaxes(1, 2)) / 2  # symmetric, but for rounding

    def _informs(self, batch: Batch) -> bool:
        """Whether some query is not constant on a batch; what is constant has no excess."""
        if self.sampled.is_few:
            return True
        parts = set(parts_of((batch.cluster.axes,)))
        return any(not parts.isdisjoint(faces) for faces in self._divided)

    @cached_property
    def _is_far(self) -> bool:
        """Whether the bounds of a measure are far from 0, as seen from their distance."""
        return any(query.is_far for query in self.queries)

    def cells(self, batch: Batch) -> Floats:
        """c of every query, shape (k, f, |H|)."""
        conjugate = batch.transform.conj() if self._is_far else batch.conjugate
        cells = correlate(batch, self._dense(batch.cluster.axes), conjugate)
        return np.asarray(cells.reshape(len(self.queries), len(batch.numbers), -1))

    def _dense(self, axes: Axes) -> NDArray[np.complexfloating]:
        """q^ / (N lambda) of every query, dense over some axes and flat, shape (k, cells)."""
        if axes not in self._kept:
            shape = self._collected.group.shape(axes)
            self._kept[axes] = np.array(
                [
                    spread_faces(faces, axes, shape, whole).ravel()
                    for faces, whole in zip(self._divided, self._wholes, strict=True)
                ],
                dtype=np.complex128 if self._is_far else np.complex64,
            )
        return self._kept[axes]


_MOST_CELLS = 1 << 19
_UNITS = 1 << 32
_ENTRIES = 1 << 15


@dataclass(frozen=True, eq=False)
class Evenly:
    """Queries asked of people who are spread evenly over the real cells of a restricted design."""

    collected: Collected
    queries: Sequence[BoxQuery]

    def variances(self) -> Array:
        """Per person, shape (k,)."""
        spectra = [self.collected.spectrum(query) for query in self.queries]
        means = np.array([self.collected.real.mean(query) for query in self.queries])
        asked = np.array([bool(query.terms) for query in self.queries])
        even = [self.collected.moment(own.faces, own.faces, own.whole**2) for own in spectra]
        moments = np.array(even) + self._excess(
            [(self.collected.divide(own.faces), own.whole) for own in spectra]
        )
        return np.where(asked, moments - means**2, 0.0)

    def _excess(self, divided: Sequence[tuple[dict[Axes, Complexes], float]]) -> Array:
        """What the second moments of the contributions gain on the real cells."""
        table = self.collected.table
        units = np.maximum(np.rint(table.shares * _UNITS), 1).astype(np.int64)
        whole = int(table.phases.sum()) <= _MOST_CELLS
        sample = Sample.everything(units) if whole else Sample.of(units)
        total = np.zeros(len(divided))
        chosen = batches(table, self.collected.odds, sample.families, _ENTRIES)
        for start, batch in chosen:
            place = np.searchsorted(sample.families, start + batch.numbers)
            shares = sample.stands_for[place] / _UNITS
            squares = self._contributions(batch, divided) ** 2
            total += np.einsum("f,kfc,fc->k", shares, squares, self._uneven(batch))
        return total

    def _contributions(
        self, batch: Batch, divided: Sequence[tuple[dict[Axes, Complexes], float]]
    ) -> Reals:
        """c of every query, shape (k, f, |H|)."""
        axes, group = batch.cluster.axes, self.collected.group
        dense = np.array(
            [spread_faces(own, axes, group.shape(axes), zero) for own, zero in divided]
        )
        cells = correlate(batch, dense.reshape(len(divided), -1), np.conj(batch.transform))
        return np.asarray(cells.reshape(len(divided), len(batch.numbers), -1))

    def _uneven(self, batch: Batch) -> Reals:
        """Probability of every phase less its mean, given the family, shape (f, |H|)."""
        axes, group = batch.cluster.axes, self.collected.group
        everything = [((0, group.sizes[a]),) if a < group.dimensions else None for a in axes]
        real = box_transform(everything, axes, group).ravel()
        # The share of real cells at every phase, correlated with x / s, is the phase's probability.
        shares = correlate(batch, real[None] / real[0], np.conj(batch.transform))
        law = shares.reshape(len(batch.numbers), -1) / batch.cluster.phases
        return np.asarray(law - 1.0 / batch.cluster.phases)
