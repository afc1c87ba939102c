"""The exact channel of a design: who sends which report with which probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from ldpsql_device.law import count_reports, laws
from ldpsql_device.plan import Plan

LARGEST_LAW = 4_000_000

Outcome = tuple[int, ...]
Compared = Callable[[Sequence[Fraction]], Sequence[int]]


@dataclass(frozen=True)
class Worst:
    """A report, and two records of which one sends it more often than the other.

    likely, unlikely: the report's probability under `record` and under `other`.
    """

    report: Outcome
    record: Outcome
    other: Outcome
    likely: Fraction
    unlikely: Fraction

    @property
    def odds(self) -> Fraction | None:
        """likely / unlikely; None if unbounded."""
        if self.unlikely == 0:
            return None if self.likely else Fraction(1)
        return self.likely / self.unlikely


@dataclass(frozen=True)
class Law:
    """The exact channel of a design: who sends what with which probability.

    inputs: every private record as (codes..., signs...).  outputs: every report as a row.
    probabilities[i][o]: Pr[outputs[o] | inputs[i]], from the integers the sampler compares.
    """

    inputs: tuple[Outcome, ...]
    outputs: tuple[Outcome, ...]
    probabilities: tuple[tuple[Fraction, ...], ...]

    def divergence(self, odds: Fraction) -> Fraction:
        """Largest delta for which some set of reports breaks (log odds, delta)-LDP.

        The hockey-stick divergence: the sum over the reports of the positive parts of P - odds P',
        at its largest over all ordered pairs of records. Exact.
        """
        scale = math.lcm(*(p.denominator for row in self.probabilities for p in row))
        rows = [[int(p * scale * odds.denominator) for p in row] for row in self.probabilities]
        raised = [[int(p * scale * odds.numerator) for p in row] for row in self.probabilities]
        worst = max(
            sum(p - q for p, q in zip(row, other, strict=True) if p > q)
            for row in rows
            for other in raised
        )
        return Fraction(worst, scale * odds.denominator)

    def worst(self, compared: Compared | None = None) -> Worst:
        """The report that tells two records apart best; the likeliest one where several do.

        compared: the records, by number, among which a report is limited, from its probability
        under each; all of them where None.
        """
        everybody = range(len(self.inputs))
        found = []
        for report, column in zip(self.outputs, zip(*self.probabilities, strict=True), strict=True):
            members = compared(column) if compared else everybody
            high, low = (pick(members, key=column.__getitem__) for pick in (max, min))
            records = self.inputs[high], self.inputs[low]
            found.append(Worst(report, *records, column[high], column[low]))
        return max(found, key=lambda one: (one.odds is None, one.odds or 0, one.likely))


def enumerate_law(plan: Plan) -> Law:
    """The exact channel of a plan, over all records; ValueError where it is too large."""
    count, reports = math.prod(plan.sizes), count_reports(plan)
    if count * reports > LARGEST_LAW:
        raise ValueError(f"{count} x {reports} probabilities are too many to enumerate")
    inputs = tuple(product(*map(range, plan.sizes)))
    channel = laws(plan, inputs)
    rows = tuple(sorted(set().union(*channel)))
    nothing = Fraction(0)
    return Law(inputs, rows, tuple(tuple(law.get(row, nothing) for row in rows) for law in channel))
