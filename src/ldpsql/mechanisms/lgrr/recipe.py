"""LGRR and LGRR-FD exactly as published (NOT PRIVATE): nodes picked on a path, and fakes.

A *path* is the own node in every level combination of a sub-survey, L nodes; the *forest* all
nodes of these level combinations, Gamma in all. A person picks one node uniformly on the own path,
replaces it by randomized response *among the nodes of the same path*, and adds `fakes` nodes drawn
uniformly from the forest, without order. So what is sent is uniform on the path whatever epsilon,
and every report contains a true ancestor of the record: nothing is promised. LGRR has no fakes,
leaves out the leaf level of every tree, and answers a leaf as its share of the parent ("virtual
leaves"). They are here to be compared with; a survey with them must say `accept_no_guarantee =
true`. The repair is a row of `recipes.hierarchical`.

With c the number of times that a node is named among n reports, K the nodes of its combination,

    unbiased   f = L (c - n fakes / Gamma) / n
    published  f = L (c - n q / K - n fakes / Gamma) / (n (p - q)),   p, q = e, 1 over e + L - 1,

and the expectation of the published one is f + L (f - 1/K) / (e - 1). Source: H4MDA (Sci. Sin.
Inform. 53, 2023), Algorithms 3 and 4; docs/spec/h4mda.md#8, docs/spec/h4mda.md#9,
docs/spec/h4mda.md#11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.algebra.numerics import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import AnyDesign, Bias, Codes, Estimators
from ldpsql.estimators.groups import GroupTable, weigh_evenly, whole
from ldpsql.estimators.linear import (
    CellQuery,
    GroupAnswer,
    GroupCells,
    GroupPart,
    LinearEstimator,
    Moments,
    ReportedSource,
    describe_known,
    list_nodes,
)
from ldpsql.estimators.linear_design import LinearDesign
from ldpsql.estimators.nodes import Piece, cover_query
from ldpsql.estimators.trees import Tree, balance
from ldpsql.mechanisms.base import AnyOptions, Recipe, Task
from ldpsql.mechanisms.hierarchical.recipe import TreeOptions, list_signed_combinations, trees_for
from ldpsql.mechanisms.oracles import odds_words
from ldpsql.reports.channel import Outcome
from ldpsql.reports.report import Pair, Rows
from ldpsql.wording.guarantees import PUBLIC_IN_CLEAR, StatedGuarantee
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import Face, Keep, Part, Plan, Step

LARGEST_FAKES, LARGEST_FOREST = 8, 1 << 24


@dataclass(frozen=True)
class Forest(GroupAnswer):
    """All nodes of one sub-survey, its level combinations one after the other.

    nodes, path: Gamma and L.  groups: the level combinations, one node of each lies on a path.
    sizes: their nodes.  fakes: fake nodes per report.  odds: e^epsilon.
    """

    groups: tuple[int, ...]
    sizes: tuple[int, ...]
    fakes: int
    odds: float

    @classmethod
    def of(
        cls, question: int, groups: Sequence[int], sizes: Sequence[int], fakes: int, odds: float
    ) -> Forest:
        """E[Y Y'] = L (sum of w w' over the path) + L^2 fakes (mean of w w' - means of w, w')."""
        nodes, path = sum(sizes), len(sizes)
        fake = path**2 * fakes / nodes
        moments = Moments(same=fake, every=-fake / nodes, own=path)
        return cls(question, nodes, moments, tuple(groups), tuple(sizes), fakes, odds, path=path)

    @cached_property
    def starts(self) -> Codes:
        """First node of each level combination, shape (L,)."""
        return np.cumsum([0, *self.sizes[:-1]])

    @cached_property
    def even(self) -> Array:
        """1 / K of every node, shape (Gamma,)."""
        return np.repeat(1.0 / np.array(self.sizes), self.sizes)

    def estimate(self, rows: Rows, pair: Pair, size: float, mean: float, nodes: Codes) -> Array:
        """L times the share of reports that name a node, less that of fakes."""
        amounts, named = rows.moment(*pair), np.zeros(self.nodes)
        for column in rows.columns:
            named += np.bincount(column, amounts, minlength=self.nodes)
        fakes = self.fakes / self.nodes * mean
        return np.asarray(self.path * (named / size - fakes)[nodes])

    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """All of the nodes that a report names are one."""
        others = [np.zeros((len(weights), 1))] if len(nodes) < self.nodes else []
        every = np.hstack([weights, *others])
        named = (1 + self.fakes) * np.array([every.min(axis=1), every.max(axis=1)])
        return np.asarray(self.path * (named - self.fakes / self.nodes * weights.sum(axis=1)))

    def spread(self, cells: GroupCells) -> float:
        """Predicted for people spread evenly over the nodes of each level combination."""
        squares = cells.weights**2
        true = self.path * float(np.sum(squares * self.even[cells.nodes]))
        return true + self.moments.same * float(np.sum(squares))


def forests_of(table: GroupTable, fakes: int, epsilon: Epsilon) -> tuple[Forest, ...]:
    """The forest of every sub-survey."""
    odds = float(epsilon.odds)
    return tuple(
        Forest.of(question, members, [table.sizes[n] for n in members], fakes, odds)
        for question, members in enumerate(table.members.values())
    )


@dataclass(frozen=True)
class PublishedEstimator(LinearEstimator):
    """As published: corrected for a randomization that the reports do not show."""

    forests: Sequence[Forest]

    def _group(self, part: GroupPart) -> tuple[Array, Array]:
        """(f - L even / (e + L - 1)) / (p - q) for the unbiased frequencies f."""
        means, covariance = super()._group(part)
        levels = np.array([self.source.mean(part.group, (kind, None)) for kind in part.kinds])
        scale, baseline = self._scale(part.group, part.nodes, part.weights)
        return (means - baseline * levels) / scale, covariance / scale**2

    def _correct(self, group: int, nodes: Codes, weights: Array, amounts: Array) -> Array:
        """Amounts without the reports that the channel sends to every node alike."""
        scale, baseline = self._scale(group, nodes, weights)
        return (amounts - baseline) / scale

    def _scale(self, group: int, nodes: Codes, weights: Array) -> tuple[float, Array]:
        """p - q, and what is subtracted from sums of weights."""
        forest = self.forests[group]
        total = forest.odds + forest.path - 1.0
        return (forest.odds - 1.0) / total, weights @ (forest.path / total * forest.even[nodes])


@dataclass(frozen=True, eq=False)
class LeafQuery(CellQuery):
    """A query some of whose leaves are answered as even shares of their parents."""


@dataclass(frozen=True)
class Witness:
    """Two records and a report that the first can send and the second never."""

    sender: Outcome
    other: Outcome
    report: Outcome


@dataclass(frozen=True)
class LgrrDesign(LinearDesign[CellQuery]):
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
    def answers(self) -> tuple[Forest, ...]:
        """The nodes of every sub-survey, each a question."""
        return forests_of(self.table, self.fakes, self.epsilon)

    def even_shares(self, group: int, nodes: Codes) -> Array:
        """The part of all records at each node."""
        forest, spread = self.answers[group], self.table.spread_evenly
        parts = zip(forest.groups, forest.sizes, strict=True)
        return np.concatenate([spread(number, np.arange(size)) for number, size in parts])[nodes]

    @property
    def guarantee(self) -> StatedGuarantee:
        """None, with a witness in words."""
        return StatedGuarantee(
            "none",
            None,
            protects="nothing: every report contains a node that holds the person's record",
            not_protected=("every private attribute of the record", PUBLIC_IN_CLEAR),
            witness=self._describe(self.witness) if self.witness else "",
        )

    @cached_property
    def witness(self) -> Witness | None:
        """From the first and the last record; None where both have the same path."""
        first = tuple(0 for _ in self.plan.sizes)
        last = tuple(size - 1 for size in self.plan.sizes)
        for forest in self.answers:
            paths = np.array([self.table.node(g, np.array([first, last])) for g in forest.groups])
            apart = np.flatnonzero(paths[:, 0] != paths[:, 1])
            if apart.size:
                node = int(forest.starts[apart[-1]] + paths[apart[-1], 0])
                return Witness(first, last, (forest.question, *([node] * (self.fakes + 1))))
        return None

    def _describe(self, witness: Witness) -> str:
        signs = (f"sign of {measure}" for measure in self.domain.measure_names)
        names = ", ".join((*self.domain.names, *signs))
        columns = zip(self.report_format.columns, witness.report, strict=True)
        report = ", ".join(f"{name} = {value}" for name, value in columns)
        return (
            f"a person with ({names}) = {witness.sender} can send the report {report}; a person "
            f"with {witness.other} never does"
        )

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The nodes of the forests that answer a query, in every sub-survey that can.

        UnsupportedSQL about a dimension whose only level was that of its leaves.
        """
        found_leaves: list[bool] = []

        def change(piece: Piece) -> Piece:
            changed = answer_leaves_from_parents(piece, self.table.trees)
            found_leaves.append(changed[0] != piece[0])
            return changed

        if self.virtual_leaves:
            self._require_collected(query)
        optional = (change,) if self.virtual_leaves else ()
        planned = cover_query(query, self.table, self.domain, *optional)
        forests = tuple((self._in_forest(cells),) for cells in planned.alternatives)
        kind = LeafQuery if any(found_leaves) else CellQuery
        return kind(planned.known, planned.is_asked, forests, planned.weight)

    def _require_collected(self, query: LinearQuery) -> None:
        """UnsupportedSQL where a box constrains a dimension of which only the root is left."""
        sizes = self.domain.sizes
        for _, box in query.terms:
            if box.is_empty:
                continue
            sides = zip(box.normal(sizes).sides, self.table.trees, strict=True)
            for axis, (side, tree) in enumerate(sides):
                if side is not None and len(tree.fanouts) < 2:
                    name = self.domain.names[axis]
                    raise UnsupportedSQL(
                        f"{self.name} does not collect {name}, which has {tree.size} values: it "
                        "leaves out the leaves of every tree, and nothing else is left of this one",
                        hint="take lgrr-fd, or a mechanism that promises something",
                    )

    def _in_forest(self, alternative: Sequence[GroupCells]) -> GroupCells:
        """Nodes of level combinations as distinct nodes of their forest."""
        forest = next(each for each in self.answers if alternative[0].group in each.groups)
        named = [forest.starts[forest.groups.index(c.group)] + c.nodes for c in alternative]
        nodes, place = np.unique(np.concatenate(named), return_inverse=True)
        weights = np.bincount(place, np.concatenate([c.weights for c in alternative]))
        return GroupCells(forest.question, nodes, weights.astype(np.float64))

    def describe(self, planned: CellQuery) -> list[str]:
        """The nodes of each level combination used."""
        lines = describe_known(planned.known)
        for (cells,) in planned.alternatives:
            forest = self.answers[cells.group]
            owner = np.searchsorted(forest.starts, cells.nodes, side="right") - 1
            for place in np.unique(owner).tolist():
                own = cells.nodes[owner == place] - forest.starts[place]
                group = self.table.describe(forest.groups[place], self.domain)
                lines.append(f"{group}: {list_nodes(own)}")
        if self.virtual_leaves and planned.is_asked:
            lines.append("leaves answered from parents, by their share of codes")
        return lines

    @property
    def estimators(self) -> Estimators[CellQuery]:
        """By actual sizes, unbiased but for virtual leaves; and the published one, which is right
        only where people are spread evenly over all nodes."""
        (unbiased,) = super().estimators.values()
        return {
            "by_share" if self.virtual_leaves else "unbiased": unbiased,
            "published": lambda histogram: PublishedEstimator(
                ReportedSource(histogram, self.answers), self.answers
            ),
        }

    @property
    def biases(self) -> Mapping[str, Bias]:
        """Of virtual leaves and of the published estimator."""
        wrong = "it corrects for a randomization that the reports do not have"
        biases = {"published": Bias(wrong, lambda planned: planned.is_asked)}
        if self.virtual_leaves:
            even = "leaves are answered as even shares of their parents"
            biases["by_share"] = Bias(even, lambda planned: isinstance(planned, LeafQuery))
        return biases

    def to_json(self) -> Mapping[str, Any]:
        """All that `Recipe.restore` needs besides domain and epsilon."""
        extra = {"fakes": self.fakes, "virtual_leaves": self.virtual_leaves}
        return {**self.table.to_json(), **extra}


