"""What a table of families tells about every frequency, and least squares over the real cells.

On a circle that its codes fill a one-sided question pays for two ends. Where the circle is larger,
nobody is on the rest of it, so a question may take any values there: those that the reports tell
best, with the least sum over f != 0 of |q^(f)|^2 / lambda_f. With X = F^-1 Lambda F, the
information of the whole group, and r the real cells they are

    q on all cells = X_.r a + mu 1,    (X_rr  1) (a )   (q)
                                       (1'    0) (mu) = (0),

where the second row keeps the number of people, which is known. Restricted generalised least
squares with the weights of the whole group; source: docs/spec/fourier.md#6.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.fourier.families import Complexes, FamilyTable, information
from ldpsql.decoders.fourier.group import Axes, Group, Reals, gather_faces, spread_faces
from ldpsql.decoders.fourier.queries import BoxQuery
from ldpsql.workload import QueryClass, Workload, gram
from ldpsql_device.errors import SurveyError

BLIND = 1e-12
"""Below this share of a perfect report's information a frequency counts as not collected."""
LARGEST_RESTRICTED = 2048


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
        by_face = information(self.table, self.odds).items()
        return {face: np.where(own > BLIND, own, 0.0) for face, own in by_face}

    @cached_property
    def _inverse(self) -> dict[Axes, Reals]:
        """1 / lambda_f; 0 where nothing is known."""
        return {
            face: np.divide(1.0, known, out=np.zeros_like(known), where=known > 0.0)
            for face, known in self.information.items()
        }

    @cached_property
    def real(self) -> RealCells:
        """The cells that exist, where answers are restricted to them."""
        return RealCells(self.group)

    @cached_property
    def _dense(self) -> Reals:
        """lambda_f over the one block of a restricted design."""
        axes = self.real.axes
        return spread_faces(self.information, axes, self.group.shape(axes))

    @cached_property
    def dual(self) -> Reals:
        """See `RealCells.dual`."""
        return self.real.dual(self._dense)

    def spectrum(self, query: BoxQuery) -> dict[Axes, Complexes]:
        """q^(f) / N of the query on the whole group: continued over padding as the reports tell
        best where the design is restricted, else 0 there."""
        if not self.restricted or not query.terms:
            return query.spectrum(self.group)
        dense = self.real.continue_query(query, self.dual, self._dense)
        return gather_faces({self.real.axes: dense})

    def divide(self, faces: Mapping[Axes, Complexes]) -> dict[Axes, Complexes]:
        """Arrays over lambda_f; 0 where nothing is known. Faces without families are left out."""
        return {
            face: np.asarray(array * self._inverse[face])
            for face, array in faces.items()
            if face in self._inverse
        }

    def covariance(self, left: Mapping[Axes, Complexes], right: Mapping[Axes, Complexes]) -> float:
        """sum over f != 0 of left conj(right) / lambda_f: of what one person from an even spread
        contributes to two queries."""
        return sum(
            float(np.sum((array * np.conj(right[face])).real * self._inverse[face]))
            for face, array in left.items()
            if face and face in right
        )

    def spread(
        self, divided: Sequence[Mapping[Axes, Complexes]], axes: Axes, *, exact: bool = True
    ) -> NDArray[np.complexfloating]:
        """Spectra over lambda, dense over some axes and flat, shape (k, cells).

        exact: in double precision.
        """
        shape = self.group.shape(axes)
        dense = np.array([spread_faces(own, axes, shape).ravel() for own in divided])
        return dense.astype(np.complex128 if exact else np.complex64)


