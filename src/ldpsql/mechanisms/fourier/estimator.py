"""Unbiased answers of the Fourier response from one histogram, or from what it is decoded to.

See docs/fourier.md; source: docs/spec/fourier.md#4 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldpsql import limits
from ldpsql.algebra.boxes import Weight
from ldpsql.algebra.estimate import PSEUDO_PEOPLE, Array, Estimates
from ldpsql.estimators.base import Estimator
from ldpsql.mechanisms.fourier.contributions import (
    SecondMoments,
    SharedContributions,
    bare,
    face_name,
    sum_spectra,
)
from ldpsql.mechanisms.fourier.covariances import centre, find_cuts, spread_cuts
from ldpsql.mechanisms.fourier.group import Axes, Faces, Spectrum, zero_parts
from ldpsql.mechanisms.fourier.spectra import BoxQuery, Collected
from ldpsql.mechanisms.fourier.translates import (
    LARGEST,
    Translate,
    TranslateSums,
    numbers,
    sum_translates,
)
from ldpsql.reports.report import Decoded, Histogram, Pair

_AT_ONCE, _CELLS_AT_ONCE = 64, 1 << 22
ALIKE, _ROWS_KEPT = 32, 8
"""Rows that are one row moved, from which all its translates are worked out; how many are kept."""


def move_most(shared: SharedContributions, queries: Sequence[BoxQuery], slopes: Array) -> Array:
    """The least and the most that one report moves sums of queries by, shape (2, m): it depends on
    nobody else, and its extremes are those of the same row elsewhere."""
    known = slopes @ np.array([query.known for query in queries], dtype=float)
    asked = tuple(map(bare, queries))
    if not shared.collected.restricted:
        asked = tuple(map(bare, Translate.of(asked, shared.collected.group).pattern))
    return np.asarray(shared.ends(asked, tuple(map(tuple, slopes.tolist()))) + known)


@dataclass(eq=False)
class FourierEstimator(Estimator[BoxQuery]):
    """Unbiased answers from one histogram; remembers the spectra it has decoded.

    Decoding turns counts into the spectrum of the population, T^(f) = B(f) / lambda_f, and an
    answer is the sum of q^(f) conj(T^(f)) / N. The variance is that of the reports' contributions:
    for linear queries a and b the covariance is sum of C c_a c_b - T_a T_b / n, which includes all
    that is random, people as a sample among it. Of few reports that is too little (of a single one
    it is 0), so two people from an even spread are added, as for the other mechanisms.
    """

    collected: Collected
    histogram: Histogram | Decoded
    shared: SharedContributions
    _spectra: dict[frozenset[Weight | None], Spectrum] = field(default_factory=dict)
    _translates: OrderedDict[Any, TranslateSums] = field(default_factory=OrderedDict)

    @property
    def people(self) -> int:
        """Number of reports."""
        return self.histogram.people

    def answer_rows(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        """One joint answer per row of queries, with no covariance between rows.

        Variances hold how far people in a bin that a range cuts may be from spread evenly.
        """
        found = self._answer_spread(rows)
        if not self.people or not self.collected.group.is_coarse:
            return found
        return [self._hold_cuts(row, own) for row, own in zip(rows, found, strict=True)]

    def _hold_cuts(self, row: Sequence[BoxQuery], found: Estimates) -> Estimates:
        """With the expected square of what cut bins are off by in the variances."""
        cuts = find_cuts(row, self.collected.group)
        if not cuts:
            return found
        sums = self._answer_spread([[cut.part] for _, cut in cuts])
        each = [(own.values[0], own.covariance[0, 0]) for own in sums]
        return replace(found, covariance=found.covariance + spread_cuts(len(row), cuts, each))

    def _answer_spread(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        """As if people were spread evenly within every bin."""
        answers: dict[int, Estimates] = {}
        for moved in self._find_moved(rows):
            own = self._answer_moved(list(moved.values()), [rows[number] for number in moved])
            answers |= zip(moved, own, strict=True)
        others = [number for number in range(len(rows)) if number not in answers]
        cells = max(map(self.collected.group.cells, self.collected.group.blocks))
        at_once = min(_AT_ONCE, max(1, _CELLS_AT_ONCE // cells))
        step = max(1, at_once // max(1, *map(len, rows), 1))
        for first in range(0, len(others), step):
            limits.check()
            part = others[first : first + step]
            answers |= zip(part, self._answer_rows([rows[n] for n in part]), strict=True)
        return [answers[number] for number in range(len(rows))]

    def _find_moved(self, rows: Sequence[Sequence[BoxQuery]]) -> list[dict[int, Translate]]:
        """Rows that are one row moved, by their numbers, where they are many or that row is kept.

        Every row by itself goes through the sample of reports once, and all translates of a row
        together a few times: their transforms take as long as some twenty rows.
        """
        alike: dict[Any, dict[int, Translate]] = {}
        if self.people and not self.collected.restricted:
            for number, row in enumerate(rows):
                if row:  # keys alone ask nothing
                    translate = Translate.of(row, self.collected.group)
                    alike.setdefault(translate.row, {})[number] = translate
        return [
            members
            for row, members in alike.items()
            if row in self._translates
            or (
                len(members) >= ALIKE
                and numbers(next(iter(members.values())), self.collected.group) <= LARGEST
            )
        ]

    def _answer_moved(
        self, translates: Sequence[Translate], rows: Sequence[Sequence[BoxQuery]]
    ) -> list[Estimates]:
        """The answers to rows that are one row moved about."""
        sums, row = self._sum_translates(translates[0]), translates[0].pattern
        moved, places = len(translates[0].moved), tuple(np.array([t.bins for t in translates]).T)
        # Rows that are moved along no axis differ in what they know alone.
        estimated, first, second = (
            np.broadcast_to(own[places], (len(rows), *own.shape[moved:]))
            for own in (sums.estimated, sums.first, sums.second)
        )
        even = self.shared.spread_evenly(row, self.histogram.moment)
        spectra = [self.collected.spectrum(query) for query in row]
        whole = zero_parts(spectra)
        kinds = [query.weight for query in row]
        moments = self._moments.complete(kinds, whole[None, :], estimated, even, first, second)
        known = np.array([[self._sum_known(query) for query in row] for row in rows])
        covariance = centre(moments, estimated, self.people, even, PSEUDO_PEOPLE, row)
        return [Estimates(*each) for each in zip(known + estimated, covariance, strict=True)]

    def _sum_translates(self, translate: Translate) -> TranslateSums:
        """Of the last few rows they are kept."""
        kept = self._translates
        if translate.row not in kept:
            known = [self.spectrum(query.weight) for query in translate.pattern]
            kept[translate.row] = sum_translates(*translate.row, known, self._moments)
            if len(kept) > _ROWS_KEPT:
                kept.popitem(last=False)
        kept.move_to_end(translate.row)
        return kept[translate.row]

    def _answer_rows(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        if not self.people:
            infinite = [np.array([np.inf if query.terms else 0.0 for query in row]) for row in rows]
            pairs = zip(rows, infinite, strict=True)
            return [Estimates(self.values(row), np.diag(variances)) for row, variances in pairs]
        spectra = [[self.collected.spectrum(query) for query in row] for row in rows]
        sums = [
            np.array(list(map(self._estimate_rest, row, own)))
            for row, own in zip(rows, spectra, strict=True)
        ]
        even = [self.shared.spread_evenly(row, self.histogram.moment) for row in rows]
        moments, answers = self._moments.sums(rows, spectra, sums, even), []
        for row, own, moment, spread in zip(rows, sums, moments, even, strict=True):
            known = np.array([self._sum_known(query) for query in row])
            covariance = centre(moment, own, self.people, spread, PSEUDO_PEOPLE, row)
            answers.append(Estimates(known + own, covariance))
        return answers

    def influence(self, queries: Sequence[BoxQuery], slopes: Array) -> Array:
        """The least and the most that one report moves sums of queries by, shape (2, m)."""
        return move_most(self.shared, queries, slopes)

    def values(self, queries: Sequence[BoxQuery]) -> Array:
        """The values (k,) alone: their covariance takes most of the time."""
        if not self.people:
            return np.array(
                [np.nan if query.terms else self._sum_known(query) for query in queries]
            )
        return np.array([self._sum_known(query) + self._estimate_rest(query) for query in queries])

    def _sum_known(self, query: BoxQuery) -> float:
        return query.known * self.histogram.total(query.weight) if query.known else 0.0

    def _estimate_rest(self, query: BoxQuery, spectrum: Spectrum | None = None) -> float:
        """The part of an answer that is not known: sum over f of q^(f) conj(T^(f)) / N."""
        asked, known = spectrum or self.collected.spectrum(query), self.spectrum(query.weight)
        pairs = ((known[face], own) for face, own in asked.items() if face in known)
        return sum(float(np.vdot(table, own).real) for table, own in pairs)

    @cached_property
    def _moments(self) -> SecondMoments:
        return SecondMoments(self.shared, self.histogram.moment, self._population)

    def _population(self, pair: Pair) -> Spectrum:
        """T^(f) of a product of weights, without what is probably noise."""
        own = self.spectrum(*pair)
        return Faces(own, lambda face: own[face] * self._damping[face])

    @cached_property
    def _damping(self) -> Mapping[Axes, Array]:
        """The share of T^(f) that is kept (`Collected.damp`), by that of people for any weight."""
        people = self.spectrum(None)
        return Faces(people, lambda face: self.collected.damp(people, self.people, face))

    def spectrum(self, weight: Weight | None, other: Weight | None = None) -> Spectrum:
        """T^(f) of every face, people counting with the product of two weights; 0 where the design
        knows nothing."""
        pair = frozenset((weight, other))
        if pair not in self._spectra:
            self._spectra[pair] = self.collected.divide(self._sums((weight, other)))
        return self._spectra[pair]

    def _sums(self, pair: Pair) -> Spectrum:
        """B(f) of every face about which families tell something."""
        held, shape = self.histogram, self.collected.face_shape
        if isinstance(held, Histogram):
            [sums] = sum_spectra(self.collected, [held.load_all()], pair)
            return sums
        return Faces(
            self.collected.information,
            lambda face: held.sum(face_name(face), pair).view(np.complex128).reshape(shape(face)),
        )
