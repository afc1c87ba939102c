"""HI: every user answers every level combination below the roots, with a part of the budget each.

The parts compose to epsilon. There is no sampling noise, but that of the answers grows with the
square of the number of parts; HI is there for comparison. With measures, each user draws one of
them. Source: Wang, Ding, Zhou, Hong, Huang, Li, Jha, SIGMOD 2019; docs/spec/h4mda.md#2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from functools import reduce
from typing import Literal

import numpy as np

from ldpsql.decoders.base import AnyDesign
from ldpsql.decoders.groups import GroupTable
from ldpsql.numerics import Array
from ldpsql.recipes.allocation import SHARE_FOR_ALL
from ldpsql.recipes.base import AnyOptions, Task
from ldpsql.recipes.hierarchical import (
    GroupOptions,
    Hierarchical,
    collect_embedded,
    make_criterion,
    moments_of,
)
from ldpsql.record_domain import RecordDomain
from ldpsql_device.epsilon import LARGEST_PRECISION, SMALLEST_EPSILON, Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.frozen import frozen

LARGEST_PARTS, LARGEST_RECORDS = 64, 1 << 16
_EXACT = Context(prec=60)
_DIGITS = Decimal("1e-9")
_POINTS, _LEAN = 24, 0.9


@frozen
class HiOptions(GroupOptions):
    """allocation: of epsilon to level combinations; see `GroupOptions` for the others."""

    oracle: Literal["auto", "grr", "olh", "hrr"] = "auto"


class Hi(Hierarchical):
    """COUNT, and SUM and AVG of private measures: all level combinations below the roots."""

    def make(self, task: Task[GroupOptions]) -> AnyDesign:
        """Epsilon split over the level combinations of a measure, as the options say."""
        options, table = task.options, self.tabulate(task)
        budgets = split_evenly(self.name, task.epsilon, table)
        self._check_split(table, task.domain, task.epsilon, budgets)
        if options.allocation == "optimal":
            budgets = split_best(table, task, budgets[0])
        groups = table, options.oracle, options.inference
        return self._build(task.domain, task.epsilon, *groups, budgets)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """From the design's data."""
        groups, budgets = self.read(domain, data), tuple(map(Epsilon.parse, data["budgets"]))
        self._check_split(groups[0], domain, epsilon, budgets)
        return self._build(domain, epsilon, *groups, budgets)

    def _check_split(
        self, table: GroupTable, domain: RecordDomain, epsilon: Epsilon, budgets: Sequence[Epsilon]
    ) -> None:
        """SurveyError for budgets that exceed epsilon, and for too many parts or records."""
        if len(budgets) != len(table.groups):
            raise SurveyError(
                "a design with a split budget needs a part for every level combination"
            )
        for members in table.members.values():
            spent = add_exactly(budgets[group].value for group in members)
            if spent > epsilon.value:
                raise SurveyError(f"the parts of epsilon {epsilon} add up to {spent}")
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


def add_exactly(values: Iterable[Decimal]) -> Decimal:
    """The sum, without rounding."""
    return reduce(_EXACT.add, values, Decimal(0))


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


def split_best(table: GroupTable, task: Task[GroupOptions], even: Epsilon) -> tuple[Epsilon, ...]:
    """The split of epsilon that minimises what an allocation of users would.

    One hundredth of epsilon is spread evenly, or what the smallest part needs. The information of
    an answer grows about with the square of its part; so under least squares the best split is
    lopsided and has several local optima, and descents start from an even split and from one
    towards every level combination. They are over logits, so that parts are positive and add up.

    even: the budget for which the criterion counts precisions as 1.
    """
    from scipy.interpolate import PchipInterpolator  # noqa: PLC0415
    from scipy.optimize import minimize  # noqa: PLC0415

    epsilon, criterion = task.epsilon, make_criterion(table, task, even)
    members = [np.array(own) for own in table.members.values()]
    floors, room = np.zeros(len(table.groups)), np.zeros(len(table.groups))
    smallest = float(SMALLEST_EPSILON) / float(epsilon) * (1.0 + 1e-6)
    for own in members:
        floors[own] = min(max(SHARE_FOR_ALL / len(own), smallest), 1.0 / len(own))
        room[own] = 1.0 - floors[own].sum()

    def variances(budget: Epsilon) -> Array:
        """Of what counts in every group at a budget; 1 where one node holds everybody."""
        is_consistent = task.options.inference == "consistent"
        pairs = zip(moments_of(table, task.options.oracle, budget), table.sizes, strict=True)
        rows = (m.contrast_variance(n) if is_consistent else m.node_variance for m, n in pairs)
        return np.where(np.array(table.sizes) == 1, 1.0, np.fromiter(rows, dtype=np.float64))

    points = np.geomspace(0.5 * float(floors.min()), 1.0, _POINTS)
    rows = [-np.log(variances(_part(epsilon, fraction))) for fraction in points]
    curves = PchipInterpolator(np.log(points), rows + np.log(variances(even)))
    slopes = curves.derivative()

    def spread(logits: Array) -> Array:
        """Shares of what lies above the floors, which sum to 1 in every sub-survey."""
        shares = np.zeros(len(logits))
        for own in members:
            weights = np.exp(logits[own] - logits[own].max())
            shares[own] = weights / weights.sum()
        return shares

    def objective(logits: Array) -> tuple[float, Array]:
        shares = spread(logits)
        fractions = floors + room * shares
        at = np.log(fractions)
        precisions = np.exp(np.diagonal(curves(at))) / len(members)
        gains, value = criterion.gains(precisions)
        # Down the chain of precisions, logarithms of fractions, shares and logits.
        pull = -gains * precisions * np.diagonal(slopes(at)) / fractions * room * shares
        slope = pull.copy()
        for own in members:
            slope[own] -= shares[own] * pull[own].sum()
        return value / scale, slope / scale

    scale = 1.0
    scale = objective(np.zeros(len(floors)))[0] or 1.0
    starts = np.zeros((1 + max(map(len, members)), len(floors)))
    for place, start in enumerate(starts[1:]):
        for own in members:
            start[own[place % len(own)]] = math.log(_LEAN / (1.0 - _LEAN) * max(len(own) - 1, 1))
    descents = [minimize(objective, start, jac=True, method="L-BFGS-B") for start in starts]
    best = min(descents, key=lambda descent: float(descent.fun))
    fractions = floors + room * spread(best.x)
    # Decimals that add up to epsilon in every sub-survey: the largest part takes the rest.
    budgets = [_part(epsilon, fraction) for fraction in fractions.tolist()]
    for group_numbers in table.members.values():
        most = max(group_numbers, key=lambda group: float(fractions[group]))
        others = add_exactly(budgets[group].value for group in group_numbers if group != most)
        budgets[most] = Epsilon(_EXACT.subtract(epsilon.value, others))
    return tuple(budgets)


def _part(epsilon: Epsilon, fraction: float) -> Epsilon:
    """A part of epsilon, rounded down."""
    exact = Decimal(float(fraction)) * epsilon.value
    return Epsilon(max(exact.quantize(_DIGITS, rounding=ROUND_FLOOR), SMALLEST_EPSILON))


HI = Hi("hi", collect_embedded, HiOptions)
