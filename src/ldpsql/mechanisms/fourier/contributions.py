"""Runs at the collector. Sees reports. The covariance of answers, from what reports contribute.

One report of family j and phase phi contributes c(j, phi) to a query, and the second moment of
two queries is the sum of c_a c_b over all reports. Over evenly spread records its mean is
people x sum_f q_a conj(q_b) / lambda, which costs nothing; data move the true moment away from it
by a moderate factor. That difference is taken from some families only, drawn once per histogram in
proportion to their reports, until they hold enough reports: a transform per family and query is
what costs. Specification: fourier, sections 1.2.4, 1.2.5 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array
from ldpsql.mechanisms.fourier.group import Axes, Integers, spread
from ldpsql.mechanisms.fourier.information import Collected
from ldpsql.mechanisms.fourier.query import BoxQuery
from ldpsql.mechanisms.fourier.reported import Reported
from ldpsql.mechanisms.fourier.transforms import Batch, Complexes, Reals, batches

ENOUGH_FAMILIES = 64
ENOUGH_REPORTS = 6000
_ENTRIES = 1 << 18

Singles = NDArray[np.float32]


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
        return cls(present, sizes[present].astype(np.float64))


@dataclass(frozen=True, eq=False)
class Contributions:
    """Of some queries, over the families of a sample."""

    collected: Collected
    reported: Reported
    sample: Sample
    queries: Sequence[BoxQuery]

    def moments(self, groups: Sequence[Sequence[int]]) -> list[Array]:
        """Sum over all reports of c_a c_b, within each group of query numbers."""
        found = [self._evenly(group) for group in groups]
        for start, batch in self._batches():
            cells = self._cells(batch)
            for number, group in enumerate(groups):
                found[number] += self._excess(start, batch, cells[list(group)], group)
        return found

    def _batches(self) -> list[tuple[int, Batch]]:
        """Small enough for all queries at once."""
        most = max(1, _ENTRIES // max(len(self.queries), 1))
        table, odds = self.collected.table, self.collected.odds
        return list(batches(table, odds, self.sample.families, most))

    def _evenly(self, group: Sequence[int]) -> Array:
        """The moments if records were spread evenly, by the weights of the pairs of queries."""
        found = np.zeros((len(group), len(group)))
        for i, a in enumerate(group):
            for j, b in enumerate(group[: i + 1]):
                left, right = self.queries[a], self.queries[b]
                total = self.reported.moment((left.weight, right.weight))
                found[i, j] = found[j, i] = total * self.collected.moment(
                    self._faces(a), self._faces(b), self._whole(a) * self._whole(b)
                )
        return found

    def _faces(self, number: int) -> dict[Axes, Complexes]:
        return self.queries[number].faces(self.collected.group)

    def _whole(self, number: int) -> float:
        return self.queries[number].whole(self.collected.group)

    def _excess(self, start: int, batch: Batch, cells: Singles, group: Sequence[int]) -> Array:
        """What the families of a batch, standing for others, add to the even moments."""
        sizes = self.reported.sizes[start + batch.numbers]
        place = np.searchsorted(self.sample.families, start + batch.numbers)
        scale = (self.sample.stands_for[place] / sizes)[:, None].astype(np.float32)
        found = np.zeros((len(group), len(group)))
        weights = [self.queries[n].weight for n in group]
        for pair in {(a, b) for a in weights for b in weights}:
            counts = self.reported.counts(start, batch, pair)
            excess = (counts - counts.mean(axis=1, keepdims=True)).astype(np.float32) * scale
            rows = [i for i, weight in enumerate(weights) if weight == pair[0]]
            columns = [i for i, weight in enumerate(weights) if weight == pair[1]]
            left = (cells[rows] * excess).reshape(len(rows), -1)
            right = cells[columns].reshape(len(columns), -1)
            found[np.ix_(rows, columns)] = left @ right.T
        return found

    def _cells(self, batch: Batch) -> Singles:
        """c of every query, shape (k, f, |H|)."""
        cluster, group = batch.cluster, self.collected.group
        conjugate = np.conj(batch.transform).astype(np.complex64)
        found = np.empty((len(self.queries), len(batch.numbers), cluster.phases), dtype=np.float32)
        for number, query in enumerate(self.queries):
            dense = spread(
                self.collected.divided(self._faces(number)),
                cluster.axes,
                group.shape(cluster.axes),
                query.whole(group),
            )
            spectrum = dense.astype(np.complex64).ravel()[batch.frequencies] * conjugate
            found[number] = batch.restored(spectrum).reshape(found.shape[1:]) * cluster.phases
        return found
