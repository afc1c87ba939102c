"""Unbiased contributions of reports that are bounded, whatever the mechanism.

What a report contributes to an unbiased answer is not unique where there are more different reports
than records: many functions c of a report are unbiased, which means that whatever the record, their
mean is what the record counts for. The usual one has the least variance. Its largest values belong
to the reports that a forger sends, and are several times the typical one. Among all unbiased c with
|c| <= t, the one of least variance over evenly spread records is the usual one for some other query
d, clipped to [-t, t]: d are the Lagrange multipliers of the conditions that make c unbiased, one
per record. It is found by asking again for what clipping took away,

    d <- d + (q - what the clipped contributions to d are on average, by record),

which is gradient ascent on the concave dual problem. Clipped contributions carry at most the
information that the usual ones do, so no step goes too far. What is still missing after the last
step is added without clipping. So answers are exactly unbiased, and the largest contributions are a
little above t.

Source: docs/fourier.md#the-estimator-robust.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np

from ldpsql.limits import in_time
from ldpsql.numerics import Array
from ldpsql_device.frozen import frozen

SURCHARGE = 1.05
"""By how much the standard error may grow, over evenly spread records."""
MOST_BOUNDED, MOST_LISTED = 1 << 19, 3 << 20
"""Different reports up to which contributions are bounded, which looks at each of them a few
hundred times: of families, and of hash functions, whose averages take less time."""
MOST_DETAILS = 1 << 20
"""Numbers up to which a query is taken apart into the details of its trees."""
SETTLED = "its reports leave no choice between unbiased answers"
BIT_BY_BIT = "its reports are decoded bit by bit, and a bound is about whole reports"
"""Why `robust` is refused (`Design.refusals`)."""
ADDED_PEOPLE = 4.0
"""People from an even spread who are added before a variance is made of the contributions of n
reports.

One stands for what the mean takes off, n / (n - 1). The rest is for the variance being known from n
reports alone, for which the interval of a normal sample takes Student's quantile: its square is
that of the normal one times 1 + 2.4 / n at a level of 95 %."""
_PARTS = (0.8, 0.65, 0.55, 0.45, 0.38, 0.32, 0.27, 0.22, 0.18)
"""Bounds to try one after the other, as parts of the largest contribution, until one costs more
than SURCHARGE."""
_STEPS, _CLOSE = 12, 1e-3
"""Steps under one bound, and what part of a query's largest coefficient may still be missing after
them."""

A = TypeVar("A")


def refuse_many(reports: int, most: int) -> dict[str, str]:
    """Why `robust` is refused (`Design.refusals`) where so many reports differ; nothing up to
    `most`."""
    if reports <= most:
        return {}
    return {"robust": f"{reports:,} reports differ, and it looks at each of at most {most:,}"}


@frozen
class Bounded(Generic[A]):
    """A query whose contributions, clipped to [-most, most], make up for what clipping takes away.

    asked: d, in the form in which `Contributions` takes queries.
    """

    asked: A
    most: float


class Contributions(ABC, Generic[A]):
    """What every report contributes to queries, and what contributions are on average.

    Type parameter: the form of a query, of which there are sums and differences.
    """

    @abstractmethod
    def contribute(self, asked: A) -> Array:
        """The usual contributions of every report to a query, shape (reports,)."""

    @abstractmethod
    def average(self, contributions: Array) -> A:
        """The query that contributions (reports,) answer: their mean, by record."""

    @abstractmethod
    def variance(self, contributions: Array) -> float:
        """Of the contributions (reports,) of one report, over evenly spread records."""

    @abstractmethod
    def add(self, left: A, right: A, factor: float) -> A:
        """left + factor x right."""

    @abstractmethod
    def largest(self, asked: A) -> float:
        """The largest absolute coefficient of a query."""

    def bound(self, wanted: A) -> Bounded[A]:
        """The tightest bound that costs no more than SURCHARGE, and what is asked under it."""
        usual = self.contribute(wanted)
        allowed, most = SURCHARGE**2 * self.variance(usual), float(np.abs(usual).max())
        best, asked, least = Bounded(wanted, most), wanted, most
        for part in in_time(_PARTS):
            asked, found = self._bound(wanted, asked, part * most)
            if self.variance(found) > allowed:
                break
            if (largest := float(np.abs(found).max())) < least:
                best, least = Bounded(asked, part * most), largest
        return best

    def clip(self, wanted: A, bounded: Bounded[A]) -> Array:
        """Unbiased contributions (reports,) to a query: the clipped ones, and what they lack."""
        clipped = np.clip(self.contribute(bounded.asked), -bounded.most, bounded.most)
        missing = self.add(wanted, self.average(clipped), -1.0)
        return np.asarray(clipped + self.contribute(missing))

    def _bound(self, wanted: A, asked: A, most: float) -> tuple[A, Array]:
        """What to ask for so that contributions within [-most, most] are unbiased, and these
        contributions.

        asked: where to begin.
        """
        close = _CLOSE * self.largest(wanted)
        for step in in_time(range(_STEPS)):
            clipped = np.clip(self.contribute(asked), -most, most)
            missing = self.add(wanted, self.average(clipped), -1.0)
            if step == _STEPS - 1 or self.largest(missing) < close:
                break
            asked = self.add(asked, missing, 1.0)
        return asked, np.asarray(clipped + self.contribute(missing))
