"""Runs at the collector. Sees reports. A histogram by families."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.mechanisms.fourier.group import Integers
from ldpsql.mechanisms.fourier.transforms import Batch, Reals
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
