"""Public. Sees parameters. Estimates with their covariance, and what may be done to them.

Everything here is linear algebra on estimates: sums, linear maps, and one ratio. Nothing is
clipped or rounded. Estimates are unbiased, except those of a post-processing estimator, which
say so by their replicates.
"""

from __future__ import annotations

import math
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

BARELY_TOLD = 0.07
"""What is added to the squared half-width of a ratio's interval where it is just told."""


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
        """The linear map `matrix @ values`, with matrix of shape (l, k)."""
        mapped = None if self.replicates is None else self.replicates @ matrix.T
        return Estimates(matrix @ self.values, matrix @ self.covariance @ matrix.T, mapped)

    @classmethod
    def exact(cls, values: Sequence[float]) -> Estimates:
        """Numbers that are known: covariance zero."""
        return cls(np.asarray(values, dtype=np.float64), np.zeros((len(values), len(values))))


def rows_of(
    answer: Callable[[Sequence[Query]], Estimates], rows: Sequence[Sequence[Query]]
) -> list[Estimates]:
    """Joint answers per row from a function that answers jointly, a chunk of rows at a time."""
    found: list[Estimates] = []
    step = max(1, _CHUNK // max(1, *map(len, rows), 1))
    for first in range(0, len(rows), step):
        chunk = rows[first : first + step]
        joint = answer([query for row in chunk for query in row])
        for start, end in pairwise(accumulate(map(len, chunk), initial=0)):
            part = slice(start, end)
            drawn = None if joint.replicates is None else joint.replicates[:, part]
            found.append(Estimates(joint.values[part], joint.covariance[part, part], drawn))
    return found


@dataclass(frozen=True)
class Ratio:
    """numerator / denominator of two jointly estimated quantities.

    The value is the plug-in ratio and its standard error comes from the delta method. The
    interval is Fieller's (1954): all r for which numerator - r * denominator is compatible
    with 0. It stays honest when the denominator is noisy, where the delta method does not.

    It is told only where the denominator differs from 0, which in a weak survey takes an unusual
    error of it, and with it of the numerator: of the told intervals fewer than promised would hold
    the truth. So the squared half-width is raised by up to BARELY_TOLD, with the square of z^2
    times the denominator's relative variance, which is 1 where it is just told. No raise makes up
    for all of it: where the true denominator is below two standard errors, so that most intervals
    are not told, and the errors go together, those that are told hold the truth less often.
    """

    numerator: float
    denominator: float
    variance_numerator: float
    variance_denominator: float
    covariance: float

    @property
    def value(self) -> float:
        """The plug-in ratio; NaN where the denominator is 0 or unknown."""
        return self.numerator / self.denominator if self.denominator else math.nan

    @property
    def stderr(self) -> float:
        """Delta-method standard error; NaN where the value is."""
        if not self.denominator:
            return math.nan
        spread = self._spread(self.value)
        return math.sqrt(max(spread, 0.0)) / abs(self.denominator)

    def _spread(self, ratio: float) -> float:
        """Variance of numerator - ratio * denominator."""
        return (
            self.variance_numerator
            - 2.0 * ratio * self.covariance
            + ratio * ratio * self.variance_denominator
        )

    def interval(self, level: float) -> tuple[float, float]:
        """Fieller's interval, or (nan, nan) where the denominator cannot be told from zero."""
        z2 = quantile(level) ** 2
        a = self.denominator**2 - z2 * self.variance_denominator
        if not a > 0.0:
            return (math.nan, math.nan)
        b = self.numerator * self.denominator - z2 * self.covariance
        c = self.numerator**2 - z2 * self.variance_numerator
        barely = z2 * self.variance_denominator / self.denominator**2
        raised = 1.0 + BARELY_TOLD * barely**2
        root = math.sqrt(max(b * b - a * c, 0.0) * raised)
        return ((b - root) / a, (b + root) / a)


def quantile(level: float) -> float:
    """Half-width, in standard errors, of a two-sided normal interval: 1.96 for 0.95."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {level}")
    return NormalDist().inv_cdf(0.5 + level / 2.0)
