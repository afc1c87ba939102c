"""Designs whose reports are about nodes of trees, by frequency oracles, and their estimates.

Every group estimates the frequencies of its nodes from its own reports, by its *actual* size, so
that drop-outs bias nothing: f = (supporters / size - q) / (p - q). A query is broken into the
fewest nodes that cover it (`NodeDesign`), or answered by least squares over all groups
(`ldpsql.estimators.consistent`). Specification: docs/spec/h4mda.md#1.5, docs/spec/h4mda.md#1.9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np

from ldpsql.algebra.boxes import Box, LinearQuery, Terms, cardinality, codes_of, multiply
from ldpsql.algebra.numerics import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.errors import UnsupportedSQL
from ldpsql.estimators.base import AnyEstimator, CodeDecoder, Codes, Estimator, Q
from ldpsql.estimators.grouped import CodeRows, answer_codes
from ldpsql.estimators.groups import GroupTable
from ldpsql.estimators.linear import (
    Alternative,
    CellQuery,
    GroupAnswer,
    GroupCells,
    LinearEstimator,
    Source,
    describe_known,
    list_nodes,
    split_known,
)
from ldpsql.estimators.linear_design import LinearDesign
from ldpsql.estimators.oracles import Oracle, oracle_of
from ldpsql.estimators.trees import Levels, cover_box
from ldpsql.reports.report import Pair, Rows, question_shares
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import Hash, Parity, Plan

Piece = tuple[Levels, Codes, Array]
"""A level combination, some of its cells, and the weight of each."""


@dataclass(frozen=True)
class OracleAnswer(GroupAnswer):
    """By an oracle; coins, column: where they are among the columns after the question's number."""

    oracle: Oracle
    coins: tuple[int, ...]
    column: int
    adds_up: ClassVar[bool] = True

    def estimate(self, rows: Rows, pair: Pair, size: float, mean: float, nodes: Codes) -> Array:
        """(supporters / size - q mean) / (p - q)."""
        oracle, coins = self.oracle, [rows.columns[place] for place in self.coins]
        answers, amounts = rows.columns[self.column], rows.moment(*pair)
        counted = oracle.supporters(coins, answers, amounts, nodes)
        return np.asarray((counted / size - oracle.q * mean) / (oracle.p - oracle.q))

    def contributions(self, rows: Rows, nodes: Codes, weights: Array) -> Array:
        """Support, less q, over p - q, times the weights and added."""
        coins = [rows.columns[place] for place in self.coins]
        return self.oracle.contributions(coins, rows.columns[self.column], nodes, weights)

    def extremes(self, nodes: Codes, weights: Array) -> Array:
        """Those of the oracle's support; `Olh.extremes` may be further out, of many nodes."""
        oracle = self.oracle
        supported = oracle.extremes(nodes, weights) - oracle.q * weights.sum(axis=1)
        return np.asarray(supported / (oracle.p - oracle.q))


def answers_of(plan: Plan, kind: type[OracleAnswer] = OracleAnswer) -> tuple[OracleAnswer, ...]:
    """The parts of every question, question by question; each answers by an oracle."""
    answers = []
    for first, face in zip(plan.first_questions, plan.faces, strict=False):
        for choice in range(face.questions):
            column = plan.coin_columns
            for part in face.parts:
                coins: tuple[int, ...] = ()
                if isinstance(part.then, Hash):
                    coins = (part.then.slope, part.then.shift)
                elif isinstance(part.then, Parity):
                    coins = (part.then.coin,)
                oracle = oracle_of(plan.odds, part, choice)
                answers.append(
                    kind(first + choice, oracle.size, oracle.moments, oracle, coins, column)
                )
                column += part.columns
    return tuple(answers)


@dataclass(frozen=True)
class GroupDesign(LinearDesign[Q]):
    """Groups of level combinations, each with an oracle.

    plan: asks every group, in the order of the groups of `table`.  oracle: the option.
    """

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    plan: Plan
    table: GroupTable
    oracle: str

    @cached_property
    def answers(self) -> tuple[OracleAnswer, ...]:
        """How every group answers."""
        return answers_of(self.plan)

    def even_shares(self, group: int, nodes: Codes) -> Array:
        """The part of all records at each node."""
        return self.table.spread_evenly(group, nodes)

    def add_up(self, source: Source) -> LinearEstimator:
        """The estimator that adds up weighted frequencies of nodes."""
        return LinearEstimator(source)

    def describe_oracle(self, group: int) -> str:
        """The oracle of a group, for EXPLAIN."""
        return f", {self.answers[group].oracle.kind}"

    def to_json(self) -> Mapping[str, Any]:
        """The groups and the oracle; domain and epsilon are written elsewhere."""
        return {**self.table.to_json(), "oracle": self.oracle}


