"""Designs whose reports are about nodes of trees, by frequency oracles, and their estimates.

Every group estimates the frequencies of its nodes from its own reports, by its *actual* size, so
that drop-outs bias nothing: f = (supporters / size - q) / (p - q). A query is broken into the
fewest nodes that cover it (`NodeDesign`), or answered by least squares over all groups
(`ldpsql.decoders.consistent`). Specification: docs/spec/h4mda.md#1.5, docs/spec/h4mda.md#1.9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpsql.boxes import LinearQuery
from ldpsql.decoders.base import Design, Estimators, Q
from ldpsql.decoders.groups import GroupTable
from ldpsql.decoders.linear import (
    Alternative,
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
from ldpsql.decoders.oracles import Oracle, oracle_of
from ldpsql.numerics import Array
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram, Pair, Rows, question_shares
from ldpsql.trees.cells import Cells, cells_of
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.plan import Hash, Parity, Plan

Pieces = list[tuple[Array, Cells]]


@dataclass(frozen=True)
class Answer:
    """One part of a question: where its columns are among those after the question's number."""

    question: int
    coins: tuple[int, ...]
    column: int
    oracle: Oracle


def answers_of(plan: Plan) -> tuple[Answer, ...]:
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
                oracle = oracle_of(plan, part, choice)
                answers.append(Answer(first + choice, coins, column, oracle))
                column += part.columns
    return tuple(answers)


