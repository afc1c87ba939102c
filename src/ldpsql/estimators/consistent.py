"""Consistent inference: least squares over all groups.

Generalised least squares combines all groups into one estimate of every cell that agrees with
itself (children add up to their parent), and the answers to boxes are read off it. In the detail
basis (`ldpsql.estimators.trees`) the information matrix is diagonal: class l has information

    I_l = sum over groups with levels >= l of  reports x codes per node / V,

V being the variance of a contrast in the group, and an answer is a weighted sum of *all* node
frequencies, so the linear estimator does the rest. The sign of a measure is one more axis with two
nodes: its sum is informed by every group, its difference by the groups that collect that sign.
Specification: docs/spec/h4mda.md#10.1, docs/spec/h4mda.md#10.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpsql.algebra.boxes import LinearQuery, Weight
from ldpsql.algebra.estimate import Estimates
from ldpsql.algebra.numerics import Array
from ldpsql.estimators.base import Estimator, PlannedQuery
from ldpsql.estimators.groups import GroupTable, InformationTable, LevelGroup
from ldpsql.estimators.linear import (
    CellQuery,
    GroupCells,
    LinearEstimator,
    Source,
    describe_known,
    split_known,
)
from ldpsql.estimators.nodes import GroupDesign
from ldpsql.estimators.trees import AxisDetails, product_energies
from ldpsql_device.errors import SurveyError

LARGEST_HASHED = 1 << 15
_NO_ENERGY = 1e-12

Term = tuple[float, tuple[AxisDetails, ...]]


@dataclass(frozen=True, eq=False)
class DetailQuery(PlannedQuery):
    """A linear query by the details of its sides.

    known: coefficient of the number of people (or total weight) known without asking.
    terms: (coefficient, details per dimension).  level and contrast: how the two signs of a
    measure enter, as level +- contrast; 1 and 0 for a count.
    """

    known: float
    terms: tuple[Term, ...]
    measure: int | None
    level: float
    contrast: float
    weight: Weight | None


@dataclass(frozen=True)
class ConsistentDesign(GroupDesign[DetailQuery]):
    """Groups of nodes whose estimator is least squares over all of them."""

    def __post_init__(self) -> None:
        if any(tree.size > 1 and not tree.fanouts for tree in self.table.trees):
            raise SurveyError("consistent inference needs trees, and the design has none")
        for size, answer in zip(self.table.sizes, self.answers, strict=True):
            if size > LARGEST_HASHED and answer.oracle.kind == "olh":
                raise SurveyError(
                    f"consistent inference decodes every node, and a level combination has {size},"
                    f' more than {LARGEST_HASHED} under OLH; use inference = "direct", coarser '
                    "bins or fewer dimensions"
                )

    def prepare(self, query: LinearQuery) -> DetailQuery:
        """The details of every box that is not the whole."""
        known, boxes = split_known(query)
        low, high = (1.0, 1.0) if query.measure is None else self.domain.bounds[query.measure]
        terms = tuple(
            (share, tuple(map(AxisDetails, self.table.trees, box.sides))) for share, box in boxes
        )
        level, contrast = (high + low) / 2.0, (high - low) / 2.0
        return DetailQuery(known, terms, query.measure, level, contrast, query.weight)

    def describe(self, planned: DetailQuery) -> list[str]:
        """All groups take part."""
        groups = len(self.table.groups)
        asked = [f"least squares over all {groups} groups"] if planned.terms else []
        return [*describe_known(planned.known), *asked]

    def solve(self, source: Source) -> Estimator[DetailQuery]:
        """With weights by the group sizes of the source."""
        return ConsistentEstimator(self.table, self.add_up(source))

    def to_json(self) -> Mapping[str, Any]:
        """As other groups, with the inference."""
        return {**super().to_json(), "inference": "consistent"}


@dataclass(frozen=True)
class ConsistentEstimator(Estimator[DetailQuery]):
    """Least squares on the node frequencies of all groups, which `direct` adds up."""

    table: GroupTable
    direct: LinearEstimator

    def answer_rows(self, rows: Sequence[Sequence[DetailQuery]]) -> list[Estimates]:
        """One joint answer per row; NaN and inf where no group informs a query."""
        return self.direct.answer_rows([[self._weigh_nodes(q) for q in row] for row in rows])

    def values(self, queries: Sequence[DetailQuery]) -> Array:
        """The values alone, from the nodes of all groups."""
        return self.direct.values([self._weigh_nodes(query) for query in queries])

    def influence(self, queries: Sequence[DetailQuery], slopes: Array) -> Array:
        """The extremes over the nodes of all groups."""
        return self.direct.influence([self._weigh_nodes(query) for query in queries], slopes)

    def _weigh_nodes(self, query: DetailQuery) -> CellQuery:
        """The query as weights on the nodes of every group."""
        if not query.terms:
            return CellQuery(query.known, False, (), query.weight)
        whole = sum(  # the class of all roots, which needs no reports
            share * math.prod(float(a.means[0][0]) for a in axes) for share, axes in query.terms
        )
        known = query.known + query.level * whole
        alternatives = (tuple(self._cells(query)),) if self._is_informed(query) else ()
        return CellQuery(known, True, alternatives, query.weight)

    def _cells(self, query: DetailQuery) -> Iterator[GroupCells]:
        for number, group in enumerate(self.table.groups):
            # Reports over contrast variance, the two signs counted as one node.
            factor = float(self._reports[number] * self._information.precisions[number])
            if not factor:
                continue
            weights = query.level * _spread(query.terms, group, self._level_inverse)
            if group.sign is not None:
                half = np.zeros_like(weights)
                if group.sign == query.measure:
                    inverse = self._contrast_inverse[group.sign]
                    half = query.contrast * _spread(query.terms, group, inverse)
                weights = np.concatenate([weights - half, weights + half])  # of both signs
            yield GroupCells(number, self._nodes[number], factor * weights)

    @cached_property
    def _nodes(self) -> list[np.ndarray]:
        """All nodes of every group: the same arrays for every query, which saves sorting them."""
        return [np.arange(size) for size in self.table.sizes]

    @cached_property
    def _information(self) -> InformationTable:
        return InformationTable(self.table, [a.moments for a in self.direct.source.answers])

    @cached_property
    def _reports(self) -> Array:
        """Reports per group, shape (groups,)."""
        return np.array([self.direct.source.size(n) for n in range(len(self.table.groups))])

    @cached_property
    def _level_inverse(self) -> Array:
        """1 / I_l for what does not depend on a sign; 0 for the class of all roots, which is
        known, and where there is no information."""
        inverse = self._invert(range(len(self._reports)))
        inverse[(0,) * inverse.ndim] = 0.0
        return inverse

    @cached_property
    def _contrast_inverse(self) -> Mapping[int, Array]:
        """For every measure whose sign is collected 1 / I_l of the difference of its two signs; 0
        without information."""
        groups = list(enumerate(self.table.groups))
        return {
            measure: self._invert(number for number, group in groups if group.sign == measure)
            for measure in self.table.signs
        }

    def _invert(self, members: Iterable[int]) -> Array:
        information = self._information.total(self._reports, members)  # I_l of every class l
        return np.divide(1.0, information, out=np.zeros_like(information), where=information > 0.0)

    def _is_informed(self, query: DetailQuery) -> bool:
        """Whether every class in which the query has energy is informed by some group."""
        inverses = [self._level_inverse]
        if query.measure is not None:
            if query.measure not in self._contrast_inverse:
                return False
            inverses.append(self._contrast_inverse[query.measure])
        for _, axes in query.terms:
            needed = product_energies([axis.energies for axis in axes]) > _NO_ENERGY
            root = (0,) * needed.ndim
            for number, inverse in enumerate(inverses):
                is_missing = np.asarray(needed & (inverse == 0.0))
                if not number:
                    is_missing[root] = False  # the mean of all codes is known, but of no contrast
                if is_missing.any():
                    return False
        return True


def _spread(terms: Sequence[Term], group: LevelGroup, inverse: Array) -> Array:
    """sum over classes l of the details of the terms, each over I_l, at a group's nodes."""
    total = np.zeros(1)
    for share, axes in terms:
        part = inverse[tuple(slice(level + 1) for level in group.levels)]
        for axis, level in zip(axes, group.levels, strict=True):
            # As tensordot over the first axis of both, in a third of its time for small arrays.
            joined = part.reshape(len(part), -1).T @ axis.sums[level]
            part = joined.reshape(*part.shape[1:], -1)
        total = total + share * part.ravel()
    return total
