"""Questions that are listed one by one, as `Questions`: families, by phase.

Source: docs/spec/fourier.md#1.2 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.numerics import join_ranges
from ldpsql.limits import in_time
from ldpsql.mechanisms.fourier.families import FamilyBatch, FamilyTable, mix
from ldpsql.mechanisms.fourier.group import (
    Axes,
    Complexes,
    Group,
    Integers,
    Numbers,
    Reals,
    Spectrum,
    axes_of,
    mirror,
)
from ldpsql.mechanisms.fourier.questions import (
    MOST_ODDS,
    AllSpectra,
    MovedSpectrum,
    SampledSums,
    Spread,
    sum_pairs,
)
from ldpsql.reports.report import Pair, Rows

POINTS, MOST_CELLS_OF_ALL = 512, 1 << 19
"""Points of a sample of families, and the phases up to which all of them are taken."""
_BATCH, _ENTRIES, _AT_ONCE = 1 << 20, 1 << 15, 1 << 12
_CELLS_AT_ONCE = 1 << 20
"""Cells of spectra, beyond one block's, that are laid side by side for all families."""
_PHASES_AT_ONCE = 1 << 18
"""Phases that are transformed at once: few enough for a processor's cache."""


@dataclass(frozen=True, eq=False)
class ListedQuestions:
    """The families of a table. odds: E."""

    group: Group
    table: FamilyTable
    odds: float

    @property
    def shares(self) -> Iterator[tuple[Axes, float]]:
        """By cluster."""
        sums = np.add.reduceat(self.table.shares, self.table.starts[:-1]).tolist()
        return zip((cluster.axes for cluster in self.table.clusters), sums, strict=True)

    def information(self) -> Iterator[tuple[Axes, Reals]]:
        """The sum of w |X(h)|^2 / s^2 over families of probability w, at f = h k."""
        group, every = self.group, np.arange(len(self.table.shares))
        blocks, _, mixed = mix(self.table.clusters, self.odds, every, (), _BATCH)
        flat = np.zeros(sum(map(group.cells, blocks)))
        for batch in in_time(mixed):
            power = batch.power * batch.halves()
            power *= batch.spread(self.table.shares[batch.families])
            # In place: many clusters inform few of many frequencies each.
            np.add.at(flat, batch.places().ravel(), power.ravel())
        # Half of all h was added up; the other half tells as much of -f.
        return ((axes, own + mirror(own)) for axes, own in group.cut(flat, blocks).items())

    def decode(self, sets: Sequence[Rows], pair: Pair) -> Iterator[tuple[Axes, Complexes]]:
        """The sum over families of C^_j(h) X_j(h) / s_j at f = h k_j, C_j the counts by phase."""
        group, count = self.group, len(sets)
        questions, phases = (np.concatenate([own.columns[n] for own in sets]) for n in range(2))
        weights = np.concatenate([own.moment(*pair) for own in sets])
        owners = np.repeat(np.arange(count), [len(own.counts) for own in sets])
        blocks, _, mixed = mix(
            self.table.clusters, self.odds, self._find_drawn(questions), (), _PHASES_AT_ONCE
        )
        dense = np.zeros((count, sum(map(group.cells, blocks))), dtype=np.complex128)
        for batch, reports, numbers in self._divide_reports(mixed, questions):
            # A set that tells of a family is worked on with other sets and families at once.
            told = numbers * count + owners[reports]
            order = np.argsort(told, kind="stable")
            told, mine = told[order], reports[order]
            is_first = np.diff(told, prepend=-1) > 0
            families, into = np.divmod(told[is_first], count)
            place, size = np.cumsum(is_first) - 1, batch.cluster.phases
            turned, places = batch.transform * batch.halves(), batch.places()
            step = max(1, _PHASES_AT_ONCE // size)
            for first in in_time(range(0, len(families), step)):
                some = families[first : first + step]
                part = slice(*np.searchsorted(place, [first, first + len(some)]))
                cells = (place[part] - first) * size + phases[mine[part]]
                counts = np.bincount(cells, weights[mine[part]], len(some) * size)
                informed = batch.transform_counts(counts.reshape(-1, size)) * turned[some]
                there = places[some] + batch.spread(into[first : first + step] * dense.shape[1])
                # In place: many clusters inform few of many frequencies each.
                np.add.at(dense.reshape(-1), there.ravel(), informed.ravel())
        # The half of h that is not kept informs -f, by what is conjugate.
        halves = group.cut(dense, blocks).items()
        return ((axes, half + np.conj(mirror(half, 1))) for axes, half in halves)

    def extremes(self, spectra: Sequence[Spectrum], known: Reals) -> Reals:
        """By the contributions of all phases of all families."""
        ends = [known]
        # What a sum is not about moves none of its contributions: of the factors that hold other
        # axes one phase stands for all.
        about: dict[Axes, list[int]] = {}
        for number, own in enumerate(spectra):
            about.setdefault(axes_of([own]), []).append(number)
        for asked, numbers in about.items():
            for families in self._divide():
                _, blocks, mixed = mix(
                    self.table.clusters, self.odds, families, asked, _PHASES_AT_ONCE
                )
                parts = self.group.spread([spectra[place] for place in numbers], *blocks)
                for batch in mixed:
                    if batch.moved:
                        amounts = batch.correlate(parts, batch.moved)
                        own_ends = known.copy()
                        own_ends[:, numbers] = amounts.min(axis=(1, 2)), amounts.max(axis=(1, 2))
                        ends.append(own_ends)
        return join_ranges(ends)

    def contribute(
        self, asked: Sequence[MovedSpectrum], each: AllSpectra, reports: Rows, found: Reals
    ) -> None:
        """Of queries that are one query moved, from the contributions to it at other phases."""
        spectra = [own.spectrum for own in asked]
        for batch, mine, families, parts in self.find_batches(spectra, reports.columns[0]):
            step = max(1, _AT_ONCE // (len(batch.families) * batch.cluster.phases))
            for first in range(0, len(asked), step):
                amounts = batch.correlate(parts[first : first + step], batch.moved)
                for moved, own in zip(asked[first : first + step], amounts, strict=True):
                    cells = find_cells(batch, families, reports.columns[1][mine], moved.bins)
                    found[moved.numbers[:, None], mine] += own.ravel()[cells]

    def find_batches(
        self, spectra: Sequence[Spectrum], questions: Integers
    ) -> Iterator[tuple[FamilyBatch, Integers, Integers, NDArray[np.complexfloating]]]:
        """Families that some reports are of, and that tell something of the axes that spectra are
        about; the reports, and which of the families each is of; and the spectra as the batch
        correlates them."""
        about, drawn = axes_of(spectra), self._find_drawn(questions)
        for part in self._divide():
            chosen = np.intersect1d(part, drawn, assume_unique=True)
            _, blocks, mixed = mix(self.table.clusters, self.odds, chosen, about, _PHASES_AT_ONCE)
            parts = self.group.spread(spectra, *blocks)
            for batch, mine, families in self._divide_reports(mixed, questions):
                if batch.moved:
                    yield batch, mine, families, parts

    def count_phases(self, about: Axes) -> int:
        """Of all families, those that tell apart what is contributed to queries about some axes."""
        return sum(
            len(cluster) * prod(cluster.orders[place] for place in places)
            for cluster in self.table.clusters
            if (places := cluster.moved(about))
        )

    def sample(
        self, faces: frozenset[Axes], worth: Mapping[Axes, float]
    ) -> Iterator[SampledFamilies]:
        """Of the families that are chosen, those that differ in their axes alone together."""
        shares, asked = choose_families(self, worth), tuple({a for face in faces for a in face})
        chosen = np.flatnonzero(shares)
        *blocks, mixed = mix(self.table.clusters, self.odds, chosen, asked, _ENTRIES)
        return (SampledFamilies(own, shares[own.families, None], *blocks) for own in mixed)

    def _divide(self) -> list[Integers]:
        """The numbers of all families, those apart whose spectra have too many cells together."""
        clusters, cells, parts = self.table.clusters, 0, dict[Axes, int]()
        for axes in dict.fromkeys(cluster.axes for cluster in clusters):
            parts[axes] = cells // _CELLS_AT_ONCE
            cells += self.group.cells(axes)
        own = np.repeat([parts[cluster.axes] for cluster in clusters], list(map(len, clusters)))
        return [np.flatnonzero(own == part) for part in dict.fromkeys(parts.values())]

    def _find_drawn(self, questions: Integers) -> Integers:
        """The families that some reports are of, ascending."""
        count = len(self.table.shares)
        return np.flatnonzero(np.bincount(questions, minlength=count)[:count])

    def _divide_reports(
        self, mixed: Sequence[FamilyBatch], questions: Integers
    ) -> Iterator[tuple[FamilyBatch, Integers, Integers]]:
        """Of every batch the reports to its families: their places among all reports, by family,
        and the number of the family in the batch, shape (r,) each."""
        bounds = list(accumulate((len(batch.families) for batch in mixed), initial=0))
        place = np.full(self.table.questions, bounds[-1])  # what no batch holds behind all others
        for first, batch in zip(bounds, mixed, strict=False):
            place[batch.families] = np.arange(first, first + len(batch.families))
        own = place[questions]
        order = np.argsort(own, kind="stable")
        ends = np.searchsorted(own[order], bounds)
        for batch, start, first, last in zip(mixed, bounds, ends, ends[1:], strict=False):
            yield batch, order[first:last], own[order[first:last]] - start


def find_cells(
    batch: FamilyBatch, families: Integers, phases: Integers, bins: Integers
) -> Integers:
    """Where reports find what they contribute to queries that are moved by some bins, among the
    phases of the factors of a batch along which it differs, shape (k, r).

    families: which of the batch each report is of, shape (r,).  phases: that it answers, (r,).
    bins: shape (k, axes of the group).
    """
    cluster, cells = batch.cluster, families[None, :]
    digits, turns = np.unravel_index(phases, cluster.orders), batch.turns
    # Of an axis that a family lacks, the last column, nothing is moved.
    by_axis = np.pad(bins, ((0, 0), (0, 1)))[:, batch.names]
    for place in batch.moved:
        order, columns = cluster.orders[place], list(cluster.factors[place])
        shifts = (by_axis[..., columns] * turns[:, columns]).sum(axis=2) % order
        cells = cells * order + (digits[place] - shifts[:, families]) % order
    return np.asarray(cells)


# -- a sample of families --------------------------------------------------------------------------


def choose_families(listed: ListedQuestions, worth: Mapping[Axes, float]) -> Reals:
    """The share of all reports that each family stands for, shape (families,); 0 for most of them.

    Families count by how much they add to the second moment of contributions (`worth`). POINTS
    points, evenly spaced over the sum, pick the families that hold them. Where they have few
    phases, and where single reports weigh too much for a sample, all families are taken.
    """
    table = listed.table
    counts = list(map(len, table.clusters))
    worths = np.repeat([worth.get(cluster.axes, 0.0) for cluster in table.clusters], counts)
    informed = table.phases[worths > 0.0]
    is_small = informed.sum() <= MOST_CELLS_OF_ALL or len(informed) <= POINTS
    if is_small or listed.odds > MOST_ODDS:
        return np.asarray(np.where(worths > 0.0, table.shares, 0.0))
    bounds = np.cumsum(worths * table.shares)
    places = (np.arange(POINTS) + 0.5) * (bounds[-1] / POINTS)
    hits = np.bincount(np.searchsorted(bounds, places, "right"), minlength=len(worths))
    # A family that holds h points stands for h / POINTS of the sum: a share w h / (POINTS p), where
    # p = w worth / sum is its part of it.
    points = hits * (bounds[-1] / POINTS)
    return np.asarray(np.divide(points, worths, out=np.zeros_like(points), where=worths > 0.0))


@dataclass(frozen=True, eq=False)
class SampledFamilies:
    """Families of one shape with all their phases, as `SampledReports`.

    shares: shape (f, 1).  blocks, blocks_moved: as `mix` gives them.
    """

    batch: FamilyBatch
    shares: Reals
    blocks: tuple[Axes, ...]
    blocks_moved: tuple[Axes, ...]
    zero_apart = False

    @property
    def cells(self) -> int:
        """Phases of the families that the factors which are asked about tell apart."""
        orders = self.batch.cluster.orders
        return len(self.shares) * prod(orders[place] for place in self.batch.moved)

    def expect(self, people: Spread) -> Reals:
        """Reports beyond their mean, w_j conj(X_j(h)) / s_j T^(f) at f = h k_j, summed along the
        factors on which contributions do not differ."""
        beyond = self.batch.correlate(people(*self.blocks))[0] / self.batch.cluster.phases
        return self.batch.sum_unmoved(np.asarray(beyond * self.shares)).ravel()

    def contribute(self, divided: Spread) -> Reals:
        """Contributions of every phase that the queries tell apart, shape (k, cells)."""
        found = self.batch.correlate(divided(*self.blocks_moved), self.batch.moved)
        return np.asarray(found.reshape(len(found), -1))

    def add_translates(
        self, first: Complexes, second: Complexes, sampled: SampledSums, moved: Axes
    ) -> None:
        """By the correlation theorem: if a query is moved by u, c(phi) becomes c(phi - theta(u)),
        and sum over phi of e(phi) c(phi - theta(u)) has the spectrum e^(h) conj(c^(h)) / |H| at
        f = h k, on axes that are not moved summed up."""
        batch, each = self.batch, len(self.shares) / self.cells
        excess = {
            pair: batch.transform_counts(own, batch.moved) for pair, own in sampled.excess.items()
        }

        def total(pair: Pair, values: Numbers) -> Numbers:
            transform = batch.transform_counts(values, batch.moved)
            return batch.scatter_over(excess[pair] * np.conj(transform) * each, moved)

        sum_pairs(sampled.kinds, sampled.whole, sampled.amounts, total, first, second)
