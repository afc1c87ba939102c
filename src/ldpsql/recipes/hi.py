"""HI: every user answers every level combination, with a part of the budget each.

The report has one answer per level combination but that of all roots, which is known, each by a
frequency oracle at its own part of epsilon; together they are epsilon-LDP by composition. Nobody is
assigned anything, so there is no sampling noise, but the noise of the answers grows with the square
of the number of parts. With measures, each user draws one of them and answers all groups of its
sub-survey. HI is there for comparison. Source: Wang, Ding, Zhou, Hong, Huang, Li, Jha, SIGMOD 2019;
specification: docs/spec/h4mda.md#2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from functools import cached_property
from typing import Literal

import numpy as np

from ldpsql.decoders.base import AnyDesign
from ldpsql.decoders.groups import GroupTable
from ldpsql.numerics import Array, step_weights
from ldpsql.recipes.allocation import SHARE_FOR_ALL, Allocation, allocation_for
from ldpsql.recipes.base import AnyOptions, Promise, Recipe, Task
from ldpsql.recipes.hierarchical import (
    DESIGNS,
    Grouped,
    GrrOptions,
    check_oracle,
    collect_embedded,
    moments_of,
    tree_variants,
    trees_for,
)
from ldpsql.recipes.oracles import plan_of_split
from ldpsql.record_domain import RecordDomain
from ldpsql.workload import Workload
from ldpsql_device.epsilon import LARGEST_PRECISION, SMALLEST_EPSILON, Epsilon
from ldpsql_device.errors import SurveyError

LARGEST_PARTS, LARGEST_RECORDS = 64, 1 << 16
_EXACT = Context(prec=60)
_DIGITS = Decimal("1e-9")
_POINTS, _STEPS, _LEAN, _GAP = 24, 200, 0.9, 1e-5


@dataclass(frozen=True)
class HiOptions(GrrOptions):
    """allocation: of epsilon to level combinations; see `hierarchical.Grouped` for the others."""

    oracle: Literal["auto", "grr", "olh", "hrr"] = "auto"


class Hi(Recipe[Grouped]):
    """COUNT, and SUM and AVG of private measures."""

    name = "hi"
    options = HiOptions

    def make(self, task: Task[Grouped]) -> AnyDesign:
        """All level combinations below the roots, per measure."""
        domain, epsilon, options = task.domain, task.epsilon, task.options
        trees = trees_for(domain, options)
        table = GroupTable(trees, collect_embedded(domain, trees, False))
        budgets = split_evenly(self.name, epsilon, table)
        self._check_split(table, domain, epsilon, budgets)
        if options.allocation == "optimal":
            even = moments_of(table, options.oracle, budgets[0])
            criterion = allocation_for(table, even, task.asked, options.inference)
            is_consistent = options.inference == "consistent"
            split = BestSplit(table, options.oracle, epsilon, budgets, criterion, is_consistent)
            budgets = split.budgets()
        return self._build(domain, epsilon, table, options.oracle, options.inference, budgets)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """From the design's data."""
        check_oracle(self, data["oracle"])
        table = GroupTable.from_json(domain, data)
        budgets = tuple(map(Epsilon.parse, data["budgets"]))
        self._check_split(table, domain, epsilon, budgets)
        inference = data.get("inference", "direct")
        return self._build(domain, epsilon, table, data["oracle"], inference, budgets)

    def _build(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        table: GroupTable,
        oracle: str,
        inference: str,
        budgets: tuple[Epsilon, ...],
    ) -> AnyDesign:
        plan = plan_of_split(domain, table, oracle, budgets)
        return DESIGNS[inference](self.name, domain, epsilon, plan, table, oracle, budgets)

    def _check_split(
        self,
        table: GroupTable,
        domain: RecordDomain,
        epsilon: Epsilon,
        budgets: Sequence[Epsilon],
    ) -> None:
        """SurveyError for budgets that exceed epsilon, and for too many parts or records."""
        check_spending(epsilon, table, budgets)
        parts = max(map(len, table.members.values()))
        if parts > LARGEST_PARTS:
            raise SurveyError(
                f"{self.name} asks for {parts} level combinations in every report, more than "
                f"{LARGEST_PARTS}; use a larger fanout, or a mechanism that asks for one"
            )
        records = math.prod(domain.sizes) * (2 if domain.bounds else 1)
        if records > LARGEST_RECORDS:
            raise SurveyError(
                f"{self.name} is for up to {LARGEST_RECORDS} combinations of codes and signs, not "
                f"{records}; use coarser bins, or a mechanism that asks for one level combination"
            )
        finest = [max(table.sizes[group] for group in own) for own in table.members.values()]
        if any(size != records for size in finest):
            raise SurveyError(f"{self.name} asks everybody for single records among other levels")

    def variants(self, workload: Workload, promise: Promise, people: int) -> Iterator[AnyOptions]:
        """As of the mechanisms that ask about one level combination."""
        return tree_variants(self.options, workload)


def split_evenly(name: str, epsilon: Epsilon, table: GroupTable) -> tuple[Epsilon, ...]:
    """An equal part for every group of a sub-survey, rounded down.

    SurveyError where the parts would be too small.
    """
    divide = Context(prec=LARGEST_PRECISION, rounding=ROUND_FLOOR).divide
    counts = [len(table.members[group.sub_survey]) for group in table.groups]
    parts = [divide(epsilon.value, count) for count in counts]
    if min(parts) < SMALLEST_EPSILON:
        raise SurveyError(
            f"{name} splits epsilon {epsilon} over {max(counts)} levels, and each part must be at "
            f"least {SMALLEST_EPSILON}; take a larger epsilon or fan-out, or a mechanism that does "
            "not split it"
        )
    return tuple(map(Epsilon, parts))


