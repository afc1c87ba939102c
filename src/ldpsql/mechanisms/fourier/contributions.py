"""Contributions of reports to queries, and the sums of their products.

Source: docs/spec/fourier.md#1.2 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import chain, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import Weight
from ldpsql.limits import in_time
from ldpsql.mechanisms.fourier.group import (
    Axes,
    Complexes,
    Integers,
    Numbers,
    Reals,
    Spectrum,
    add,
    gather_faces,
    leave_zero,
    parts_of,
    zero_parts,
)
from ldpsql.mechanisms.fourier.questions import SampledReports, sum_pairs
from ldpsql.mechanisms.fourier.spectra import BoxQuery, Collected, make_box_terms
from ldpsql.reports.report import Pair, Rows

KEPT, FACES_KEPT = 8, 32
_AT_ONCE = 1 << 12
MOST_ENTRIES = 1 << 22
"""Contributions to the phases of a sample that are kept for those who ask the same."""


def sum_spectra(collected: Collected, sets: Sequence[Rows], pair: Pair) -> list[Spectrum]:
    """B(f), the sum over families of C^_j(h) X_j(h) / s_j at f = h k_j, by faces; lambda T^(f) on
    average. One for every set of people, who count with a product of weights.

    sets: all rows of a histogram each.
    """
    dense: dict[Axes, Complexes] = {}
    for axes, found in chain(*(kind.decode(sets, pair) for kind in collected.kinds if sets)):
        add(dense, axes, found)
    spectra = list[Spectrum]()
    for number in range(len(sets)):
        sums = gather_faces({axes: own[number] for axes, own in dense.items()})
        for face in collected.information:
            if face not in sums:
                sums[face] = np.zeros(collected.face_shape(face), dtype=np.complex128)
        spectra.append(sums)
    return spectra


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

    def spread_evenly(self, row: Sequence[BoxQuery], moment: Callable[..., Any]) -> Reals:
        """Covariance of the sums of contributions if records were spread evenly, in the weights of
        those who reported, shape (..., T, T); moment: sums of products of two weights, (...)."""
        weights = np.array([[moment(one.weight, other.weight) for other in row] for one in row])
        spread = self.covariance(tuple(map(bare, row)))
        weights = weights.reshape(*spread.shape, *weights.shape[2:])
        return np.asarray(np.moveaxis(weights, (0, 1), (-2, -1)) * spread)

    def _ends(
        self, queries: tuple[BoxQuery, ...], combined: tuple[tuple[float, ...], ...]
    ) -> Reals:
        """The least and the most that a report contributes to sums of queries, whatever it says,
        shape (2, m); combined: their slopes, shape (m, k).
        """
        collected, slopes = self.collected, np.array(combined)
        divided = [collected.divide(collected.spectrum(query)) for query in queries]
        sums = [dict[Axes, Complexes]() for _ in slopes]
        for own, row in zip(sums, slopes, strict=True):
            for number in np.flatnonzero(row):
                for face, array in leave_zero(divided[number]).items():
                    add(own, face, row[number] * array)
        ends = np.zeros((2, len(slopes)))
        for kind in collected.kinds:
            ends = kind.extremes(sums, ends)
        return ends + slopes @ zero_parts(divided)

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
        spread = cache(lambda *blocks: collected.group.spread(divided, *blocks))
        for part in self.sample(faces):
            yield part.contribute(spread)

    def _sample(self, faces: frozenset[Axes]) -> tuple[SampledReports, ...]:
        """Of the questions that tell something about these faces."""
        worth = weigh_axes(self.collected, faces)
        return tuple(part for kind in self.collected.kinds for part in kind.sample(faces, worth))


def bare(query: BoxQuery) -> BoxQuery:
    """The query without its public weight and its known part, on which contributions do not
    depend."""
    return replace(query, known=0.0, weight=None)


def find_asked_faces(spectra: Sequence[Spectrum], collected: Collected) -> frozenset[Axes]:
    """The faces of some queries, without the empty one, about which families tell something."""
    return frozenset(f for own in spectra for f in own if f and f in collected.information)


def weigh_axes(collected: Collected, faces: frozenset[Axes]) -> dict[Axes, float]:
    """By axes of questions, what these add to the second moment of contributions to a query about
    some faces, per share, if people are spread evenly and the query is something between a cell and
    a range (`Collected.typical_variance`)."""
    # What the questions that tell about a face add to the moment together, per share of theirs.
    reach = defaultdict[Axes, float](float)
    for axes, share in chain(*(kind.shares for kind in collected.kinds)):
        reach[axes] += share
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
        for part, amounts in in_time(found):
            yield part, amounts, self._excess(part, pairs)

    def _excess(self, part: SampledReports, pairs: Iterable[Pair]) -> Mapping[Pair, Reals]:
        """Expected sums of products of weights per cell, less their mean over a question's phases,
        of the reports of a sample and those that they stand for, shape (cells,) each.

        They may be less than none: what noise in the spectrum takes away from one phase it adds to
        others, and only without a bound is the sum of products right on average.
        """
        found: dict[frozenset[Weight | None], Reals] = {}
        for pair in pairs:
            if frozenset(pair) not in found:
                found[frozenset(pair)] = part.expect(
                    lambda *blocks, of=pair: self._population_over(blocks, of)
                )
        return {pair: found[frozenset(pair)] for pair in pairs}

    def _population_over(self, blocks: tuple[Axes, ...], pair: Pair) -> NDArray[np.complexfloating]:
        """The spectrum of the people over some sets of axes, flat, shape (1, cells); 0 at f = 0."""
        key = blocks, frozenset(pair)
        if key not in self._spread:
            people = self.population(pair)
            own = {face: people[face] for face in parts_of(blocks)[1:] if face in people}
            self._spread[key] = self.collected.group.spread([own], *blocks)
        return self._spread[key]

    def sums(
        self,
        rows: Sequence[Sequence[BoxQuery]],
        spectra: Sequence[Sequence[Spectrum]],
        estimated: Sequence[Reals],
        even: Sequence[Reals],
    ) -> list[Reals]:
        """Sum over all reports of c_a c_b within each row of T queries, shape (T, T).

        spectra: of the queries.  estimated: the sums of c over all reports, known from decoding,
        shape (T,).  even: of every row the covariance of the sums if records were spread evenly.

        What the sample misses of the sums of c themselves is taken off at the mean contribution:
        as if (c_a - mean)(c_b - mean) had been sampled.
        """
        alike: dict[Any, list[int]] = {}
        for number, (row, own) in enumerate(zip(rows, spectra, strict=True)):
            kinds = tuple(query.weight for query in row)
            alike.setdefault((kinds, find_asked_faces(own, self.collected)), []).append(number)
        moments: dict[int, Reals] = {}
        for (kinds, faces), members in alike.items():
            # Every query that is the same but for its weight once, and its numbers, shape (R, T).
            asked: dict[BoxQuery, int] = {}
            found = [[asked.setdefault(bare(q), len(asked)) for q in rows[n]] for n in members]
            numbers = np.array(found, dtype=np.int64).reshape(len(members), len(kinds))
            whole = np.array([zero_parts(spectra[n]) for n in members])
            first, second = self._sum_sample(faces, tuple(asked), kinds, numbers, whole)
            known, uniform = (np.array([own[n] for n in members]) for own in (estimated, even))
            completed = self.complete(kinds, whole, known, uniform, first, second)
            moments |= zip(members, completed, strict=True)
        return [moments[number] for number in range(len(rows))]

    def _sum_sample(
        self,
        faces: frozenset[Axes],
        queries: tuple[BoxQuery, ...],
        kinds: Sequence[Weight | None],
        rows: Integers,
        whole: Reals,
    ) -> tuple[Reals, Reals]:
        """The part of sums of contributions (R, T), and of their products (R, T, T), that reports
        beyond an even spread add, all families estimated by a sample.

        queries: without weights.  kinds: weights of T queries.  rows: the numbers of the queries of
        a row, shape (R, T).  whole: their q^(0) / N, shape (R, T).
        """
        first, second = np.zeros(rows.shape), np.zeros((*rows.shape, len(kinds)))
        pairs = {*product(kinds, (None, *kinds))}
        for part, amounts, excess in self.look_at(faces, queries, pairs):
            apart = (whole * part.zero_apart).T[..., None]
            for start in range(0, amounts.shape[1], _AT_ONCE):
                some = slice(start, start + _AT_ONCE)

                def total(
                    pair: Pair, values: Numbers, some: slice = some, excess: Any = excess
                ) -> Numbers:
                    return np.asarray(values @ excess[pair][some])

                own = [amounts[numbers, some] for numbers in rows.T]
                sum_pairs(kinds, apart, own, total, first.T, second.transpose(1, 2, 0))
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
    means = np.array([[collected.real.values(query).mean()] for query in queries])
    even = [np.array([[collected.covariance(own, own)]]) for own in spectra]
    rows = [[bare(query)] for query in queries]
    found = moments.sums(rows, [[own] for own in spectra], [*means], even)
    return np.asarray(np.array([own[0, 0] for own in found]) - means[:, 0] ** 2)
