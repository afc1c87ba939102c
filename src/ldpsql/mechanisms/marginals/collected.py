"""Public. Sees parameters. The design shared by the mechanisms that collect marginals.

A *marginal* is a set of attributes whose combinations of codes are counted together. Each device
draws one of the survey's marginals, without looking at the record, and reports the own cell of it
through a frequency oracle. A question on some attributes is answered from every marginal that
holds them, independently, by inverse variance; questions whose attributes no marginal holds are
refused. Specification: shuffle, sections 3.1, 3.3, 3.4 and 3.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from ldpsql.boxes import Box, LinearQuery, Weight
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Estimators
from ldpsql.mechanisms.cell_query import Alternative, CellQuery, GroupCells, split_known
from ldpsql.mechanisms.groups import GroupTable, evenly
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.levels_estimator import ReportedFrequencies, UniformFrequencies
from ldpsql.mechanisms.marginals.estimator import (
    Fit,
    FittedQuery,
    MarginalEstimator,
    UnbiasedEstimator,
)
from ldpsql.mechanisms.marginals.maxent import BIAS, MaxEntEstimator
from ldpsql.report import Histogram
from ldpsql.trees.hierarchy import Tree
from ldpsql.workload import Workload
from ldpsql_device.errors import SurveyError, UnsupportedSQL
from ldpsql_device.schema import RecordDomain

Axes = tuple[int, ...]
LARGEST_FIT = 10
"""Attributes of a conjunction that is fitted."""


def marginals_of(domain: RecordDomain, ways: int, workload: Workload | None) -> tuple[Axes, ...]:
    """The sets of attributes to collect: all of `ways` attributes, or the workload's for 0.

    Attributes of one code tell nothing and are left out, unless there are no others.
    SurveyError where there are fewer attributes than ways.
    """
    asked = [axis for axis, size in enumerate(domain.sizes) if size > 1]
    if not asked:
        return ((),)
    if ways < 0 or ways > len(asked):
        raise SurveyError(
            f"ways must lie between 1 and the number of attributes, {len(asked)}, or be 0 for the "
            f"workload's, not {ways}"
        )
    if ways:
        return tuple(combinations(asked, ways))
    wanted = (workload or Workload.everyday(domain)).supports
    found = {tuple(axis for axis in support if axis in asked) for support in wanted} - {()}
    if not found:
        return tuple((axis,) for axis in asked)
    return tuple(sorted(s for s in found if not any(set(s) < set(other) for other in found)))


def table_of(domain: RecordDomain, marginals: Sequence[Axes]) -> GroupTable:
    """A group for every marginal, all equally likely: a tree has a root and its codes."""
    trees = tuple(Tree(size, (size,) if size > 1 else ()) for size in domain.sizes)
    chosen = [tuple(int(axis in axes) for axis in range(len(trees))) for axes in marginals]
    return GroupTable(trees, evenly((levels, None, 0) for levels in chosen))


@dataclass(frozen=True)
class CollectedMarginals(LevelDesign):
    """Questions broken into cells of marginals; how these are reported is left open."""

    def __post_init__(self) -> None:
        if any(
            tree.widths != ((tree.size, 1) if tree.size > 1 else (1,)) for tree in self.table.trees
        ):
            raise SurveyError("a marginal holds whole attributes")

    @cached_property
    def marginals(self) -> tuple[Axes, ...]:
        """The attributes of every group."""
        return tuple(
            tuple(axis for axis, level in enumerate(group.levels) if level)
            for group in self.table.groups
        )

    @cached_property
    def fits(self) -> bool:
        """Whether conjunctions that were not collected can be fitted to those that were."""
        return any(len(marginal) > 1 for marginal in self.marginals)

    def holds(self, axes: Axes) -> bool:
        """Whether a question on these attributes together can be answered."""
        return bool(self._holding(axes))

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The cells that answer a query, in every marginal that can.

        UnsupportedSQL for attributes that no marginal holds together; where there are marginals of
        several attributes, only once the unbiased estimator is asked.
        """
        known, boxes = split_known(normal(query, self.domain.sizes))
        if not boxes:
            return CellQuery(known, False, (), query.weight)
        missing = [axes for axes in (axes_of(box) for _, box in boxes) if not self.holds(axes)]
        if not missing:
            return self.direct(known, boxes, query.weight)
        refusal = uncollected(self.domain, missing[0], self.name)
        alone = all(self.holds((axis,)) for axes in missing for axis in axes)
        crowded = max(map(len, missing)) > LARGEST_FIT
        if query.weight is not None or not self.fits or not alone or crowded:
            raise refusal
        fits = tuple(self._fit(share, box) for share, box in boxes)
        return FittedQuery(known, True, (), None, fits, refusal)

    def direct(
        self, known: float, boxes: Sequence[tuple[float, Box]], weight: Weight | None
    ) -> CellQuery:
        """The cells of boxes whose attributes were collected together."""
        return CellQuery(known, True, self.answering(boxes), weight)

    def _fit(self, share: float, box: Box) -> Fit:
        """What the marginals tell of a box: all of it, or its parts on fewer attributes."""
        axes = axes_of(box)
        places = range(len(axes))
        subsets = [tuple(places)]
        if not self.holds(axes):
            every = (part for size in places for part in combinations(places, size) if part)
            subsets = [part for part in every if self.holds(tuple(axes[i] for i in part))]
        queries = []
        for part in subsets:
            kept = {axes[i] for i in part}
            sides = (side if axis in kept else None for axis, side in enumerate(box.sides))
            queries.append(self.direct(0.0, [(1.0, Box(tuple(sides)))], None))
        return Fit(share, len(axes), tuple(subsets), tuple(queries))

    def answering(self, boxes: Sequence[tuple[float, Box]]) -> tuple[Alternative, ...]:
        """Independent ways to answer the boxes; where none holds them all, one that takes the
        first marginal that holds each."""
        constrained = [axes_of(box) for _, box in boxes]
        union = tuple(sorted(set().union(*constrained)))
        together = self._holding(union)
        if together:
            return tuple(self._cells([(group, boxes)]) for group in together)
        parts: dict[int, list[tuple[float, Box]]] = {}
        for part, axes in zip(boxes, constrained, strict=True):
            parts.setdefault(self._holding(axes)[0], []).append(part)
        return (self._cells(sorted(parts.items())),)

    def _holding(self, axes: Axes) -> list[int]:
        """The marginals that hold the attributes."""
        return [n for n, marginal in enumerate(self.marginals) if set(axes) <= set(marginal)]

    def _cells(self, parts: Sequence[tuple[int, Sequence[tuple[float, Box]]]]) -> Alternative:
        """The cells of boxes in the marginals that answer them."""
        found = []
        for group, boxes in parts:
            covers = [cells_in(box, self.marginals[group], self.domain.sizes) for _, box in boxes]
            weights = [
                np.full(len(cells), share) for (share, _), cells in zip(boxes, covers, strict=True)
            ]
            found.append(self.group_cells(group, np.concatenate(covers), np.concatenate(weights)))
        return tuple(found)

    def group_cells(self, marginal: int, cells: Codes, weights: Array) -> GroupCells:
        """Weighted cells of a marginal as weighted nodes of a group of reports."""
        return GroupCells(marginal, cells, weights)

    def describe_group(self, number: int) -> str:
        """A marginal in words."""
        names = " x ".join(self.domain.names[axis] for axis in self.marginals[number])
        return f"marginal of {names or 'nothing'} ({self._nodes_of(number)})"

    def describe(self, planned: CellQuery) -> list[str]:
        """See `Design.describe`; what can only be fitted says so."""
        if isinstance(planned, FittedQuery):
            return [f"{planned.refusal.reason}: estimator maxent fits it to what was collected"]
        return super().describe(planned)

    def _reported(self, histogram: Histogram) -> ReportedFrequencies:
        return ReportedFrequencies(oracles=self.oracles, histogram=histogram)

    def estimator(self, histogram: Histogram) -> UnbiasedEstimator:
        """Collector. Unbiased, by the actual number of reports of each marginal."""
        return UnbiasedEstimator(self.oracles, self._reported(histogram))

    def fitted(self, histogram: Histogram) -> MaxEntEstimator:
        """Collector. Biased: conjunctions of any attributes."""
        return MaxEntEstimator(MarginalEstimator(self.oracles, self._reported(histogram)))

    @property
    def estimators(self) -> Estimators:
        """The unbiased one, and `maxent` where marginals hold several attributes."""
        unbiased = {"unbiased": self.estimator}
        return {**unbiased, "maxent": self.fitted} if self.fits else unbiased

    @property
    def biases(self) -> Mapping[str, str]:
        """See `Design`."""
        return {"maxent": BIAS} if self.fits else {}

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,); infinite for
        what was not collected."""
        evenly = MarginalEstimator(self.oracles, self._evenly(people))
        return np.diagonal(evenly.answer(queries).covariance).copy()

    def _evenly(self, people: int) -> UniformFrequencies:
        return UniformFrequencies(people, self.shares * people, self.table)


def normal(query: LinearQuery, sizes: Sequence[int]) -> LinearQuery:
    """The same query with every full side left free."""
    return replace(query, terms=tuple((share, box.normal(sizes)) for share, box in query.terms))


def axes_of(box: Box) -> Axes:
    """The attributes that a box constrains."""
    return tuple(axis for axis, side in enumerate(box.sides) if side is not None)


def cells_in(box: Box, axes: Axes, sizes: Sequence[int]) -> Codes:
    """The cells of a marginal that lie in a box, flattened row-major, shape (c,)."""
    cells = np.zeros(1, dtype=np.int64)
    for axis in axes:
        side = box.sides[axis]
        runs = ((0, sizes[axis]),) if side is None else side
        codes = np.concatenate([np.arange(low, high, dtype=np.int64) for low, high in runs])
        cells = (cells[:, None] * sizes[axis] + codes).ravel()
    return cells


def uncollected(domain: RecordDomain, axes: Axes, mechanism: str) -> UnsupportedSQL:
    """The error for a question whose attributes no marginal holds, and what would have to be."""
    asked = " and ".join(domain.names[axis] for axis in axes)
    together, fewer = "", ""
    if len(axes) > 1:
        together = " together"
        fewer = "; where fewer at once will do, say so by max_predicates under [workload]"
    return UnsupportedSQL(
        f"this survey does not collect {asked}{together}",
        hint=f"design it with mechanism {mechanism} and the option ways = {len(axes)}, or ways = 0 "
        f"and a [workload] whose queries ask about {asked}{fewer}",
    )
