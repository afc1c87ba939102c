"""Contributions of reports to queries, and the sums of their products.

Source: docs/spec/fourier.md#1.2 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpsql import limits
from ldpsql.algebra.boxes import Weight
from ldpsql.algebra.numerics import join_ranges
from ldpsql.mechanisms.fourier.families import Complexes, FamilyBatch, MixedBatch, batches, mix
from ldpsql.mechanisms.fourier.group import (
    Axes,
    Integers,
    Numbers,
    Reals,
    add,
    gather_faces,
    mirror,
    parts_of,
    zero_parts,
)
from ldpsql.mechanisms.fourier.products import ProductReports
from ldpsql.mechanisms.fourier.spectra import BoxQuery, Collected, Spectrum, make_box_terms
from ldpsql.reports.report import Pair, Rows

POINTS, MOST_CELLS_OF_ALL = 512, 1 << 19
"""Points of a sample of families, and the phases up to which all of them are taken."""
PRODUCT_POINTS = 1024
"""Reports of a sample of those to questions in product form."""
MOST_ODDS = 12.5
KEPT, FACES_KEPT = 8, 32
_ENTRIES, _AT_ONCE = 1 << 15, 1 << 12
_CELLS_AT_ONCE = 1 << 20
"""Cells of spectra, beyond one block's, that are laid side by side for all families."""
_PHASES_AT_ONCE = 1 << 18
"""Phases that are transformed at once: few enough for a processor's cache."""
MOST_ENTRIES = 1 << 22
"""Contributions to the phases of a sample that are kept for those who ask the same."""


def sum_spectra(collected: Collected, sets: Sequence[Rows], pair: Pair) -> list[Spectrum]:
    """B(f), the sum over families of C^_j(h) X_j(h) / s_j at f = h k_j, by faces; lambda T^(f) on
    average. One for every set of people, who count with a product of weights.

    sets: all rows of a histogram each.
    """
    dense: dict[Axes, Complexes] = {}
    for batch, place, owners, counts in _count_phases(collected, sets, pair):
        axes = batch.cluster.axes
        shape, cells = collected.group.shape(axes), collected.group.cells(axes)
        if axes not in dense:
            dense[axes] = np.zeros((len(sets), *shape), dtype=np.complex128)
        into, informed = dense[axes], batch.transform_counts(counts)
        informed *= (batch.transform * batch.halves)[place]
        places = batch.frequencies[place] + batch.spread(owners * cells)
        # In place: many clusters inform few of many frequencies each.
        np.add.at(into.reshape(-1), places.ravel(), informed.ravel())
    spectra = list[Spectrum]()
    for number, rows in enumerate(sets):
        # The half of h that is not kept informs -f, by what is conjugate.
        halves = {axes: each[number] for axes, each in dense.items()}
        own = {axes: half + np.conj(mirror(half)) for axes, half in halves.items()}
        for axes, found in collected.decode_products(rows, pair):
            add(own, axes, found)
        sums = gather_faces(own)
        for face in collected.information:
            if face not in sums:
                sums[face] = np.zeros(collected.face_shape(face), dtype=np.complex128)
        spectra.append(sums)
    return spectra


