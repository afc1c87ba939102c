"""Public. Sees parameters. The contract between a mechanism and everything else.

A mechanism is one file: a *design* (frozen, public, JSON-able) from which the device draws
reports and the collector builds an estimator. It never talks to a database, and randomness is
an argument.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ldpsql.boxes import LinearQuery
from ldpsql.estimate import Array, Estimates
from ldpsql.report import Histogram, ReportFormat, Reports
from ldpsql.shuffle import Blanket
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.guarantee import Central, Guarantee
from ldpsql_device.schema import RecordDomain

Codes = NDArray[np.int64]
Words = NDArray[np.uint64]
Outcome = tuple[int, ...]
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


class Estimator(Protocol):
    """Turns a histogram into answers. Unbiased and never clipped, unless it says otherwise.

    A post-processing estimator gives its own values, the covariance of the unbiased ones, and
    replicates, as many for every histogram of a design. It is never the default.
    """

    def answer(self, queries: Sequence[Any]) -> Estimates:
        """Values (k,) and covariance (k, k) of k queries as the design's `plan` returned them."""
        ...

    def answer_rows(self, rows: Sequence[Sequence[Any]]) -> list[Estimates]:
        """One joint answer per row of queries; the covariance between rows is not asked for."""
        ...


Estimators = Mapping[str, Callable[[Histogram], Estimator]]


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
        """Collector. The default estimator on one histogram."""
        ...

    @property
    def estimators(self) -> Estimators:
        """Every estimator it has, by name; the first is the default.

        One that is called "unbiased" is; a design without an unbiased one has none of that name,
        and says why (`StatesBias`).
        """
        ...

    def variance(self, queries: Sequence[Any], people: int) -> Array:
        """Predicted variance of planned queries, shape (k,), for records spread evenly."""
        ...

    def to_json(self) -> Mapping[str, Any]:
        """Plain data from which `from_json` of the same mechanism restores the design."""
        ...


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


@runtime_checkable
class StatesSelectors(Protocol):
    """What a design may offer besides: how often devices draw each selector, whoever they are."""

    @property
    def selector_shares(self) -> Array:
        """Probability of every selector, shape (selectors,)."""
        ...


@runtime_checkable
class StatesBlankets(Protocol):
    """What a design may offer besides: how well its reports hide among those of others."""

    def blankets(self) -> tuple[Blanket, ...]:
        """From the integers that the sampler compares with; the shuffled batch is as private as
        the worst of them says."""
        ...


@runtime_checkable
class Coarsens(Protocol):
    """What a design may offer besides: whether it collects several codes as one bin."""

    @property
    def is_coarse(self) -> bool:
        """True where answers may be interpolated inside bins, which no predicted error holds."""
        ...


@runtime_checkable
class Remarks(Protocol):
    """What a design may offer besides: what whoever designs a survey should know of it."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences without a full stop."""
        ...


@runtime_checkable
class StatesBias(Protocol):
    """What a design with biased estimators offers besides; every answer then says so."""

    @property
    def biases(self) -> Mapping[str, str]:
        """Estimator -> what biases it, and what its errors leave out, in one sentence without a
        full stop; nothing for an unbiased one, or one that brings replicates."""
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

    @property
    def earlier(self) -> int:
        """People who answered the rounds before: this round's estimator speaks of them too."""
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


@runtime_checkable
class ByName(Protocol):
    """What a mechanism may offer besides: to be left out of `auto` unless it is asked for."""

    def by_name(self, domain: RecordDomain) -> str | None:
        """Why `auto` leaves it out for a record domain; None where it may compete."""
        ...


@runtime_checkable
class ShuffleMechanism(Protocol):
    """A mechanism that chooses its local budgets itself, from what is promised once shuffled."""

    def shuffled(
        self,
        domain: RecordDomain,
        central: Central,
        options: Mapping[str, Any],
        workload: Workload | None = None,
    ) -> Design:
        """A design that keeps `central`, with the largest local epsilon that does.

        Its `epsilon` is the largest local one over all reports. SurveyError for options it does
        not know, and where no local epsilon from `central.epsilon` on keeps the promise.
        """
        ...