@dataclass(frozen=True, eq=False)
class RealCells:
    """The cells of the one block of a group on which there may be people."""

    group: Group

    def __post_init__(self) -> None:
        if len(self.group.blocks) != 1:
            raise SurveyError("least squares over the real cells takes one block of attributes")
        if self.count > LARGEST_RESTRICTED:
            raise SurveyError(
                f"least squares over {self.count} cells takes too long; {LARGEST_RESTRICTED} are "
                "the most"
            )

    @property
    def axes(self) -> Axes:
        """Of the block."""
        return self.group.blocks[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Bins, then 2 for a sign."""
        bins = self.group.bins
        return tuple(bins[axis] if axis < len(bins) else 2 for axis in self.axes)

    @property
    def count(self) -> int:
        """Number of real cells."""
        return prod(self.shape)

    @cached_property
    def _lags(self) -> NDArray[np.int32]:
        """Flat place of u - u' in an array over the group, shape (cells, cells)."""
        flat: NDArray[np.int32] = np.zeros((1, 1), dtype=np.int32)
        for size, order in zip(self.shape, self.group.shape(self.axes), strict=True):
            own = np.subtract.outer(np.arange(size), np.arange(size)) % order
            joined = flat[:, None, :, None] * order + own[None, :, None, :]
            flat = joined.reshape(len(flat) * size, -1).astype(np.int32)
        return flat

    def dual(self, information: Reals) -> Reals:
        """The inverse of the bordered matrix; information: lambda, dense over the block.

        SurveyError where a frequency is not informed.
        """
        if (information <= 0.0).any():
            raise SurveyError("the families of the design do not tell all cells apart")
        # X = F^-1 diag(lambda) F is circulant: X_uu' depends on u - u' only, and its first column
        # is the inverse transform of lambda. X_rr is positive definite, for lambda > 0; bordered
        # by the constraint it is symmetric and regular, though indefinite.
        column = np.fft.ifftn(information).real.ravel()
        bordered = np.ones((self.count + 1, self.count + 1))
        bordered[:-1, :-1] = column[self._lags]
        bordered[-1, -1] = 0.0
        return np.asarray(np.linalg.inv(bordered))

    def demand(self, information: Reals, grams: Reals) -> Reals:
        """gamma_f, the mean over the queries of |q^(f)|^2 / N^2, if they are continued as suits
        the information; dense over the block, alike for all reflections, 0 at the zero.

        grams: mean of q q' over the real cells.
        """
        # The continued query is q^ = lambda F(a), a = D q on the real cells (see the module), D the
        # upper left of the dual. The mean of |F(a)|^2 at f is the transform of the sums of D G D
        # along its lags u - u'.
        dual = self.dual(information)[:-1, :-1]
        products = dual @ grams @ dual
        lags = np.bincount(self._lags.ravel(), products.ravel(), information.size)
        power = np.fft.fftn(lags.reshape(information.shape)).real * information**2
        power /= float(information.size) ** 2
        for axis in range(power.ndim):
            power = (power + np.roll(np.flip(power, axis), 1, axis)) / 2.0
        power = np.maximum(power, 0.0)
        power[(0,) * power.ndim] = 0.0
        return np.asarray(power)

    def continue_query(self, query: BoxQuery, dual: Reals, information: Reals) -> Complexes:
        """q^(f) / N of the continued query, dense over the block; mu at the zero."""
        solved = dual[:, :-1] @ self.values(query).ravel()
        padded = np.zeros(information.shape)
        padded[tuple(map(slice, self.shape))] = solved[:-1].reshape(self.shape)
        spectrum = np.fft.fftn(padded) * (information / information.size)
        spectrum[(0,) * spectrum.ndim] = solved[-1]
        return spectrum

    def values(self, query: BoxQuery) -> Reals:
        """The query on every real cell."""
        total = np.zeros(self.shape)
        for term in query.terms:
            total += reduce(np.multiply.outer, query.cell_weights(term, self.axes, self.group))
        return total

    def grams(self, workload: Workload) -> Reals:
        """Mean of q q' over a workload, shape (cells, cells)."""
        total = np.zeros((self.count, self.count))
        for entry in workload.classes:
            total += entry.weight * self._gram(entry)
        for query in workload.queries:
            own = self.values(BoxQuery.declared(query))
            total += query.weight * np.outer(own, own)
        return total

    def _gram(self, entry: QueryClass) -> Reals:
        kinds = dict(entry.predicates)
        product: Reals = np.ones((1, 1))
        for axis, size in zip(self.axes, self.shape, strict=True):
            own = gram(kinds[axis], size) if axis in kinds else np.ones((size, size))
            if axis >= self.group.dimensions and entry.measure is not None:
                own = np.array([[1.0, -1.0], [-1.0, 1.0]])
            product = np.asarray(np.kron(product, own))
        return product
