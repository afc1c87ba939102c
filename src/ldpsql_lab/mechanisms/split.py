"""Estimates where the same people answer several groups, each with a part of epsilon (HI).

Group by group as in `ldpsql.estimators.linear`; but the people of a sub-survey answer all of its
groups, so the groups' covariances do not simply add. The noise of their answers is independent
given the record; what they share is the record itself: Cov = E[m_g m_h] - E[m_g] E[m_h] for the
amounts m_g and m_h that two groups count for a person. For the nodes of one cover, which are
disjoint, the first term is identically zero. Specification: docs/spec/h4mda.md#2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from ldpsql.algebra.boxes import Weight
from ldpsql.algebra.estimate import Estimates
from ldpsql.algebra.numerics import Array
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import Codes
from ldpsql.estimators.consistent import ConsistentDesign
from ldpsql.estimators.groups import GroupTable
from ldpsql.estimators.linear import (
    CellQuery,
    Entry,
    LinearEstimator,
    Source,
    clip_to,
    merge_entries,
)
from ldpsql.estimators.nodes import NodeDesign, OracleAnswer
from ldpsql.mechanisms.oracles import ask, choose_oracle, odds_words
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import Face, Integer, Part, Plan


@dataclass(frozen=True)
class SplitEstimator(LinearEstimator):
    """Answers from all groups of all sub-surveys."""

    table: GroupTable
    domain: RecordDomain
    takes_sets: ClassVar[bool] = False

    def _answer(self, queries: Sequence[CellQuery], owners: Codes) -> Estimates:
        """As of disjoint groups, and what the groups of each sub-survey have in common."""
        alone, (pieces, _) = super()._answer(queries, owners), self.pieces(queries)
        for members in self.table.members.values():
            own = {group: pieces[group] for group in members if group in pieces}
            if own:
                asked = np.unique([number for entries in own.values() for number, _, _ in entries])
                kinds = [queries[number].weight for number in asked]
                finest = max(members, key=lambda group: self.table.sizes[group])
                alone.covariance[np.ix_(asked, asked)] += self._add_shared(
                    finest, own, asked, kinds
                )
        return alone

    def _add_shared(
        self,
        finest: int,
        pieces: Mapping[int, Sequence[Entry]],
        asked: Codes,
        kinds: Sequence[Weight | None],
    ) -> Array:
        """The covariance of a sub-survey beyond that of its groups alone, shape (k, k).

        Only records that several groups count, for whatever query, have a say in E[m_g m_h]; so
        nothing finer than the groups is decoded for the disjoint nodes of one box.
        """
        source, k = self.source, len(asked)
        shared, mean = np.zeros((k, k)), np.zeros(k)
        counted = np.zeros(len(self._records), dtype=np.int64)
        parts: dict[int, Array] = {}  # weights of all nodes of a group, (k, nodes)
        for group, entries in pieces.items():
            nodes, own = merge_entries(entries, asked)
            # E[m_g] of every query, kept within what people could give.
            amounts = [
                row @ source.at(group, nodes, (kind, None))
                for row, kind in zip(own, kinds, strict=True)
            ]
            scales = [source.mean(group, (kind, kind)) for kind in kinds]
            first = clip_to(np.array(amounts), np.abs(own).max(axis=1) * np.sqrt(scales))
            shared += np.outer(first, first)
            mean += first
            parts[group] = np.zeros((k, self.table.sizes[group]))
            parts[group][:, nodes] = own
            counted += np.any(parts[group], axis=0)[self.table.node(group, self._records)]
        shared -= np.outer(mean, mean)
        common = np.flatnonzero(counted > 1)
        if common.size:
            shared += self._joint(parts, kinds, finest, self._records[common])
        return np.asarray(shared * source.people**2 / source.size(finest))

    def _joint(
        self,
        parts: Mapping[int, Array],
        kinds: Sequence[Weight | None],
        finest: int,
        records: Codes,
    ) -> Array:
        """sum over pairs of different groups of E[m_g m_h], from the frequencies of records.

        It is E[(sum of m_g)(sum of m_h)] less the sum over single groups.
        """
        cells = self.table.node(finest, records)
        rows = {kind: [i for i, own in enumerate(kinds) if own == kind] for kind in set(kinds)}
        joint = np.zeros((len(kinds), len(kinds)))
        counted = [weights[:, self.table.node(g, records)] for g, weights in parts.items()]
        signed = [(np.sum(counted, axis=0), 1.0), *((amounts, -1.0) for amounts in counted)]
        for left, right in product(rows, repeat=2):
            share = self.source.at(finest, cells, (left, right))
            place = np.ix_(rows[left], rows[right])
            for amounts, sign in signed:
                joint[place] += sign * (amounts[rows[left]] * share) @ amounts[rows[right]].T
        return joint

    @cached_property
    def _records(self) -> Codes:
        """Every combination of codes with every sign, all measures of the same sign, shape
        (records, d + k)."""
        sizes, signs = self.domain.sizes, len(self.domain.bounds)
        codes = np.indices(sizes).reshape(len(sizes), math.prod(sizes)).T
        bits = [np.full((len(codes), signs), bit) for bit in range(2 if signs else 1)]
        return np.concatenate([np.hstack([codes, bit]) for bit in bits])


class _SplitBudget:
    """Of a design of groups: the parts of epsilon, per group, that every person answers with."""

    budgets: tuple[Epsilon, ...]
    table: GroupTable
    domain: RecordDomain
    oracle: str
    answers: tuple[OracleAnswer, ...]

    def add_up(self, source: Source) -> LinearEstimator:
        """The estimator of groups that the same people answer."""
        return SplitEstimator(source, self.table, self.domain)

    def describe_oracle(self, group: int) -> str:
        """The oracle of a group and its part of epsilon, for EXPLAIN."""
        return f", {self.answers[group].oracle.kind} at {float(self.budgets[group]):.3g}"

    def to_json(self) -> Mapping[str, Any]:
        """All that `Recipe.restore` needs besides domain and epsilon."""
        budgets = [str(budget) for budget in self.budgets]
        return {**self.table.to_json(), "oracle": self.oracle, "budgets": budgets}


@dataclass(frozen=True)
class SplitNodeDesign(_SplitBudget, NodeDesign):
    """Boxes are answered from the fewest nodes that cover them."""

    budgets: tuple[Epsilon, ...] = ()


@dataclass(frozen=True)
class SplitConsistentDesign(_SplitBudget, ConsistentDesign):
    """Boxes are answered by least squares over all groups."""

    budgets: tuple[Epsilon, ...] = ()

    def to_json(self) -> Mapping[str, Any]:
        """All that `Recipe.restore` needs besides domain and epsilon."""
        return {**super().to_json(), "inference": "consistent"}


def plan_of_split(
    domain: RecordDomain, table: GroupTable, oracle: str, budgets: Sequence[Epsilon]
) -> Plan:
    """Everybody answers all groups of a sub-survey, each with its part of epsilon."""
    distinct = list(dict.fromkeys(budgets))
    faces = []
    for members in table.members.values():
        parts: list[Part] = []
        coins: list[Integer] = []
        for number in members:
            size, budget = table.sizes[number], budgets[number]
            kind, digit = choose_oracle(oracle, size, budget), table.digit([number])
            odds, first = distinct.index(budget), len(coins)
            part, own = ask(kind, digit, [size], budget, odds, first)
            parts.append(part)
            coins += own
        faces.append(Face(1, tuple(parts), (), tuple(coins)))
    return Plan(domain.record_sizes, tuple(map(odds_words, distinct)), tuple(faces))
