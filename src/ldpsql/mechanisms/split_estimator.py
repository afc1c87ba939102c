"""Runs at the collector. Sees reports. Estimates where the same people answer several levels.

As `levels_estimator`, level by level; but the people of a frame answer all of its levels, so the
levels' covariances do not simply add. The noise of their answers is independent given the record;
what the levels share is the record itself: Cov = E[m_g m_h] - E[m_g] E[m_h] for the amounts m_g
and m_h that two levels count for a person. For the nodes of one cover, which are disjoint, the
first term is identically zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.mechanisms.base import Codes
from ldpsql.mechanisms.cell_query import CellQuery
from ldpsql.mechanisms.doubt import doubt_of
from ldpsql.mechanisms.groups import GroupTable
from ldpsql.mechanisms.levels_estimator import (
    Entries,
    Frequencies,
    LevelEstimator,
    ReportedFrequencies,
)
from ldpsql.mechanisms.oracles import OracleTable
from ldpsql.report import Histogram, Pair, Rows
from ldpsql_device.schema import RecordDomain


@dataclass(frozen=True)
class SplitFrequencies:
    """Frequencies by level, from reports that hold all levels of a frame."""

    histogram: Histogram
    levels: ReportedFrequencies

    @classmethod
    def of(
        cls, oracles: OracleTable, members: Sequence[Sequence[int]], histogram: Histogram
    ) -> SplitFrequencies:
        """members: the groups of each frame, in the order of the report's columns."""
        width = len(oracles.columns)
        parts: dict[int, Rows] = {}
        for frame, groups in enumerate(members):
            rows = histogram.load(frame)
            for position, group in enumerate(groups):
                owner = np.full(len(rows.counts), group)
                columns = rows.columns[position * width : (position + 1) * width]
                parts[group] = Rows((owner, *columns), rows.counts, rows.moments)
        ordered = [parts[group] for group in sorted(parts)]
        by_level = Histogram(
            len(ordered),
            tuple(map(np.concatenate, zip(*(rows.columns for rows in ordered), strict=True))),
            np.concatenate([rows.counts for rows in ordered]),
            {
                pair: np.concatenate([rows.moments[pair] for rows in ordered])
                for pair in ordered[0].moments
            },
        )
        return cls(histogram, ReportedFrequencies(oracles=oracles, histogram=by_level))

    @property
    def people(self) -> float:
        """Number of reports."""
        return float(self.histogram.people)

    def total(self, weight: Weight | None) -> float:
        """Sum of a public weight over all people."""
        return self.histogram.total(weight)

    def size(self, group: int) -> float:
        """Reports of the group's frame."""
        return self.levels.size(group)

    def mean(self, group: int, pair: Pair) -> float:
        """Mean of u v over the people of the group."""
        return self.levels.mean(group, pair)

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """Estimated frequencies at the nodes, shape (c,)."""
        return self.levels.at(group, nodes, pair)

    def doubt(self, group: int, pair: Pair) -> float:
        """Two more people of the group's frame; see `doubt`."""
        return doubt_of(self.histogram, self.size(group), pair)


