"""What a report says of a record: the exact channel of a design, and its worst odds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ldpsql.decoders.base import AnyDesign as Design
from ldpsql.decoders.base import AnyEstimator as Estimator
from ldpsql.decoders.base import Estimators as _Estimators
from ldpsql.recipes.base import AnyRecipe as Mechanism

__all__ = [
    "Codes",
    "Compared",
    "Design",
    "Entropy",
    "Estimator",
    "Estimators",
    "Law",
    "Mechanism",
    "Outcome",
    "StatesOdds",
    "Words",
    "Worst",
]

Codes = NDArray[np.int64]
Words = NDArray[np.uint64]
Outcome = tuple[int, ...]
Estimators = _Estimators[Any]
Compared = Callable[[Sequence[Fraction]], Sequence[int]]


class Entropy(Protocol):
    """A source of random bits: `words(n)` gives n independent uniform 64-bit integers."""

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit integers, shape (count,)."""
        ...


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


def _tells_more(one: Worst, other: Worst) -> bool:
    """Whether the odds of `one` are above those of `other`, or equal and likelier."""
    left, right = one.likely * other.unlikely, other.likely * one.unlikely
    return left > right or (left == right and one.likely > other.likely)


@dataclass(frozen=True)
class Law:
    """The exact channel of a design: who sends what with which probability.

    inputs: every private record as (codes..., signs...).  outputs: every report as a row.
    probabilities[i][o]: Pr[outputs[o] | inputs[i]], from the integers the sampler compares.
    """

    inputs: tuple[Outcome, ...]
    outputs: tuple[Outcome, ...]
    probabilities: tuple[tuple[Fraction, ...], ...]

    def worst_odds(self) -> Fraction | None:
        """Largest ratio of one report's probabilities under two records; None if unbounded."""
        return self.worst().odds

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
        found: Worst | None = None
        everybody = range(len(self.inputs))
        for report, column in zip(self.outputs, zip(*self.probabilities, strict=True), strict=True):
            members = compared(column) if compared else everybody
            high, low = (pick(members, key=column.__getitem__) for pick in (max, min))
            one = Worst(report, self.inputs[high], self.inputs[low], column[high], column[low])
            if found is None or _tells_more(one, found):
                found = one
        if found is None:
            raise ValueError("a channel without reports")
        return found


@runtime_checkable
class StatesOdds(Protocol):
    """What a design may offer besides: its exact odds, for domains too large to enumerate."""

    def selector_odds(self) -> Fraction | None:
        """Largest odds of a report within one selector, over all selectors; None if unbounded.

        From the very integers that the sampler compares with. Where the selector is drawn without
        looking at the record this is `Law.worst_odds` of the whole domain. A design with sensitive
        values gives the largest odds that the definition of its guarantee limits, over all reports.
        """
        ...
