"""HaarHRR at the collector: estimated Haar coefficients, and queries by their own.

Over P = 2^h >= m padded codes, level l = 1..h has P / 2^l coefficients, one per node of 2^l codes:
the share of people in its left half minus that in its right half. A query is its mean over all
codes plus its own coefficients times the estimated ones. A report of a level says r chi_j(k) s with
r = (e + 1)/(e - 1), row j, own node k and sign s: an unbiased estimate of every coefficient of the
level. As the row j is uniform and says nothing about the record, E[Y Y'] = r^2 sum over k of
a_k a'_k for queries with coefficients a and a', exactly and for any data. The sign of a measure is
one more bit above the codes. Specification: docs/spec/h4mda.md#4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpsql.boxes import LinearQuery, Side, Weight
from ldpsql.decoders.base import Design, Estimators
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
from ldpsql.decoders.oracles import hadamard, power_from
from ldpsql.numerics import Array
from ldpsql.record_domain import RecordDomain
from ldpsql.report import Histogram, Pair, question_shares
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.plan import WORDS, Plan, subset_words


@dataclass(frozen=True)
class HaarLayout:
    """The levels of Haar coefficients over the codes of one dimension and the signs of measures.

    Questions are numbered sub-survey by sub-survey (one per measure), level by level from 1.
    """

    domain: RecordDomain

    @property
    def padded(self) -> int:
        """Codes, padded to a power of two."""
        return power_from(max(self.domain.sizes[0], 2))

    @property
    def order(self) -> int:
        """P: padded codes, with both signs where there are measures."""
        return self.padded * (2 if self.domain.bounds else 1)

    @property
    def levels(self) -> int:
        """h: halvings of the padded codes, and one between the signs of a measure."""
        return self.order.bit_length() - 1

    @property
    def sub_surveys(self) -> int:
        """One per measure; one without."""
        return max(len(self.domain.bounds), 1)

    def level_of(self, question: int) -> int:
        """The level of a question, from 1."""
        return question % self.levels + 1

    def coefficients(self, profile: Array) -> list[Array]:
        """Per level, (sum over the left half - sum over the right half) / 2^l of every node."""
        factors, sums = [], profile
        for level in range(1, self.levels + 1):
            halves = sums.reshape(-1, 2)
            factors.append((halves[:, 0] - halves[:, 1]) / (1 << level))
            sums = halves.sum(axis=1)
        return factors

    def indicate(self, side: Side) -> Array:
        """1 inside; padding lies inside where the side ends at the last code."""
        steps = np.zeros(self.padded + 1)
        for low, high in ((0, self.padded),) if side is None else side:
            steps[low] += 1.0
            steps[self.padded if high == self.domain.sizes[0] else high] -= 1.0
        return np.cumsum(steps)[:-1]


class _HaarMoments(Source):
    """What reported coefficients and predicted ones have in common."""

    scale: float

    def moments(self, group: int) -> Moments:
        """r^2 on the diagonal."""
        return Moments(self.scale**2)

    def squares(self, group: int, nodes: Codes, weights: Array, kind: Weight | None) -> Array:
        """The most that E[t^2 w^2] can be: a coefficient does not say how many are at its node."""
        return np.asarray((weights**2).max(axis=1) * self.mean(group, (kind, kind)))


@dataclass(kw_only=True)
class ReportedCoefficients(ReportedSource, _HaarMoments):
    """From a histogram, question by question."""

    layout: HaarLayout
    scale: float

    def node_count(self, group: int) -> int:
        """Coefficients of the level."""
        return self.layout.order >> self.layout.level_of(group)

    def estimate(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """By one Hadamard transform of the signed counts per row."""
        rows = self.rows(group)
        row, bit = rows.columns
        amounts = rows.moment(*pair) * (1.0 - 2.0 * bit)
        signed = np.bincount(row, amounts, minlength=self.node_count(group))
        return np.asarray(self.scale / self.size(group) * hadamard(signed)[nodes])


@dataclass(frozen=True)
class EvenCoefficients(EvenSource, _HaarMoments):
    """Everybody spread evenly over all padded codes: every coefficient is 0."""

    scale: float

    def at(self, group: int, nodes: Codes, pair: Pair) -> Array:
        """Zero."""
        return np.zeros(len(nodes))


@dataclass(frozen=True)
class HaarDesign(Design[CellQuery]):
    """One level of Haar coefficients per question; one sub-survey of levels per measure."""

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    plan: Plan

    @property
    def layout(self) -> HaarLayout:
        """Levels and sub-surveys."""
        return HaarLayout(self.domain)

    @property
    def scale(self) -> float:
        """(e + 1) / (e - 1) = 1 / (2 p - 1), p the probability of the true entry."""
        return 1.0 / (2.0 * subset_words(1, 2, self.plan.odds[0])[0] / WORDS - 1.0)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record; the question is drawn without looking at it."""
        return local_guarantee(self.epsilon)

    def prepare(self, query: LinearQuery) -> CellQuery:
        """The Haar coefficients of the query, in every sub-survey that can answer it."""
        known, boxes = split_known(query)
        if not boxes:
            return CellQuery(known, False, (), query.weight)
        layout = self.layout
        profile = sum((c * layout.indicate(box.sides[0]) for c, box in boxes), np.zeros(1))
        sub_surveys: Sequence[int] = range(layout.sub_surveys)
        if query.measure is not None:
            low, high = self.domain.bounds[query.measure]
            profile, sub_surveys = np.concatenate([low * profile, high * profile]), [query.measure]
        elif self.domain.bounds:
            profile = np.tile(profile, 2)
        factors = layout.coefficients(profile)
        alternatives = tuple(
            tuple(
                GroupCells(sub_survey * layout.levels + level, nodes, factors[level][nodes])
                for level in range(layout.levels)
                if (nodes := np.flatnonzero(factors[level])).size
            )
            for sub_survey in sub_surveys
        )
        return CellQuery(known + float(profile.mean()), True, alternatives, query.weight)

    def describe(self, planned: CellQuery) -> list[str]:
        """How many coefficients of each level take part."""
        lines = [] if planned.is_asked else describe_known(planned.known)
        for alternative in planned.alternatives:
            for cells in alternative:
                level = self.layout.level_of(cells.group)
                used, rows = len(cells.nodes), self.layout.order >> level
                nodes = f"nodes of {1 << level} codes"
                lines.append(f"group {cells.group} ({nodes}): {used} of {rows} coefficients")
        return lines

    @property
    def estimators(self) -> Estimators[CellQuery]:
        """The unbiased one only, by actual group sizes."""
        return {"unbiased": lambda histogram: LinearEstimator(self._reported(histogram))}

    def _reported(self, histogram: Histogram) -> Source:
        return ReportedCoefficients(histogram=histogram, layout=self.layout, scale=self.scale)

    def variance(self, queries: Sequence[CellQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all padded codes, shape (k,)."""
        evenly = EvenCoefficients(people, question_shares(self.plan) * people, self.scale)
        return np.diagonal(LinearEstimator(evenly).answer(queries).covariance).copy()

    def to_json(self) -> Mapping[str, Any]:
        """How often each question is asked."""
        return {"weights": list(self.plan.faces[0].steps[0].choice.weights)}
