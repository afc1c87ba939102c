"""A histogram of reports by families, and answers straight from its rows.

What a report contributes to a query depends on the design alone. Where the same query is asked of
many histograms (one per day, say), its contributions are worked out once, and a histogram's answer
is the sum over its rows, with the exact moments. Source: docs/spec/fourier.md#1.2.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.decoders.fourier.group import Integers, spread_faces
from ldpsql.decoders.fourier.information import Collected
from ldpsql.decoders.fourier.queries import BoxQuery
from ldpsql.decoders.fourier.transforms import Batch, Reals, batches, contributed
from ldpsql.estimate import Array
from ldpsql.report import Histogram, Pair, Rows


@dataclass(frozen=True, eq=False)
class Reported:
    """The rows of a histogram, sorted by family."""

    histogram: Histogram

    @property
    def people(self) -> int:
        """Number of reports."""
        return self.histogram.people

    def total(self, weight: Weight | None) -> float:
        """Sum of a public weight over all people."""
        return self.histogram.total(weight)

    def moment(self, pair: Pair) -> float:
        """Sum over all people of a product of weights."""
        return self.histogram.moment(*pair)

    @cached_property
    def sizes(self) -> Integers:
        """Reports per family."""
        return self.histogram.sizes

    @cached_property
    def families(self) -> Integers:
        """Families with reports, ascending."""
        return np.flatnonzero(self.sizes)

    @cached_property
    def _rows(self) -> Rows:
        rows = self.histogram.load_all()
        order = np.argsort(rows.columns[0], kind="stable")
        return Rows(
            tuple(column[order] for column in rows.columns),
            rows.counts[order],
            {pair: moment[order] for pair, moment in rows.moments.items()},
        )

    def counts(self, start: int, batch: Batch, pair: Pair) -> Reals:
        """Sum over people of a product of weights per phase, shape (f, |H|).

        start: number of the first family of the batch's cluster.
        """
        family = self._rows.columns[0]
        numbers = start + batch.numbers
        low = np.searchsorted(family, numbers[0], side="left")
        high = np.searchsorted(family, numbers[-1], side="right")
        row = np.searchsorted(numbers, family[low:high])
        own = numbers[np.minimum(row, len(numbers) - 1)] == family[low:high]
        phases = batch.cluster.phases
        cells = (row * phases + self._rows.columns[1][low:high])[own]
        found = np.bincount(cells, self.row_moments(pair)[low:high][own], len(numbers) * phases)
        return np.asarray(found.reshape(len(numbers), phases))

    @property
    def columns(self) -> tuple[Integers, ...]:
        """Family and phase of every row."""
        return self._rows.columns

    def row_moments(self, pair: Pair) -> Reals:
        """Sum over people of a product of weights per row."""
        return self._rows.moment(*pair)


MOST_CELLS = 1 << 22
MANY, _KEPT = 4, 8


@dataclass(eq=False)
class SharedContributions:
    """Contributions of the queries that many histograms of one design are asked.

    They follow from the design; those of the last few queries are kept.
    """

    collected: Collected
    _kept: OrderedDict[BoxQuery, Reals] = field(default_factory=OrderedDict)
    _expected: OrderedDict[tuple[BoxQuery, ...], Array] = field(default_factory=OrderedDict)

    @cached_property
    def starts(self) -> Integers:
        """Where every family's phases begin among all cells, shape (families + 1,)."""
        return np.concatenate([[0], np.cumsum(self.collected.table.phases)])

    def of(self, queries: Sequence[BoxQuery], histograms: int) -> list[Reals] | None:
        """One array over all cells per query, or None where decoding costs less: for few
        histograms, many queries, or a large design."""
        bare = [_bare(query) for query in queries]
        few = histograms < MANY or len(set(bare)) > _KEPT or self.starts[-1] > MOST_CELLS
        return None if few else [self._contributions(query) for query in bare]

    def expected(self, queries: Sequence[BoxQuery]) -> Array:
        """Covariance (k, k) of what one person contributes if records are spread evenly."""
        bare = tuple(map(_bare, queries))
        if bare not in self._expected:
            spectra = [self.collected.spectrum(query).faces for query in bare]
            self._expected[bare] = np.array(
                [[self.collected.moment(left, right) for right in spectra] for left in spectra]
            )
            while len(self._expected) > _KEPT:
                self._expected.popitem(last=False)
        self._expected.move_to_end(bare)
        return self._expected[bare]

    def _contributions(self, query: BoxQuery) -> Reals:
        if query not in self._kept:
            self._kept[query] = self._computed(query)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(query)
        return self._kept[query]

    def _computed(self, query: BoxQuery) -> Reals:
        """c of every cell."""
        collected, group = self.collected, self.collected.group
        asked = collected.spectrum(query)
        faces, whole = collected.divided(asked.faces), asked.whole
        found = []
        for _, batch in batches(collected.table, collected.odds):
            axes = batch.cluster.axes
            dense = spread_faces(faces, axes, group.shape(axes), whole).ravel()
            found.append(contributed(batch, dense, np.conj(batch.transform)).ravel())
        return np.concatenate(found)


def _bare(query: BoxQuery) -> BoxQuery:
    """What a query's contributions depend on."""
    return replace(query, known=0.0, weight=None)


@dataclass(frozen=True, eq=False)
class DirectSums:
    """The sums of some queries over the rows of one histogram.

    contributions: of every query over all cells.  starts: see `SharedContributions`.
    """

    reported: Reported
    queries: Sequence[BoxQuery]
    contributions: Sequence[Reals]
    starts: Integers

    @cached_property
    def _cells(self) -> Integers:
        family, phase = self.reported.columns
        return np.asarray(self.starts[family] + phase)

    @cached_property
    def _own(self) -> list[Reals]:
        """c of every row, query by query."""
        return [contributions[self._cells] for contributions in self.contributions]

    def value(self, number: int) -> float:
        """The part of an answer that is not known."""
        moments = self.reported.row_moments((self.queries[number].weight, None))
        return float(moments @ self._own[number])

    def moments(self, group: Sequence[int]) -> Array:
        """Sum over reports of c_a c_b."""
        found = np.zeros((len(group), len(group)))
        for i, a in enumerate(group):
            for j, b in enumerate(group[: i + 1]):
                pair = (self.queries[a].weight, self.queries[b].weight)
                products = self._own[a] * self._own[b]
                found[i, j] = found[j, i] = float(self.reported.row_moments(pair) @ products)
        return found
