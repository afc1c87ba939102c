"""HI: every user answers every level combination below the roots, with a part of the budget each.

The parts are equal and compose to epsilon. There is no sampling noise, but that of the answers
grows with the square of the number of parts; HI is there for comparison. With measures, each user
draws one of them. Source: Wang, Ding, Zhou, Hong, Huang, Li, Jha, SIGMOD 2019;
docs/spec/h4mda.md#2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from functools import reduce
from typing import Literal

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import AnyDesign
from ldpsql.estimators.groups import GroupTable
from ldpsql.mechanisms.base import AnyOptions, Task
from ldpsql.mechanisms.hierarchical.recipe import GroupOptions, Hierarchical, collect_embedded
from ldpsql_device.epsilon import LARGEST_PRECISION, SMALLEST_EPSILON, Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_lab.mechanisms.split import SplitConsistentDesign, SplitNodeDesign, plan_of_split

LARGEST_PARTS, LARGEST_RECORDS = 64, 1 << 16
_EXACT = Context(prec=60)


@dataclass(frozen=True)
class HiOptions(GroupOptions):
    """Options of hi."""

    oracle: Literal["auto", "grr", "olh", "hrr"] = "auto"


class Hi(Hierarchical):
    """COUNT, and SUM and AVG of private measures: all level combinations below the roots."""

    def make(self, task: Task[GroupOptions]) -> AnyDesign:
        """Epsilon split evenly over the level combinations of a measure."""
        options, table = task.options, self.tabulate(task)
        budgets = split_evenly(self.name, task.epsilon, table)
        self._check_split(table, task.domain, task.epsilon, budgets)
        groups = table, options.oracle, options.inference
        return self._split(task.domain, task.epsilon, *groups, budgets)

    def remake(self, domain: RecordDomain, epsilon: Epsilon, data: AnyOptions) -> AnyDesign:
        """From the design's data."""
        groups, budgets = self.read(domain, data), tuple(map(Epsilon.parse, data["budgets"]))
        self._check_split(groups[0], domain, epsilon, budgets)
        return self._split(domain, epsilon, *groups, budgets)

    def _split(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        table: GroupTable,
        oracle: str,
        inference: str,
        budgets: tuple[Epsilon, ...],
    ) -> AnyDesign:
        kind = SplitConsistentDesign if inference == "consistent" else SplitNodeDesign
        plan = plan_of_split(domain, table, oracle, budgets)
        return kind(self.name, domain, epsilon, plan, table, oracle, budgets)

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


HI = Hi("hi", collect_embedded, HiOptions)
