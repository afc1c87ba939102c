"""Public. Sees parameters. The contract between a mechanism and everything else.

A mechanism is one file: a *design* (frozen, public, JSON-able) from which the device draws
reports and the collector builds an estimator. It never talks to a database, and randomness is
an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ldpsql.boxes import LinearQuery
from ldpsql.estimate import Array, Estimates
from ldpsql.privacy import Epsilon, Guarantee
from ldpsql.report import Histogram, ReportFormat, Reports
from ldpsql.schema import RecordDomain
from ldpsql.workload import Workload

Codes = NDArray[np.int64]
Words = NDArray[np.uint64]
Outcome = tuple[int, ...]


class Entropy(Protocol):
    """A source of random bits: `words(n)` gives n independent uniform 64-bit integers."""

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit integers, shape (count,)."""
        ...


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
        worst = Fraction(1)
        for column in zip(*self.probabilities, strict=True):
            low, high = min(column), max(column)
            if high > 0 and low == 0:
                return None
            if high > 0:
                worst = max(worst, high / low)
        return worst


class Estimator(Protocol):
    """Turns a histogram into answers. Unbiased; never clips."""

    def answer(self, queries: Sequence[Any]) -> Estimates:
        """Values (k,) and covariance (k, k) of k queries as the design's `plan` returned them."""
        ...


class Design(Protocol):
    """A mechanism made ready for one record domain and one epsilon.

    `name` is the mechanism's, `answers` says whether `plan` breaks boxes into tree nodes
    ("nodes") or passes them on ("boxes").
    """

    @property
    def name(self) -> str:
        """The mechanism's name in the registry."""
        ...

    @property
    def domain(self) -> RecordDomain:
        """Sizes and bounds it was made for."""
        ...

    @property
    def epsilon(self) -> Epsilon:
        """Nominal budget of one report."""
        ...

    @property
    def answers(self) -> Literal["boxes", "nodes"]:
        """What `plan` makes of boxes."""
        ...

    @property
    def report_format(self) -> ReportFormat:
        """Which rows are reports."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What the person behind a report is promised."""
        ...

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """Device. One report per row of `codes`, int64 (n, d + k): d codes, then k signs.

        A sign is 1 where the measure was rounded to its upper bound, else 0. The number of
        words drawn and the time taken do not depend on the values.
        """
        ...

    def law(self) -> Law:
        """The exact channel; ValueError where the domain is too large to enumerate."""
        ...

    def plan(self, query: LinearQuery) -> Any:
        """The query in the form the estimator takes; a pure function of the design."""
        ...

    def describe(self, planned: Any) -> list[str]:
        """Lines for EXPLAIN: which parts of the design answer a planned query."""
        ...

    def estimator(self, histogram: Histogram) -> Estimator:
        """Collector. The unbiased estimator on one histogram."""
        ...

    @property
    def estimators(self) -> Mapping[str, Callable[[Histogram], Estimator]]:
        """Collector. Every estimator by name, the default one first."""
        ...

    def variance(self, queries: Sequence[Any], people: int) -> Array:
        """Predicted variance of planned queries, shape (k,), for records spread evenly."""
        ...

    def to_json(self) -> Mapping[str, Any]:
        """Plain data from which `from_json` of the same mechanism restores the design."""
        ...


@runtime_checkable
class StagedDesign(Protocol):
    """A design whose later questions depend on earlier answers: one round of several.

    Each person answers one round; the last round's estimator answers best, from all rounds.
    """

    @property
    def round(self) -> int:
        """Number of this round, from 1."""
        ...

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        ...

    def following(self, histogram: Histogram) -> Design:
        """Collector. The next round's design, from this one's reports.

        SurveyError after the last round, or where there are too few reports.
        """
        ...


class Mechanism(Protocol):
    """A line of the registry: makes designs."""

    @property
    def name(self) -> str:
        """The mechanism's name in the registry."""
        ...

    def design(
        self,
        domain: RecordDomain,
        epsilon: Epsilon,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> Design:
        """A design for a record domain; SurveyError for options it does not know.

        workload: what it should answer best; None for `Workload.everyday`.
        """
        ...

    def restore(self, domain: RecordDomain, epsilon: Epsilon, data: Mapping[str, Any]) -> Design:
        """The design that `Design.to_json` wrote; SurveyError if the data do not fit."""
        ...
