"""Estimates where the same people answer several groups, each with a part of epsilon (HI).

Group by group as in `ldpsql.decoders.linear`; but the people of a sub-survey answer all of its
groups, so the groups' covariances do not simply add. The noise of their answers is independent
given the record; what they share is the record itself: Cov = E[m_g m_h] - E[m_g] E[m_h] for the
amounts m_g and m_h that two groups count for a person. For the nodes of one cover, which are
disjoint, the first term is identically zero. Specification: docs/spec/h4mda.md#2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.decoders.groups import GroupTable
from ldpsql.decoders.linear import CellQuery, Codes, Entry, LinearEstimator
from ldpsql.estimate import Estimates
from ldpsql.numerics import Array
from ldpsql.record_domain import RecordDomain


@dataclass(frozen=True)
class SplitEstimator(LinearEstimator):
    """Answers from all groups of all sub-surveys."""

    table: GroupTable
    domain: RecordDomain

    def _answer(self, queries: Sequence[CellQuery], owners: Codes) -> Estimates:
        """As of disjoint groups, and what the groups of each sub-survey have in common."""
        alone, (pieces, _) = super()._answer(queries, owners), self.pieces(queries)
        covariance = alone.covariance.copy()
        for members in self.table.members.values():
            own = {group: pieces[group] for group in members if group in pieces}
            if own:
                asked = np.unique([number for entries in own.values() for number, _, _ in entries])
                kinds = [queries[number].weight for number in asked]
                covariance[np.ix_(asked, asked)] += self._shared(members, own, asked, kinds)
        return Estimates(alone.values, covariance)

    def _shared(
        self,
        members: Sequence[int],
        pieces: Mapping[int, Sequence[Entry]],
        asked: Codes,
        kinds: Sequence[Weight | None],
    ) -> Array:
        """What the covariance of a sub-survey has beyond that of its groups alone, shape (k, k).

        Only records that several groups count, for whatever query, have a say in E[m_g m_h]; so
        nothing finer than the groups is decoded for the disjoint nodes of one box.
        """
        source, k = self.source, len(asked)
        parts = {group: self._weigh_nodes(group, pieces[group], asked) for group in pieces}
        finest = max(members, key=lambda group: self.table.sizes[group])
        shared, mean = np.zeros((k, k)), np.zeros(k)
        for group, weights in parts.items():
            amounts = self._mean_amounts(group, weights, kinds)
            shared += np.outer(amounts, amounts)
            mean += amounts
        shared -= np.outer(mean, mean)
        counted = np.zeros(len(self._records), dtype=np.int64)
        for group, weights in parts.items():
            counted += np.any(weights != 0.0, axis=0)[self.table.node(group, self._records)]
        common = np.flatnonzero(counted > 1)
        if common.size:
            shared += self._joint(parts, kinds, finest, self._records[common])
        return np.asarray(shared * source.people**2 / source.size(finest))

    def _weigh_nodes(self, group: int, entries: Sequence[Entry], asked: Codes) -> Array:
        """The weights of all nodes of a group per query, shape (k, nodes)."""
        weights = np.zeros((len(asked), self.table.sizes[group]))
        for number, nodes, part in entries:
            np.add.at(weights[np.searchsorted(asked, number)], nodes, part)
        return weights

    def _mean_amounts(self, group: int, weights: Array, kinds: Sequence[Weight | None]) -> Array:
        """E[m_g] of every query, kept within what people could give, shape (k,)."""
        amounts = np.zeros(len(kinds))
        for row, kind in enumerate(kinds):
            nodes = np.flatnonzero(weights[row])
            amounts[row] = weights[row, nodes] @ self.source.at(group, nodes, (kind, None))
        squares = [self.source.mean(group, (kind, kind)) for kind in kinds]
        limit = np.abs(weights).max(axis=1) * np.sqrt(squares)
        return np.clip(amounts, -limit, limit)

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
        signs = len(self.domain.bounds)
        every = list(product(*(range(size) for size in self.domain.sizes)))
        codes = np.array(every, dtype=np.int64).reshape(len(every), -1)
        bits = [np.full((len(codes), signs), bit) for bit in range(2 if signs else 1)]
        return np.concatenate([np.hstack([codes, bit]) for bit in bits])