@dataclass(frozen=True)
class SplitEstimator:
    """Answers cell queries from all levels of all frames."""

    table: GroupTable
    oracles: OracleTable
    frequencies: Frequencies
    domain: RecordDomain

    def answer_rows(self, rows: Sequence[Sequence[CellQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def answer(self, queries: Sequence[CellQuery]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf where a needed frame has no reports."""
        levels = LevelEstimator(self.oracles, self.frequencies)
        alone, (pieces, _) = levels.answer(queries), levels.pieces(queries)
        covariance = alone.covariance.copy()
        for frame in self.table.frames:
            own = {g: pieces[g] for g in pieces if self.table.groups[g].frame == frame}
            if own:
                asked = sorted({number for entries in own.values() for number, _, _ in entries})
                covariance[np.ix_(asked, asked)] += self._shared(own, asked, queries)
        return Estimates(alone.values, covariance)

    def _shared(
        self, pieces: dict[int, Entries], asked: Sequence[int], queries: Sequence[CellQuery]
    ) -> Array:
        """What the covariance of a frame has beyond that of its levels alone.

        Only records that several levels count, for whatever query, have a say in it; so nothing
        finer than the levels is decoded for the disjoint nodes of one box.
        """
        kinds = [queries[number].weight for number in asked]
        parts = {group: self._dense(group, pieces[group], asked) for group in pieces}
        finest = self._finest(self.table.groups[next(iter(pieces))].frame)
        shared = np.zeros((len(asked), len(asked)))
        mean = np.zeros(len(asked))
        for group, weights in parts.items():
            level = self._level(group, weights, kinds)
            shared += np.outer(level, level)
            mean += level
        shared -= np.outer(mean, mean)
        touched = np.zeros(len(self._records), dtype=np.int64)
        for group, weights in parts.items():
            touched += np.any(weights != 0.0, axis=0)[self._node_of(group)]
        crowded = np.flatnonzero(touched > 1)
        if crowded.size:
            shared += self._joint(parts, kinds, finest, crowded)
        source = self.frequencies
        return np.asarray(shared * source.people**2 / source.size(finest))

    def _dense(self, group: int, entries: Entries, asked: Sequence[int]) -> Array:
        """The weights of all nodes of a group per query, shape (k, nodes)."""
        row_of = {number: row for row, number in enumerate(asked)}
        weights = np.zeros((len(asked), self.table.sizes[group]))
        for number, nodes, part in entries:
            np.add.at(weights[row_of[number]], nodes, part)
        return weights

    def _level(self, group: int, weights: Array, kinds: Sequence[Weight | None]) -> Array:
        """Mean amounts that a level counts, kept within what people could give, shape (k,)."""
        source = self.frequencies
        limit = np.abs(weights).max(axis=1) * np.sqrt(
            [source.mean(group, (kind, kind)) for kind in kinds]
        )
        level = np.zeros(len(kinds))
        for row, kind in enumerate(kinds):
            nodes = np.flatnonzero(weights[row])
            level[row] = weights[row, nodes] @ source.at(group, nodes, (kind, None))
        return np.clip(level, -limit, limit)

    def _joint(
        self,
        parts: Mapping[int, Array],
        kinds: Sequence[Weight | None],
        finest: int,
        records: Codes,
    ) -> Array:
        """sum over pairs of different levels of E[m_g m_h], from the frequencies of records."""
        cells = self._node_of(finest)[records]
        rows = {kind: [i for i, own in enumerate(kinds) if own == kind] for kind in set(kinds)}
        shares = {
            (left, right): self.frequencies.at(finest, cells, (left, right))
            for left in rows
            for right in rows
        }
        joint = np.zeros((len(kinds), len(kinds)))
        total = np.zeros((len(kinds), len(records)))

        def add(amounts: Array, sign: float) -> None:
            for (left, right), share in shares.items():
                part = (amounts[rows[left]] * share) @ amounts[rows[right]].T
                joint[np.ix_(rows[left], rows[right])] += sign * part

        for group, weights in parts.items():
            amounts = weights[:, self._node_of(group)[records]]
            total += amounts
            add(amounts, -1.0)
        add(total, 1.0)
        return joint

    def _finest(self, frame: int) -> int:
        """The group of a frame whose nodes are single records."""
        members = [n for n, group in enumerate(self.table.groups) if group.frame == frame]
        return max(members, key=lambda group: self.table.sizes[group])

    @cached_property
    def _records(self) -> Codes:
        """Every combination of codes with every sign, all measures of the same sign, shape
        (records, d + k)."""
        signs = len(self.domain.bounds)
        every = list(product(*(range(size) for size in self.domain.sizes)))
        codes = np.array(every, dtype=np.int64).reshape(len(every), -1)
        bits = [np.full((len(codes), signs), bit) for bit in range(2 if signs else 1)]
        return np.concatenate([np.hstack([codes, bit]) for bit in bits])

    def _node_of(self, group: int) -> Codes:
        """The node of each record in a group."""
        return self.table.node(np.full(len(self._records), group), self._records)
