"""Public. Sees parameters. The design of LGRR and LGRR-FD (see `lgrr`). NOT PRIVATE.

A person picks one node uniformly on the own path (the own node in every level combination of a
measure's frame), replaces it by randomized response *among the nodes of the same path*, and adds
`fakes` nodes drawn uniformly from the whole forest; the collection is sent without order. So every
report contains a true ancestor of the record, and what it says does not depend on epsilon.
Specification: h4mda, sections 8, 9 and 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ldpsql.boxes import Box
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Estimator, Law, Outcome, Words
from ldpsql.mechanisms.cell_query import CellQuery
from ldpsql.mechanisms.channel import enumerate_law, in_blocks
from ldpsql.mechanisms.draws import below, keep_threshold, probability_below
from ldpsql.mechanisms.forest import (
    EvenForest,
    Forest,
    ForestEstimator,
    ReportedForest,
    as_named,
    as_published,
)
from ldpsql.mechanisms.grr import law as grr_law
from ldpsql.mechanisms.grr import perturb
from ldpsql.mechanisms.nodes import NodeDesign, Pieces
from ldpsql.report import Histogram, ReportFormat, Reports
from ldpsql.trees.cells import Cells, cells_of
from ldpsql.trees.hierarchy import Hierarchy
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee

LARGEST_FAKES, LARGEST_FOREST = 8, 1 << 24


@dataclass(frozen=True)
class Witness:
    """Two records and a report that the first can send and the second never."""

    sender: Outcome
    other: Outcome
    report: Outcome


@dataclass(frozen=True)
class LgrrDesign(NodeDesign):
    """A node of the own path, and some fake ones, per report.

    fakes: nodes drawn from the whole forest.  virtual_leaves: leaves are answered from their
    parents.  Groups of one frame are the nodes of one path; their weights are not used.
    """

    fakes: int
    virtual_leaves: bool

    def __post_init__(self) -> None:
        if not 0 <= self.fakes <= LARGEST_FAKES:
            raise SurveyError(f"fakes must lie between 0 and {LARGEST_FAKES}, not {self.fakes}")
        if max(forest.nodes for forest in self.forests) > LARGEST_FOREST:
            raise SurveyError(
                f"the forest has more than {LARGEST_FOREST} nodes; use coarser bins or fewer "
                "dimensions"
            )

    @cached_property
    def forests(self) -> tuple[Forest, ...]:
        """The nodes of every frame, all level combinations one after the other."""
        found = []
        for frame in self.table.frames:
            members = [n for n, g in enumerate(self.table.groups) if g.frame == frame]
            sizes = tuple(self.table.sizes[number] for number in members)
            found.append(Forest(tuple(members), sizes, self.fakes, float(self.epsilon.odds)))
        return tuple(found)

    @cached_property
    def report_format(self) -> ReportFormat:
        """The frame, then fakes + 1 nodes in ascending order."""
        columns = ("frame", *(f"y{number}" for number in range(self.fakes + 1)))
        limits = [[forest.nodes] * (self.fakes + 1) for forest in self.forests]
        return ReportFormat(columns, np.array(limits, dtype=np.int64))

    @property
    def guarantee(self) -> Guarantee:
        """None, with a witness in words."""
        return Guarantee(
            "none",
            None,
            "nothing: every report contains a node that holds the person's record",
            ("every private attribute of the record", "public columns travel in clear"),
            witness=self._witness_in_words(),
        )

    @cached_property
    def witness(self) -> Witness | None:
        """From the first and the last record; None where both have the same path."""
        first = tuple(0 for _ in (*self.domain.sizes, *self.domain.bounds))
        last = (*(size - 1 for size in self.domain.sizes), *(1 for _ in self.domain.bounds))
        for frame, forest in enumerate(self.forests):
            own, others = self._path(first, forest), self._path(last, forest)
            apart = [int(node) for node in own if node not in others]
            if apart:
                return Witness(first, last, (frame, *([apart[-1]] * (self.fakes + 1))))
        return None

    def _witness_in_words(self) -> str:
        found = self.witness
        if found is None:
            return ""
        names = ", ".join(
            (*self.domain.names, *(f"sign of {m}" for m in self.domain.measure_names))
        )
        report = ", ".join(
            f"{name} = {value}"
            for name, value in zip(self.report_format.columns, found.report, strict=True)
        )
        return (
            f"a person with ({names}) = {found.sender} can send the report {report}; a person "
            f"with {found.other} never does"
        )

    def _path(self, record: Outcome, forest: Forest) -> Codes:
        """The forest's nodes that hold a record, one per level combination."""
        codes = np.tile(np.array(record, dtype=np.int64), (len(forest.groups), 1))
        return forest.starts + self.table.node(np.array(forest.groups), codes)

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """Device. See `Design.randomize`."""
        return in_blocks(self.report_format, codes, entropy, self._randomize_block)

    def _randomize_block(self, codes: Codes, entropy: Entropy) -> list[Codes]:
        """Words per person: frame, pick, two for the randomized response, one per fake."""
        count = len(codes)
        frame = below(entropy.words(count), len(self.forests))
        lengths = np.array([len(forest.groups) for forest in self.forests])[frame]
        pick = below(entropy.words(count), lengths.astype(np.uint64))
        place = perturb(self._thresholds[frame], lengths, pick, entropy)
        group = self._members[frame, place]
        nodes = np.array([forest.nodes for forest in self.forests], dtype=np.uint64)[frame]
        collection = [self._starts[group] + self.table.node(group, codes)]
        collection += [below(entropy.words(count), nodes) for _ in range(self.fakes)]
        return [frame, *np.sort(np.stack(collection), axis=0)]

    @cached_property
    def _thresholds(self) -> Words:
        odds = self.epsilon.odds
        kept = [keep_threshold(odds, len(forest.groups)) for forest in self.forests]
        return np.array(kept, dtype=np.uint64)

    @cached_property
    def _members(self) -> Codes:
        """Group of every place on the path of every frame, shape (frames, longest path)."""
        longest = max(len(forest.groups) for forest in self.forests)
        rows = [forest.groups + (0,) * (longest - len(forest.groups)) for forest in self.forests]
        return np.array(rows, dtype=np.int64)

    @cached_property
    def _starts(self) -> Codes:
        """First node of every group in its forest."""
        starts = np.zeros(len(self.table.groups), dtype=np.int64)
        for forest in self.forests:
            starts[list(forest.groups)] = forest.starts
        return starts

    def law(self) -> Law:
        """The exact channel over all codes and signs."""
        outputs = sum(
            math.comb(forest.nodes + self.fakes, self.fakes + 1) for forest in self.forests
        )
        return enumerate_law(self.domain, outputs, self._report_law)

    def selector_odds(self) -> Fraction | None:
        """Unbounded as soon as there is a witness; without one all records have the same path.
        See `Design`."""
        return Fraction(1) if self.witness is None else None

    def _report_law(self, record: Outcome) -> dict[Outcome, Fraction]:
        law: dict[Outcome, Fraction] = {}
        for frame, forest in enumerate(self.forests):
            chosen = probability_below(frame, len(self.forests))
            path = [int(node) for node in self._path(record, forest)]
            for place, chance in self._place_law(frame).items():
                for fakes in product(range(forest.nodes), repeat=self.fakes):
                    share = math.prod(
                        (probability_below(node, forest.nodes) for node in fakes),
                        start=chosen * chance,
                    )
                    row = (frame, *sorted((path[place], *fakes)))
                    law[row] = law.get(row, Fraction(0)) + share
        return law

    def _place_law(self, frame: int) -> dict[int, Fraction]:
        """Where on the path the node comes from: a uniform pick, then randomized response."""
        length = len(self.forests[frame].groups)
        law = dict.fromkeys(range(length), Fraction(0))
        for pick in range(length):
            for place, chance in grr_law(int(self._thresholds[frame]), length, pick):
                law[place] += probability_below(pick, length) * chance
        return law

    def _pieces(self, share: float, box: Box) -> Pieces:
        if not self.virtual_leaves:
            return super()._pieces(share, box)
        return [
            virtual(np.full(len(cells.nodes), share), cells, self.table.trees)
            for cells in cells_of(box, self.table.trees)
        ]

    def estimator(self, histogram: Histogram) -> Estimator:
        """Collector. By actual frame sizes; unbiased, but for virtual leaves."""
        return ForestEstimator(self.table, self.forests, self._reported(histogram), as_named)

    def published(self, histogram: Histogram) -> Estimator:
        """Collector. As published: right only where people are spread evenly over all nodes."""
        return ForestEstimator(self.table, self.forests, self._reported(histogram), as_published)

    def _reported(self, histogram: Histogram) -> ReportedForest:
        return ReportedForest(forests=self.forests, histogram=histogram)

    @property
    def estimators(self) -> Mapping[str, Callable[[Histogram], Estimator]]:
        """By name, the default first; virtual leaves are told by its name."""
        default = "by_share" if self.virtual_leaves else "unbiased"
        return {default: self.estimator, "published": self.published}

    @property
    def biases(self) -> Mapping[str, str]:
        """See `Design`."""
        found = {"published": "it corrects for a randomization that the reports do not have"}
        if self.virtual_leaves:
            found["by_share"] = "leaves are answered as even shares of their parents"
        return found

    def describe(self, planned: CellQuery) -> list[str]:
        """The nodes of each group used, for EXPLAIN."""
        lines = super().describe(planned)
        if self.virtual_leaves and planned.is_asked:
            lines.append("leaves answered from parents, by their share of codes")
        return lines

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        evenly = EvenForest(self.table, self.forests, people)
        estimator = ForestEstimator(self.table, self.forests, evenly, as_named)
        return np.diagonal(estimator.answer(queries).covariance).copy()

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` of the mechanism needs besides domain and epsilon."""
        return {
            **self._fanouts(),
            "fakes": self.fakes,
            "virtual_leaves": self.virtual_leaves,
            "groups": [group.to_json() for group in self.table.groups],
        }


def virtual(weights: Array, cells: Cells, trees: Sequence[Hierarchy]) -> tuple[Array, Cells]:
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
