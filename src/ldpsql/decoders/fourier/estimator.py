"""Unbiased answers from one histogram, and their covariance.

Decoding turns counts into the spectrum of the population, T^(f) = B(f) / lambda_f, and that into a
table per set of dimensions; a box is then a few corners of the table's running sums. The
variance is that of the reports' contributions c: for linear queries a and b the covariance is
sum of C c_a c_b - T_a T_b / n, which includes all that is random, people as a sample among it. Of
few reports that is too little (of a single one it is 0), so two people from an even spread are
added, as for the other mechanisms.
Source: docs/spec/fourier.md#1.2, docs/spec/fourier.md#4 and docs/spec/fourier.md#5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.decoders.fourier.contributions import Contributions, Sampled
from ldpsql.decoders.fourier.group import Axes, add, gather_faces, spread_faces
from ldpsql.decoders.fourier.information import Collected
from ldpsql.decoders.fourier.queries import BoxQuery, BoxTerm
from ldpsql.decoders.fourier.reports import DirectSums, Reported, SharedContributions
from ldpsql.decoders.fourier.transforms import Complexes, Reals, batches
from ldpsql.decoders.linear import PSEUDO_PEOPLE
from ldpsql.estimate import Array, Estimates

Key = tuple[Axes, int | None, Weight | None]

_AT_ONCE, _CELLS_AT_ONCE = 64, 1 << 22


@dataclass(eq=False)
class FourierEstimator:
    """Unbiased answers from one histogram; remembers the tables it has made."""

    collected: Collected
    reported: Reported
    shared: SharedContributions
    _spectra: dict[Weight | None, dict[Axes, Complexes]] = field(default_factory=dict)
    _sums: dict[Key, Reals] = field(default_factory=dict)
    _tables: dict[Weight | None, Reals] = field(default_factory=dict)

    @property
    def people(self) -> int:
        """Number of reports."""
        return self.reported.histogram.people

    def answer(self, queries: Sequence[BoxQuery]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf where nobody reported."""
        return self.answer_rows([queries])[0]

    def answer_rows(self, rows: Sequence[Sequence[BoxQuery]]) -> list[Estimates]:
        """One joint answer per row of queries, with no covariance between rows."""
        if not self.people:
            return [self._of_nobody(row) for row in rows]
        estimates: list[Estimates] = []
        cells = max(map(self.collected.group.cells, self.collected.group.blocks))
        at_once = min(_AT_ONCE, max(1, _CELLS_AT_ONCE // cells))
        step = max(1, at_once // max(1, *map(len, rows), 1))
        for first in range(0, len(rows), step):
            chunk = rows[first : first + step]
            bounds = pairwise(accumulate(map(len, chunk), initial=0))
            groups = [range(start, end) for start, end in bounds]
            flat = [query for row in chunk for query in row]
            estimated, moments = self._direct(flat, groups) or self._decoded(flat, groups)
            for row, group, moment in zip(chunk, groups, moments, strict=True):
                estimates.append(self._centre(row, estimated[group.start : group.stop], moment))
        return estimates

    def values(self, queries: Sequence[BoxQuery]) -> Array:
        """The values (k,) alone, from the tables: their covariance takes most of the time."""
        if not self.people:
            return self._of_nobody(queries).values
        return np.array([self._known(query) + self._estimated(query) for query in queries])

    def _decoded(
        self, queries: Sequence[BoxQuery], groups: Sequence[range]
    ) -> tuple[Array, list[Array]]:
        """Estimated parts (k,) from the tables, and moments within groups from a sample."""
        estimated = np.array([self._estimated(query) for query in queries])
        return estimated, Contributions(self._sampled, queries, estimated).moments(groups)

    def _direct(
        self, queries: Sequence[BoxQuery], groups: Sequence[range]
    ) -> tuple[Array, list[Array]] | None:
        """The same from the rows themselves; None where decoding costs less."""
        contributions = self.shared.of(queries, self.reported.histogram.siblings)
        if contributions is None:
            return None
        sums = DirectSums(self.reported.rows, queries, contributions, self.shared.starts)
        estimated = np.array(
            [sums.value(n) if query.terms else 0.0 for n, query in enumerate(queries)]
        )
        return estimated, [sums.moments(group) for group in groups]

    @cached_property
    def _sampled(self) -> Sampled:
        return Sampled(self.collected, self.reported)

    def _centre(self, row: Sequence[BoxQuery], estimated: Array, moments: Array) -> Estimates:
        """Moments about the mean, people being a sample; what is known has none."""
        known = np.array([self._known(query) for query in row])
        asked = np.array([bool(query.terms) for query in row])
        # Cov(T_a, T_b) = sum of C c_a c_b - T_a T_b / n; then pseudo-people from an even spread.
        centred = moments - np.outer(estimated, estimated) / self.people
        centred += PSEUDO_PEOPLE * self._expected(row)
        return Estimates(known + estimated, np.where(np.outer(asked, asked), centred, 0.0))

    def _expected(self, row: Sequence[BoxQuery]) -> Array:
        """Covariance of what one person contributes if records are spread evenly, in the mean
        weights of those who reported."""
        pairs = [[(left.weight, right.weight) for right in row] for left in row]
        weights = [[self.reported.histogram.moment(*pair) for pair in own] for own in pairs]
        return np.asarray(self.shared.expected(row) * np.array(weights) / self.people)

    def _of_nobody(self, row: Sequence[BoxQuery]) -> Estimates:
        """NaN and inf for what would have to be estimated."""
        known = [float("nan") if query.terms else self._known(query) for query in row]
        variances = [float("inf") if query.terms else 0.0 for query in row]
        return Estimates(np.array(known), np.diag(np.array(variances)))

    def _known(self, query: BoxQuery) -> float:
        return query.known * self.reported.histogram.total(query.weight) if query.known else 0.0

    def _estimated(self, query: BoxQuery) -> float:
        """The part of an answer that is not known."""
        return sum(self._term(term, query) for term in query.terms)

    def _term(self, term: BoxTerm, query: BoxQuery) -> float:
        total = 0.0
        if query.level:
            total += query.level * self._box(term, None, query.weight)
        if query.measure is not None:
            total += query.contrast * self._box(term, query.measure, query.weight)
        return total

    def _box(self, term: BoxTerm, measure: int | None, weight: Weight | None) -> float:
        """Sum over a box of the table of counts, or of upper minus lower signs."""
        # A box of a table is a signed sum of corners of its running sums, axis by axis; a side of
        # several intervals has more of them, and a share of a bin a share of a corner.
        corner = self._running(term.axes, measure, weight)
        for side, axis in zip(term.sides, term.axes, strict=True):
            shares = self.collected.group.bin_weights(side, axis)
            signs = -np.diff(shares, prepend=0.0, append=0.0)
            places = np.flatnonzero(signs)
            corner = np.tensordot(signs[places], corner[places], axes=(0, 0))
        return term.coefficient * float(corner)

    def _running(self, axes: Axes, measure: int | None, weight: Weight | None) -> Reals:
        """Running sums of a table, with a leading zero on every axis."""
        key = (axes, measure, weight)
        if key not in self._sums:
            real = tuple(slice(self.collected.group.bins[axis]) for axis in axes)
            running = self.population(axes, measure, weight)[real]
            for place in range(len(axes)):
                running = np.cumsum(running, axis=place)
                padding = [(1 if p == place else 0, 0) for p in range(running.ndim)]
                running = np.pad(running, padding)
            self._sums[key] = running
        return self._sums[key]

    def population(self, axes: Axes, measure: int | None, weight: Weight | None) -> Reals:
        """Estimated people per cell, or upper minus lower signs.

        Shape of the axes' orders; of a restricted design that of their bins.
        """
        if self.collected.restricted:
            return self._restricted(axes, measure, weight)
        return self._circular(axes, measure, weight)

    def _restricted(self, axes: Axes, measure: int | None, weight: Weight | None) -> Reals:
        """From the one table of a restricted design."""
        table = self._table(weight)
        real = self.collected.real
        if real.sign is not None:
            table = table.sum(-1) if measure is None else table[..., 1] - table[..., 0]
        others = tuple(p for p in range(table.ndim) if real.axes[p] not in axes)
        return np.asarray(table.sum(axis=others))

    def _table(self, weight: Weight | None) -> Reals:
        """People per real cell, of which there are as many as reported."""
        if weight not in self._tables:
            collected, real = self.collected, self.collected.real
            shape = collected.group.shape(real.axes)
            decoded = spread_faces(self.spectrum(weight), real.axes, shape, 0.0) * collected.dense
            total = self.reported.histogram.total(weight)
            self._tables[weight] = real.table(decoded, total, collected.dual)
        return self._tables[weight]

    def _circular(self, axes: Axes, measure: int | None, weight: Weight | None) -> Reals:
        """On the whole group."""
        spectrum, group = self.spectrum(weight), self.collected.group
        if measure is None:
            dense = spread_faces(
                spectrum, axes, group.shape(axes), self.reported.histogram.total(weight)
            )
        else:
            sign = group.dimensions + measure
            signed = spread_faces(spectrum, (*axes, sign), (*group.shape(axes), 2), 0.0)
            dense = -signed[..., 1]
        return np.asarray(np.fft.ifftn(dense).real if dense.ndim else dense.real)

    def spectrum(self, weight: Weight | None) -> dict[Axes, Complexes]:
        """T^(f) of every face; 0 where the design knows nothing."""
        if weight not in self._spectra:
            dense: dict[Axes, Complexes] = {}
            collected = self.collected
            for start, batch in batches(collected.table, collected.odds, self.reported.families):
                counts = self.reported.counts(start, batch, (weight, None))
                # B(f) += C^_j(h) X_j(h) / s_j at f = h k_j
                informed = batch.transform_counts(counts) * batch.transform
                add(dense, batch.cluster.axes, batch.scatter(informed))
            self._spectra[weight] = self.collected.divide(gather_faces(dense))
        return self._spectra[weight]
