"""The contract of designs and estimators: planned queries in, estimates with covariance out.

A design has three readers, each of whom takes its own part of the contract: a `Designer` forecasts,
a `Decoder` answers, an `Auditor` holds the design to its promise. `Design` joins them for whoever
makes one, and for whoever needs several.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.boxes import LinearQuery
from ldpsql.algebra.estimate import Array, Estimates, rows_of
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.limits import check
from ldpsql.reports.report import Histogram, Histograms, ReportFormat, Reports, question_shares
from ldpsql.shuffle.accountant import Blanket
from ldpsql.shuffle.blankets import find_blanket
from ldpsql.wording.guarantees import StatedGuarantee
from ldpsql_device.draw import draw
from ldpsql_device.entropy import Entropy
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.plan import Plan

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
        """Values (k,) and covariance (k, k) of k planned queries (`Decoder.prepare`); NaN and inf
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
        """Values and covariance of all of them."""

    def answer_rows(self, rows: Sequence[Sequence[_Asked_contra]]) -> list[Estimates]:
        """One joint answer per row; an error as soon as the deadline is over."""

        def answer(queries: Sequence[_Asked_contra]) -> Estimates:
            check()
            return self.answer(queries)

        return rows_of(answer, rows)


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
        """That of the unbiased answers."""
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
    """Sums over reports that a store keeps, so that no question has to read the reports.

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


@dataclass(frozen=True)
class Bias:
    """The bias of an estimator, of which every answer of it tells.

    text: what biases it, and what its errors leave out: a sentence without full stop.  hides:
    whether the answer to a planned query may have a bias that its covariance leaves out; such an
    answer has no error, and no interval.
    """

    text: str
    hides: Callable[[Any], bool] = lambda planned: False


class DesignValue(ABC):
    """A mechanism made ready for one record domain and one epsilon; immutable.

    name: of its recipe.  domain: sizes and bounds it was made for.  epsilon: local budget of one
    report.  plan: the questions, how often each is asked, and how it is answered; what devices
    report follows from its integers.
    """

    name: str
    domain: RecordDomain
    epsilon: Epsilon

    if TYPE_CHECKING:  # a field of some designs, and computed by others

        @property
        def plan(self) -> Plan:
            """The questions to devices."""

    @cached_property
    def report_format(self) -> ReportFormat:
        """The columns of the plan; reports of single bits are counted bit by bit."""
        return ReportFormat.of(self.plan)

    @cached_property
    def question_shares(self) -> Array:
        """Probability of every question, shape (questions,)."""
        return question_shares(self.plan)


class Designer(DesignValue, Generic[Q]):
    """The part of a design that forecasts how well it will answer."""

    @abstractmethod
    def variance(self, queries: Sequence[Q], people: int) -> Array:
        """Predicted variance of planned queries, shape (k,), for records spread evenly."""

    @abstractmethod
    def influence(self, queries: Sequence[Q], slopes: Array, people: int) -> Array:
        """As `Estimator.influence`, for records spread evenly, shape (2, m)."""

    @abstractmethod
    def expected_variances(
        self, samples: Sequence[Sequence[LinearQuery]], people: int
    ) -> list[float]:
        """Mean predicted variance of the queries of each sample, for records spread evenly.

        Infinite where one is not answered; UnsupportedSQL for what is not collected.
        """

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes for whoever designs a survey: sentences without a full stop."""
        return ()

    def reuse(self, other: Self) -> None:
        """Take over what a design of the same plan has worked out that takes long, if any."""

    @abstractmethod
    def to_json(self) -> Mapping[str, Any]:
        """Plain data from which `Recipe.restore` makes the design again."""


class Decoder(DesignValue, Generic[Q]):
    """The part of a design that answers queries from reports. Q: what `prepare` makes of one."""

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

    @property
    def biases(self) -> Mapping[str, Bias]:
        """By estimator; nothing for unbiased ones, and for those that bring replicates."""
        return {}

    @property
    def decoding(self) -> Decoding | None:
        """How reports become what estimators take in the place of a histogram; None where they
        take the histogram."""
        return None

    def answer_sets(
        self, estimator: str, histograms: Histograms, rows: Sequence[Sequence[Q]]
    ) -> tuple[Array, Array] | None:
        """The answers of an estimator to each of many histograms, without making one for each.

        rows: R rows of T queries each. Values (G, R, T) and covariances within rows (G, R, T, T),
        the same as one by one; None where nothing is faster than that.
        """
        return None


class Auditor(DesignValue):
    """The part of a design that says, and shows, how private a report is."""

    @property
    @abstractmethod
    def guarantee(self) -> StatedGuarantee:
        """The promise to the person behind a report."""

    @property
    def limits(self) -> tuple[Epsilon, ...]:
        """How far a report may speak for each record, row by row, where records have epsilons of
        their own: no report is e^that times likelier than under another record. Else empty."""
        return ()

    def blankets(self) -> Sequence[Blanket]:
        """How well a report hides among those of others, from its plan.

        A shuffled batch is as private as the worst of them.
        """
        return (find_blanket(self.plan),)

    def randomize(self, codes: Codes, entropy: Entropy) -> Reports:
        """One report per row of `codes`, int64 (n, d + k): d codes, then k signs, as a device
        draws it.

        A sign is 1 where the measure was rounded to its upper bound, else 0. The number of
        words drawn and the time taken do not depend on the values.
        """
        return Reports.pack(self.report_format, draw(self.plan, codes, entropy))


class Design(Designer[Q], Decoder[Q], Auditor):
    """A design as a whole, which is what a mechanism makes."""

    def expected_variances(
        self, samples: Sequence[Sequence[LinearQuery]], people: int
    ) -> list[float]:
        """The mean of `variance` over each sample.

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


AnyDesign = Design[Any]
"""A design of whatever recipe: its planned queries are passed from `prepare` to its estimators."""
AnyDecoder = Decoder[Any]


def make_estimator(design: Decoder[Q], histogram: Histogram) -> Estimator[Q]:
    """The default estimator of a design on one histogram."""
    return next(iter(design.estimators.values()))(histogram)


def hides_bias(design: AnyDecoder, planned: PlannedQuery, estimator: str) -> bool:
    """Whether an estimator's answer may have a bias that its covariance leaves out."""
    bias = design.biases.get(estimator)
    return bias is not None and bias.hides(planned)


class SetChooser(ABC):
    """A decoder that knows when it answers few sets of people faster together, too."""

    @abstractmethod
    def prefers_sets(self, histograms: Histograms, rows: Sequence[Sequence[Any]]) -> bool:
        """Whether `Decoder.answer_sets` is faster than one histogram after the other."""


class CodeDecoder(ABC):
    """A decoder that answers about the people of every code of a dimension at once."""

    @abstractmethod
    def prepare_codes(
        self, kinds: Sequence[Sequence[LinearQuery]], axis: int, numbers: Codes, codes: Codes
    ) -> Sequence[tuple[Any, ...]] | None:
        """A row of queries about the people of one code of a dimension, for each of R codes; None
        where they are answered one by one.

        kinds: as many queries each, which do not constrain the dimension.  numbers: which of these
        a row asks.  codes: of whom; both of shape (R,).
        """

    @abstractmethod
    def answer_codes(
        self, estimator: AnyEstimator, rows: Sequence[Sequence[Any]]
    ) -> tuple[Array, Array] | None:
        """The answers to rows of `prepare_codes`: values (R, T) and covariances (R, T, T), the same
        as one by one; None for other rows."""
