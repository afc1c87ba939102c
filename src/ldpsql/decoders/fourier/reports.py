"""A histogram of reports by families, and answers straight from its rows.

What a report contributes to a query depends on the design alone. Where the same query is asked of
many histograms (one per day, say), its contributions are worked out once, and a histogram's answer
is the sum over its rows, with the exact moments. Source: docs/spec/fourier.md#1.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from ldpsql.decoders.fourier.group import Integers, Reals, spread_faces
from ldpsql.decoders.fourier.information import Collected
from ldpsql.decoders.fourier.queries import BoxQuery
from ldpsql.decoders.fourier.transforms import Batch, batches, correlate
from ldpsql.estimate import Array
from ldpsql.report import Histogram, Pair, Rows

MOST_CELLS = 1 << 22
MANY, _KEPT = 4, 8


@dataclass(frozen=True, eq=False)
class Reported:
    """The rows of a histogram, which are sorted by family."""

    histogram: Histogram

    @cached_property
    def rows(self) -> Rows:
        """Family and phase of every row, and what it counts."""
        return self.histogram.load_all()

    @cached_property
    def families(self) -> Integers:
        """Families with reports, ascending."""
        return np.flatnonzero(self.histogram.sizes)

    def counts(self, start: int, batch: Batch, pair: Pair) -> Reals:
        """Sum over people of a product of weights per phase, shape (f, |H|).

        start: number of the first family of the batch's cluster.
        """
        family, phase = self.rows.columns
        numbers = start + batch.numbers
        low = np.searchsorted(family, numbers[0], side="left")
        high = np.searchsorted(family, numbers[-1], side="right")
        # The batch may hold some of the families between its first and its last only.
        place = np.searchsorted(numbers, family[low:high])
        is_own = numbers[np.minimum(place, len(numbers) - 1)] == family[low:high]
        cells = (place * batch.cluster.phases + phase[low:high])[is_own]
        sums = self.rows.moment(*pair)[low:high][is_own]
        flat = np.bincount(cells, sums, len(numbers) * batch.cluster.phases)
        return np.asarray(flat.reshape(len(numbers), -1))


class SharedContributions:
    """Contributions of the queries that many histograms of one design are asked.

    They follow from the design; those of the last few queries are kept.
    """

    def __init__(self, collected: Collected) -> None:
        self.collected = collected
        self._contributions = lru_cache(_KEPT)(self._compute)
        self._covariance = lru_cache(_KEPT)(self._compute_covariance)

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
        return self._covariance(tuple(map(_bare, queries)))

    def _compute_covariance(self, queries: tuple[BoxQuery, ...]) -> Array:
        spectra = [self.collected.spectrum(query).faces for query in queries]
        return np.array(
            [[self.collected.moment(left, right) for right in spectra] for left in spectra]
        )

    def _compute(self, query: BoxQuery) -> Reals:
        """c of every cell."""
        collected, group = self.collected, self.collected.group
        asked = collected.spectrum(query)
        faces = collected.divide(asked.faces)
        parts = []
        for _, batch in batches(collected.table, collected.odds):
            axes = batch.cluster.axes
            dense = spread_faces(faces, axes, group.shape(axes), asked.whole).ravel()
            parts.append(correlate(batch, dense, np.conj(batch.transform)).ravel())
        return np.concatenate(parts)


def _bare(query: BoxQuery) -> BoxQuery:
    """What a query's contributions depend on."""
    return replace(query, known=0.0, weight=None)


@dataclass(frozen=True, eq=False)
class DirectSums:
    """The sums of some queries over the rows of one histogram.

    contributions: of every query over all cells.  starts: see `SharedContributions`.
    """

    rows: Rows
    queries: Sequence[BoxQuery]
    contributions: Sequence[Reals]
    starts: Integers

    @cached_property
    def _own(self) -> list[Reals]:
        """c of every row, query by query."""
        family, phase = self.rows.columns
        cells = self.starts[family] + phase
        return [contributions[cells] for contributions in self.contributions]

    def value(self, number: int) -> float:
        """The part of an answer that is not known."""
        return float(self.rows.moment(self.queries[number].weight, None) @ self._own[number])

    def moments(self, group: Sequence[int]) -> Array:
        """Sum over reports of c_a c_b."""
        moments = np.zeros((len(group), len(group)))
        for i, a in enumerate(group):
            for j, b in enumerate(group[: i + 1]):
                weights = self.rows.moment(self.queries[a].weight, self.queries[b].weight)
                moments[i, j] = moments[j, i] = float(weights @ (self._own[a] * self._own[b]))
        return moments
