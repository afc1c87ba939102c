"""Runs at the collector. Sees reports. Answers from marginals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpsql.estimate import Estimates
from ldpsql.mechanisms.cell_query import CellQuery, GroupCells
from ldpsql.mechanisms.levels_estimator import LevelEstimator
from ldpsql.mechanisms.oracle import First, Weights
from ldpsql_device.errors import UnsupportedSQL


@dataclass(frozen=True, eq=False)
class Fit:
    """One box, times a coefficient, as what is known of it.

    attributes: how many the box constrains.  subsets: of these, by their place, those that were
    collected together.  queries: the people inside the box on the attributes of each subset.
    """

    coefficient: float
    attributes: int
    subsets: tuple[tuple[int, ...], ...]
    queries: tuple[CellQuery, ...]


@dataclass(frozen=True, eq=False)
class FittedQuery(CellQuery):
    """A query that no marginals answer, and what they tell of it.

    refusal: what to say where that is not wanted.
    """

    fits: tuple[Fit, ...]
    refusal: UnsupportedSQL


@dataclass(frozen=True)
class MarginalEstimator(LevelEstimator):
    """Answers from marginals, each weighed by its variance for records spread evenly."""

    def _leading(self, cells: GroupCells) -> float:
        size = self.frequencies.size(cells.group)
        if not size:
            return float(np.inf)
        nodes = self.oracles.sizes[cells.group]
        mean, square = cells.weights.sum() / nodes, float(np.sum(cells.weights**2))
        at = np.array([mean])
        sums = Weights(at * nodes, at * nodes, np.array([[square]]))
        support = self.oracles.support(cells.group)
        spread = support.covariance(sums, 1.0, First(at, at, at, at), sums.both / nodes)
        return float(spread[0, 0]) / size


@dataclass(frozen=True)
class UnbiasedEstimator(MarginalEstimator):
    """The same, of reports; UnsupportedSQL for what can only be fitted."""

    def answer(self, queries: Sequence[CellQuery]) -> Estimates:
        """See `Estimator.answer`."""
        for query in queries:
            if isinstance(query, FittedQuery):
                raise query.refusal
        return super().answer(queries)
