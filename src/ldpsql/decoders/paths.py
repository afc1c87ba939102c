"""LGRR and LGRR-FD at the collector (NOT PRIVATE): estimates from nodes picked on a path.

A *path* is the own node in every level combination of a sub-survey, L nodes; the *forest* all
nodes of these level combinations, Gamma in all. A report names a node that is uniform on the
sender's path, whatever epsilon, and `fakes` nodes uniform over the forest, without order. With c
the number of times that a node is named among n reports,

    unbiased   f = L (c - n fakes / Gamma) / n
    published  f = L (c - n q / K - n fakes / Gamma) / (n (p - q)),   p, q = e, 1 over e + L - 1,

K being the number of nodes of the node's level combination. The expectation of the published one
is f + L (f - 1/K) / (e - 1). Specification: docs/spec/h4mda.md#8, docs/spec/h4mda.md#9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpsql.boxes import LinearQuery, Weight
from ldpsql.decoders.base import Design, Estimators
from ldpsql.decoders.groups import GroupTable
from ldpsql.decoders.law import Outcome
from ldpsql.decoders.linear import (
    CellQuery,
    Codes,
    EvenSource,
    GroupCells,
    LinearEstimator,
    Moments,
    ReportedSource,
    Source,
    describe_known,
    split_known,
)
from ldpsql.decoders.nodes import list_nodes, query_of
from ldpsql.numerics import Array
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram, Pair, question_shares
from ldpsql.trees.cells import Cells, cells_of
from ldpsql.trees.hierarchy import Hierarchy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee
from ldpsql_device.plan import Plan


@dataclass(frozen=True)
class Forest:
    """All nodes of one sub-survey, its level combinations one after the other.

    groups: the level combinations, one node of each lies on a path.  sizes: their nodes.
    fakes: fake nodes per report.  odds: e^epsilon.
    """

    groups: tuple[int, ...]
    sizes: tuple[int, ...]
    fakes: int
    odds: float

    @property
    def nodes(self) -> int:
        """Gamma."""
        return sum(self.sizes)

    @property
    def length(self) -> int:
        """L, the nodes of a path."""
        return len(self.groups)

    @cached_property
    def starts(self) -> Codes:
        """First node of each level combination, shape (L,)."""
        return np.cumsum([0, *self.sizes[:-1]]).astype(np.int64)

    @cached_property
    def even(self) -> Array:
        """1 / K of every node, shape (Gamma,)."""
        return np.repeat(1.0 / np.array(self.sizes), self.sizes)


def forests_of(table: GroupTable, fakes: int, epsilon: Epsilon) -> tuple[Forest, ...]:
    """The forest of every sub-survey."""
    return tuple(
        Forest(members, tuple(table.sizes[n] for n in members), fakes, float(epsilon.odds))
        for members in table.members.values()
    )


class _ForestMoments(Source):
    """What reported and predicted forests have in common; a group is a sub-survey."""

    forests: Sequence[Forest]

    def moments(self, group: int) -> Moments:
        """E[Y Y'] = L (sum of w w' over the path) + L^2 fakes (mean of w w' - means of w, w')."""
        forest = self.forests[group]
        fake = forest.length**2 * forest.fakes / forest.nodes
        return Moments(same=fake, every=-fake / forest.nodes, own=forest.length)

    def own_nodes(self, group: int) -> int:
        """The nodes of a path."""
        return self.forests[group].length

    def spread(self, cells: GroupCells) -> float:
        """Predicted for people spread evenly over the nodes of each level combination."""
        forest, size = self.forests[cells.group], self.size(cells.group)
        if not size:
            return float(np.inf)
        true = float(np.sum(cells.weights**2 * forest.even[cells.nodes])) * forest.length
        fake = self.moments(cells.group).same * float(np.sum(cells.weights**2))
        return (true + fake) / size


@dataclass(kw_only=True)
class ReportedForest(_ForestMoments, ReportedSource):
    """From a histogram, sub-survey by sub-survey."""

    forests: Sequence[Forest]

    def node_count(self, group: int) -> int:
        """Gamma."""
        return self.forests[group].nodes

    def estimate(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """L times the share of reports that name a node, less that of fakes."""
        forest, rows = self.forests[group], self.rows(group)
        amounts, named = rows.moment(*pair), np.zeros(forest.nodes)
        for column in rows.columns:
            named += np.bincount(column, amounts, minlength=forest.nodes)
        fakes = forest.fakes / forest.nodes * self.mean(group, pair)
        return np.asarray(forest.length * (named / self.size(group) - fakes)[nodes])


@dataclass(frozen=True)
class EvenForest(_ForestMoments, EvenSource):
    """Everybody spread evenly over all records and sub-surveys."""

    forests: Sequence[Forest]
    table: GroupTable

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """The part of all records at each node."""
        forest = self.forests[group]
        parts = [
            self.table.spread_evenly(number, np.arange(size))
            for number, size in zip(forest.groups, forest.sizes, strict=True)
        ]
        return np.asarray(np.concatenate(parts)[nodes])


@dataclass(frozen=True)
class PublishedEstimator(LinearEstimator):
    """As published: corrected for a randomization that the reports do not show."""

    forests: Sequence[Forest]

    def _group(
        self,
        group: int,
        nodes: Codes,
        weights: Array,
        kinds: Sequence[Weight | None],
        owners: Codes,
    ) -> tuple[Array, Array]:
        """(f - L even / (e + L - 1)) / (p - q) for the unbiased frequencies f."""
        means, covariance = super()._group(group, nodes, weights, kinds, owners)
        forest = self.forests[group]
        total = forest.odds + forest.length - 1.0
        scale = (forest.odds - 1.0) / total
        baseline = weights @ (forest.length / total * forest.even[nodes])
        levels = np.array([self.source.mean(group, (kind, None)) for kind in kinds])
        return (means - baseline * levels) / scale, covariance / scale**2


@dataclass(frozen=True)
class Witness:
    """Two records and a report that the first can send and the second never."""

    sender: Outcome
    other: Outcome
    report: Outcome


@dataclass(frozen=True)
class LgrrDesign(Design[CellQuery]):
    """A node of the own path, and some fake ones, per report.

    fakes: nodes drawn from the whole forest.  virtual_leaves: leaves are answered from their
    parents. Groups of one sub-survey are the nodes of one path; their weights are not used.
    """

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    plan: Plan
    table: GroupTable
    fakes: int
    virtual_leaves: bool

    @cached_property
    def forests(self) -> tuple[Forest, ...]:
        """The nodes of every sub-survey, each a question."""
        return forests_of(self.table, self.fakes, self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """None, with a witness in words."""
        return Guarantee(
            "none",
            None,
            "nothing: every report contains a node that holds the person's record",
            ("every private attribute of the record", "public columns travel in clear"),
            witness=self._describe_witness(),
        )

    @cached_property
    def witness(self) -> Witness | None:
        """From the first and the last record; None where both have the same path."""
        first = tuple(0 for _ in self.plan.sizes)
        last = tuple(size - 1 for size in self.plan.sizes)
        for question, forest in enumerate(self.forests):
            own, others = self._path(first, forest), self._path(last, forest)
            apart = [node for node in own if node not in others]
            if apart:
                return Witness(first, last, (question, *([apart[-1]] * (self.fakes + 1))))
        return None

    def _path(self, record: Outcome, forest: Forest) -> list[int]:
        """The forest's nodes that hold a record, one per level combination."""
        codes = np.array([record], dtype=np.int64)
        nodes = [int(self.table.node(group, codes)[0]) for group in forest.groups]
        return [start + node for start, node in zip(forest.starts.tolist(), nodes, strict=True)]

    def _describe_witness(self) -> str:
        witness = self.witness
        if witness is None:
            return ""
        signs = (f"sign of {measure}" for measure in self.domain.measure_names)
        names = ", ".join((*self.domain.names, *signs))
        columns = zip(self.report_format.columns, witness.report, strict=True)
        report = ", ".join(f"{name} = {value}" for name, value in columns)
        return (
            f"a person with ({names}) = {witness.sender} can send the report {report}; a person "
            f"with {witness.other} never does"
        )

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The nodes of the forests that answer a query, in every sub-survey that can."""
        known, boxes = split_known(query)
        pieces = [
            (np.full(len(cells.nodes), share), cells)
            for share, box in boxes
            for cells in cells_of(box, self.table.trees)
        ]
        if self.virtual_leaves:
            pieces = [answer_leaves_from_parents(*piece, self.table.trees) for piece in pieces]
        planned = query_of(known, pieces, query, self.table, self.domain)
        alternatives = tuple(
            (self._in_forest(alternative),) for alternative in planned.alternatives
        )
        return CellQuery(planned.known, planned.is_asked, alternatives, planned.weight)

    def _in_forest(self, alternative: Sequence[GroupCells]) -> GroupCells:
        """Nodes of level combinations as distinct nodes of their forest."""
        question = next(
            n for n, forest in enumerate(self.forests) if alternative[0].group in forest.groups
        )
        forest = self.forests[question]
        named = [forest.starts[forest.groups.index(c.group)] + c.nodes for c in alternative]
        nodes, place = np.unique(np.concatenate(named), return_inverse=True)
        weights = np.bincount(place, np.concatenate([c.weights for c in alternative]))
        return GroupCells(question, nodes, weights.astype(np.float64))

    def describe(self, planned: CellQuery) -> list[str]:
        """The nodes of each level combination used."""
        lines = describe_known(planned.known)
        for (cells,) in planned.alternatives:
            forest = self.forests[cells.group]
            owner = np.searchsorted(forest.starts, cells.nodes, side="right") - 1
            for place in np.unique(owner).tolist():
                own = cells.nodes[owner == place] - forest.starts[place]
                lines.append(f"{self._describe_group(forest.groups[place])}: {list_nodes(own)}")
        if self.virtual_leaves and planned.is_asked:
            lines.append("leaves answered from parents, by their share of codes")
        return lines

    def _describe_group(self, number: int) -> str:
        group = self.table.groups[number]
        pairs = zip(self.domain.names, group.levels, strict=True)
        levels = ", ".join(f"{name} level {level}" for name, level in pairs)
        sign = "" if group.sign is None else f", sign of {self.domain.measure_names[group.sign]}"
        return f"group {number} ({levels}{sign}; {self.table.sizes[number]} nodes)"

    def _reported(self, histogram: Histogram) -> ReportedForest:
        return ReportedForest(histogram=histogram, forests=self.forests)

    @property
    def estimators(self) -> Estimators[CellQuery]:
        """By actual sizes, unbiased but for virtual leaves; and the published one, which is right
        only where people are spread evenly over all nodes."""
        return {
            "by_share" if self.virtual_leaves else "unbiased": (
                lambda histogram: LinearEstimator(self._reported(histogram))
            ),
            "published": (
                lambda histogram: PublishedEstimator(self._reported(histogram), self.forests)
            ),
        }

    @property
    def biases(self) -> Mapping[str, str]:
        """Of virtual leaves and of the published estimator."""
        biases = {"published": "it corrects for a randomization that the reports do not have"}
        if self.virtual_leaves:
            biases["by_share"] = "leaves are answered as even shares of their parents"
        return biases

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        evenly = EvenForest(people, question_shares(self.plan) * people, self.forests, self.table)
        return np.diagonal(LinearEstimator(evenly).answer(queries).covariance).copy()

    def to_json(self) -> Mapping[str, Any]:
        """What `Recipe.restore` needs besides domain and epsilon."""
        return {
            **self.table.to_json(),
            "fakes": self.fakes,
            "virtual_leaves": self.virtual_leaves,
        }


def answer_leaves_from_parents(
    weights: Array, cells: Cells, trees: Sequence[Hierarchy]
) -> tuple[Array, Cells]:
    """Cells with every leaf replaced by its parent, at one over the parent's number of leaves."""
    counts = [tree.counts[j] for tree, j in zip(trees, cells.levels, strict=True)]
    axes = list(np.unravel_index(cells.nodes, counts)) if counts else []
    levels = list(cells.levels)
    for axis, tree in enumerate(trees):
        leaf = len(tree.counts) - 1
        if not leaf or levels[axis] != leaf:
            continue
        width = tree.widths[leaf - 1]
        axes[axis] = axes[axis] // width
        held = np.minimum((axes[axis] + 1) * width, tree.size) - axes[axis] * width
        weights, levels[axis] = weights / held, leaf - 1
    counts = [tree.counts[j] for tree, j in zip(trees, levels, strict=True)]
    nodes = np.ravel_multi_index(axes, counts) if counts else cells.nodes
    return weights, Cells(tuple(levels), np.asarray(nodes, dtype=np.int64))