def answer_leaves_from_parents(piece: Piece, trees: Sequence[Tree]) -> Piece:
    """Cells with every leaf replaced by its parent, at one over the parent's number of leaves."""
    levels, nodes, weights = piece
    chosen, stride = list(levels), 1
    result = np.zeros(len(nodes), dtype=np.int64)
    for axis, tree in reversed(list(enumerate(trees))):
        nodes, place = np.divmod(nodes, tree.counts[levels[axis]])
        if levels[axis] and levels[axis] == len(tree.counts) - 1:
            chosen[axis] -= 1
            width = tree.widths[chosen[axis]]
            place = place // width
            weights = weights / (np.minimum((place + 1) * width, tree.size) - place * width)
        result += place * stride
        stride *= tree.counts[chosen[axis]]
    return tuple(chosen), result, weights


@dataclass(frozen=True)
class FakeOptions(TreeOptions):
    """fakes: fake nodes per report."""

    fakes: int = 1


class Lgrr(Recipe[TreeOptions]):
    """LGRR with virtual leaves: COUNT, and SUM and AVG of private measures. Not private."""

    name = "lgrr"
    estimator_names = ("by_share", "published")
    options = TreeOptions

    def make(self, task: Task[TreeOptions]) -> AnyDesign:
        """As LGRR-FD, without leaves and fakes.

        A dimension that one level of `fanout` nodes would cover gets a binary tree, for without
        its leaves nothing else would be left of it.
        """
        trees = tuple(
            tree if len(tree.fanouts) > 1 else balance(tree.size, 2)
            for tree in trees_for(task.domain, task.options)
        )
        inner = [
            combination
            for combination in list_signed_combinations(task.domain, trees, root=True)
            if not any(
                level and level == len(tree.fanouts)
                for level, tree in zip(combination[0], trees, strict=True)
            )
        ]
        table = GroupTable(trees, weigh_evenly(inner))
        if max(table.sizes) == 1:
            raise SurveyError(
                "lgrr leaves out the leaves, and nothing but the roots is left; a dimension needs "
                "three codes or more"
            )
        return self._build(task.domain, task.epsilon, table, 0, True)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """From the design's data."""
        table, leafless = GroupTable.from_json(domain, data), data["virtual_leaves"] is True
        return self._build(domain, epsilon, table, whole(data["fakes"]), leafless)

    def _build(
        self, domain: RecordDomain, epsilon: Epsilon, table: GroupTable, fakes: int, leafless: bool
    ) -> LgrrDesign:
        """Per sub-survey a face whose secret step is the place on the path.

        A uniform pick followed by randomized response among the picks is a uniform pick: epsilon
        has no effect on devices (docs/spec/h4mda.md#11, rows 2 and 3).
        """
        if not 0 <= fakes <= LARGEST_FAKES:
            raise SurveyError(f"fakes must lie between 0 and {LARGEST_FAKES}, not {fakes}")
        forests = forests_of(table, fakes, epsilon)
        if max(forest.nodes for forest in forests) > LARGEST_FOREST:
            raise SurveyError(
                f"the forest has more than {LARGEST_FOREST} nodes; use coarser bins or fewer "
                "dimensions"
            )
        faces = []
        for forest in forests:
            digit = table.digit(forest.groups, plus=forest.starts.tolist(), radix=forest.nodes)
            places = (Step((1,) * forest.path, secret=True),) if forest.path > 1 else ()
            faces.append(Face(1, (Part((digit,), Keep(), fakes=fakes),), places))
        plan = Plan(domain.record_sizes, (odds_words(epsilon),), tuple(faces))
        return LgrrDesign(self.name, domain, epsilon, plan, table, fakes, leafless)


class LgrrFd(Lgrr):
    """LGRR with fake nodes."""

    name = "lgrr-fd"
    estimator_names = ("unbiased", "published")
    options = FakeOptions

    def make(self, task: Task[TreeOptions]) -> AnyDesign:
        """One sub-survey per measure, a path through all its level combinations."""
        assert isinstance(task.options, FakeOptions)
        trees = trees_for(task.domain, task.options)
        chosen = list_signed_combinations(task.domain, trees, root=True)
        table = GroupTable(trees, weigh_evenly(chosen))
        return self._build(task.domain, task.epsilon, table, task.options.fakes, False)


LGRR, LGRR_FD = Lgrr(), LgrrFd()
