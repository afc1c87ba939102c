"""Unbiased answers to which no report contributes much more than others do: `--estimator robust`.

How contributions are bounded: `ldpsql.decoders.bounded`. Source:
docs/fourier.md#the-estimator-robust.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.bounded import ADDED_PEOPLE, Bounded, Contributions
from ldpsql.decoders.fourier.contributions import bare
from ldpsql.decoders.fourier.estimator import FourierEstimator
from ldpsql.decoders.fourier.families import Complexes, FamilyBatch, batches
from ldpsql.decoders.fourier.group import Axes, Integers, Reals, add, gather_faces
from ldpsql.decoders.fourier.spectra import BoxQuery, Collected, Spectrum
from ldpsql.decoders.fourier.translates import Translate
from ldpsql.estimate import Estimates
from ldpsql.limits import in_time

_KEPT = 1 << 22
"""How many contributions are kept."""


class BoundedContributions(Contributions[Spectrum]):
    """The bounded contributions of all reports to queries; those of the last few are kept.

    A query is asked by its spectrum q^(f) / N, over all faces that families tell anything about.
    Contributions and averages are worked out for every report of every listed family, because no
    report with a large contribution may be left out.
    """

    def __init__(self, collected: Collected) -> None:
        self.collected = collected
        kept = max(4, _KEPT // int(self.starts[-1]))
        self.of = lru_cache(kept)(self._of)
        self._bound_once = lru_cache(kept)(self._bound_anew)

    @cached_property
    def starts(self) -> Integers:
        """Where every family's phases begin among all reports, shape (families + 1,)."""
        return np.concatenate([[0], np.cumsum(self.collected.table.phases)])

    def _of(self, query: BoxQuery) -> Reals:
        """c of every report, family after family, for a `bare` query.

        Queries that are translates of each other share one solution; their contributions are
        translates, too.
        """
        wanted, by = self.collected.spectrum(query), dict[int, int]()
        if not self.collected.restricted:
            translate = Translate.of([query], self.collected.group)
            (query,) = translate.pattern
            by = dict(zip(translate.moved, translate.bins, strict=True))
        found = self._bound_once(query)
        return self.clip(wanted, Bounded(self._move(found.asked, by), found.most))

    def _bound_anew(self, query: BoxQuery) -> Bounded[Spectrum]:
        return self.bound(self.collected.spectrum(query))

    def contribute(self, asked: Spectrum) -> Reals:
        """See `Contributions`: q^ / N, family after family."""
        divided = [self.collected.divide(asked)]
        dense: dict[Axes, NDArray[np.complexfloating]] = {}
        parts = []
        for batch in self._batches:
            axes = batch.cluster.axes
            if axes not in dense:
                dense[axes] = self.collected.spread(divided, axes)
            parts.append(batch.correlate(dense[axes]).ravel())
        return np.concatenate(parts)

    def average(self, contributions: Reals) -> Spectrum:
        """See `Contributions`."""
        weighed, start, dense = self._chances * contributions, 0, dict[Axes, Complexes]()
        for batch in self._batches:
            end = start + len(batch.families) * batch.cluster.phases
            informed = batch.transform_counts(weighed[start:end]) * batch.transform
            add(dense, batch.cluster.axes, batch.scatter(informed))
            start = end
        return gather_faces(dense)

    def variance(self, contributions: Reals) -> float:
        """See `Contributions`."""
        mean = self._chances @ contributions
        return float(self._chances @ contributions**2 - mean**2)

    def add(self, left: Spectrum, right: Spectrum, factor: float) -> Spectrum:
        """See `Contributions`; faces that are missing in one are 0."""
        nothing = np.zeros(())
        return {
            face: np.asarray(left.get(face, nothing) + factor * right.get(face, nothing))
            for face in {**left, **right}
        }

    def largest(self, asked: Spectrum) -> float:
        """See `Contributions`."""
        return max(float(np.abs(own).max(initial=0.0)) for own in asked.values())

    @cached_property
    def _batches(self) -> list[FamilyBatch]:
        return list(batches(self.collected.table, self.collected.odds))

    @cached_property
    def _chances(self) -> Reals:
        """The probability of every report if records are spread evenly, shape (reports,)."""
        table = self.collected.table
        return np.repeat(table.shares / table.phases, table.phases)

    def _move(self, spectrum: Spectrum, by: Mapping[int, int]) -> Spectrum:
        """The spectrum of a query that is moved up some axes by so many bins."""
        moved = {}
        for face, own in spectrum.items():
            turned = own
            for place, axis in enumerate(face):
                order = self.collected.group.orders[axis]
                turns = np.arange(1, order) * by.get(axis, 0) % order / order
                shape = (-1,) + (1,) * (len(face) - place - 1)
                turned = turned * np.exp(-2j * np.pi * turns).reshape(shape)
            moved[face] = np.asarray(turned)
        return moved


@dataclass(eq=False)
class RobustEstimator(FourierEstimator):
    """Sums of bounded contributions over the reports.

    Variances are those of the contributions of the reports themselves, which are bounded.
    """

    bounded: BoundedContributions = field(kw_only=True)

    def influence(self, queries: Sequence[BoxQuery], slopes: Reals) -> Reals:
        """See `Estimator`."""
        known = slopes @ np.array([query.known for query in queries], dtype=float)
        every = np.zeros((len(slopes), int(self.bounded.starts[-1])))
        for slope, query in zip(slopes.T, queries, strict=True):
            if slope.any() and query.terms:
                every += slope[:, None] * self.bounded.of(bare(query))
        return np.asarray([every.min(axis=1) + known, every.max(axis=1) + known])

    def values(self, queries: Sequence[BoxQuery]) -> Reals:
        """See `Estimator`."""
        if not self.people:
            return super().values(queries)
        found = [self._rows.moment(q.weight, None) @ self._contributed(q) for q in queries]
        return np.array([self._sum_known(q) for q in queries]) + np.array(found)

    def _answer_spread(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        if not self.people:
            return super()._answer_spread(rows)
        return [self._answer_row(row) for row in in_time(rows)]

    def _answer_row(self, row: Sequence[BoxQuery]) -> Estimates:
        own, moment = [self._contributed(query) for query in row], self._rows.moment
        kinds = [query.weight for query in row]
        estimated = np.array([moment(kind, None) @ c for kind, c in zip(kinds, own, strict=True)])
        products = [
            [moment(kinds[a], kinds[b]) @ (own[a] * own[b]) for b in range(len(row))]
            for a in range(len(row))
        ]
        squares = np.array(products).reshape(len(row), len(row))
        even = self._covariance_of_even(row)
        covariance = self._centre(squares, estimated, even, row, ADDED_PEOPLE)
        return Estimates(np.array(list(map(self._sum_known, row))) + estimated, covariance)

    def _contributed(self, query: BoxQuery) -> Reals:
        """What every row's reports contribute, shape (r,)."""
        family, phase = self._rows.columns
        if not query.terms:
            return np.zeros(len(family))
        return np.asarray(self.bounded.of(bare(query))[self.bounded.starts[family] + phase])
