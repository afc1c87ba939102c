"""Runs at the collector. Sees reports. From a plan to the sums that its reports estimate.

For each combination of public GROUP BY keys, every slice of the plan has its own histogram and
estimator; the slices are disjoint sets of people, so their estimates add. Rows are answered in
chunks: one call gives the values and the joint covariance of all sums of a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np

from ldpsql.engine.arithmetic import Sums
from ldpsql.engine.plan import Plan, Slice
from ldpsql.estimate import Estimates
from ldpsql.mechanisms.base import Estimator
from ldpsql.store.base import Moment, Selection
from ldpsql_device.types import Value

Key = tuple[Value | None, ...]
EstimatorsOf = Callable[[Selection], Mapping[Key, Estimator]]


def selection(plan: Plan, piece: Slice) -> Selection:
    """The reports of one slice, with the public sums that the plan's targets need."""
    weights = list(dict.fromkeys(t.weight for t in plan.targets if t.weight is not None))
    moments: list[Moment] = [(weight, None) for weight in weights]
    moments += [(left, right) for i, left in enumerate(weights) for right in weights[i:]]
    return Selection(piece.condition, plan.public_keys, tuple(moments))


@dataclass(frozen=True)
class Answers:
    """Everything that the reports say about a plan: one block of private rows per public key.

    values: (R, T).  covariance: (R, T, T).  R = public keys x private rows, public keys outermost.
    """

    plan: Plan
    public: tuple[Key, ...]
    estimators: tuple[Mapping[Key, Estimator], ...]

    @classmethod
    def of(cls, plan: Plan, estimators_of: EstimatorsOf) -> Answers:
        """Fetch what the plan's slices need."""
        found = tuple(estimators_of(selection(plan, piece)) for piece in plan.slices)
        keys: dict[Key, None] = {}
        for estimators in found:
            keys.update(dict.fromkeys(estimators))
        ordered = sorted(keys, key=_null_last) if plan.public_keys else [()]
        return cls(plan, tuple(ordered), found)

    @cached_property
    def sums(self) -> Sums:
        """All sums of all rows, with the covariance within each row."""
        targets = len(self.plan.targets)
        found = [row for key in self.public for row in self._rows(key)]
        drawn = [row.replicates for row in found if row.replicates is not None]
        is_complete = bool(found) and len(drawn) == len(found)
        return Sums(
            np.array([row.values for row in found]).reshape(len(found), targets),
            np.array([row.covariance for row in found]).reshape(len(found), targets, targets),
            np.stack(drawn, axis=1) if is_complete else None,
        )

    def _rows(self, key: Key) -> list[Estimates]:
        """The sums of all private rows under one public key."""
        parts = [
            estimators[key].answer_rows(planned)
            for planned, estimators in zip(self.plan.planned, self.estimators, strict=True)
            if key in estimators
        ]
        nothing = Estimates.exact([0.0] * len(self.plan.targets))
        rows = zip(*parts, strict=True) if parts else (() for _ in self.plan.private_rows)
        return [reduce(add, row) if row else nothing for row in rows]

    def joint(self, key: Key, rows: Sequence[int]) -> Estimates:
        """The sums of some private rows under one public key, row by row, with covariance."""
        parts = []
        for planned, estimators in zip(self.plan.planned, self.estimators, strict=True):
            if key in estimators:
                queries = [query for row in rows for query in planned[row]]
                parts.append(estimators[key].answer(queries))
        nothing = Estimates.exact([0.0] * (len(rows) * len(self.plan.targets)))
        return reduce(add, parts) if parts else nothing


def _null_last(key: Key) -> tuple[Any, ...]:
    return tuple((part is None, part) for part in key)