@dataclass(kw_only=True)
class OracleSource(ReportedSource):
    """Node frequencies from reported oracles; group g is entry g of `answers`."""

    answers: Sequence[Answer]

    def size(self, group: int) -> float:
        """Reports of the group's question."""
        return float(self.histogram.sizes[self.answers[group].question])

    def rows(self, group: int) -> Rows:
        """The rows of the group's question."""
        return super().rows(self.answers[group].question)

    def moments_of_people(self, group: int, pair: Pair) -> Array:
        """Sums of u v over rows that hold every person once: in a histogram of bits, bit -1."""
        rows = self.rows(group)
        moment = rows.moment(*pair)
        return moment[rows.columns[0] < 0] if self.histogram.unary else moment

    def moments(self, group: int) -> Moments:
        """Those of the group's oracle."""
        return self.answers[group].oracle.moments

    def node_count(self, group: int) -> int:
        """Nodes that the group's reports can be about."""
        return self.answers[group].oracle.size

    def estimate(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """(supporters / size - q mean) / (p - q)."""
        answer, rows = self.answers[group], self.rows(group)
        oracle, coins = answer.oracle, [rows.columns[place] for place in answer.coins]
        amounts = rows.moment(*pair)
        counted = oracle.supporters(coins, rows.columns[answer.column], amounts, nodes)
        share = counted / self.size(group)
        estimate: Array = (share - oracle.q * self.mean(group, pair)) / (oracle.p - oracle.q)
        return estimate


@dataclass(frozen=True)
class EvenNodes(EvenSource):
    """Everybody spread evenly over all records."""

    table: GroupTable
    answers: Sequence[Answer]

    def moments(self, group: int) -> Moments:
        """Those of the group's oracle."""
        return self.answers[group].oracle.moments

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """The part of all records at each node."""
        return self.table.spread_evenly(group, nodes)


@dataclass(frozen=True)
class GroupDesign(Design[Q]):
    """Groups of level combinations, each with an oracle.

    plan: asks every group (one question per group, or per sub-survey where people answer all groups
    of it, each with a part of epsilon), in the order of the groups of `table`.  oracle: the option.
    budgets: the parts of epsilon, per group; empty where each has all of it.
    """

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    plan: Plan
    table: GroupTable
    oracle: str
    budgets: tuple[Epsilon, ...] = ()

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """How every group answers."""
        return answers_of(self.plan)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record; groups are drawn without looking at it."""
        return local_guarantee(self.epsilon)

    def reported(self, histogram: Histogram) -> Source:
        """The frequencies that reports tell."""
        return OracleSource(histogram=histogram, answers=self.answers)

    def spread_evenly(self, people: int) -> Source:
        """The frequencies of people who are spread evenly over all records."""
        shares = question_shares(self.plan)[[answer.question for answer in self.answers]]
        return EvenNodes(people, shares * people, self.table, self.answers)

    def solve(self, source: Source) -> LinearEstimator:
        """What adds up weighted frequencies of nodes."""
        if not self.budgets:
            return LinearEstimator(source)
        from ldpsql.decoders.split import SplitEstimator  # noqa: PLC0415  it imports this module

        return SplitEstimator(source, self.table, self.domain)

    def describe_group(self, number: int) -> str:
        """A group in words: its levels, sign, nodes."""
        group = self.table.groups[number]
        levels = ", ".join(
            f"{name} level {level}"
            for name, level in zip(self.domain.names, group.levels, strict=True)
        )
        sign = "" if group.sign is None else f", sign of {self.domain.measure_names[group.sign]}"
        return f"group {number} ({levels}{sign}; {self.describe_nodes(number)})"

    def describe_nodes(self, number: int) -> str:
        """How many nodes a group has, and its oracle."""
        budget = f" at {float(self.budgets[number]):.3g}" if self.budgets else ""
        return f"{self.table.sizes[number]} nodes, {self.answers[number].oracle.kind}{budget}"

    def to_json(self) -> Mapping[str, Any]:
        """What `Recipe.restore` needs besides domain and epsilon."""
        budgets = {"budgets": [str(budget) for budget in self.budgets]} if self.budgets else {}
        return {**self.table.to_json(), "oracle": self.oracle, **budgets}


def cover_query(query: LinearQuery, table: GroupTable, domain: RecordDomain) -> CellQuery:
    """A query by the fewest nodes that cover its boxes, in every sub-survey that has them."""
    known, boxes = split_known(query)
    pieces = [
        (np.full(len(cells.nodes), share), cells)
        for share, box in boxes
        for cells in cells_of(box, table.trees)
    ]
    return query_of(known, pieces, query, table, domain)


def query_of(
    known: float, pieces: Pieces, query: LinearQuery, table: GroupTable, domain: RecordDomain
) -> CellQuery:
    """A query by weighted cells of level combinations, in every sub-survey that has them."""
    if not pieces:
        return CellQuery(known, False, (), query.weight)
    bounds = None if query.measure is None else domain.bounds[query.measure]
    alternatives = (
        _alternative(number, pieces, query.measure, bounds, table) for number in table.members
    )
    usable = tuple(alternative for alternative in alternatives if alternative is not None)
    return CellQuery(known, True, usable, query.weight)


def _alternative(
    sub_survey: int,
    pieces: Pieces,
    measure: int | None,
    bounds: tuple[float, float] | None,
    table: GroupTable,
) -> Alternative | None:
    """One sub-survey's nodes for the cells, or None if it does not collect them.

    A sum takes the nodes of both signs of its measure, times the bounds of the measure.
    """
    low, high = bounds or (1.0, 1.0)
    found: dict[int, list[tuple[Codes, Array]]] = {}
    for weights, cells in pieces:
        group = table.find_group(sub_survey, cells.levels, measure)
        if group is None:
            return None
        parts = found.setdefault(group, [])
        if table.groups[group].sign is None:
            parts.append((cells.nodes, weights))
        else:
            half = table.sizes[group] // 2
            parts += [(cells.nodes, low * weights), (cells.nodes + half, high * weights)]
    return tuple(
        GroupCells(
            group,
            np.concatenate([nodes for nodes, _ in parts]),
            np.concatenate([weights for _, weights in parts]),
        )
        for group, parts in sorted(found.items())
    )


@dataclass(frozen=True)
class NodeDesign(GroupDesign[CellQuery]):
    """Boxes are answered from the fewest nodes that cover them."""

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The nodes that answer a query, in every sub-survey that can answer it."""
        return cover_query(query, self.table, self.domain)

    def describe(self, planned: CellQuery) -> list[str]:
        """The nodes of each group used."""
        lines = describe_known(planned.known)
        for alternative in planned.alternatives:
            for cells in alternative:
                lines.append(f"{self.describe_group(cells.group)}: {list_nodes(cells.nodes)}")
        return lines

    @property
    def estimators(self) -> Estimators[CellQuery]:
        """The unbiased one only."""
        return {"unbiased": lambda histogram: self.solve(self.reported(histogram))}

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all cells, shape (k,)."""
        answer = self.solve(self.spread_evenly(people)).answer(queries)
        return np.diagonal(answer.covariance).copy()


def list_nodes(nodes: Codes) -> str:
    """Node numbers in ascending order, each once, runs written as first..last."""
    runs = np.split(np.unique(nodes), np.flatnonzero(np.diff(np.unique(nodes)) != 1) + 1)
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs]
    more = f", ... ({len(texts) - 12} more runs)" if len(texts) > 12 else ""
    return f"nodes {', '.join(texts[:12])}{more}"
