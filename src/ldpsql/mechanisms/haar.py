"""Public. Sees parameters. HaarHRR: one Haar coefficient per user, by Hadamard response.

Over P = 2^h >= m padded codes, level l = 1..h has P / 2^l coefficients, one per node of 2^l codes:
the share of people in its left half minus that in its right half. A user is assigned one level at
random, where exactly one coefficient is not zero, +1 or -1; the report is a uniform row j of the
Hadamard matrix over the level's coefficients and the entry there, times the sign, flipped with
probability 1/(1 + e). A query is its mean over all codes plus its own coefficients times the
estimated ones. The sign of a measure is one more bit above the codes. As coefficients
are independent and agree with each other, consistent inference is the direct one. Source: Cormode,
Kulkarni, Srivastava, VLDB 2019; specification h4mda, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ldpsql.boxes import LinearQuery, Side
from ldpsql.decoders.base import Design
from ldpsql.estimate import Array
from ldpsql.mechanisms.base import Codes, Entropy, Estimator, Law, Outcome
from ldpsql.mechanisms.cell_query import known_lines, split_known
from ldpsql.mechanisms.channel import enumerate_law, in_blocks
from ldpsql.mechanisms.draws import (
    SPACE,
    WeightedChoice,
    below,
    keep_threshold,
    weights_of,
    whole_shares,
)
from ldpsql.mechanisms.grr import law as grr_law
from ldpsql.mechanisms.grr import odds
from ldpsql.mechanisms.haar_allocation import group_count, levels_of, optimal_shares
from ldpsql.mechanisms.haar_estimator import EvenCoefficients, HaarEstimator, HaarQuery
from ldpsql.mechanisms.haar_estimator import ReportedCoefficients as Reported
from ldpsql.mechanisms.hrr import LARGEST_SLOT, flip, parity, power_from
from ldpsql.mechanisms.options import ALLOCATIONS, INFERENCES, one_dimension, one_of, take
from ldpsql.recipes.base import NoOptions, Recipe
from ldpsql.report import Histogram, ReportFormat, Reports
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.guarantee import Guarantee, local_guarantee
from ldpsql_device.schema import RecordDomain


@dataclass(frozen=True)
class HaarDesign(Design[HaarQuery]):
    """One level of Haar coefficients per group; one frame of groups per measure."""

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        one_dimension(self.domain, self.name)
        if self.order > LARGEST_SLOT:
            raise SurveyError(f"{self.name} takes at most {LARGEST_SLOT} codes; use coarser bins")
        weights = self.weights
        groups = self.frames * self.levels
        if len(weights) != groups or min(weights) < 1 or sum(weights) != SPACE:
            raise SurveyError(f"{self.name} needs {groups} positive weights that add up to 2^64")

    @property
    def answers(self) -> Literal["boxes", "nodes"]:
        """Boxes are taken as they are."""
        return "boxes"

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
        """h."""
        return levels_of(self.domain)

    @property
    def frames(self) -> int:
        """One per measure; one without."""
        return max(len(self.domain.bounds), 1)

    @cached_property
    def threshold(self) -> int:
        """The integer below which a 64-bit word means: report the true entry."""
        return keep_threshold(self.epsilon.odds, 2)

    @property
    def scale(self) -> float:
        """(e + 1) / (e - 1): what a report's entry is multiplied with."""
        return 1.0 / (2.0 * self.threshold / SPACE - 1.0)

    @cached_property
    def report_format(self) -> ReportFormat:
        """The group (frame by frame, level by level), the row, the entry (0 for +1, 1 for -1)."""
        limits = [[self.order >> level, 2] for level in range(1, self.levels + 1)] * self.frames
        return ReportFormat(("group", "j", "bit"), np.array(limits, dtype=np.int64))

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon-LDP for the whole private record; the group is drawn without looking at it."""
        return local_guarantee(self.epsilon)

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """Device. See `Design.randomize`."""
        return in_blocks(self.report_format, codes, entropy, self._randomize_block)

    @cached_property
    def _choice(self) -> WeightedChoice:
        return WeightedChoice(self.weights)

    def _randomize_block(self, codes: Codes, entropy: Entropy) -> list[Codes]:
        """Four words per person: group, row, whether to lie, and the lie."""
        count = len(codes)
        group = self._choice.choose(entropy.words(count))
        rows = self.report_format.limits[group, 0].astype(np.uint64)
        row = below(entropy.words(count), rows)
        level = group % self.levels + 1
        entry = self._entry(self._leaf(codes, group // self.levels), level, row)
        return [group, row, flip(self.threshold, entry, entropy)]

    def _leaf(self, codes: Codes, frame: Codes) -> Codes:
        """The padded code, the sign of the frame's measure above it."""
        if not self.domain.bounds:
            return codes[:, 0]
        sign = np.take_along_axis(codes, 1 + frame[:, None], axis=1)[:, 0]
        return np.asarray(sign * self.padded + codes[:, 0], dtype=np.int64)

    @staticmethod
    def _entry(leaf: Codes, level: Codes, row: Codes) -> Codes:
        """0 for +1, 1 for -1: the entry of the own coefficient times its sign."""
        return parity(row, leaf >> level) ^ (leaf >> (level - 1) & 1)

    def law(self) -> Law:
        """The exact channel over all codes and signs."""
        return enumerate_law(
            self.domain, int(self.report_format.limits.prod(axis=1).sum()), self._report_law
        )

    @property
    def selector_shares(self) -> Array:
        """Of the groups. See `Design`."""
        return np.array(self.weights, dtype=np.float64) / SPACE

    def selector_odds(self) -> Fraction | None:
        """Those of randomized response on one bit, in every group alike; 1 for a single record."""
        return Fraction(1) if self._is_single else odds(self.threshold, 2, 2)

    @property
    def _is_single(self) -> bool:
        return self.domain.sizes == (1,) and not self.domain.bounds

    def _report_law(self, record: Outcome) -> dict[Outcome, Fraction]:
        law: dict[Outcome, Fraction] = {}
        for group, weight in enumerate(self.weights):
            rows = np.arange(self.order >> (group % self.levels + 1))
            own = np.tile(np.array(record, dtype=np.int64), (len(rows), 1))
            leaf = self._leaf(own, np.full(len(rows), group // self.levels))
            entries = self._entry(leaf, np.full(len(rows), group % self.levels + 1), rows)
            for row, entry in zip(rows.tolist(), entries.tolist(), strict=True):
                for answer, chance in grr_law(self.threshold, 2, entry):
                    law[group, row, answer] = Fraction(weight, SPACE) * chance / len(rows)
        return law

    def prepare(self, query: LinearQuery) -> HaarQuery:
        """The Haar coefficients of the query, in every frame that can answer it."""
        known, boxes = split_known(query)
        if not boxes:
            return HaarQuery(known, 0.0, (), (), query.weight)
        profile = np.zeros(self.padded)
        for share, box in boxes:
            profile += share * self._indicator(box.sides[0])
        frames = tuple(range(self.frames))
        if query.measure is not None:
            low, high = self.domain.bounds[query.measure]
            profile, frames = np.concatenate([low * profile, high * profile]), (query.measure,)
        elif self.domain.bounds:
            profile = np.tile(profile, 2)
        mean = float(profile.mean())
        return HaarQuery(known, mean, frames, self._coefficients(profile), query.weight)

    def _indicator(self, side: Side) -> Array:
        """1 inside; padding lies inside where the side ends at the last code."""
        steps = np.zeros(self.padded + 1)
        for low, high in ((0, self.padded),) if side is None else side:
            steps[low] += 1.0
            steps[self.padded if high == self.domain.sizes[0] else high] -= 1.0
        return np.cumsum(steps)[:-1]

    def _coefficients(self, profile: Array) -> tuple[Array, ...]:
        """Per level, (sum over the left half - sum over the right half) / 2^l of every node."""
        found, sums = [], profile
        for level in range(1, self.levels + 1):
            halves = sums.reshape(-1, 2)
            found.append((halves[:, 0] - halves[:, 1]) / (1 << level))
            sums = halves.sum(axis=1)
        return tuple(found)

    def describe(self, planned: HaarQuery) -> list[str]:
        """For EXPLAIN: how many coefficients of each level take part."""
        lines = known_lines(planned.known)
        for frame in planned.frames:
            for level, values in enumerate(planned.coefficients, start=1):
                used, rows = int(np.count_nonzero(values)), len(values)
                if used:
                    group = frame * self.levels + level - 1
                    nodes = f"nodes of {1 << level} codes"
                    lines.append(f"group {group} ({nodes}): {used} of {rows} coefficients")
        return lines

    def estimator(self, histogram: Histogram) -> Estimator:
        """Collector. Unbiased, by actual group sizes."""
        return HaarEstimator(
            self.levels,
            self.scale,
            Reported(scale=self.scale, order=self.order, histogram=histogram),
        )

    @property
    def estimators(self) -> Mapping[str, Callable[[Histogram], Estimator]]:
        """By name, the default first."""
        return {"unbiased": self.estimator}

    def variance(self, queries: Sequence[HaarQuery], people: int) -> Array:
        """Predicted variance if records are spread evenly over all padded codes, shape (k,)."""
        evenly = EvenCoefficients(self.order, people, self.selector_shares * people)
        answer = HaarEstimator(self.levels, self.scale, evenly).answer(queries)
        return np.diagonal(answer.covariance).copy()

    def to_json(self) -> Mapping[str, Any]:
        """How many people each level gets; as text, for the weights exceed JSON's numbers."""
        return {"weights": [str(weight) for weight in self.weights]}


class HaarHrr(Recipe[NoOptions]):
    """COUNT, and SUM and AVG of private measures, over one dimension."""

    name = "haarhrr"

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> HaarDesign:
        """One group per level, per measure."""
        one_dimension(domain, self.name)
        chosen = take(options, {"inference": "direct", "allocation": "uniform"}, self.name)
        one_of("inference", chosen["inference"], INFERENCES)
        one_of("allocation", chosen["allocation"], ALLOCATIONS)
        shares = [1] * group_count(domain)
        if chosen["allocation"] == "optimal":
            shares = whole_shares(optimal_shares(workload or Workload.everyday(domain)))
        return HaarDesign(self.name, domain, epsilon, weights_of(shares))

    def restore(
        self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]
    ) -> HaarDesign:
        """From a survey's JSON; one without weights has people spread evenly."""
        one_dimension(domain, self.name)
        even = weights_of([1] * group_count(domain))
        weights = tuple(map(int, data["weights"])) if "weights" in data else even
        return HaarDesign(self.name, domain, epsilon, weights)
