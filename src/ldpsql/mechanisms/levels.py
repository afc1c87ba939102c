"""Public. Sees parameters. The design shared by the mechanisms that report one node of trees.

A user is assigned to one group (a level combination, see `groups`), and reports the own node of
that group through a frequency oracle. A query is broken into nodes; each group estimates its
nodes from its own reports. HIO, AHIO, EHIO, HGRR and the flat mechanisms differ only in their
trees, groups and oracle. Specification: h4mda, sections 1, 3, 5 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np

from ldpsql.boxes import LinearQuery
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Estimators, Law, Outcome
from ldpsql.mechanisms.cell_query import Alternative, CellQuery, GroupCells
from ldpsql.mechanisms.draws import SPACE
from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.levels_estimator import (
    LevelEstimator,
    ReportedFrequencies,
    UniformFrequencies,
)
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.privacy import Epsilon, Guarantee
from ldpsql.report import Histogram, ReportFormat, Reports
from ldpsql.schema import RecordDomain
from ldpsql.trees.cells import Cells, cells_of
from ldpsql.trees.hierarchy import Tree

LARGEST_LAW = 4_000_000
_BLOCK = 1 << 16


@dataclass(frozen=True)
class LevelDesign:
    """Groups of level combinations with a frequency oracle in each."""

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    table: GroupTable
    oracle: str
    answers: Literal["boxes", "nodes"] = "nodes"

    @cached_property
    def oracles(self) -> OracleTable:
        """The oracle of every group."""
        return OracleTable(self.oracle, self.epsilon, self.table.sizes)

    @cached_property
    def report_format(self) -> ReportFormat:
        """The group, then the columns of the oracle."""
        limits = np.array(self.oracles.limits, dtype=np.int64).reshape(len(self.table.groups), -1)
        bits = self.table.sizes if self.oracle == "oue" else ()
        columns = ("group", *self.oracles.columns)
        return ReportFormat(columns, limits, unary=self.oracle == "oue", bits=bits)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record; the group is drawn without looking at it."""
        return Guarantee(
            "local",
            self.epsilon,
            "every private attribute of one person's report together: no report is more than "
            f"e^{self.epsilon} times likelier under one record than under another",
            (
                "public columns travel in clear",
                "that a person took part, and when, is visible",
                "a person who answers several surveys loses the sum of their epsilons",
            ),
        )

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """Device. See `Design.randomize`. Works in blocks, so memory is that of the reports."""
        blocks = [
            self._randomize_block(codes[start : start + _BLOCK], entropy)
            for start in range(0, max(len(codes), 1), _BLOCK)
        ]
        columns = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
        return Reports.pack(self.report_format, columns)

    def _randomize_block(self, codes: Codes, entropy: Entropy) -> list[Codes]:
        groups = self.table.assign(entropy.words(len(codes)))
        nodes = self.table.node(groups, codes)
        return [groups, *self.oracles.respond(groups, nodes, entropy)]

    def law(self) -> Law:
        """The exact channel over all codes and signs."""
        inputs = list(self._records())
        outputs = sum(math.prod(map(int, row)) for row in self.report_format.limits)
        if len(inputs) * outputs > LARGEST_LAW:
            raise ValueError(f"{len(inputs)} x {outputs} probabilities are too many to enumerate")
        parts = [dict(self._node_laws(number)) for number in range(len(self.table.groups))]
        channel = [self._report_law(record, parts) for record in inputs]
        rows = tuple(sorted(set().union(*channel)))
        nothing = Fraction(0)
        return Law(
            tuple(inputs),
            rows,
            tuple(tuple(law.get(row, nothing) for row in rows) for law in channel),
        )

    def selector_odds(self) -> Fraction | None:
        """The worst group's odds: every node of a group is some record's, and groups are drawn
        without looking at the record. See `StatesOdds`."""
        worst = Fraction(1)
        by_size = dict(zip(self.table.sizes, range(len(self.table.sizes)), strict=True))
        for group in by_size.values():
            odds = self.oracles.odds(group)
            if odds is None:
                return None
            worst = max(worst, odds)
        return worst

    def _records(self) -> Iterator[Outcome]:
        sizes = (*self.domain.sizes, *(2 for _ in self.domain.bounds))
        return product(*(range(size) for size in sizes))

    def _node_laws(self, number: int) -> Iterator[tuple[int, dict[Outcome, Fraction]]]:
        """For every node of a group, its reports with their probabilities."""
        chance = Fraction(self.table.groups[number].weight, SPACE)
        for node in range(self.table.sizes[number]):
            law = self.oracles.law(number, node)
            yield node, {(number, *outcome): chance * share for outcome, share in law}

    def _report_law(
        self, record: Outcome, parts: Sequence[Mapping[int, Mapping[Outcome, Fraction]]]
    ) -> dict[Outcome, Fraction]:
        codes = np.tile(np.array(record, dtype=np.int64), (len(parts), 1))
        nodes = self.table.node(np.arange(len(parts)), codes)
        law: dict[Outcome, Fraction] = {}
        for part, node in zip(parts, nodes, strict=True):
            law.update(part[int(node)])
        return law

    def plan(self, query: LinearQuery) -> CellQuery:
        """The nodes that answer a query, in every frame that can answer it."""
        boxes = [(share, box) for share, box in query.terms if not box.is_empty]
        if query.measure is None:
            known = sum(share for share, box in boxes if box.is_whole)
            boxes = [(share, box) for share, box in boxes if not box.is_whole]
        else:
            known = 0.0
        if not boxes:
            return CellQuery(known, False, (), query.weight)
        cells = [
            (share, cells) for share, box in boxes for cells in cells_of(box, self.table.trees)
        ]
        alternatives = (self._alternative(frame, cells, query.measure) for frame in self._frames)
        usable = tuple(alternative for alternative in alternatives if alternative is not None)
        return CellQuery(known, True, usable, query.weight)

    @cached_property
    def _frames(self) -> tuple[int, ...]:
        return tuple(sorted({group.frame for group in self.table.groups}))

    def _alternative(
        self, frame: int, cells: Sequence[tuple[float, Cells]], measure: int | None
    ) -> Alternative | None:
        """One frame's nodes for the cells, or None if the frame does not collect them."""
        pieces: dict[int, list[tuple[Codes, Array]]] = {}
        for share, piece in cells:
            found = self._group_of(frame, piece.levels, measure)
            if found is None:
                return None
            pieces.setdefault(found, []).append(self._signed(found, piece.nodes, share, measure))
        return tuple(
            GroupCells(
                group,
                np.concatenate([nodes for nodes, _ in parts]),
                np.concatenate([weights for _, weights in parts]),
            )
            for group, parts in sorted(pieces.items())
        )

    def _group_of(self, frame: int, levels: tuple[int, ...], measure: int | None) -> int | None:
        """The group with these levels: signed by the measure for a sum, unsigned or signed by
        any measure for a count."""
        index = self.table.index
        if measure is not None:
            return index.get((levels, measure, frame))
        signs: tuple[int | None, ...] = (None, *range(len(self.domain.bounds)))
        found = (index.get((levels, sign, frame)) for sign in signs)
        return next((group for group in found if group is not None), None)

    def _signed(
        self, group: int, nodes: Codes, share: float, measure: int | None
    ) -> tuple[Codes, Array]:
        """Nodes with their weights: for a sum the measure's bounds on the two signs."""
        if self.table.groups[group].sign is None:
            return nodes, np.full(len(nodes), share)
        half = self.table.sizes[group] // 2
        low, high = (1.0, 1.0) if measure is None else self.domain.bounds[measure]
        both = np.concatenate([nodes, nodes + half])
        return both, share * np.repeat([low, high], len(nodes))

    def describe(self, planned: CellQuery) -> list[str]:
        """The nodes of each group used, for EXPLAIN."""
        lines = [f"known exactly: {planned.known:g} x all reports"] if planned.known else []
        for alternative in planned.alternatives:
            for cells in alternative:
                lines.append(f"{self.describe_group(cells.group)}: {_listed(cells.nodes)}")
        return lines

    def describe_group(self, number: int) -> str:
        """A group in words: its levels, sign, nodes, oracle."""
        group = self.table.groups[number]
        levels = ", ".join(
            f"{name} level {level}"
            for name, level in zip(self.domain.names, group.levels, strict=True)
        )
        sign = "" if group.sign is None else f", sign of {self.domain.measure_names[group.sign]}"
        kind = self.oracles.kind(number)
        return f"group {number} ({levels}{sign}; {self.table.sizes[number]} nodes, {kind})"

    def estimator(self, histogram: Histogram) -> LevelEstimator:
        """Collector. Unbiased, by actual group sizes."""
        return LevelEstimator(self.oracles, ReportedFrequencies(self.oracles, histogram))

    @property
    def estimators(self) -> Estimators:
        """The unbiased one only."""
        return {"unbiased": self.estimator}

    @cached_property
    def shares(self) -> Array:
        """Probability of each group."""
        return np.array([group.weight / SPACE for group in self.table.groups])

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        evenly = UniformFrequencies(people, self.shares * people, self.table.sizes)
        return np.diagonal(LevelEstimator(self.oracles, evenly).answer(queries).covariance).copy()

    def to_json(self) -> Mapping[str, Any]:
        """What `restore` of the mechanism needs besides domain and epsilon."""
        return {
            **self._fanouts(),
            "oracle": self.oracle,
            "groups": [group.to_json() for group in self.table.groups],
        }

    def _fanouts(self) -> Mapping[str, Any]:
        trees = [tree for tree in self.table.trees if isinstance(tree, Tree)]
        if len(trees) < len(self.table.trees) or not trees:
            return {}
        return {"fanouts": [list(tree.fanouts) for tree in trees]}


def _listed(nodes: Codes) -> str:
    """Node numbers, runs written as first..last."""
    runs: list[str] = []
    breaks = np.flatnonzero(np.diff(nodes) != 1) + 1
    for run in np.split(nodes, breaks):
        runs.append(str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}")
    shown = ", ".join(runs[:12])
    more = f", ... ({len(runs) - 12} more runs)" if len(runs) > 12 else ""
    return f"nodes {shown}{more}"
