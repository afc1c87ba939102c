"""Public. Sees parameters. The predicted variance of a design restricted to the cells that exist.

Over records spread evenly on the whole group the second moment of a contribution is a sum over
frequencies. On the real cells alone it is a few per cent larger or smaller, which is worked out
family by family: all of them, or of large designs a sample that is evenly spaced in weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.fourier.contributions import Sample
from ldpsql.mechanisms.fourier.demand import box_transform
from ldpsql.mechanisms.fourier.families import UNITS
from ldpsql.mechanisms.fourier.group import Axes, spread
from ldpsql.mechanisms.fourier.information import Collected
from ldpsql.mechanisms.fourier.query import BoxQuery
from ldpsql.mechanisms.fourier.transforms import Batch, Complexes, Reals, batches, contributed

_MOST_CELLS = 1 << 19
_ENTRIES = 1 << 15


@dataclass(frozen=True, eq=False)
class Evenly:
    """Queries asked of people who are spread evenly over the real cells of a restricted design."""

    collected: Collected
    queries: Sequence[BoxQuery]

    def variances(self) -> Array:
        """Per person, shape (k,)."""
        spectra = [self.collected.spectrum(query) for query in self.queries]
        means = np.array([self.collected.real.mean(query) for query in self.queries])
        asked = np.array([bool(query.terms) for query in self.queries])
        even = [self.collected.moment(own.faces, own.faces, own.whole**2) for own in spectra]
        moments = np.array(even) + self._excess(
            [(self.collected.divided(own.faces), own.whole) for own in spectra]
        )
        return np.where(asked, moments - means**2, 0.0)

    def _excess(self, divided: Sequence[tuple[dict[Axes, Complexes], float]]) -> Array:
        """What the second moments of the contributions gain on the real cells."""
        table = self.collected.table
        sizes = np.array(table.weights, dtype=np.int64)
        whole = int(table.phases.sum()) <= _MOST_CELLS
        sample = Sample.everything(sizes) if whole else Sample.of(sizes)
        total = np.zeros(len(divided))
        chosen = batches(table, self.collected.odds, sample.families, _ENTRIES)
        for start, batch in chosen:
            place = np.searchsorted(sample.families, start + batch.numbers)
            shares = sample.stands_for[place] / UNITS
            squares = self._contributions(batch, divided) ** 2
            total += np.einsum("f,kfc,fc->k", shares, squares, self._uneven(batch))
        return total

    def _contributions(
        self, batch: Batch, divided: Sequence[tuple[dict[Axes, Complexes], float]]
    ) -> Reals:
        """c of every query, shape (k, f, |H|)."""
        axes = batch.cluster.axes
        shape = self.collected.group.shape(axes)
        dense = np.array([spread(faces, axes, shape, zero).ravel() for faces, zero in divided])
        found = contributed(batch, dense, np.conj(batch.transform))
        return np.asarray(found.reshape(len(divided), len(batch.numbers), -1))

    def _uneven(self, batch: Batch) -> Reals:
        """Probability of every phase less its mean, given the family, shape (f, |H|)."""
        axes, group = batch.cluster.axes, self.collected.group
        everything = [((0, group.sizes[a]),) if a < group.dimensions else None for a in axes]
        real = box_transform(everything, axes, group).ravel()
        found = contributed(batch, real[None] / real[0], np.conj(batch.transform))
        law = found.reshape(len(batch.numbers), -1) / batch.cluster.phases
        return np.asarray(law - 1.0 / batch.cluster.phases)
