"""Public. Sees parameters. The exact channel of a design, or of a smaller one of its kind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ldpsql.audit.definitions import Definition
from ldpsql.audit.domains import records, smaller
from ldpsql.audit.result import Enumerated
from ldpsql.mechanisms.base import Design, Law, Outcome
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.errors import Error

MOST_PROBABILITIES = 1 << 17
_SPREAD = 14


@dataclass(frozen=True)
class Channel:
    """A design small enough to enumerate, and its law."""

    design: Design
    law: Law

    @cached_property
    def definition(self) -> Definition:
        """What the guarantee of the design limits."""
        return Definition(self.design.guarantee.kind, self.design.domain)

    @cached_property
    def found(self) -> Enumerated:
        """The worst that it allows, and whether its selector depends on the record."""
        worst = self.definition.worst(self.law)
        return Enumerated(self.design.domain, len(self.law.outputs), worst, self._is_independent())

    def _is_independent(self) -> bool:
        """Whether every record gives each selector the same probability, together 1."""
        first = self._selectors(0)
        return sum(first.values()) == 1 and all(
            self._selectors(row) == first for row in range(1, len(self.law.inputs))
        )

    def _selectors(self, row: int) -> dict[int, Fraction]:
        result: dict[int, Fraction] = {}
        for report, chance in zip(self.law.outputs, self.law.probabilities[row], strict=True):
            result[report[0]] = result.get(report[0], Fraction(0)) + chance
        return result

    @cached_property
    def records(self) -> tuple[Outcome, ...]:
        """Every record; the two that the worst report tells apart first, the others from places
        spread over the domain before those in between."""
        worst = self.found.worst
        step = max(1, len(self.law.inputs) // _SPREAD)
        spread = (*self.law.inputs[::-step], *self.law.inputs)
        return tuple(dict.fromkeys([worst.record, worst.other, *spread]))

    @cached_property
    def telling_reports(self) -> tuple[Outcome, ...]:
        """The reports whose odds under the first two records, if they are limited at all, are the
        worst, up to a thousandth."""
        one, other = (self.law.inputs.index(record) for record in self.records[:2])
        worst = self.found.worst.odds
        columns = zip(*self.law.probabilities, strict=True)
        return tuple(
            report
            for report, column in zip(self.law.outputs, columns, strict=True)
            if self._tells(column, one, other, worst)
        )

    def _tells(
        self, column: Sequence[Fraction], one: int, other: int, worst: Fraction | None
    ) -> bool:
        likely, unlikely = column[one], column[other]
        if likely == 0 or not (
            unlikely == 0 if worst is None else likely * 1000 > worst * unlikely * 999
        ):
            return False
        return {one, other} <= set(self.definition.compared(self.law.inputs, column))

    def chance_of_equal(self, record: Outcome) -> float:
        """Probability that two independent reports of one record are equal."""
        chances = self.law.probabilities[self.law.inputs.index(record)]
        return math.fsum(float(chance) ** 2 for chance in chances)


def enumerate_channel(design: Design, options: Mapping[str, Any]) -> Channel | None:
    """The design's channel if it is small, else that of the largest smaller design that is.

    options: the mechanism's, for the smaller design. None where no channel is small enough.
    """
    for candidate in _candidates(design, options):
        if _probabilities(candidate) > MOST_PROBABILITIES:
            continue
        try:
            return Channel(candidate, candidate.law())
        except ValueError:
            continue
    return None


def _candidates(design: Design, options: Mapping[str, Any]) -> Iterator[Design]:
    yield design
    for domain in smaller(design.domain):
        try:
            yield mechanism(design.name).design(domain, design.epsilon, options)
        except (Error, ValueError):
            continue


def _probabilities(design: Design) -> int:
    """Records x reports."""
    reports = sum(math.prod(row) for row in design.report_format.limits.tolist())
    return int(records(design.domain) * reports)
