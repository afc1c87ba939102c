"""Public. Sees parameters. The design shared by the mechanisms that collect marginals.

A *marginal* is a set of attributes whose combinations of codes are counted together. Each device
draws one of the survey's marginals, without looking at the record, and reports the own cell of it
through a frequency oracle. A question on some attributes is answered from every marginal that
holds them, independently, by inverse variance; questions whose attributes no marginal holds are
refused. Specification: shuffle, sections 3.1, 3.3, 3.4 and 3.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from ldpsql.boxes import Box, LinearQuery
from ldpsql.errors import SurveyError, UnsupportedSQL
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes
from ldpsql.mechanisms.calibrated import Atoms, CalibratedOracles, scaled
from ldpsql.mechanisms.cell_query import Alternative, CellQuery, GroupCells, split_known
from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.groups import GroupTable, evenly
from ldpsql.mechanisms.levels import LevelDesign
from ldpsql.mechanisms.levels_estimator import LevelEstimator, ReportedFrequencies
from ldpsql.mechanisms.oracle import First, Weights
from ldpsql.privacy import Epsilon
from ldpsql.privacy.shuffle import Atom, Blanket
from ldpsql.report import Histogram
from ldpsql.schema import RecordDomain
from ldpsql.trees.hierarchy import Tree
from ldpsql.workload import Workload

Axes = tuple[int, ...]


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

    def plan(self, query: LinearQuery) -> CellQuery:
        """The cells that answer a query, in every marginal that can; UnsupportedSQL if none."""
        known, boxes = split_known(normal(query, self.domain.sizes))
        if not boxes:
            return CellQuery(known, False, (), query.weight)
        return CellQuery(known, True, self.answering(boxes), query.weight)

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
            holding = self._holding(axes)
            if not holding:
                raise uncollected(self.domain, axes, self.name)
            parts.setdefault(holding[0], []).append(part)
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

    def estimator(self, histogram: Histogram) -> MarginalEstimator:
        """Collector. Unbiased, by the actual number of reports of each marginal."""
        return MarginalEstimator(
            self.oracles, ReportedFrequencies(oracles=self.oracles, histogram=histogram)
        )


@dataclass(frozen=True)
class MarginalDesign(CollectedMarginals):
    """Marginals with a frequency oracle in each.

    budgets: local epsilon of every group.  values: see `CalibratedOracles`.  visible: whether
    whoever sees the reports may know who reports on which marginal, as where each has a shuffler
    of its own.
    """

    budgets: tuple[Epsilon, ...] = ()
    values: int = 0
    visible: bool = False

    @cached_property
    def oracles(self) -> CalibratedOracles:
        """The oracle of every marginal."""
        return CalibratedOracles(
            self.oracle, self.epsilon, self.table.sizes, self.budgets, self.values
        )

    def blankets(self) -> tuple[Blanket, ...]:
        """Of two people who differ in all attributes; see `StatesBlankets`."""
        groups = range(len(self.table.groups))
        if self.visible:
            return tuple(dict.fromkeys(self.blanket_of(number) for number in groups))
        parts = (scaled(self.oracles.atoms(number), self._chance(number)) for number in groups)
        return (Blanket(merged(atom for part in parts for atom in part)),)

    def blanket_of(self, group: int) -> Blanket:
        """That of one marginal, where whoever looks knows who reports on it."""
        return Blanket(self.oracles.atoms(group), self._chance(group))

    def _chance(self, group: int) -> Fraction:
        return Fraction(self.table.groups[group].weight, SPACE)

    def to_json(self) -> Mapping[str, Any]:
        """What `restored` needs besides name, domain and epsilon."""
        return {
            **super().to_json(),
            "budgets": [str(budget) for budget in self.budgets],
            "values": self.values,
        }


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


def merged(atoms: Iterable[Atom]) -> Atoms:
    """Atoms of ratios that agree to 14 digits, added up; see `Blanket`."""
    found: dict[tuple[str, str], list[Fraction]] = {}
    for r, one, two in atoms:
        key = (f"{float(one / r):.13e}", f"{float(two / r):.13e}")
        total = found.setdefault(key, [Fraction(0)] * 3)
        total[:] = [total[0] + r, total[1] + one, total[2] + two]
    return tuple((r, one, two) for r, one, two in found.values())


def uncollected(domain: RecordDomain, axes: Axes, mechanism: str) -> UnsupportedSQL:
    """The error for a question whose attributes no marginal holds, and what would have to be."""
    asked = " and ".join(domain.names[axis] for axis in axes)
    return UnsupportedSQL(
        f"this survey does not collect {asked} together",
        hint=f"design it with mechanism {mechanism} and the option ways = {len(axes)}, or ways = 0 "
        f"and a [workload] whose queries ask about {asked}",
    )
