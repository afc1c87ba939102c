"""Sees true values and estimates, for evaluation only. How far estimates are from the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from ldpsql.estimate import Array


@dataclass(frozen=True)
class Errors:
    """The errors of some answers.

    answers: how many were asked for.  undetermined: the share that is NULL (a ratio whose
    denominator cannot be told from zero); everything below is over the others.
    mse, rmse: mean square error, and its root.  bias: mean error.
    nmse: mean of (error / scale)^2, with the number of people as the scale of a COUNT and the sum
    of all absolute values as that of a SUM; NaN for other aggregates.
    mre: mean of |error / truth| over answers whose truth is not 0.
    coverage: the share of intervals that hold the truth.  width: their mean width.
    claimed: root of the mean square of the standard errors that came with the answers.
    NaN where there is nothing to take a mean of.
    """

    answers: int
    undetermined: float
    mse: float
    rmse: float
    bias: float
    nmse: float
    mre: float
    coverage: float
    width: float
    claimed: float

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The fields, in order."""
        return tuple(field.name for field in fields(cls))


def errors(
    value: Array, truth: Array, scale: Array, stderr: Array, low: Array, high: Array
) -> Errors:
    """From arrays of the same shape (answers,). Answers without a true value are left out."""
    asked = np.isfinite(truth)
    told = asked & np.isfinite(value)
    error = value[told] - truth[told]
    relative = np.abs(error[truth[told] != 0.0] / truth[told][truth[told] != 0.0])
    square = error**2
    bounded = told & np.isfinite(low) & np.isfinite(high)
    inside = (low[bounded] <= truth[bounded]) & (truth[bounded] <= high[bounded])
    mse = _mean(square)
    return Errors(
        int(asked.sum()),
        1.0 - _mean(told[asked].astype(float)),
        mse,
        math.sqrt(mse),
        _mean(error),
        _mean(square / scale[told] ** 2),
        _mean(relative),
        _mean(inside.astype(float)),
        _mean((high - low)[bounded]),
        math.sqrt(_mean(stderr[told] ** 2)),
    )


def _mean(values: Array) -> float:
    return float(np.mean(values)) if values.size else math.nan
