"""Runs at the collector. Sees reports. Estimates from reported Haar coefficients.

A report of a level says r chi_j(k) s, with r = (e + 1)/(e - 1): an unbiased estimate of every
coefficient of the level. As the row j is uniform and says nothing about the record,
E[Y Y'] = r^2 sum over k of a_k a'_k for two queries with coefficients a and a', exactly and for
any data; the covariance of the answers needs no estimated frequency but those in their means.
Specification: h4mda, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from ldpsql.boxes import Weight
from ldpsql.decoders.base import PlannedQuery
from ldpsql.estimate import Array, Estimates, rows_of
from ldpsql.mechanisms.doubt import scatter_of
from ldpsql.mechanisms.hrr import hadamard
from ldpsql.mechanisms.reported_rows import ReportedRows
from ldpsql.report import Pair


@dataclass(frozen=True, eq=False)
class HaarQuery(PlannedQuery):
    """A linear query by its Haar coefficients.

    known: coefficient of what is known without asking.  mean: of the query over all codes.
    frames: those that can answer it, empty if nothing is asked.  coefficients: per level, the
    factors of the level's coefficients.
    """

    known: float
    mean: float
    frames: tuple[int, ...]
    coefficients: tuple[Array, ...]
    weight: Weight | None


class Coefficients(Protocol):
    """Where Haar coefficients come from; a group is a level of a frame."""

    @property
    def people(self) -> float:
        """Number of people."""
        ...

    def total(self, weight: Weight | None) -> float:
        """Sum of a weight over all people."""
        ...

    def size(self, group: int) -> float:
        """People in a group."""
        ...

    def mean(self, group: int, pair: Pair) -> float:
        """Mean of u v over the people of a group."""
        ...

    def doubt(self, group: int, pair: Pair) -> float:
        """What people to be doubted add to the mean of u v in a variance; see `doubt`."""
        ...

    def at(self, group: int, level: int, weight: Weight | None) -> Array:
        """All coefficients of a group's level, of the weighted people."""
        ...


@dataclass(kw_only=True)
class ReportedCoefficients(ReportedRows):
    """From a histogram, group by group; remembers what it has computed."""

    scale: float
    order: int
    _found: dict[tuple[int, Weight | None], Array] = field(default_factory=dict)

    def at(self, group: int, level: int, weight: Weight | None) -> Array:
        """By one Hadamard transform of the signed counts per row."""
        if (group, weight) not in self._found:
            rows = self.rows(group)
            moment = rows.moment(weight, None)
            row, bit = rows.columns[-2:]
            signed = np.bincount(row, moment * (1.0 - 2.0 * bit), minlength=self.order >> level)
            self._found[group, weight] = self.scale / self.size(group) * hadamard(signed)
        return self._found[group, weight]


@dataclass(frozen=True)
class EvenCoefficients:
    """Everybody spread evenly over all codes, weights 1: every coefficient is 0.

    sizes: people per group, shape (groups,).
    """

    order: int
    people: float
    sizes: Array

    def total(self, weight: Weight | None) -> float:
        """The number of people."""
        return self.people

    def size(self, group: int) -> float:
        """Expected people in the group."""
        return float(self.sizes[group])

    def mean(self, group: int, pair: Pair) -> float:
        """Weights are taken to be 1."""
        return 1.0

    def doubt(self, group: int, pair: Pair) -> float:
        """None: this is no estimate."""
        return 0.0

    def at(self, group: int, level: int, weight: Weight | None) -> Array:
        """Zero."""
        return np.zeros(self.order >> level)


@dataclass(frozen=True)
class HaarEstimator:
    """Answers queries from the coefficients of all groups."""

    levels: int
    scale: float
    told: Coefficients

    def answer_rows(self, rows: Sequence[Sequence[HaarQuery]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)

    def answer(self, queries: Sequence[HaarQuery]) -> Estimates:
        """Values (k,) and covariance (k, k); NaN and inf where a needed group has no reports."""
        k = len(queries)
        means = [query.known + query.mean for query in queries]
        totals = [self.told.total(query.weight) for query in queries]
        values, covariance = np.array(means) * np.array(totals), np.zeros((k, k))
        asked: dict[int, list[tuple[int, float]]] = {}
        for number, query in enumerate(queries):
            shares = self._shares(query)
            if query.frames and shares is None:
                values[number], covariance[number, number] = np.nan, np.inf
                continue
            for frame, share in zip(query.frames, shares or (), strict=True):
                if share:
                    asked.setdefault(frame, []).append((number, share))
        for frame, members in asked.items():
            for level in range(1, self.levels + 1):
                self._add(values, covariance, frame, level, members, queries)
        return Estimates(values, covariance)

    def _group(self, frame: int, level: int) -> int:
        return frame * self.levels + level - 1

    def _shares(self, query: HaarQuery) -> list[float] | None:
        """Weights of the frames by inverse predicted variance; None if none is usable."""
        spread = []
        for frame in query.frames:
            total = 0.0
            for level, factors in enumerate(query.coefficients, start=1):
                size, energy = self.told.size(self._group(frame, level)), float(factors @ factors)
                if energy:
                    total += energy / size if size else np.inf
            spread.append(total)
        if not np.isfinite(spread).any():
            return None
        precision = 1.0 / np.maximum(spread, np.finfo(float).tiny)
        return [float(share) for share in precision / precision.sum()]

    def _moment(self, group: int, pair: Pair) -> float:
        """Mean of two weights' product; few people may all weigh nothing, and still others do."""
        return self.told.mean(group, pair) + scatter_of(partial(self.told.doubt, group), pair)

    def _add(
        self,
        values: Array,
        covariance: Array,
        frame: int,
        level: int,
        members: Sequence[tuple[int, float]],
        queries: Sequence[HaarQuery],
    ) -> None:
        """Add what one group says about the queries that ask its frame."""
        group = self._group(frame, level)
        factors = np.array([share * queries[n].coefficients[level - 1] for n, share in members])
        size = self.told.size(group)
        if not size or not factors.any():
            return
        numbers = [number for number, _ in members]
        kinds = [queries[number].weight for number in numbers]
        means = np.array(
            [
                row @ self.told.at(group, level, kind)
                for row, kind in zip(factors, kinds, strict=True)
            ]
        )
        moments = np.array(
            [[self._moment(group, (left, right)) for right in kinds] for left in kinds]
        )
        noise = self.scale**2 * moments * (factors @ factors.T)
        limit = np.abs(factors).max(axis=1) * np.sqrt(np.diagonal(moments))
        told = np.clip(means, -limit, limit)
        values[numbers] += self.told.people * means
        spread = (noise - np.outer(told, told)) * self.told.people**2 / size
        covariance[np.ix_(numbers, numbers)] += spread