def _count_phases(
    collected: Collected, sets: Sequence[Rows], pair: Pair
) -> Iterator[tuple[FamilyBatch, Integers, Integers, Reals]]:
    """Families that some sets of people tell of, and of every such set: the place of its family in
    the batch, and its number, shape (s,); and the sum over its people of a product of weights per
    phase, shape (s, |H|)."""
    table, odds, count = collected.table, collected.odds, max(1, len(sets))
    families, phases = (_join([rows.columns[own] for rows in sets]) for own in range(2))
    weights = _join([rows.moment(*pair) for rows in sets])
    told = families * count + np.repeat(np.arange(len(sets)), [len(rows.counts) for rows in sets])
    order = np.argsort(told, kind="stable")
    order = order[: np.searchsorted(told[order], len(table.shares) * count)]
    phases, weights = phases[order], weights[order]
    distinct, place = np.unique(told[order], return_inverse=True)
    owners, first = distinct % count, 0
    # A family that several sets tell of is in a batch as often, so that what NumPy does is done for
    # all of them at once, and batches are equally large.
    for batch in batches(table, odds, distinct // count, _PHASES_AT_ONCE):
        last, own = first + len(batch.families), batch.cluster.phases
        rows = slice(*np.searchsorted(place, [first, last]))
        cells = (place[rows] - first) * own + phases[rows]
        counts = np.bincount(cells, weights[rows], (last - first) * own)
        # What follows from a family alone is worked out once for all sets.
        families, chosen, shared = np.unique(batch.families, return_index=True, return_inverse=True)
        single = FamilyBatch(batch.cluster.pick(chosen), families, odds)
        yield single, shared, owners[first:last], np.asarray(counts.reshape(last - first, own))
        first = last


def _join(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One array after the other; none at all is no integers."""
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)


def face_name(face: Axes) -> str:
    """The name of what is decoded of a face."""
    return "face " + " ".join(map(str, face))


class SharedContributions:
    """Contributions of the queries that many estimators of one design are asked.

    They follow from the design alone; those of the last few queries are kept, without what these
    know and their weight (`bare`).
    """

    def __init__(self, collected: Collected) -> None:
        self.collected = collected
        self.covariance = lru_cache(KEPT)(self._covariance)
        self.ends = lru_cache(FACES_KEPT)(self._ends)
        self.sample = lru_cache(FACES_KEPT)(self._sample)
        self._kept_amounts = lru_cache(KEPT)(lambda *asked: tuple(self._contribute(*asked)))

    def _covariance(self, queries: tuple[BoxQuery, ...]) -> Reals:
        """Covariance (k, k) of what one person contributes if records are spread evenly."""
        spectra = [self.collected.spectrum(query) for query in queries]
        pairs = [[self.collected.covariance(one, other) for other in spectra] for one in spectra]
        return np.array(pairs).reshape(len(queries), len(queries))

    def _ends(
        self, queries: tuple[BoxQuery, ...], combined: tuple[tuple[float, ...], ...]
    ) -> Reals:
        """The least and the most that a report contributes to sums of queries, whatever it says,
        shape (2, m); combined: their slopes, shape (m, k).
        """
        collected, slopes = self.collected, np.array(combined)
        divided = [collected.divide(collected.spectrum(query)) for query in queries]
        whole = slopes @ zero_parts(divided)
        ends = [np.tile(whole, (2, 1))]
        # What a sum is not about moves none of its contributions: of the factors that hold other
        # axes one phase stands for all.
        about: dict[Axes, list[int]] = {}
        for number, own in enumerate(slopes):
            axes = {
                axis for place in np.flatnonzero(own) for face in divided[place] for axis in face
            }
            about.setdefault(tuple(sorted(axes)), []).append(number)
        for (asked, numbers), families in product(about.items(), self.divide_families()):
            _, blocks, mixed = mix(
                collected.table, collected.odds, families, asked, _PHASES_AT_ONCE
            )
            added = np.flatnonzero(slopes[numbers].any(axis=0))
            parts = collected.spread([divided[place] for place in added], *blocks)
            spectra = slopes[numbers][:, added] @ parts
            for batch in mixed:
                if batch.moved:
                    amounts = batch.correlate(spectra, batch.moved)
                    own_ends = ends[0].copy()
                    own_ends[:, numbers] = amounts.min(axis=(1, 2)), amounts.max(axis=(1, 2))
                    ends.append(own_ends)
        found = join_ranges(ends)
        # What takes a transform per character comes first, and spares most of the others.
        for face in sorted(collected.table.products, key=lambda face: not face.is_long):
            spectra = slopes @ collected.spread(divided, face.axes)
            found = face.extremes(list(spectra), collected.odds, found - whole) + whole
        return found

    def divide_families(self) -> list[Integers]:
        """The numbers of all families, those apart whose spectra have too many cells together."""
        table, cells, parts = self.collected.table, 0, dict[Axes, int]()
        for axes in dict.fromkeys(cluster.axes for cluster in table.clusters):
            parts[axes] = cells // _CELLS_AT_ONCE
            cells += self.collected.group.cells(axes)
        counts = list(map(len, table.clusters))
        own = np.repeat([parts[cluster.axes] for cluster in table.clusters], counts)
        return [np.flatnonzero(own == part) for part in dict.fromkeys(parts.values())]

    def contribute(self, faces: frozenset[Axes], queries: tuple[BoxQuery, ...]) -> Iterable[Reals]:
        """Contributions of the reports of every part of a sample to some queries without weights,
        shapes (k, cells). They are kept where they are few, for others who ask the same."""
        cells = sum(part.cells for part in self.sample(faces))
        if cells * len(queries) <= MOST_ENTRIES:
            return self._kept_amounts(faces, queries)
        return self._contribute(faces, queries)

    def _contribute(self, faces: frozenset[Axes], queries: tuple[BoxQuery, ...]) -> Iterator[Reals]:
        collected = self.collected
        divided = [collected.divide(collected.spectrum(query)) for query in queries]
        spread = cache(lambda *blocks: collected.spread(divided, *blocks))
        for part in self.sample(faces):
            yield part.contribute(spread)

    def _sample(self, faces: frozenset[Axes]) -> tuple[SampledReports, ...]:
        """Of the families that tell something about these faces, those that differ in their axes
        alone together, and of the questions in product form."""
        collected, shares = self.collected, choose_families(self.collected, faces)
        asked = tuple({axis for face in faces for axis in face})
        chosen = np.flatnonzero(shares)
        *blocks, mixed = mix(collected.table, collected.odds, chosen, asked, _ENTRIES)
        families = (SampledFamilies(own, shares[own.families, None], *blocks) for own in mixed)
        products = (SampledProducts(*own) for own in sample_products(collected, faces))
        return (*families, *products)


def bare(query: BoxQuery) -> BoxQuery:
    """The query without its public weight and its known part, on which contributions do not
    depend."""
    return replace(query, known=0.0, weight=None)


def find_asked_faces(spectra: Sequence[Spectrum], collected: Collected) -> frozenset[Axes]:
    """The faces of some queries, without the empty one, about which families tell something."""
    return frozenset(f for own in spectra for f in own if f and f in collected.information)


# -- a sample of families --------------------------------------------------------------------------


Spread = Callable[..., NDArray[np.complexfloating]]
"""Spectra, dense and flat over the sets of axes that it is called with, shape (k, cells)."""


class SampledCounts(Protocol):
    """Numbers of reports that stand, with others, for all that tell about some faces."""

    @property
    def shares(self) -> Reals:
        """Of all reports, those for which each of them stands."""

    def expect(self, people: Spread) -> Reals:
        """Expected reports beyond their mean over a question's phases, of people of one spectrum
        T^(f); their shape goes with that of `shares`."""

    def bounds(self) -> tuple[Reals, Reals]:
        """The least and the most that one person may add to `expect`, whoever it is."""

    def sum_cells(self, values: Reals) -> Reals:
        """Values in the shape of `expect`, summed up by cell, shape (cells,)."""


class SampledReports(SampledCounts, Protocol):
    """Such reports, by what they contribute to queries about these faces.

    A *cell* is what contributions tell apart of them.
    """

    @property
    def zero_apart(self) -> bool:
        """Whether contributions are given without those at f = 0, which everybody makes: the excess
        of reports sums up to 0 over all phases of a question, so that what is at f = 0 cancels; it
        does not where only some of the phases are looked at."""

    @property
    def cells(self) -> int:
        """How many cells there are."""

    def contribute(self, divided: Spread) -> Reals:
        """Contributions c to k queries of spectra q^ / (N lambda), shape (k, cells)."""

    def add_translates(
        self,
        first: Complexes,
        second: Complexes,
        sampled: SampledSums,
        whole: Reals,
        moved: Axes,
    ) -> None:
        """Add the spectra of sums of e c (T, *orders) and of e c c' (T, T, *orders), as the T
        queries are moved along some axes, for the excess e and the contributions c of reports."""


@dataclass(frozen=True, eq=False)
class SampledSums:
    """The summands of some reports for T queries in their weights.

    kinds: the weights.  amounts: contributions, shape (T, cells).  excess: by pair of weights, how
    many more people than on average send each report, shape (cells,).  divided: the queries'
    spectra over lambda.
    """

    kinds: Sequence[Weight | None]
    amounts: Reals
    excess: Mapping[Pair, Reals]
    divided: Spread


@dataclass(frozen=True, eq=False)
class SampledFamilies:
    """Listed families of one shape with all their phases, as `SampledReports`.

    shares: shape (f, 1).  blocks, blocks_moved: as `mix` gives them.
    """

    batch: MixedBatch
    shares: Reals
    blocks: tuple[Axes, ...]
    blocks_moved: tuple[Axes, ...]
    zero_apart = False

    @property
    def cells(self) -> int:
        """Phases of the families that the factors which are asked about tell apart."""
        orders = self.batch.cluster.orders
        return len(self.shares) * prod(orders[place] for place in self.batch.moved)

    def contribute(self, divided: Spread) -> Reals:
        """Contributions of every phase that the queries tell apart, shape (k, cells)."""
        found = self.batch.correlate(divided(*self.blocks_moved), self.batch.moved)
        return np.asarray(found.reshape(len(found), -1))

    def expect(self, people: Spread) -> Reals:
        """Reports beyond their mean: w_j conj(X_j(h)) / s_j T^(f) at f = h k_j, shape (f, |H|)."""
        return np.asarray(self.batch.correlate(people(*self.blocks))[0] / self.batch.cluster.phases)

    def bounds(self) -> tuple[Reals, Reals]:
        """A report has the probability x / s, x = 1 or E, and 1 / |H| on average."""
        cluster, odds = self.batch.cluster, self.batch.odds
        sums = cluster.phases + (odds - 1.0) * cluster.sizes
        one = np.asarray(1.0 / sums, dtype=np.float64)[:, None]
        return one - 1.0 / cluster.phases, odds * one - 1.0 / cluster.phases

    def sum_cells(self, values: Reals) -> Reals:
        """Summed along the factors on which contributions do not differ."""
        return self.batch.sum_unmoved(values).ravel()

    def add_translates(
        self,
        first: Complexes,
        second: Complexes,
        sampled: SampledSums,
        whole: Reals,
        moved: Axes,
    ) -> None:
        """By the correlation theorem: if a query is moved by u, c(phi) becomes c(phi - theta(u)),
        and sum over phi of e(phi) c(phi - theta(u)) has the spectrum e^(h) conj(c^(h)) / |H| at
        f = h k, on axes that are not moved summed up."""
        batch, amounts, kinds = self.batch, sampled.amounts, sampled.kinds
        counts = {
            pair: batch.transform_counts(own, batch.moved) for pair, own in sampled.excess.items()
        }
        each = len(self.shares) / self.cells

        def correlate(pair: Pair, values: Reals) -> Numbers:
            transform = batch.transform_counts(values, batch.moved)
            return batch.scatter_over(counts[pair] * np.conj(transform) * each, moved)

        for one, kind in enumerate(kinds):
            first[one] += correlate((kind, None), amounts[one])
            for other in range(one, len(kinds)):
                both = correlate((kind, kinds[other]), amounts[one] * amounts[other])
                second[one, other] += both
                if other > one:
                    second[other, one] += both


@dataclass(frozen=True, eq=False)
class SampledProducts:
    """Reports to questions of one face in product form, as `SampledReports`. shares: (n,)."""

    reports: ProductReports
    shares: Reals
    zero_apart = True

    @property
    def cells(self) -> int:
        """Every report is one."""
        return len(self.shares)

    def contribute(self, divided: Spread) -> Reals:
        """Contributions of every report but for those at f = 0, shape (k, n)."""
        return self.reports.contributions([*divided(self.reports.face.axes)])

    def expect(self, people: Spread) -> Reals:
        """Reports beyond the mean of a question's phases, relative to it, shape (n,)."""
        return np.asarray(self.reports.contributions([*people(self.reports.face.axes)])[0])

    def bounds(self) -> tuple[Reals, Reals]:
        """A report has the probability x / s, x = 1 or E, and shares are relative to 1 / |H|."""
        one = self.reports.phases / self.reports.sums
        return one - 1.0, self.reports.odds * one - 1.0

    def sum_cells(self, values: Reals) -> Reals:
        """As they are."""
        return values

    def add_translates(
        self,
        first: Complexes,
        second: Complexes,
        sampled: SampledSums,
        whole: Reals,
        moved: Axes,
    ) -> None:
        """From the contributions of every report to the query at every place."""
        axes, kinds, excess = self.reports.face.axes, sampled.kinds, sampled.excess
        shape = self.reports.face.group.shape(tuple(axis for axis in moved if axis in axes))
        once = np.zeros((len(kinds), *shape))
        twice = np.zeros((len(kinds), len(kinds), *shape))
        for part, cells in self.reports.move_rows([*sampled.divided(axes)], moved):
            scale = len(self.shares) / len(self.shares[:: part.step])
            more = {pair: own[part] * scale for pair, own in excess.items()}
            for one, left in enumerate(kinds):
                once[one] += np.tensordot(more[left, None], cells[one], 1)
                for other, right in enumerate(kinds[: one + 1]):
                    pair = more[left, right]
                    both = np.tensordot(pair, cells[one] * cells[other], 1)
                    both += whole[other] * np.tensordot(pair, cells[one], 1)
                    both += whole[one] * np.tensordot(pair, cells[other], 1)
                    twice[one, other] += both
                    if other < one:
                        twice[other, one] += both
        # Along axes that the face does not have, nothing changes: the frequency is 0 there.
        there = tuple(slice(None) if axis in axes else 0 for axis in moved)
        last = tuple(range(-len(shape), 0))
        first[(slice(None), *there)] += np.fft.fftn(once, axes=last, norm="forward")
        second[(slice(None), slice(None), *there)] += np.fft.fftn(twice, axes=last, norm="forward")


def choose_families(collected: Collected, faces: frozenset[Axes]) -> Reals:
    """The share of all reports that each family stands for, shape (families,); 0 for most of them.

    Families count by how much they add to the second moment of contributions to a query about
    these faces, if people are spread evenly and the query is something between a cell and a range:
    |q^(f)|^2 = 1 / (product of the coordinates of f). POINTS points, evenly spaced over the sum,
    pick the families that hold them. Where they have few phases, and where single reports weigh too
    much for a sample, all families are taken.
    """
    table, by_axes = collected.table, _worth_by_axes(collected, faces)
    counts = list(map(len, table.clusters))
    worths = np.repeat([by_axes[cluster.axes] for cluster in table.clusters], counts)
    informed = table.phases[worths > 0.0]
    is_small = informed.sum() <= MOST_CELLS_OF_ALL or len(informed) <= POINTS
    if is_small or collected.odds > MOST_ODDS:
        return np.asarray(np.where(worths > 0.0, table.shares, 0.0))
    bounds = np.cumsum(worths * table.shares)
    places = (np.arange(POINTS) + 0.5) * (bounds[-1] / POINTS)
    hits = np.bincount(np.searchsorted(bounds, places, "right"), minlength=len(worths))
    # A family that holds h points stands for h / POINTS of the sum: a share w h / (POINTS p), where
    # p = w worth / sum is its part of it.
    points = hits * (bounds[-1] / POINTS)
    return np.asarray(np.divide(points, worths, out=np.zeros_like(points), where=worths > 0.0))


def sample_products(
    collected: Collected, faces: frozenset[Axes]
) -> Iterator[tuple[ProductReports, Reals]]:
    """Reports to questions in product form that tell something about some faces, and the share of
    all reports that each stands for: PRODUCT_POINTS of them, or twice as many where single ones
    weigh too much, shared out as `choose_families` does."""
    if not collected.table.products:
        return
    worth = _worth_by_axes(collected, faces)
    useful = [own for own in collected.table.products if worth[own.axes] > 0.0]
    total = sum(own.share * worth[own.axes] for own in useful)
    points = PRODUCT_POINTS * (2 if collected.odds > MOST_ODDS else 1)
    for own in useful:
        yield own.sample(round(points * own.share * worth[own.axes] / total) + 1, collected.odds)


def _worth_by_axes(collected: Collected, faces: frozenset[Axes]) -> dict[Axes, float]:
    """By axes of families, what these add to the second moment of contributions, per share."""
    table = collected.table
    # What the families that tell about a face add to the moment together, per share of theirs.
    reach: dict[Axes, float] = {}
    sums = np.add.reduceat(table.shares, table.starts[:-1]).tolist()
    for cluster, own in zip(table.clusters, sums, strict=True):
        reach[cluster.axes] = reach.get(cluster.axes, 0.0) + own
    for questions in table.products:
        reach[questions.axes] = reach.get(questions.axes, 0.0) + questions.share
    worth = {
        face: collected.typical_variance(face)
        / sum(share for axes, share in reach.items() if set(face) <= set(axes))
        for face in faces
    }
    return {
        axes: sum(each for face, each in worth.items() if set(face) <= set(axes)) for axes in reach
    }


# -- second moments --------------------------------------------------------------------------------


@dataclass(eq=False)
class SecondMoments:
    """Sums over reports of products of contributions, as the people that were estimated send them.

    One report of family j and phase phi contributes c(j, phi) to a query, and the second moment of
    two queries is the sum of c_a c_b over all reports. Over evenly spread records its mean is
    people x sum_f q_a conj(q_b) / lambda, which costs nothing; the actual people move it away from
    that by a moderate factor. How many reports they send to a cell beyond an even spread follows
    from their spectrum: w_j conj(X_j(h)) / s_j T^(f) at f = h k_j. Those numbers are taken for a
    sample of families only: a transform per family and query is what costs. They depend on no
    single report, so neither does the time that they take.

    moment: sum over people of a product of weights.  population: the spectrum T^(f) of such sums,
    in which noise does not count as people.
    """

    shared: SharedContributions
    moment: Callable[[Weight | None, Weight | None], float]
    population: Callable[[Pair], Spectrum]
    _spread: dict[Any, NDArray[np.complexfloating]] = field(default_factory=dict)

    @property
    def collected(self) -> Collected:
        """The table of families."""
        return self.shared.collected

    def look_at(
        self,
        faces: frozenset[Axes],
        queries: tuple[BoxQuery, ...],
        pairs: Iterable[Pair],
    ) -> Iterator[tuple[SampledReports, Reals, Mapping[Pair, Reals]]]:
        """Of every part of a sample what it contributes to queries without weights, (k, cells), and
        its `_excess`."""
        found = zip(self.shared.sample(faces), self.shared.contribute(faces, queries), strict=True)
        for part, amounts in limits.in_time(found):
            yield part, amounts, self._excess(part, pairs)

    def _excess(self, part: SampledCounts, pairs: Iterable[Pair]) -> Mapping[Pair, Reals]:
        """Expected sums of products of weights per cell, less their mean over a question's phases,
        of the reports of a sample and those that they stand for, shape (cells,) each.

        Whoever the people are, a report is no more and no less likely than `bounds` say. Where
        noise says otherwise, all pairs are damped alike, so that the variance of a difference is
        that of its parts.
        """

        def expect(pair: Pair) -> Reals:
            return part.expect(lambda *blocks: self._population_over(blocks, pair))

        free, people = expect((None, None)), self.moment(None, None)
        damped = np.clip(free, *(people * end for end in part.bounds()))
        scale = np.divide(damped, free, out=np.ones_like(free), where=damped != free)
        scale *= part.shares
        found: dict[frozenset[Weight | None], Reals] = {
            frozenset((None,)): part.sum_cells(free * scale)
        }
        for pair in pairs:
            if frozenset(pair) not in found:
                found[frozenset(pair)] = part.sum_cells(expect(pair) * scale)
        return {pair: found[frozenset(pair)] for pair in pairs}

    def _population_over(self, blocks: tuple[Axes, ...], pair: Pair) -> NDArray[np.complexfloating]:
        """The spectrum of the people over some sets of axes, flat, shape (1, cells); 0 at f = 0."""
        key = blocks, frozenset(pair)
        if key not in self._spread:
            people = self.population(pair)
            own = {face: people[face] for face in parts_of(blocks)[1:] if face in people}
            self._spread[key] = self.collected.spread([own], *blocks)
        return self._spread[key]

    def sums(
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
        whole = zero_parts(spectra)
        alike: dict[Any, list[int]] = {}
        for number, group in enumerate(groups):
            kind = tuple(queries[n].weight for n in group)
            faces = find_asked_faces([spectra[n] for n in group], self.collected)
            alike.setdefault((kind, faces), []).append(number)
        moments: dict[int, Reals] = {}
        for (kind, faces), members in alike.items():
            # Query numbers (R, T) of the groups with the same weights and faces.
            rows = np.array([groups[n] for n in members], dtype=np.int64)
            rows = rows.reshape(len(members), len(kind))
            asked, places = np.unique(rows, return_inverse=True)
            first, second = self._sum_sample(
                faces,
                tuple(bare(queries[n]) for n in asked),
                kind,
                places.reshape(rows.shape),
                whole[rows],
            )
            uniform = np.array([even[n] for n in members]).reshape(second.shape)
            found = self.complete(kind, whole[rows], estimated[rows], uniform, first, second)
            moments |= zip(members, found, strict=True)
        return [moments[number] for number in range(len(groups))]

    def _sum_sample(
        self,
        faces: frozenset[Axes],
        queries: tuple[BoxQuery, ...],
        kind: Sequence[Weight | None],
        rows: Integers,
        whole: Reals,
    ) -> tuple[Reals, Reals]:
        """The part of sums of contributions (R, T), and of their products (R, T, T), that reports
        beyond an even spread add, all families estimated by a sample.

        queries: without weights.  kind: weights of T queries.  rows: the numbers of the queries of
        a row, shape (R, T).  whole: their q^(0) / N, shape (R, T).
        """
        first, second = np.zeros(rows.shape), np.zeros((*rows.shape, len(kind)))
        columns = {w: np.array([n for n, own in enumerate(kind) if own == w]) for w in kind}
        pairs = [(one, other) for one in columns for other in (None, *columns)]
        for part, amounts, excess in self.look_at(faces, queries, pairs):
            for start in range(0, amounts.shape[1], _AT_ONCE):
                some = slice(start, start + _AT_ONCE)
                own = {weight: amounts[rows[:, place], some] for weight, place in columns.items()}
                for left, place in columns.items():
                    first[:, place] += own[left] @ excess[left, None][some]
                    for right, other in columns.items():
                        more = excess[left, right][some]
                        both = (own[left] * more) @ own[right].swapaxes(1, 2)
                        if part.zero_apart:
                            both += whole[:, place, None] * (own[right] @ more)[:, None, :]
                            both += whole[:, None, other] * (own[left] @ more)[:, :, None]
                        second[:, place[:, None], other] += both
        return first, second

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
        people = self.moment(None, None)
        first = first + whole * [self.moment(weight, None) for weight in kind]
        pairs = np.array([[self.moment(one, other) for other in kind] for one in kind])
        products = whole[..., :, None] * whole[..., None, :]
        second = second + (products * pairs.reshape(len(kind), len(kind)) + even)
        # sum c_a c_b is estimated by the sample plus what is known to be missing of the sums of
        # c_a and c_b, each at the other's mean: sum (c_a - m_a)(c_b - m_b) is what is sampled.
        missed = (first - estimated)[..., None, :]
        half = second / 2.0 - estimated[..., :, None] / people * missed
        return np.asarray(half + half.swapaxes(-1, -2))


def even_variances(shared: SharedContributions, queries: Sequence[BoxQuery]) -> Reals:
    """Per person, shape (k,), of people who are spread evenly over the real cells."""
    collected, group = shared.collected, shared.collected.group
    axes = collected.real.axes
    sides = [((0, size),) if axis in axes else None for axis, size in enumerate(group.sizes)]
    real = BoxQuery(0.0, make_box_terms([(1.0, sides)]), None, 1.0, 0.0).spectrum(group)
    population = {face: np.asarray(own / real[()]) for face, own in real.items()}
    moments = SecondMoments(shared, lambda *_: 1.0, lambda _: population)
    spectra = [collected.spectrum(query) for query in queries]
    means = np.array([collected.real.values(query).mean() for query in queries])
    even = [np.array([[collected.covariance(own, own)]]) for own in spectra]
    groups = [[number] for number in range(len(queries))]
    found = moments.sums([bare(query) for query in queries], spectra, means, groups, even)
    return np.asarray(np.array([own[0, 0] for own in found]) - means**2)
