"""Runs at the collector. Sees reports. Answers from one table of people, nowhere negative.

Two tables: the nearest one to the unbiased estimates (Euclidean projection, which never increases
the squared error), and the likeliest one given the reports (by EM). Both are biased and agree with
themselves. The covariance stays that of the unbiased estimates; replicates come from simulated
reports of the table. A sum of a public column has no table of people behind it and stays unbiased;
its replicates lie one standard error to either side. Specification: uldp, section 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ldpsql.estimate import Array, Estimates
from ldpsql.mechanisms.cells.estimator import Channel, ReportedTable, TableEstimator
from ldpsql.mechanisms.cells.query import CellSum
from ldpsql.mechanisms.uldp.channel import CellChannel

REPLICATES = 20
LEAST_CHANGE, MOST_STEPS = 1e-9, 10_000
TYPICAL_CHANGE = 1e-5
"""Where EM stops for a replicate, which starts from the table that it was drawn from."""
_SEED, _NOBODY, _SMALL, _AT_LEAST = 20, 1e-6, 256, 1e-3

Tables = Callable[[TableEstimator], Array]


@runtime_checkable
class Simulates(Channel, Protocol):
    """A channel that can be run again on a table of people."""

    def simulated(self, people: Array, random: np.random.Generator, count: int) -> Array:
        """Unbiased people per cell from simulated reports of a table of people, (count, cells)."""
        ...


@dataclass(eq=False)
class SmoothTable:
    """Smooths at the first question. make: the table, then its replicates, (1 + r, cells)."""

    unbiased: TableEstimator
    make: Tables

    def answer(self, queries: Sequence[CellSum]) -> Estimates:
        """Post-processed values, replicates beside them, unbiased covariance."""
        return self.answer_rows([queries])[0]

    def answer_rows(self, rows: Sequence[Sequence[CellSum]]) -> list[Estimates]:
        """One joint answer per row."""
        plain = self.unbiased.answer_rows(rows)
        if not self.unbiased.source.people:
            return plain
        return [self._smoothed(row, own) for row, own in zip(rows, plain, strict=True)]

    def _smoothed(self, row: Sequence[CellSum], plain: Estimates) -> Estimates:
        found = np.empty((1 + REPLICATES, len(row)))
        sides = np.where(np.arange(REPLICATES) % 2, -1.0, 1.0)
        for number, query in enumerate(row):
            if query.weight is None:
                known = query.known * self.unbiased.source.people
                found[:, number] = known + self._tables @ query.amounts
            else:
                found[0, number] = plain.values[number]
                found[1:, number] = plain.values[number] + plain.stderr[number] * sides
        return Estimates(found[0], plain.covariance, found[1:])

    @cached_property
    def _tables(self) -> Array:
        tables = self.make(self.unbiased)
        return np.where(tables < _NOBODY, 0.0, tables)


def nearest(unbiased: TableEstimator) -> Array:
    """The nearest table of people, and those of simulated reports of it."""
    people = unbiased.source.people
    table = on_simplex(unbiased.source.totals((None, None)), people)
    random = np.random.default_rng(_SEED)
    assert isinstance(unbiased.channel, Simulates)
    drawn = unbiased.channel.simulated(table, random, REPLICATES)
    return np.stack([table, *(on_simplex(row, people) for row in drawn)])


def likeliest(unbiased: TableEstimator) -> Array:
    """The likeliest table of people, and those of simulated reports of it."""
    channel, source = unbiased.channel, unbiased.source
    assert isinstance(channel, CellChannel)
    assert isinstance(source, ReportedTable)
    table = by_em(channel, channel.counts(source, (None, None))[:, None])
    random = np.random.default_rng(_SEED)
    simulated = channel.drawn(table[:, 0], random, REPLICATES)
    start = np.repeat(np.maximum(table, _NOBODY), REPLICATES, axis=1)
    drawn = by_em(channel, simulated, start=start, least_change=TYPICAL_CHANGE)
    return np.concatenate([table, drawn], axis=1).T


def on_simplex(values: Array, total: float) -> Array:
    """The nearest non-negative values with this sum; shape (cells,).

    Source: Duchi, Shalev-Shwartz, Singer, Chandra, ICML 2008, figure 1.
    """
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    kept = np.flatnonzero(ordered > excess)[-1]
    return np.asarray(np.maximum(values - excess[kept], 0.0))


def by_em(
    channel: CellChannel,
    counts: Array,
    *,
    start: Array | None = None,
    least_change: float = LEAST_CHANGE,
) -> Array:
    """Tables of people that make counts of reports likeliest; both (cells, k).

    From positive tables, even ones unless others are given, until a step changes no table's shares
    by `least_change` together, or for 10,000 steps. Two steps at a time are extrapolated where that
    makes the reports likelier still.
    Source: Varadhan, Roland, Scandinavian Journal of Statistics 35 (2008), scheme S3.
    """
    people = counts.sum(axis=0)
    table = np.ones_like(counts) if start is None else start
    table = table / table.sum(axis=0)
    left, climb = np.arange(counts.shape[1]), _Climb(channel, counts / people)
    for _ in range(MOST_STEPS // 3):
        here = table[:, left]
        once = climb.step(here, left)
        twice = climb.step(once, left)
        table[:, left] = climb.extrapolated(here, once, twice, left)
        left = left[np.abs(once - here).sum(axis=0) >= least_change]
        if not len(left):
            break
    return np.asarray(table * people)


@dataclass(frozen=True, eq=False)
class _Climb:
    """Steps of EM towards the likeliest tables for shares of reports (cells, k)."""

    channel: CellChannel
    shares: Array

    def step(self, table: Array, chosen: NDArray[np.int64]) -> Array:
        """One step of the tables of the chosen shares."""
        expected = self._expected(table)
        seen = self.shares[:, chosen]
        ratio = np.divide(seen, expected, out=np.zeros_like(seen), where=expected > 0)
        return np.asarray(table * self._worth(ratio))

    def extrapolated(
        self, start: Array, once: Array, twice: Array, chosen: NDArray[np.int64]
    ) -> Array:
        """Further along the way of two steps, and one more; the second step where that is worse."""
        first, bend = once - start, twice - 2.0 * once + start
        size = np.sqrt(np.sum(bend**2, axis=0))
        length = np.sqrt(np.sum(first**2, axis=0)) / np.where(size > 0.0, size, 1.0)
        reach = np.maximum(length, 1.0)
        guess = start + 2.0 * reach * first + reach**2 * bend
        guess = np.maximum(guess, _AT_LEAST * twice)  # a share of 0 would stay 0
        guess = self.step(guess / guess.sum(axis=0), chosen)
        is_better = self._likelihood(guess, chosen) >= self._likelihood(twice, chosen)
        return np.asarray(np.where(is_better, guess, twice))

    def _likelihood(self, table: Array, chosen: NDArray[np.int64]) -> Array:
        """Mean log probability of a report, -inf where one that came cannot come."""
        seen, expected = self.shares[:, chosen], self._expected(table)
        with np.errstate(divide="ignore"):
            logs = np.log(expected, out=np.zeros_like(seen), where=seen > 0)
        return np.asarray(np.sum(seen * logs, axis=0))

    @cached_property
    def _matrix(self) -> Array | None:
        """The channel as a matrix where it is small."""
        cells = self.channel.cells
        return self.channel.worth(np.eye(cells)) if cells <= _SMALL else None

    def _expected(self, table: Array) -> Array:
        found = self._matrix
        return self.channel.expected(table) if found is None else np.asarray(found.T @ table)

    def _worth(self, ratio: Array) -> Array:
        found = self._matrix
        return self.channel.worth(ratio) if found is None else np.asarray(found @ ratio)
