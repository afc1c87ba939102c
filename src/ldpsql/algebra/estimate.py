"""Estimates with their covariance, and what may be done to them.

Everything here is linear algebra on estimates: sums, linear maps, and one ratio. Nothing is
clipped or rounded. Estimates are unbiased, except those of a post-processing estimator, which
say so by their replicates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Query = TypeVar("Query")

_CHUNK = 256

PSEUDO_PEOPLE = 2.0
"""People who are added to a group before a variance is made of estimated frequencies.

Where few people stand behind an estimate, one that happens to be low would come with too small an
error; so two more people count, as in the interval of Agresti and Coull (1998), who weigh as much
as any node of the query does. In public weights they are like all people."""

CONFIDENCE = 0.95
"""The confidence level of intervals where nobody asks for another one."""

BARELY_ESTIMABLE = 0.07
"""What is added to the squared half-width of a ratio's interval where it is barely estimable."""


@dataclass(frozen=True)
class Estimates:
    """k estimates, unbiased unless they have replicates.

    values: shape (k,), unit of each query; NaN where no report could tell.
    covariance: shape (k, k), product of the units; inf on the diagonal beside a NaN value; always
    that of the unbiased estimates.
    replicates: shape (r, k), only beside post-processed values: what the same post-processing
    gave for r simulated summaries of people spread as the values say.
    """

    values: Array
    covariance: Array
    replicates: Array | None = None

    def __post_init__(self) -> None:
        k = self.values.size
        if self.values.shape != (k,) or self.covariance.shape != (k, k):
            raise ValueError(
                f"values {self.values.shape} and covariance {self.covariance.shape} do not fit"
            )
        if self.replicates is not None and self.replicates.shape != (len(self.replicates), k):
            raise ValueError(f"replicates {self.replicates.shape} and {k} values do not fit")

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, other: Estimates) -> Estimates:
        """Sum of as many estimates from disjoint, hence independent, sets of people."""
        if len(self) != len(other):
            raise ValueError(f"{len(self)} and {len(other)} estimates cannot be added")
        together = None
        if self.replicates is not None and other.replicates is not None:
            together = self.replicates + other.replicates
        return Estimates(self.values + other.values, self.covariance + other.covariance, together)

    @property
    def stderr(self) -> Array:
        """Standard errors, shape (k,)."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    def map(self, matrix: Array) -> Estimates:
        """The linear map `matrix @ values`, with matrix of shape (l, k).

        What uses an estimate that no report could tell is as unknown; a zero removes it.
        """
        mapped = None if self.replicates is None else self.replicates @ matrix.T
        is_known = ~np.isnan(self.values) & np.isfinite(np.diagonal(self.covariance))
        if is_known.all():
            return Estimates(matrix @ self.values, matrix @ self.covariance @ matrix.T, mapped)
        known = matrix[:, is_known]
        values = known @ self.values[is_known]
        covariance = known @ self.covariance[np.ix_(is_known, is_known)] @ known.T
        lost = (matrix[:, ~is_known] != 0.0).any(axis=1)
        values[lost] = np.nan
        covariance[lost], covariance[:, lost] = 0.0, 0.0
        covariance[lost, lost] = np.inf
        return Estimates(values, covariance, mapped)

    @classmethod
    def exact(cls, values: Sequence[float]) -> Estimates:
        """Numbers that are known: covariance zero."""
        return cls(np.asarray(values, dtype=np.float64), np.zeros((len(values), len(values))))


def rows_of(
    answer: Callable[[Sequence[Query]], Estimates], rows: Sequence[Sequence[Query]]
) -> list[Estimates]:
    """Joint answers per row from a function that answers jointly, a chunk of rows at a time."""
    answers: list[Estimates] = []
    step = max(1, _CHUNK // max(1, *map(len, rows), 1))
    for first in range(0, len(rows), step):
        chunk = rows[first : first + step]
        joint = answer([query for row in chunk for query in row])
        for start, end in pairwise(accumulate(map(len, chunk), initial=0)):
            part = slice(start, end)
            drawn = None if joint.replicates is None else joint.replicates[:, part]
            answers.append(Estimates(joint.values[part], joint.covariance[part, part], drawn))
    return answers


@dataclass(frozen=True)
class Ratio:
    """numerator / denominator of two jointly estimated quantities, or of many pairs at once.

    All five numbers have the same shape, as have all results; a single number has shape ().
    The value is the plug-in ratio and its standard error comes from the delta method. The
    interval is Fieller's (1954): all r for which numerator - r * denominator is compatible
    with 0. It stays honest when the denominator is noisy, where the delta method does not.

    The ratio is estimable at a level where its denominator differs from 0 at that level, so that
    the interval is bounded. Looking at estimable ratios only selects for unusual errors of the
    denominator, and of a correlated numerator: fewer of their intervals than promised would hold
    the truth. So the squared half-width is raised by up to BARELY_ESTIMABLE, in proportion to the
    square of z^2 times the denominator's relative variance, which is 1 where the ratio is barely
    estimable. No raise makes up for all of it: where the true denominator is below two standard
    errors, so that most ratios are not estimable, and the errors are correlated, the intervals of
    those that are hold the truth less often than they say.

    Nor can those that are be unbiased. Let h(x) estimate the reciprocal of the true denominator t
    from x, both in standard errors. Unbiased over all x > z it would have to satisfy h' = x h - 1
    and h(z) = 0, of which the solution falls like -exp(x^2 / 2). The plug-in 1 / x has a bias of at
    most .22 of the standard error, times the correlation with the denominator, from t = 3 on;
    Mills' ratio, or a correction to second order, takes that away from t = 5 on and adds to it
    below 3.5.
    """

    numerator: Array
    denominator: Array
    variance_numerator: Array
    variance_denominator: Array
    covariance: Array

    @property
    def value(self) -> Array:
        """The plug-in ratio; NaN where the denominator is 0 or unknown."""
        return self.numerator / self._divisor

    @property
    def stderr(self) -> Array:
        """Delta-method standard error; NaN where the value is."""
        ratio = self.value
        # Var(numerator - ratio * denominator), which rounding may leave a hair below zero.
        spread = (
            self.variance_numerator
            - 2.0 * ratio * self.covariance
            + ratio * ratio * self.variance_denominator
        )
        return np.sqrt(np.maximum(spread, 0.0)) / np.abs(self._divisor)

    def interval(self, level: float) -> tuple[Array, Array]:
        """Fieller's interval, (NaN, NaN) where the ratio is not estimable at the level."""
        return self.interval_within(quantile(level))

    def interval_within(self, errors: float) -> tuple[Array, Array]:
        """The same by how many standard errors the numerator and the denominator may be off."""
        # The ends are the roots of a r^2 - 2 b r + c = 0, which says that numerator - r *
        # denominator lies z standard errors from 0. Both are finite where a > 0, that is, where
        # the denominator lies more than z standard errors from 0.
        z2 = errors**2
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            a = self.denominator * self._divisor - z2 * self.variance_denominator
            a = np.where(a > 0.0, a, np.nan)
            b = self.numerator * self.denominator - z2 * self.covariance
            c = np.square(self.numerator) - z2 * self.variance_numerator
            barely = z2 * self.variance_denominator / np.square(self._divisor)
            raised = 1.0 + BARELY_ESTIMABLE * np.square(barely)
            root = np.sqrt(np.maximum(b * b - a * c, 0.0) * raised)
            return (b - root) / a, (b + root) / a

    @property
    def _divisor(self) -> Array:
        """The denominator, NaN where it is 0."""
        return np.where(np.equal(self.denominator, 0.0), np.nan, self.denominator)


def share_error(level: float, count: int) -> float:
    """The level at which each of so many intervals is computed so that all hold together at another
    one, however they depend on each other (Bonferroni)."""
    return 1.0 - (1.0 - level) / count


def quantile(level: float) -> float:
    """Half-width, in standard errors, of a two-sided normal interval: 1.96 for 0.95."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {level}")
    return NormalDist().inv_cdf(0.5 + level / 2.0)
