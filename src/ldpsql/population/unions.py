"""Several surveys asked as one table.

Their people are different people, so sums over those who answered add up. As samples of one
population each of them answers for all of it; then the answers are averaged, by inverse variance.
The weights are those of predicted variances, which no answer enters: weights that looked at answers
would prefer low ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import add

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.estimate import Array, Estimates
from ldpsql.algebra.numerics import weigh_by_precision
from ldpsql.engine.sample import Sample, SumSource, sort_keys, whole_where_exact
from ldpsql.planner.plan import Key, QueryPlan
from ldpsql_device.errors import InternalError

_PREDICTED = 256


@dataclass(frozen=True, eq=False)
class Union(SumSource):
    """Sums of several sources, each times a weight.

    sources: with the same private rows and targets.  weights: shape (sources, targets); 1 adds up.
    """

    plan: QueryPlan
    keys: tuple[Key, ...]
    sources: tuple[SumSource, ...]
    weights: Array

    @classmethod
    def add(cls, sources: Sequence[SumSource]) -> Union:
        """Everybody who answered, of all surveys."""
        first = sources[0].plan
        rows = [[values for values, _ in source.plan.private_rows] for source in sources]
        if any(own != rows[0] for own in rows):
            raise InternalError("surveys of one table have different rows")
        keys = sort_keys(chain.from_iterable(source.keys for source in sources))
        return cls(first, keys, tuple(sources), np.ones((len(sources), len(first.targets))))

    @classmethod
    def combine(cls, sources: Sequence[SumSource], people: Sequence[int]) -> Union:
        """One population, of which every survey is a sample. people: who answered each."""
        union = cls.add(sources)
        weights = np.empty_like(union.weights)
        for target in range(weights.shape[1]):
            variances = [
                _predict(source.plan, target, own)
                for source, own in zip(sources, people, strict=True)
            ]
            shares = weigh_by_precision(np.array(variances))
            weights[:, target] = 1.0 / len(sources) if shares is None else shares
        return cls(union.plan, union.keys, union.sources, weights)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The people of every survey."""
        return tuple(chain.from_iterable(source.samples for source in self.sources))

    def rows(self, key: Key) -> list[Estimates]:
        """Those of the sources, weighted."""
        parts = (
            [row.map(np.diag(own)) for row in source.rows(key)]
            for source, own in zip(self.sources, self.weights, strict=True)
        )
        return [_exact(reduce(add, row)) for row in zip(*parts, strict=True)]

    def hide_biases(self, key: Key) -> NDArray[np.bool_]:
        """Of any source."""
        return np.asarray(np.any([each.hide_biases(key) for each in self.sources], axis=0))

    def joint(self, rows: Sequence[tuple[Key, int]]) -> Estimates:
        """Different surveys are different people, hence independent."""
        parts = (
            source.joint(rows).map(np.diag(np.tile(own, len(rows))))
            for source, own in zip(self.sources, self.weights, strict=True)
        )
        return _exact(reduce(add, parts))


def _exact(found: Estimates) -> Estimates:
    return replace(found, values=whole_where_exact(found.values, found.covariance))


def _predict(plan: QueryPlan, target: int, people: int) -> float:
    """Predicted variance of a sum per person who answered, added over the rows of a plan; infinite
    where nobody did."""
    if not people:
        return float(np.inf)
    asked = [row[target] for piece in plan.planned for row in piece[:_PREDICTED]]
    return float(plan.survey.design.variance(asked, people).sum()) / people**2
