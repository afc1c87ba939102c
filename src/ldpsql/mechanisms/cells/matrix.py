"""Runs at the collector. Sees reports. A channel as a matrix, inverted by least squares.

With the channel Q, D = diag(Q 1) and X = Q' D^-1 Q, the estimate of the people per cell is
X^-1 Q' D^-1 c: a report so *contributes* a fixed amount to every answer. Specification: rr-optimum,
section 2 (after McKenna, Maity, Mazumdar, Miklau, VLDB 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.estimate import Array
from ldpsql.mechanisms.reported_rows import ReportedRows
from ldpsql.report import Pair

_ONLY = 0


@dataclass(frozen=True, eq=False)
class MatrixChannel:
    """See `cells.estimator.Channel`. matrix: probabilities, shape (reports, cells)."""

    matrix: Array

    @property
    def cells(self) -> int:
        """How many there are."""
        return int(self.matrix.shape[1])

    @cached_property
    def information(self) -> Array:
        """X, whose rows and columns sum to 1, shape (cells, cells)."""
        return np.asarray(self.matrix.T @ (self.matrix / self._totals))

    @property
    def _totals(self) -> Array:
        totals = self.matrix.sum(axis=1, keepdims=True)
        return np.where(totals > 0.0, totals, 1.0)

    @cached_property
    def inverse(self) -> Array:
        """X^-1; where X tells nothing, 0."""
        inverse = np.linalg.pinv(self.information, rcond=1e-13, hermitian=True)
        return np.asarray(inverse, dtype=np.float64)

    @cached_property
    def contributions(self) -> Array:
        """What a report adds to the estimate of every cell, shape (reports, cells)."""
        return np.asarray((self.matrix / self._totals) @ self.inverse)

    def blind(self, amounts: Array) -> Array:
        """The part of a query that no report tells anything about, shape (cells,)."""
        return amounts - self.information @ (self.inverse @ amounts)

    def totals(self, reported: ReportedRows, pair: Pair) -> Array:
        """See `Channel`."""
        rows = reported.rows(_ONLY)
        return np.asarray(rows.moment(*pair) @ self.contributions[rows.columns[-1]])

    def second(self, totals: Array, left: Array, right: Array) -> Array:
        """See `Channel`."""
        reports, one = (self.matrix @ totals)[:, None], self.contributions @ left.T
        other = one if right is left else self.contributions @ right.T
        return np.asarray(one.T @ (reports * other))

    def spread(self, weights: Array) -> Array:
        """See `Channel`."""
        squares = (self.contributions @ weights.T) ** 2
        named = squares[self._is_naming].max(axis=0, initial=0.0)
        return np.asarray(np.maximum(np.ptp(self.matrix.T @ squares, axis=0), named))

    @cached_property
    def _is_naming(self) -> Array:
        """Which reports come from some cells only."""
        return np.asarray((self.matrix.min(axis=1) == 0.0) & (self.matrix.max(axis=1) > 0.0))
