"""Runs at the collector. Sees reports. Least squares from the counts of a channel's reports.

With the channel Q, D = diag(Q 1) and X = Q' D^-1 Q, the estimate of the people per cell is
X^-1 Q' D^-1 c. A report so *contributes* a fixed amount to every answer, and what is random about
an answer is which reports came: its variance is that of the contributions, people counting as a
sample. Specification: rr-optimum, section 2 (after McKenna, Maity, Mazumdar, Miklau, VLDB 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.mechanisms.cells.query import CellSum
from ldpsql.mechanisms.doubt import PEOPLE, doubted
from ldpsql.mechanisms.reported_rows import ReportedRows
from ldpsql.report import Pair

_ONLY = 0


@dataclass(frozen=True, eq=False)
class Decoder:
    """A channel as the collector uses it; channel: shape (reports, cells)."""

    channel: Array

    @cached_property
    def information(self) -> Array:
        """X, whose rows and columns sum to 1, shape (cells, cells)."""
        return np.asarray(self.channel.T @ (self.channel / self._totals))

    @property
    def _totals(self) -> Array:
        totals = self.channel.sum(axis=1, keepdims=True)
        return np.where(totals > 0.0, totals, 1.0)

    @cached_property
    def inverse(self) -> Array:
        """X^-1; where X tells nothing, 0."""
        inverse = np.linalg.pinv(self.information, rcond=1e-13, hermitian=True)
        return np.asarray(inverse, dtype=np.float64)

    @cached_property
    def contributions(self) -> Array:
        """What a report adds to the estimate of every cell, shape (reports, cells)."""
        return np.asarray((self.channel / self._totals) @ self.inverse)

    def blind(self, amounts: Array) -> Array:
        """The part of a query that no report tells anything about, shape (cells,)."""
        return amounts - self.information @ (self.inverse @ amounts)

    def variance(self, amounts: Array) -> float:
        """Of an answer, per person, for people spread evenly over the cells and a sample."""
        second = float(amounts @ self.inverse @ amounts) / len(amounts)
        return second - float(amounts.mean()) ** 2


@dataclass(frozen=True, eq=False)
class CellEstimator:
    """Unbiased answers from one histogram."""

    decoder: Decoder
    reported: ReportedRows

    def answer(self, queries: Sequence[CellSum]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf where nobody reported."""
        known = np.array([q.known * self.reported.total(q.weight) for q in queries], dtype=float)
        asked = np.array([query.is_asked for query in queries], dtype=bool)
        if not self.reported.people:
            return Estimates(np.where(asked, np.nan, known), np.diag(np.where(asked, np.inf, 0.0)))
        totals, covariance = self._asked(queries)
        return Estimates(known + totals, np.where(np.outer(asked, asked), covariance, 0.0))

    def answer_rows(self, rows: Sequence[Sequence[CellSum]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def _asked(self, queries: Sequence[CellSum]) -> tuple[Array, Array]:
        k = len(queries)
        amounts = np.array([query.amounts for query in queries]).reshape(k, -1)
        answers = self.reported.rows(_ONLY).columns[-1]
        shares = self.decoder.contributions[answers] @ amounts.T
        members: dict[Weight | None, list[int]] = {}
        for number, query in enumerate(queries):
            members.setdefault(query.weight, []).append(number)
        totals, covariance = np.zeros(k), np.zeros((k, k))
        for kind, own in members.items():
            totals[own] = self._moment((kind, None)) @ shares[:, own]
        for left, rows in members.items():
            for right, columns in members.items():
                pair = (left, right)
                second = shares[:, rows].T @ (self._moment(pair)[:, None] * shares[:, columns])
                second += (
                    PEOPLE
                    * self.reported.mean(_ONLY, pair)
                    * doubted(amounts[rows], amounts[columns])
                )
                covariance[np.ix_(rows, columns)] = second
        return totals, covariance - np.outer(totals, totals) / self.reported.people

    def _moment(self, pair: Pair) -> Array:
        return self.reported.rows(_ONLY).moment(*pair)