def cover_query(
    query: LinearQuery,
    table: GroupTable,
    domain: RecordDomain,
    change: Callable[[Piece], Piece] = lambda piece: piece,
) -> CellQuery:
    """A query by the fewest nodes that cover its boxes, in every sub-survey that has them.

    change: what becomes of the nodes of one level combination.
    """
    known, boxes = split_known(query)
    pieces = [
        change((levels, nodes, np.full(len(nodes), share)))
        for share, box in boxes
        for levels, nodes in cover_box(box, table.trees)
    ]
    if not pieces:
        return CellQuery(known, False, (), query.weight)
    bounds = (1.0, 1.0) if query.measure is None else domain.bounds[query.measure]
    found = (_collect(sub, pieces, query.measure, bounds, table) for sub in table.members)
    alternatives = tuple(cells for cells in found if cells)
    first = domain.first_level_axis
    for _, box in boxes if not alternatives else ():
        sides = zip(domain.names[first:], box.sides[first:], strict=True)
        told = [name for name, side in sides if side]
        if len(told) > 1:
            raise UnsupportedSQL(
                f"a report tells of one measure that may be missing, not of {' and '.join(told)}",
                hint="ask for each of them alone, or design the survey with grr or staircase",
            )
    return CellQuery(known, True, alternatives, query.weight)


def _collect(
    sub_survey: int,
    pieces: Sequence[Piece],
    measure: int | None,
    bounds: tuple[float, float],
    table: GroupTable,
) -> Alternative:
    """One sub-survey's nodes for the pieces; nothing if it does not collect them.

    A sum takes the nodes of both signs of its measure, times the bounds of the measure.
    """
    parts: dict[int, list[tuple[Codes, Array]]] = {}
    for levels, nodes, weights in pieces:
        group = table.find_group(sub_survey, levels, measure)
        if group is None:
            return ()
        if table.groups[group].sign is None:
            parts.setdefault(group, []).append((nodes, weights))
        else:
            signed = nodes, nodes + table.sizes[group] // 2
            own = zip(signed, (bound * weights for bound in bounds), strict=True)
            parts.setdefault(group, []).extend(own)
    return tuple(
        GroupCells(group, *(np.concatenate(arrays) for arrays in zip(*own, strict=True)))
        for group, own in sorted(parts.items())
    )


@dataclass(frozen=True)
class NodeDesign(GroupDesign[CellQuery], CodeDecoder):
    """Boxes are answered from the fewest nodes that cover them."""

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The nodes that answer a query, in every sub-survey that can answer it."""
        return cover_query(query, self.table, self.domain)

    def prepare_codes(
        self, kinds: Sequence[Sequence[LinearQuery]], axis: int, numbers: Codes, codes: Codes
    ) -> CodeRows | None:
        """Where a tree has no levels between its root and its codes."""
        tree = self.table.trees[axis]
        if tree.counts not in ((tree.size,), (1, tree.size)):
            return None
        first: Terms = ((1.0, Box.of(len(self.table.trees), {axis: ((0, 1),)})),)
        planned = tuple(
            tuple(self.prepare(replace(own, terms=multiply(own.terms, first))) for own in queries)
            for queries in kinds
        )
        return CodeRows(planned, self.table.strides[:, axis], numbers, codes)

    def answer_codes(
        self, estimator: AnyEstimator, rows: Sequence[Sequence[Any]]
    ) -> tuple[Array, Array] | None:
        """From estimates at all nodes of a group."""
        if not isinstance(rows, CodeRows) or not isinstance(estimator, LinearEstimator):
            return None
        return answer_codes(estimator, rows)

    def solve(self, source: Source) -> Estimator[CellQuery]:
        """Directly."""
        return self.add_up(source)

    def describe(self, planned: CellQuery) -> list[str]:
        """The nodes of each group used."""
        lines = describe_known(planned.known)
        for cells in (cells for alternative in planned.alternatives for cells in alternative):
            oracle = self.describe_oracle(cells.group)
            group = self.table.describe(cells.group, self.domain, oracle)
            lines.append(f"{group}: {list_nodes(cells.nodes)}")
        return lines


@dataclass(frozen=True)
class FlatDesign(NodeDesign):
    """All codes are nodes of one group, or with measures of one per measure, with its sign."""

    def expected_variances(
        self, samples: Sequence[Sequence[LinearQuery]], people: int
    ) -> list[float]:
        """From the volumes of boxes: nodes of one weight enter a variance by their number alone."""
        return [float(np.mean([self._variance(query, people) for query in s])) for s in samples]

    def _variance(self, query: LinearQuery, people: int) -> float:
        _, boxes = split_known(query)
        volumes = []
        for share, box in boxes:
            sides = zip(box.sides, self.domain.sizes, strict=True)
            volumes.append((share, prod(cardinality(codes_of(*pair)) for pair in sides)))
        ends = (1.0, 1.0) if query.measure is None else self.domain.bounds[query.measure]
        precision = 0.0
        shares = question_shares(self.plan)
        for group, own in enumerate(self.table.groups):
            share = float(shares[self.answers[group].question])
            if not boxes or (query.measure is not None and query.measure != own.sign):
                continue
            signs = (1.0,) if own.sign is None else ends
            total = sum(signs) * sum(part * volume for part, volume in volumes)
            squares = sum(sign**2 for sign in signs) * sum(
                part**2 * volume for part, volume in volumes
            )
            moments, nodes = self.answers[group].moments, self.table.sizes[group]
            mean = total / nodes
            second = moments.same * squares + moments.every * total**2
            second += moments.own * squares / nodes + 2.0 * moments.cross * mean * total
            precision += share * people / (second - mean**2)
        return people**2 / precision if precision else 0.0
