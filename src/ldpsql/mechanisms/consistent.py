"""Public. Sees parameters. Consistent inference: least squares over all level combinations.

Every group tells something about every coarser level too. Generalised least squares combines all
groups into one estimate of every cell that agrees with itself (children add up to their parent),
and the answers to boxes are read off it. In the detail basis of the trees (`trees.detail`) the
information matrix is diagonal: class l has information

    I_l = sum over groups with levels >= l of  reports x codes per node / V,

V being the variance of a contrast in the group, and the answer to a query is a weighted sum of
*all* node frequencies. So the estimator of `levels_estimator` does the rest, and the covariance
of an answer is exact in the same sense as that of a direct one.

The sign of a measure is one more axis with two nodes: its sum is informed by every group, its
difference by the groups that collect that sign. Specification: h4mda, sections 10.1 and 10.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ldpsql.boxes import LinearQuery, Weight
from ldpsql.decoders.base import PlannedQuery
from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.mechanisms.cell_query import CellQuery, GroupCells, known_lines, split_known
from ldpsql.mechanisms.groups import Group, GroupTable
from ldpsql.mechanisms.information import InformationTable
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.levels_estimator import (
    Frequencies,
    LevelEstimator,
    ReportedFrequencies,
    UniformFrequencies,
)
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.report import Histogram
from ldpsql.trees.detail import AxisDetails, product_energies
from ldpsql.trees.hierarchy import Leaves
from ldpsql_device.errors import SurveyError
from ldpsql_device.schema import RecordDomain

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
class ConsistentDesign(LevelDesign):
    """A level design whose estimator is least squares over all groups."""

    def __post_init__(self) -> None:
        refuse_unfit(self.table, self.oracles)

    def prepare(self, query: LinearQuery) -> DetailQuery:  # type: ignore[override]
        """The details of every box that is not the whole."""
        return detailed(query, self.domain, self.table)

    def describe(self, planned: DetailQuery) -> list[str]:  # type: ignore[override]
        """For EXPLAIN: all groups take part."""
        return described(planned, self.table)

    def estimator(self, histogram: Histogram) -> ConsistentEstimator:  # type: ignore[override]
        """Collector. Weights by actual group sizes."""
        return self._on(ReportedFrequencies(oracles=self.oracles, histogram=histogram))

    def variance(self, queries: Sequence[DetailQuery], people: int) -> Array:  # type: ignore[override]
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        evenly = UniformFrequencies(people, self.shares * people, self.table)
        return np.diagonal(self._on(evenly).answer(queries).covariance).copy()

    def _on(self, frequencies: Frequencies) -> ConsistentEstimator:
        return ConsistentEstimator(self.table, LevelEstimator(self.oracles, frequencies))

    def to_json(self) -> Mapping[str, Any]:
        """As a level design, with its inference."""
        return {**super().to_json(), "inference": "consistent"}


def refuse_unfit(table: GroupTable, oracles: OracleTable) -> None:
    """SurveyError where there are no trees for least squares to go by, or too many hashed nodes to
    decode."""
    if any(isinstance(tree, Leaves) for tree in table.trees):
        raise SurveyError("consistent inference needs trees, and the design has none")
    for number, size in enumerate(oracles.sizes):
        if size > LARGEST_HASHED and oracles.kind(number) == "olh":
            raise SurveyError(
                f"consistent inference decodes every node, and a level combination has {size},"
                f' more than {LARGEST_HASHED} under OLH; use inference = "direct", coarser '
                "bins or fewer dimensions"
            )


def detailed(query: LinearQuery, domain: RecordDomain, table: GroupTable) -> DetailQuery:
    """The details of every box of a query that is not the whole."""
    known, boxes = split_known(query)
    level, contrast = 1.0, 0.0
    if query.measure is not None:
        low, high = domain.bounds[query.measure]
        level, contrast = (high + low) / 2.0, (high - low) / 2.0
    terms = tuple(
        (share, tuple(map(AxisDetails.of, table.trees, box.sides))) for share, box in boxes
    )
    return DetailQuery(known, terms, query.measure, level, contrast, query.weight)


def described(planned: DetailQuery, table: GroupTable) -> list[str]:
    """For EXPLAIN: all groups take part."""
    lines = known_lines(planned.known)
    if planned.terms:
        lines.append(f"least squares over all {len(table.groups)} groups")
    return lines


class Weighted(Protocol):
    """An estimator that answers from weighted node frequencies."""

    @property
    def oracles(self) -> OracleTable:
        """The oracle of every group."""
        ...

    @property
    def frequencies(self) -> Frequencies:
        """Where node frequencies come from."""
        ...

    def answer(self, queries: Sequence[CellQuery]) -> Estimates:
        """Values (k,) and covariance (k, k)."""
        ...


@dataclass(frozen=True)
class ConsistentEstimator:
    """Least squares on the node frequencies of all groups, which `direct` adds up."""

    table: GroupTable
    direct: Weighted

    def answer(self, queries: Sequence[DetailQuery]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf where no group informs a query."""
        return self.direct.answer([self._weighted(query) for query in queries])

    def answer_rows(self, rows: Sequence[Sequence[DetailQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def _weighted(self, query: DetailQuery) -> CellQuery:
        """The query as weights on the nodes of every group."""
        if not query.terms:
            return CellQuery(query.known, False, (), query.weight)
        mean = sum(share * float(np.prod([a.whole for a in axes])) for share, axes in query.terms)
        known = query.known + query.level * mean
        if not self._is_informed(query):
            return CellQuery(known, True, (), query.weight)
        cells = tuple(self._cells(query))
        return CellQuery(known, True, (cells,), query.weight)

    def _cells(self, query: DetailQuery) -> Iterator[GroupCells]:
        for number, group in enumerate(self.table.groups):
            factor = float(self._factors[number])
            if not factor:
                continue
            weights = query.level * self._spread(query.terms, group, self._level_inverse)
            if group.sign is not None:
                half = np.zeros_like(weights)
                if group.sign == query.measure:
                    inverse = self._contrast_inverse[group.sign]
                    half = query.contrast * self._spread(query.terms, group, inverse)
                weights = np.concatenate([weights - half, weights + half])
            yield GroupCells(number, self._nodes[number], factor * weights)

    def _spread(self, terms: Sequence[Term], group: Group, inverse: Array) -> Array:
        """sum over classes l of the details of the terms, each over I_l, at a group's nodes."""
        total = np.zeros(1)
        for share, axes in terms:
            part = inverse[tuple(slice(level + 1) for level in group.levels)]
            for axis, level in zip(axes, group.levels, strict=True):
                part = np.tensordot(part, axis.sums(level), axes=(0, 0))
            total = total + share * part.ravel()
        return total

    @cached_property
    def _nodes(self) -> list[Any]:
        return [np.arange(size) for size in self.table.sizes]

    @cached_property
    def _told(self) -> InformationTable:
        return InformationTable(self.table, self.direct.oracles)

    @cached_property
    def _reports(self) -> Array:
        """Reports per group, shape (groups,)."""
        return np.array([self.direct.frequencies.size(n) for n in range(len(self.table.groups))])

    @cached_property
    def _factors(self) -> Array:
        """Reports over contrast variance of each group, its two signs counted as one node."""
        return np.asarray(self._reports * self._told.precisions)

    @cached_property
    def _level_inverse(self) -> Array:
        """1 / I_l for what does not depend on a sign; 0 for the class of all roots, which is
        known, and where there is no information."""
        inverse = _inverse(self._told.total(self._reports, range(len(self._reports))))
        inverse[(0,) * inverse.ndim] = 0.0
        return inverse

    @cached_property
    def _contrast_inverse(self) -> Mapping[int, Array]:
        """For every measure whose sign is collected 1 / I_l of the difference of its two signs; 0
        without information."""
        members: dict[int, list[int]] = {}
        for number, group in enumerate(self.table.groups):
            if group.sign is not None:
                members.setdefault(group.sign, []).append(number)
        return {
            measure: _inverse(self._told.total(self._reports, own))
            for measure, own in members.items()
        }

    def _is_informed(self, query: DetailQuery) -> bool:
        """Whether every class in which the query has energy is told by some group."""
        for _, axes in query.terms:
            energies = product_energies([axis.energies for axis in axes])
            needed = np.asarray(energies > _NO_ENERGY)
            inverses = [self._level_inverse]
            if query.measure is not None:
                if query.measure not in self._contrast_inverse:
                    return False
                inverses.append(self._contrast_inverse[query.measure])
                if needed[(0,) * needed.ndim] and not inverses[1][(0,) * needed.ndim]:
                    return False
            needed[(0,) * needed.ndim] = False
            if any((needed & (inverse == 0.0)).any() for inverse in inverses):
                return False
        return True


def _inverse(information: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(information > 0.0, 1.0 / information, 0.0))
