"""Public. Sees parameters. What a table of families tells about every frequency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.mechanisms.fourier.families import FamilyTable
from ldpsql.mechanisms.fourier.group import Axes, Group, gathered, spread
from ldpsql.mechanisms.fourier.query import BoxQuery, Spectrum
from ldpsql.mechanisms.fourier.restricted import RealCells
from ldpsql.mechanisms.fourier.transforms import Complexes, Reals, information

BLIND = 1e-12
"""Below this share of a perfect report's information a frequency counts as not collected."""


@dataclass(frozen=True, eq=False)
class Collected:
    """A table of families as the collector uses it.

    odds: E.  restricted: whether answers are least squares over the cells that exist.
    """

    group: Group
    table: FamilyTable
    odds: float
    restricted: bool = False

    @cached_property
    def information(self) -> dict[Axes, Reals]:
        """lambda_f by face, derived from the weights as they are drawn; 0 where it is only what
        rounding left of a transform."""
        found = information(self.table, self.odds)
        return {face: np.where(own > BLIND, own, 0.0) for face, own in found.items()}

    @cached_property
    def _inverse(self) -> dict[Axes, Reals]:
        """1 / lambda_f; 0 where nothing is known."""
        return {
            face: np.where(known > 0.0, 1.0 / np.where(known > 0.0, known, 1.0), 0.0)
            for face, known in self.information.items()
        }

    @cached_property
    def real(self) -> RealCells:
        """The cells that exist, where answers are restricted to them."""
        return RealCells(self.group)

    @cached_property
    def dense(self) -> Reals:
        """lambda_f over the one block of a restricted design; 1 at the zero frequency."""
        axes = self.real.axes
        return spread(self.information, axes, self.group.shape(axes), 1.0)

    @cached_property
    def dual(self) -> Reals:
        """See `RealCells.dual`."""
        return self.real.dual(self.dense)

    def spectrum(self, query: BoxQuery) -> Spectrum:
        """Of the query on the whole group: continued over padding as the reports tell best where
        the design is restricted, else 0 there."""
        if not self.restricted or not query.terms:
            return query.spectrum(self.group)
        dense, whole = self.real.continued(query, self.dual, self.dense)
        return Spectrum(gathered({self.real.axes: dense}), whole)

    def divided(self, faces: Mapping[Axes, Complexes]) -> dict[Axes, Complexes]:
        """Arrays over lambda_f; 0 where nothing is known. Faces without families are left out."""
        return {
            face: np.asarray(array * self._inverse[face])
            for face, array in faces.items()
            if face in self._inverse
        }

    def moment(
        self, left: Mapping[Axes, Complexes], right: Mapping[Axes, Complexes], zero: float = 0.0
    ) -> float:
        """sum over f of left conj(right) / lambda_f; `zero` is the term of the zero frequency."""
        return zero + sum(
            float(np.sum((array * np.conj(right[face])).real * self._inverse[face]))
            for face, array in left.items()
            if face in right
        )
