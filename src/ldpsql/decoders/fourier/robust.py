"""Unbiased answers to which no report contributes much more than others do: `--estimator robust`.

What a report contributes to an unbiased answer is not unique. There are far more different reports
than records, so many functions c of a report are unbiased: whatever the record, their mean is what
the record counts for. The usual one has the least variance. Its largest values belong to the
reports that a forger sends, and are several times the typical one. Among all unbiased c with |c| <=
t, the one of least variance over evenly spread records is the usual one for some other query d,
clipped to [-t, t]: d are the Lagrange multipliers of the conditions that make c unbiased, one per
record. It is found by asking again for what clipping took away,

    d <- d + (q - what the clipped contributions to d are on average, by record),

which is gradient ascent on the concave dual problem. Clipped contributions carry at most the
information that lambda states, so no step goes too far. What is still missing after the last step
is added without clipping. So answers are exactly unbiased, and the largest contributions are a
little above t.

Source: docs/fourier.md#the-estimator-robust.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.fourier.contributions import bare
from ldpsql.decoders.fourier.design import FourierEstimator
from ldpsql.decoders.fourier.families import Complexes, FamilyBatch, batches
from ldpsql.decoders.fourier.group import Axes, Integers, Reals, add, gather_faces
from ldpsql.decoders.fourier.spectra import BoxQuery, Collected, Spectrum
from ldpsql.decoders.fourier.translates import Translate
from ldpsql.estimate import Estimates
from ldpsql.limits import in_time

SURCHARGE = 1.05
"""By how much the standard error may grow, over evenly spread records."""
_PARTS = (0.8, 0.65, 0.55, 0.45, 0.38, 0.32, 0.27, 0.22, 0.18)
"""Bounds to try one after the other, as parts of the largest contribution, until one costs more
than SURCHARGE."""
_STEPS, _CLOSE = 12, 1e-3
"""Steps under one bound, and what part of a query's largest coefficient may still be missing after
them."""
_KEPT = 1 << 22
"""How many contributions are kept."""


@dataclass(frozen=True)
class Bounded:
    """A query whose contributions, clipped to [-most, most], make up for what clipping takes away.

    spectrum: d^(f) / N, over all faces that families tell anything about.
    """

    spectrum: Spectrum
    most: float


class BoundedContributions:
    """The bounded contributions of all reports to queries; those of the last few are kept.

    Contributions and averages are worked out for every report of every listed family, because no
    report with a large contribution may be left out.
    """

    def __init__(self, collected: Collected) -> None:
        self.collected = collected
        kept = max(4, _KEPT // int(self.starts[-1]))
        self.of = lru_cache(kept)(self._of)
        self._solve = lru_cache(kept)(self._solve_anew)

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
        found = self._solve(query)
        asked = self._move(found.spectrum, by)
        bounded = np.clip(self._contribute(asked), -found.most, found.most)
        return bounded + self._contribute(_join(wanted, self._average(bounded), -1.0))

    def _solve_anew(self, query: BoxQuery) -> Bounded:
        """The tightest bound that costs no more than SURCHARGE, and what is asked under it."""
        wanted = self.collected.spectrum(query)
        usual = self._contribute(wanted)
        allowed, most = SURCHARGE**2 * self._variance(usual), float(np.abs(usual).max())
        best, asked, least = Bounded(wanted, most), wanted, most
        for part in in_time(_PARTS):
            asked, found = self._bound(wanted, asked, part * most)
            if self._variance(found) > allowed:
                break
            if (largest := float(np.abs(found).max())) < least:
                best, least = Bounded(asked, part * most), largest
        return best

    def _bound(self, wanted: Spectrum, asked: Spectrum, most: float) -> tuple[Spectrum, Reals]:
        """What to ask for so that contributions within [-most, most] are unbiased, and these
        contributions.

        asked: where to begin.
        """
        close = _CLOSE * _largest(wanted)
        for step in in_time(range(_STEPS)):
            bounded = np.clip(self._contribute(asked), -most, most)
            missing = _join(wanted, self._average(bounded), -1.0)
            if step == _STEPS - 1 or _largest(missing) < close:
                break
            asked = _join(asked, missing)
        return asked, bounded + self._contribute(missing)

    def _contribute(self, spectrum: Spectrum) -> Reals:
        """The usual contributions to a query, q^ / N, of every report, shape (reports,)."""
        divided = [self.collected.divide(spectrum)]
        dense: dict[Axes, NDArray[np.complexfloating]] = {}
        parts = []
        for batch in self._batches:
            axes = batch.cluster.axes
            if axes not in dense:
                dense[axes] = self.collected.spread(divided, axes)
            parts.append(batch.correlate(dense[axes]).ravel())
        return np.concatenate(parts)

    def _average(self, contributions: Reals) -> Spectrum:
        """The mean of contributions (reports,) under every record, as its spectrum over N."""
        weighed, start, dense = self._chances * contributions, 0, dict[Axes, Complexes]()
        for batch in self._batches:
            end = start + len(batch.families) * batch.cluster.phases
            informed = batch.transform_counts(weighed[start:end]) * batch.transform
            add(dense, batch.cluster.axes, batch.scatter(informed))
            start = end
        return gather_faces(dense)

    def _variance(self, contributions: Reals) -> float:
        """Of one report, over evenly spread records."""
        mean = self._chances @ contributions
        return float(self._chances @ contributions**2 - mean**2)

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


def _join(left: Spectrum, right: Spectrum, factor: float = 1.0) -> Spectrum:
    """left + factor x right, faces that are missing in one being 0."""
    nothing = np.zeros(())
    return {
        face: np.asarray(left.get(face, nothing) + factor * right.get(face, nothing))
        for face in {**left, **right}
    }


def _largest(spectrum: Spectrum) -> float:
    return max(float(np.abs(own).max(initial=0.0)) for own in spectrum.values())


@dataclass(eq=False)
class RobustEstimator(FourierEstimator):
    """Sums of bounded contributions over the reports; see the module's docstring.

    Variances are those of the contributions of the reports themselves, which are bounded, and two
    people from an even spread are added, as by the usual estimator.
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
        covariance = self._centre(squares, estimated, self._covariance_of_even(row), row)
        return Estimates(np.array(list(map(self._sum_known, row))) + estimated, covariance)

    def _contributed(self, query: BoxQuery) -> Reals:
        """What every row's reports contribute, shape (r,)."""
        family, phase = self._rows.columns
        if not query.terms:
            return np.zeros(len(family))
        return np.asarray(self.bounded.of(bare(query))[self.bounded.starts[family] + phase])
