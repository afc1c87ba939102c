"""Answers from one table of people, nowhere negative.

Two tables: the nearest one to the unbiased estimates (Euclidean projection, which never increases
the squared error), and the likeliest one given the reports (by EM). Both are biased and agree with
themselves; replicates come from simulated reports of the table. Source: docs/spec/uldp.md#0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.estimate import Array
from ldpsql.algebra.numerics import project_on_simplex
from ldpsql.estimators.base import SmoothingEstimator
from ldpsql.estimators.linear import CellQuery, LinearEstimator, ReportedSource
from ldpsql.limits import in_time
from ldpsql.sensitive.decoder import BitChannel, ResponseChannel

REPLICATES = 20
LEAST_CHANGE, MOST_STEPS = 1e-9, 10_000
TYPICAL_CHANGE = 1e-5
"""Where EM stops for a replicate, which starts from the table that it was drawn from."""
_SEED, _NOBODY, _AT_LEAST = 20, 1e-6, 1e-3


@dataclass(eq=False)
class SmoothTable(SmoothingEstimator):
    """Answers from the table of all cells.

    make: the table and its replicates from the reports, shape (1 + REPLICATES, cells).
    """

    reported: ReportedSource
    unbiased: LinearEstimator
    make: Callable[[ReportedSource], Array]

    @property
    def people(self) -> float:
        """As `SmoothingEstimator` says, of tables of people."""
        return self.reported.people

    def count(self, queries: Sequence[CellQuery]) -> Array:
        """As `SmoothingEstimator` says, of tables of people."""
        values = np.empty((1 + REPLICATES, len(queries)))
        for number, query in enumerate(queries):
            values[:, number] = query.known * self.people
            for (cells,) in query.alternatives:
                values[:, number] += self._tables @ cells.weights
        return values

    @cached_property
    def _tables(self) -> Array:
        tables = self.make(self.reported)
        return np.where(tables < _NOBODY, 0.0, tables)


def find_nearest(channel: ResponseChannel | BitChannel, reported: ReportedSource) -> Array:
    """The nearest table of people, and those of simulated reports of it."""
    people = reported.people
    table = project_on_simplex(channel.totals(reported.rows(0), (None, None)), people)
    drawn = channel.simulate(table, np.random.default_rng(_SEED), REPLICATES)
    return np.concatenate([table[None], project_on_simplex(drawn, people)])


def find_likeliest(channel: ResponseChannel, reported: ReportedSource) -> Array:
    """The likeliest table of people, and those of simulated reports of it."""
    table = climb_likelihood(channel, channel.counts(reported.rows(0), (None, None))[:, None])
    simulated = channel.draw_counts(table[:, 0], np.random.default_rng(_SEED), REPLICATES)
    start = np.repeat(np.maximum(table, _NOBODY), REPLICATES, axis=1)
    drawn = climb_likelihood(channel, simulated, start=start, least_change=TYPICAL_CHANGE)
    return np.concatenate([table, drawn], axis=1).T


def climb_likelihood(
    channel: ResponseChannel,
    counts: Array,
    *,
    start: Array | None = None,
    least_change: float = LEAST_CHANGE,
) -> Array:
    """Tables of people that make counts of reports likeliest, by EM; both (cells, k).

    From positive tables, even ones unless others are given, until a step changes no table's shares
    by `least_change` together, or for 10,000 steps. Two steps at a time are extrapolated where that
    makes the reports likelier still.
    Source: Varadhan, Roland, Scandinavian Journal of Statistics 35 (2008), scheme S3.
    """

    def step(table: Array, seen: Array) -> Array:
        # g_i <- g_i sum_o C[i, o] h_o / (g C)_o, h the shares of reports; it never makes them less
        # likely and keeps the sum. Reports that nobody could send count as 0/0 = 0.
        expected = channel.apply(table, back=True)
        ratio = np.divide(seen, expected, out=np.zeros_like(seen), where=expected > 0)
        return table * channel.apply(ratio)

    def likelihood(table: Array, seen: Array) -> Array:
        # Mean log probability of a report, -inf where one that came cannot come.
        with np.errstate(divide="ignore"):
            logs = np.log(channel.apply(table, back=True), out=np.zeros_like(seen), where=seen > 0)
        return np.asarray(np.sum(seen * logs, axis=0))

    people = counts.sum(axis=0)
    table = np.ones_like(counts) if start is None else start
    table = table / table.sum(axis=0)
    left: NDArray[np.int64] = np.arange(counts.shape[1])
    for _ in in_time(range(MOST_STEPS // 3)):
        here, seen = table[:, left], counts[:, left] / people[left]
        once = step(here, seen)
        twice = step(once, seen)
        # Further along the way of the two steps, and one more; the second step where that is worse.
        # With r the first step and v the change from it to the second, the way is
        # here + 2 a r + a^2 v for a = |r| / |v| >= 1; a = 1 is the second step itself.
        first, bend = once - here, twice - 2.0 * once + here
        size = np.sqrt(np.sum(bend**2, axis=0))
        length = np.sqrt(np.sum(first**2, axis=0)) / np.where(size > 0.0, size, 1.0)
        reach = np.maximum(length, 1.0)
        guess = here + 2.0 * reach * first + reach**2 * bend
        guess = np.maximum(guess, _AT_LEAST * twice)  # a share of 0 would stay 0
        guess = step(guess / guess.sum(axis=0), seen)
        is_better = likelihood(guess, seen) >= likelihood(twice, seen)
        table[:, left] = np.where(is_better, guess, twice)
        left = left[np.abs(first).sum(axis=0) >= least_change]
        if not len(left):
            break
    return np.asarray(table * people)
