"""The contract of designs and estimators: planned queries in, estimates with covariance out.

What a mechanism need not offer has a default on `Design`, so that nobody has to ask which class a
design is of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.algebra.estimate import Array, Estimates, rows_of
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.limits import check
from ldpsql.reports.channel import Law, enumerate_law
from ldpsql.reports.report import Histogram, Histograms, ReportFormat, Reports, question_shares
from ldpsql.shuffle.accountant import Blanket, clones
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql_device.draw import draw
from ldpsql_device.entropy import Entropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_device.odds import Definition, odds
from ldpsql_device.plan import Plan

if TYPE_CHECKING:
    from ldpsql.mechanisms.fourier.group import Group

Codes = NDArray[np.int64]
_BATCH = 24
MANY_SETS = 256
"""Histograms from which on all are answered at once."""


class PlannedQuery:
    """A linear query in the form that the estimators of one design take.

    Only the design that made it and its estimators look inside.
    """


Q = TypeVar("Q", bound=PlannedQuery)
_Asked_contra = TypeVar("_Asked_contra", bound=PlannedQuery, contravariant=True)


class Estimator(ABC, Generic[_Asked_contra]):
    """Turns a histogram into answers. Unbiased and never clipped, unless it says otherwise.

    A post-processing estimator gives its own values, the covariance of the unbiased ones, and
    replicates, as many for every histogram of a design. It is never the default.
    """

    def answer(self, queries: Sequence[_Asked_contra]) -> Estimates:
        """Values (k,) and covariance (k, k) of k planned queries (`Design.prepare`); NaN and inf
        where no report could tell."""
        return self.answer_rows([queries])[0]

    @abstractmethod
    def answer_rows(self, rows: Sequence[Sequence[_Asked_contra]]) -> list[Estimates]:
        """One joint answer per row of queries; the covariance between rows is not asked for."""

    def values(self, queries: Sequence[_Asked_contra]) -> Array:
        """The values (k,) alone, for whom the covariance would take long in vain."""
        each = self.answer_rows([[query] for query in queries])
        return np.array([float(own.values[0]) for own in each])

    @abstractmethod
    def influence(self, queries: Sequence[_Asked_contra], slopes: Array) -> Array:
        """By how much one more report moves `slopes @ answers` at the least and at the most,
        shape (2, m).

        The extremes over everything that the report format allows, so over whatever a forged
        report can say; slopes: shape (m, k).  Of a sum of public weights it is what the report adds
        for every unit of its own. It is the derivative by the number of such reports, for groups
        that are combined as before: how the weights of groups move with their sizes is left out,
        which is far less. NaN where a query is not answered. Of a post-processing estimator it is
        that of the unbiased answers behind it.
        """


Estimators = Mapping[str, Callable[[Any], Estimator[Q]]]
"""By name, what makes an estimator of a `Histogram`, or of what it is `Decoded` to where the design
has a `decoding`."""

AnyEstimator = Estimator[Any]
"""An estimator of whatever design, for the planned queries of that design."""


class JointEstimator(Estimator[_Asked_contra]):
    """An estimator that works out the answers to many queries together."""

    @abstractmethod
    def answer(self, queries: Sequence[_Asked_contra]) -> Estimates:
        """See `Estimator`."""

    def answer_rows(self, rows: Sequence[Sequence[_Asked_contra]]) -> list[Estimates]:
        """One joint answer per row."""
        return rows_of(self.answer, rows)


class SmoothingEstimator(Estimator[Any]):
    """Answers from one table of people, or a few, which is made at the first question.

    They are biased but usually much closer; the covariance stays that of the unbiased answers. A
    sum of a public column has no table of people behind it and stays unbiased; its replicates lie
    one standard error to either side.

    unbiased: the estimator on the same reports.
    """

    unbiased: AnyEstimator

    @property
    @abstractmethod
    def people(self) -> float:
        """How many reported."""

    @abstractmethod
    def count(self, queries: Sequence[Any]) -> Array:
        """Queries without a public weight on the table and on its replicates, shape (1 + r, k)."""

    def answer_rows(self, rows: Sequence[Sequence[Any]]) -> list[Estimates]:
        """One joint answer per row."""
        plain = self.unbiased.answer_rows(rows)
        if not self.people:
            return plain
        return [self._smooth(row, own) for row, own in zip(rows, plain, strict=True)]

    def influence(self, queries: Sequence[Any], slopes: Array) -> Array:
        """See `Estimator`."""
        return self.unbiased.influence(queries, slopes)

    def _smooth(self, row: Sequence[Any], plain: Estimates) -> Estimates:
        is_public = np.array([query.weight is not None for query in row], dtype=bool)
        counted = self.count([query for query in row if query.weight is None])
        sides = np.where(np.arange(len(counted) - 1) % 2, -1.0, 1.0)
        values = np.empty((len(counted), len(row)))
        values[:, ~is_public] = counted
        values[:, is_public] = plain.values[is_public]
        values[1:, is_public] += np.outer(sides, plain.stderr[is_public])
        return Estimates(values[0], plain.covariance, values[1:])


@dataclass(frozen=True)
class Decoding:
    """What of reports a store keeps decoded, so that no question has to read them.

    version: of `decode`; what another version made is made anew.  numbers: how many numbers the
    arrays are at most.  entries: how many they are, which may take time to tell.  decode: of every
    histogram arrays by name, of the same lengths for all of a design, that add up over people;
    `report.TYPES` is among them. Many histograms at once take much less time than one by one.
    derive: arrays that follow from the design alone and take long to make.  recall: gives them to
    the design, which then does not make them; None where it was made of them.
    """

    version: int
    numbers: int
    entries: Callable[[], int]
    decode: Callable[[Sequence[Histogram]], Iterator[Mapping[str, Array]]]
    derive: Callable[[], Mapping[str, Array]]
    recall: Callable[[Mapping[str, Array]], None] | None


class Design(ABC, Generic[Q]):
    """A mechanism made ready for one record domain and one epsilon; immutable.

    name: of its recipe.  domain: sizes and bounds it was made for.  epsilon: local budget of one
    report.  plan: the questions, how often each is asked, and how it is answered; what devices
    report follows from its integers.  Type parameter: what `prepare` makes of a query.

    asks_in_rounds: whether later questions depend on earlier answers.  states_blankets: whether
    `blankets` says more than the local epsilon does.
    """

    name: str
    domain: RecordDomain
    epsilon: Epsilon
    asks_in_rounds: ClassVar[bool] = False
    states_blankets: ClassVar[bool] = False

    if TYPE_CHECKING:  # a field of some designs, and computed by others

        @property
        def plan(self) -> Plan:
            """See the class."""

    @property
    @abstractmethod
    def guarantee(self) -> StatedGuarantee:
        """What the person behind a report is promised."""

    @abstractmethod
    def prepare(self, query: LinearQuery) -> Q:
        """The query in the form that the estimators take; a pure function of the design."""

    @abstractmethod
    def describe(self, planned: Q) -> list[str]:
        """Lines for EXPLAIN: which parts of the design answer a planned query."""

    @property
    @abstractmethod
    def estimators(self) -> Estimators[Q]:
        """Every estimator it has, by name; the first is the default.

        One that is called "unbiased" is; a design without an unbiased one has none of that name,
        and says why in `biases`.
        """

    def estimator(self, histogram: Histogram) -> Estimator[Q]:
        """The default estimator on one histogram."""
        return next(iter(self.estimators.values()))(histogram)

    @property
    def decoding(self) -> Decoding | None:
        """What estimators take in the place of a histogram; None where that is its histogram."""
        return None

    @abstractmethod
    def variance(self, queries: Sequence[Q], people: int) -> Array:
        """Predicted variance of planned queries, shape (k,), for records spread evenly."""

    @abstractmethod
    def influence(self, queries: Sequence[Q], slopes: Array, people: int) -> Array:
        """As `Estimator.influence`, for records spread evenly, shape (2, m)."""

    def expected_variance(self, queries: Sequence[LinearQuery], people: int) -> float:
        """Mean predicted variance of queries, for records spread evenly; infinite where one is not
        answered. UnsupportedSQL for what is not collected.
        """
        return self.expected_variances([queries], people)[0]

    def expected_variances(
        self, samples: Sequence[Sequence[LinearQuery]], people: int
    ) -> list[float]:
        """The same of each of several samples.

        Designs with many cells override it where they can tell it from the sizes of boxes or from
        spectra.
        """
        queries, variances = list(chain(*samples)), []
        # Designs share work between queries, but also compute the covariance of all with all.
        for start in range(0, len(queries), _BATCH):
            check()
            planned = [self.prepare(query) for query in queries[start : start + _BATCH]]
            variances.append(self.variance(planned, people))
        ends = list(accumulate(map(len, samples)))
        return [float(np.mean(own)) for own in np.split(np.concatenate(variances), ends[:-1])]

    def answer_sets(
        self, estimator: str, histograms: Histograms, rows: Sequence[Sequence[Q]]
    ) -> tuple[Array, Array] | None:
        """What an estimator answers of each of many histograms, without making one for each.

        rows: R rows of T queries each. Values (G, R, T) and covariances within rows (G, R, T, T),
        the same as one by one; None where nothing is faster than that.
        """
        return None

    def prefers_sets(self, histograms: Histograms, rows: Sequence[Sequence[Q]]) -> bool:
        """Whether `answer_sets` is faster than one histogram after the other."""
        return len(histograms) >= MANY_SETS

    def reuse(self, other: Self) -> None:
        """Take over what a design of the same plan has worked out that takes long, if any."""

    @abstractmethod
    def to_json(self) -> Mapping[str, Any]:
        """Plain data from which `Recipe.restore` makes the design again."""

    # -- what follows from the plan ---------------------------------------------------------------

    @cached_property
    def report_format(self) -> ReportFormat:
        """The columns of the plan; reports of single bits are counted bit by bit."""
        return ReportFormat.of(self.plan)

    @cached_property
    def question_shares(self) -> Array:
        """Probability of every question, shape (questions,)."""
        return question_shares(self.plan)

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """One report per row of `codes`, int64 (n, d + k): d codes, then k signs, as a device
        draws it.

        A sign is 1 where the measure was rounded to its upper bound, else 0. The number of
        words drawn and the time taken do not depend on the values.
        """
        return Reports.pack(self.report_format, draw(self.plan, codes, entropy))

    def law(self) -> Law:
        """The exact channel over all codes and signs; ValueError where it is too large."""
        return enumerate_law(self.plan)

    def worst_odds(self) -> Fraction | None:
        """The largest odds that the definition of the guarantee limits, from the integers of the
        plan; None if unbounded."""
        return odds(self.plan, Definition(self.guarantee.kind, self.domain.sensitive))

    # -- what not every design has to say ---------------------------------------------------------

    @property
    def biases(self) -> Mapping[str, str]:
        """Estimator -> what biases it, and what its errors leave out: a sentence without full stop.

        Every answer of such an estimator says so. Nothing for unbiased ones, and for those that
        bring replicates.
        """
        return {}

    def hides_bias(self, planned: Q, estimator: str) -> bool:
        """Whether an answer of an estimator may have a bias that its covariance leaves out.

        Such an answer has no error, and no interval.
        """
        return False

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes for whoever designs a survey: sentences without a full stop."""
        return ()

    @property
    def limits(self) -> tuple[Epsilon, ...]:
        """How far a report may speak for each record, row by row, where records have epsilons of
        their own: no report is e^that times likelier than under another record. Else empty."""
        return ()

    @property
    def is_coarse(self) -> bool:
        """Whether several codes are collected as one bin: answers are then interpolated inside
        bins, and no predicted error contains that."""
        return False

    @property
    def spectral_information(self) -> tuple[Group, Mapping[tuple[int, ...], Array]] | None:
        """A group of the codes, and by its faces what one report tells about every frequency, at
        most 1; None where the design does not ask about frequencies."""
        return None

    def blankets(self) -> Sequence[Blanket]:
        """How well a report hides among those of others; by default what the local epsilon says.

        A shuffled batch is as private as the worst of them.
        """
        return (clones(self.epsilon.odds),)

    @property
    def round(self) -> int:
        """Number of this round, from 1. Each person answers one round."""
        return 1

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return 1

    @property
    def earlier(self) -> int:
        """People who answered the rounds before: this round's estimator speaks of them too."""
        return 0

    def design_next(self, histogram: Histogram) -> Design[Any]:
        """The next round's design, from this one's reports.

        SurveyError after the last round, and where there are too few reports.
        """
        raise SurveyError(f"{self.name} does not ask in rounds")


AnyDesign = Design[Any]
"""A design of whatever recipe: its planned queries are passed from `prepare` to its estimators."""