def check_spending(epsilon: Epsilon, table: GroupTable, budgets: Sequence[Epsilon]) -> None:
    """SurveyError unless there is a part for every group and those of a sub-survey add up to at
    most epsilon."""
    if len(budgets) != len(table.groups):
        raise SurveyError("a design with a split budget needs a part for every level combination")
    for members in table.members.values():
        spent = Decimal(0)
        for group in members:
            spent = _EXACT.add(spent, budgets[group].value)
        if spent > epsilon.value:
            raise SurveyError(f"the parts of epsilon {epsilon} add up to {spent}")


@dataclass(frozen=True)
class BestSplit:
    """The split of epsilon that minimises a criterion.

    The information of an answer grows about with the square of its part. Under least squares the
    best split is therefore lopsided and has several local optima: multiplicative updates start
    from an even split and from one towards every level combination.

    even: budgets for which `criterion` holds.  is_consistent: whether a group counts by the
    variance of a contrast rather than of a node.
    """

    table: GroupTable
    oracle: str
    epsilon: Epsilon
    even: tuple[Epsilon, ...]
    criterion: Allocation
    is_consistent: bool

    def budgets(self) -> tuple[Epsilon, ...]:
        """Per group; one hundredth of epsilon is spread evenly, or what the smallest part needs."""
        longest = max(map(len, self._members))
        descents = [self._descend(self._lean(place)) for place in (None, *range(longest))]
        best, _ = min(descents, key=lambda pair: pair[1])
        return self._round(best)

    @cached_property
    def _members(self) -> list[list[int]]:
        return [list(members) for members in self.table.members.values()]

    def _lean(self, place: int | None) -> Array:
        """Shares of epsilon per group: even, or most of it for one group of every sub-survey."""
        shares = np.zeros(len(self.even))
        for own in self._members:
            part = np.full(len(own), 1.0 / len(own))
            if place is not None and len(own) > 1:
                part[:] = (1.0 - _LEAN) / (len(own) - 1)
                part[place % len(own)] = _LEAN
            shares[own] = part
        return shares

    @cached_property
    def _floors(self) -> Array:
        """The least fraction of epsilon of every group."""
        floors = np.zeros(len(self.even))
        smallest = float(SMALLEST_EPSILON) / float(self.epsilon) * (1.0 + 1e-6)
        for own in self._members:
            floors[own] = min(max(SHARE_FOR_ALL / len(own), smallest), 1.0 / len(own))
        return floors

    def _descend(self, shares: Array) -> tuple[Array, float]:
        """The best fractions met by multiplicative updates, and their objective.

        shares: of what lies above the floors; they sum to 1 in every sub-survey.
        """
        best, least = self._floors, np.inf
        for _ in range(_STEPS):
            fractions = self._floors.copy()
            for own in self._members:
                fractions[own] += (1.0 - self._floors[own].sum()) * shares[own]
            precision, slope = self._precisions(fractions)
            gain, objective = self.criterion.gains(precision / len(self._members))
            is_better = objective < least * (1.0 - _GAP)
            if objective < least:
                best, least = fractions, objective
            if not is_better:
                break
            # -dF/dfraction = gain x slope, and the precision grows with the fraction's square.
            shares = shares.copy()
            for own in self._members:
                pull = gain[own] * slope[own]
                if (pull * shares[own]).any():
                    shares[own] = step_weights(shares[own], pull)
        return best, least

    def _precisions(self, fractions: Array) -> tuple[Array, Array]:
        """What fractions of epsilon buy in precision, even parts being 1, and its slope."""
        at, step = np.log(fractions), 1e-4
        ends, curves = self._curves
        logs = np.array([np.interp(x, ends, curve) for x, curve in zip(at, curves, strict=True)])
        later = np.array([np.interp(x + step, ends, c) for x, c in zip(at, curves, strict=True)])
        precision = np.exp(logs)
        return precision, np.maximum(later - logs, 0.0) / step * precision / fractions

    @cached_property
    def _curves(self) -> tuple[Array, Array]:
        """Logarithms of fractions, (points,), and of precisions there, (groups, points)."""
        points = np.geomspace(0.5 * float(self._floors.min()), 1.0, _POINTS)
        base = self._variances(self.even[0])
        rows = [np.log(base / self._variances(self._part(fraction))) for fraction in points]
        return np.log(points), np.array(rows).T

    def _part(self, fraction: float) -> Epsilon:
        """A part of epsilon, rounded down."""
        exact = Decimal(float(fraction)) * self.epsilon.value
        return Epsilon(max(exact.quantize(_DIGITS, rounding=ROUND_FLOOR), SMALLEST_EPSILON))

    def _variances(self, budget: Epsilon) -> Array:
        """Of what counts in every group at a budget; 1 where one node holds everybody."""
        moments = moments_of(self.table, self.oracle, budget)
        return np.array(
            [
                1.0
                if size == 1
                else (m.contrast_variance(size) if self.is_consistent else m.node_variance)
                for m, size in zip(moments, self.table.sizes, strict=True)
            ]
        )

    def _round(self, fractions: Array) -> tuple[Epsilon, ...]:
        """Decimals that add up to epsilon in every sub-survey: the largest part takes the rest."""
        budgets = [self._part(fraction) for fraction in fractions]
        for own in self._members:
            most = max(own, key=lambda group: float(fractions[group]))
            rest = self.epsilon.value
            for group in own:
                if group != most:
                    rest = _EXACT.subtract(rest, budgets[group].value)
            budgets[most] = Epsilon(rest)
        return tuple(budgets)


HI = Hi()
