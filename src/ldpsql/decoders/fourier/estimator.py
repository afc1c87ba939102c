"""Unbiased answers from one histogram, and their covariance.

Decoding turns counts into the spectrum of the population, T^(f) = B(f) / lambda_f, and an answer is
the sum of q^(f) conj(T^(f)) / N. The variance is that of the reports' contributions c: for linear
queries a and b the covariance is sum of C c_a c_b - T_a T_b / n, which includes all that is random,
people as a sample among it. Of few reports that is too little (of a single one it is 0), so two
people from an even spread are added, as for the other mechanisms. Where the same query is asked of
many histograms (one per day, say), its contributions are worked out once, and a histogram's answer
is the sum over its rows, with the exact moments.
Source: docs/spec/fourier.md#1.2, docs/spec/fourier.md#4 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.decoders.fourier.contributions import (
    KEPT,
    MOST_ODDS,
    Reported,
    Sample,
    Sampled,
    SharedContributions,
    bare,
)
from ldpsql.decoders.fourier.families import Complexes, batches
from ldpsql.decoders.fourier.group import Axes, add, gather_faces
from ldpsql.decoders.fourier.information import Collected
from ldpsql.decoders.fourier.queries import BoxQuery
from ldpsql.decoders.linear import PSEUDO_PEOPLE
from ldpsql.estimate import Array, Estimates

MANY, MOST_CELLS = 4, 1 << 22
"""Histograms from which contributions are worked out once, and cells up to which they are."""
_AT_ONCE, _CELLS_AT_ONCE = 64, 1 << 22


@dataclass(eq=False)
class FourierEstimator:
    """Unbiased answers from one histogram; remembers the spectra it has decoded."""

    collected: Collected
    reported: Reported
    shared: SharedContributions
    _spectra: dict[Weight | None, dict[Axes, Complexes]] = field(default_factory=dict)

    @property
    def people(self) -> int:
        """Number of reports."""
        return self.reported.people

    def answer(self, queries: Sequence[BoxQuery]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf where nobody reported."""
        return self.answer_rows([queries])[0]

    def answer_rows(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        """One joint answer per row of queries, with no covariance between rows."""
        estimates: list[Estimates] = []
        cells = max(map(self.collected.group.cells, self.collected.group.blocks))
        at_once = min(_AT_ONCE, max(1, _CELLS_AT_ONCE // cells))
        step = max(1, at_once // max(1, *map(len, rows), 1))
        for first in range(0, len(rows), step):
            estimates += self._answer_rows(rows[first : first + step])
        return estimates

    def _answer_rows(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        if not self.people:
            unknown = [[np.inf if query.terms else 0.0 for query in row] for row in rows]
            return [
                Estimates(self.values(row), np.diag(np.array(own)))
                for row, own in zip(rows, unknown, strict=True)
            ]
        bounds = pairwise(accumulate(map(len, rows), initial=0))
        groups = [range(start, end) for start, end in bounds]
        queries = [query for row in rows for query in row]
        even = [self._covariance_of_even(row) for row in rows]
        estimated, moments = self._sum_rows(queries, groups) or self._decode(queries, groups, even)
        known, estimates = np.array([self._known(query) for query in queries]), []
        for row, group, moment, own in zip(rows, groups, moments, even, strict=True):
            part = slice(group.start, group.stop)
            # Cov(T_a, T_b) = sum of C c_a c_b - T_a T_b / n; then people from an even spread.
            centred = moment - np.outer(estimated[part], estimated[part]) / self.people
            centred += PSEUDO_PEOPLE / self.people * own
            asked = np.array([bool(query.terms) for query in row])
            covariance = np.where(np.outer(asked, asked), centred, 0.0)
            estimates.append(Estimates(known[part] + estimated[part], covariance))
        return estimates

    def values(self, queries: Sequence[BoxQuery]) -> Array:
        """The values (k,) alone: their covariance takes most of the time."""
        if not self.people:
            return np.array([np.nan if query.terms else self._known(query) for query in queries])
        return np.array([self._known(query) + self._estimated(query) for query in queries])

    def _known(self, query: BoxQuery) -> float:
        return query.known * self.reported.histogram.total(query.weight) if query.known else 0.0

    def _estimated(self, query: BoxQuery) -> float:
        """The part of an answer that is not known."""
        return self._sum(self.collected.spectrum(query), query.weight)

    def _sum(self, asked: Mapping[Axes, Complexes], weight: Weight | None) -> float:
        """sum over f of q^(f) conj(T^(f)) / N."""
        known = self.spectrum(weight)
        pairs = ((known[face], own) for face, own in asked.items() if face in known)
        return sum(float(np.vdot(table, own).real) for table, own in pairs)

    def _decode(
        self, queries: Sequence[BoxQuery], groups: Sequence[range], even: Sequence[Array]
    ) -> tuple[Array, list[Array]]:
        """Estimated parts (k,) from the spectrum, and moments within groups from a sample."""
        spectra = [self.collected.spectrum(query) for query in queries]
        pairs = zip(spectra, queries, strict=True)
        estimated = np.array([self._sum(own, query.weight) for own, query in pairs])
        return estimated, self._sampled.moments(queries, spectra, estimated, groups, even)

    def _sum_rows(
        self, queries: Sequence[BoxQuery], groups: Sequence[range]
    ) -> tuple[Array, list[Array]] | None:
        """The same from the rows themselves; None where decoding costs less: for few histograms,
        many queries, or a large design."""
        asked, rows, shared = list(map(bare, queries)), self.reported.rows, self.shared
        few = self.reported.histogram.siblings < MANY or len(set(asked)) > KEPT
        if few or shared.starts[-1] > MOST_CELLS:
            return None
        family, phase = rows.columns
        own = [shared.of(query)[shared.starts[family] + phase] for query in asked]
        kinds = [query.weight for query in queries]
        estimated = [rows.moment(kind, None) @ c for kind, c in zip(kinds, own, strict=True)]
        moments = [
            [[rows.moment(kinds[a], kinds[b]) @ (own[a] * own[b]) for b in group] for a in group]
            for group in groups
        ]
        return np.array(estimated), list(map(np.array, moments))

    @cached_property
    def _sampled(self) -> Sampled:
        """All families where single reports weigh too much for a sample."""
        choose = Sample.of if self.collected.odds <= MOST_ODDS else Sample.everything
        return Sampled(self.collected, self.reported, choose(self.reported.sizes))

    def _covariance_of_even(self, row: Sequence[BoxQuery]) -> Array:
        """Covariance of the sums of contributions if records were spread evenly, in the weights of
        those who reported."""
        moment = self.reported.moment
        weights = [[moment(one.weight, other.weight) for other in row] for one in row]
        spread = self.shared.covariance(tuple(map(bare, row)))
        return np.asarray(spread * np.array(weights).reshape(spread.shape))

    def spectrum(self, weight: Weight | None) -> dict[Axes, Complexes]:
        """T^(f) of every face; 0 where the design knows nothing."""
        if weight not in self._spectra:
            dense: dict[Axes, Complexes] = {}
            collected, present = self.collected, np.flatnonzero(self.reported.sizes)
            for batch in batches(collected.table, collected.odds, present):
                counts = self.reported.counts(batch, (weight, None))
                # B(f) += C^_j(h) X_j(h) / s_j at f = h k_j
                informed = batch.transform_counts(counts) * batch.transform
                add(dense, batch.cluster.axes, batch.scatter(informed))
            self._spectra[weight] = collected.divide(gather_faces(dense))
        return self._spectra[weight]
