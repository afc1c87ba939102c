"""Designs whose groups answer linearly: what follows from how each group answers.

The estimator is in `linear`, the one for many sets of people at once in `grouped`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ldpsql.algebra.numerics import Array
from ldpsql.estimators.base import Codes, Design, Estimator, Estimators, Q
from ldpsql.estimators.grouped import GroupedSource, answer_sets
from ldpsql.estimators.linear import (
    EvenSource,
    GroupAnswer,
    LinearEstimator,
    ReportedSource,
    Source,
)
from ldpsql.limits import in_time
from ldpsql.reports.report import Histogram, Histograms, question_shares
from ldpsql.wording.guarantees import StatedGuarantee, local_guarantee

SETS_AT_ONCE = 1 << 15
"""Sets of people whose numbers stay in the cache, a few arrays of them; as many fewer as there are
nodes where each set has a number per node."""


class LinearDesign(Design[Q]):
    """A design whose groups answer linearly, every person epsilon-LDP."""

    @property
    @abstractmethod
    def answers(self) -> Sequence[GroupAnswer]:
        """How every group answers."""

    @abstractmethod
    def even_shares(self, group: int, nodes: Codes) -> Array:
        """The estimates at nodes of a group for people spread evenly over all records."""

    def solve(self, source: Source) -> Estimator[Q]:
        """The unbiased estimator on a source."""
        return LinearEstimator(source)  # type: ignore[return-value]  # the others override it

    @property
    def guarantee(self) -> StatedGuarantee:
        """Epsilon-LDP for the whole private record; groups are drawn without looking at it."""
        return local_guarantee(self.epsilon)

    @property
    def estimators(self) -> Estimators[Q]:
        """The unbiased one, by actual group sizes."""
        return {"unbiased": self.combine_unbiased}

    def combine_unbiased(self, histogram: Histogram) -> Estimator[Q]:
        """By actual group sizes."""
        return self.solve(ReportedSource(histogram, self.answers))

    def answer_sets(
        self, estimator: str, histograms: Histograms, rows: Sequence[Sequence[Q]]
    ) -> tuple[Array, Array] | None:
        """Where answers are weighted sums of what reports contribute, and no more."""
        if estimator != "unbiased" or not all(answer.adds_up for answer in self.answers):
            return None
        one = self.combine_unbiased(histograms[0][1])
        if not isinstance(one, LinearEstimator) or not one.takes_sets:
            return None
        parts = [
            answer_sets(replace(one, source=GroupedSource(part, self.answers)), rows)  # type: ignore[arg-type]
            for part in in_time(histograms.parts(max(1, SETS_AT_ONCE // self.nodes_of_sets)))
        ]
        values, covariances = (np.concatenate(each) for each in zip(*parts, strict=True))
        return values, covariances

    @property
    def nodes_of_sets(self) -> int:
        """Of how many nodes an answer takes the estimates for every set of people."""
        return 1

    def variance(self, queries: Sequence[Q], people: int) -> Array:
        """Predicted variance if records are spread evenly, shape (k,)."""
        return np.diagonal(self._spread_evenly(people).answer(queries).covariance).copy()

    def influence(self, queries: Sequence[Q], slopes: Array, people: int) -> Array:
        """The extremes of the unbiased estimator, people spread evenly."""
        return self._spread_evenly(people).influence(queries, slopes)

    def _spread_evenly(self, people: int) -> Estimator[Q]:
        """The unbiased estimator of people spread evenly, as many as wanted in every group."""
        sizes = people * question_shares(self.plan)[[answer.question for answer in self.answers]]
        return self.solve(EvenSource(people, sizes, self.answers, self.even_shares))
