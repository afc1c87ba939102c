"""Arithmetic over jointly estimated sums, with its error carried along.

Over T sums, jointly estimated for each of R rows, an expression is kept in the simplest of three
forms: `Affine` (exactly linear, normal interval), `Quotient` of two affine forms (Fieller's
interval), or else `Form` (value and gradient, delta method). An expression stays affine or a
quotient as long as it is one, so AVG(x) * 12 - 3 has as honest an interval as AVG(x).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldpsql.aggregates import Expression, Target, evaluate
from ldpsql.estimate import Array, Ratio, quantile

SURCHARGE = 1.15
"""What a typical error is multiplied by, see `typical_error`."""


@dataclass(frozen=True)
class Interval:
    """Standard errors and interval ends of R estimates, each of shape (R,); NaN where unknown."""

    stderr: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Sums:
    """Jointly estimated sums, and the confidence level of whatever is computed from them.

    values: shape (R, T).  covariance: shape (R, T, T).  replicates: shape (r, R, T), beside
    post-processed values; see `Estimates`.
    """

    values: Array
    covariance: Array
    level: float
    replicates: Array | None = None

    def cross(self, left: Array, right: Array) -> Array:
        """Covariance of two linear forms per row, shape (R,); gradients of shape (T,) or (R, T)."""
        left, right = (np.broadcast_to(each, self.values.shape) for each in (left, right))
        # A sum that no report could tell has infinite variance; a zero coefficient removes it.
        is_used = (left[:, :, None] != 0.0) & (right[:, None, :] != 0.0)
        used = np.where(is_used, self.covariance, 0.0)
        return np.asarray(np.einsum("rt,rts,rs->r", left, used, right))

    def variance(self, gradient: Array) -> Array:
        """Variance of a linear form per row, shape (R,); rounding below zero counts as zero."""
        return np.maximum(self.cross(gradient, gradient), 0.0)


class Form:
    """A number per row, computed from sums; + - * / give another form.

    value: shape (R,), NaN where it is not estimable at the level of the sums.  slope: its
    gradient per row, shape (R, T).  constant: the number that it is where no sum enters, else None.
    """

    constant: float | None = None

    def __init__(self, sums: Sums, value: Array, slope: Array) -> None:
        self.sums = sums
        self.value = value
        self.slope = slope

    @property
    def interval(self) -> Interval:
        """Standard errors by the delta method, which is exact for an affine form, and the normal
        interval at the level of the sums; NaN wherever the value is."""
        is_finite = np.isfinite(self.slope)
        stderr = np.sqrt(self.sums.variance(np.where(is_finite, self.slope, 0.0)))
        is_known = is_finite.all(axis=1) & np.isfinite(stderr) & ~np.isnan(self.value)
        stderr = np.where(is_known, stderr, np.nan)
        half = quantile(self.sums.level) * stderr
        return Interval(stderr, self.value - half, self.value + half)

    def scaled(self, factor: float) -> Form:
        """The form times a number."""
        return Form(self.sums, self.value * factor, self.slope * factor)

    def shifted(self, constant: float) -> Form:
        """The form plus a number."""
        return Form(self.sums, self.value + constant, self.slope)

    def __add__(self, other: Form) -> Form:
        if other.constant is not None:
            return self.shifted(other.constant)
        if self.constant is not None:
            return other.shifted(self.constant)
        return Form(self.sums, self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: Form) -> Form:
        return self + other.scaled(-1.0)

    def __mul__(self, other: Form) -> Form:
        if other.constant is not None:
            return self.scaled(other.constant)
        if self.constant is not None:
            return other.scaled(self.constant)
        x, y = self.value, other.value
        return Form(self.sums, x * y, y[:, None] * self.slope + x[:, None] * other.slope)

    def __truediv__(self, other: Form) -> Form:
        if other.constant == 0.0:
            nothing = np.full(len(self.value), np.nan)
            return Form(self.sums, nothing, np.zeros_like(self.slope))
        if other.constant is not None:
            return self.scaled(1.0 / other.constant)
        # d(x / y) = (dx - (x / y) dy) / y
        ratio = self.value / np.where(other.value == 0.0, np.nan, other.value)
        slope = (self.slope - ratio[:, None] * other.slope) / other.value[:, None]
        return Form(self.sums, ratio, slope)


class Affine(Form):
    """offset + gradient . sums; gradient of shape (T,)."""

    def __init__(self, sums: Sums, offset: float, gradient: Array) -> None:
        # A sum that no report could tell is NaN; a zero coefficient removes it.
        used = np.where(gradient != 0.0, sums.values, 0.0)
        slope = np.broadcast_to(gradient, sums.values.shape)
        super().__init__(sums, np.asarray(offset + used @ gradient), slope)
        self.offset = offset
        self.gradient = gradient
        self.constant = None if gradient.any() else offset

    def scaled(self, factor: float) -> Affine:
        """The form times a number."""
        return Affine(self.sums, self.offset * factor, self.gradient * factor)

    def shifted(self, constant: float) -> Affine:
        """The form plus a number."""
        return Affine(self.sums, self.offset + constant, self.gradient)

    def __add__(self, other: Form) -> Form:
        if isinstance(other, Affine):
            return Affine(self.sums, self.offset + other.offset, self.gradient + other.gradient)
        return super().__add__(other)

    def __truediv__(self, other: Form) -> Form:
        if isinstance(other, Affine) and other.constant is None:
            return Quotient(self.sums, self, other)
        return super().__truediv__(other)


class Quotient(Form):
    """numerator / denominator. NULL (NaN) exactly where Fieller's interval is unbounded."""

    def __init__(self, sums: Sums, numerator: Affine, denominator: Affine) -> None:
        ratio = Ratio(
            numerator.value,
            denominator.value,
            sums.variance(numerator.gradient),
            sums.variance(denominator.gradient),
            sums.cross(numerator.gradient, denominator.gradient),
        )
        low, high = ratio.interval(sums.level)
        bottom = denominator.value[:, None]
        plain = numerator.value[:, None] / bottom
        slope = (numerator.gradient - plain * denominator.gradient) / bottom
        super().__init__(sums, np.where(np.isnan(low), np.nan, ratio.value), slope)
        self._interval = Interval(np.where(np.isnan(low), np.nan, ratio.stderr), low, high)
        self.numerator = numerator
        self.denominator = denominator

    @property
    def interval(self) -> Interval:
        """Fieller's interval and the delta method's standard error."""
        return self._interval

    def scaled(self, factor: float) -> Quotient:
        """The form times a number."""
        return Quotient(self.sums, self.numerator.scaled(factor), self.denominator)

    def shifted(self, constant: float) -> Quotient:
        """The form plus a number: x / y + c = (x + c y) / y."""
        x, y = self.numerator, self.denominator
        gradient = x.gradient + constant * y.gradient
        raised = Affine(self.sums, x.offset + constant * y.offset, gradient)
        return Quotient(self.sums, raised, y)


def form_of(expression: Expression, targets: Sequence[Target], sums: Sums) -> Form:
    """The form of an expression over sums; targets: what the T sums are."""
    units = np.eye(sums.values.shape[1])
    nothing = np.zeros(len(units))
    with np.errstate(divide="ignore", invalid="ignore"):
        return evaluate(
            expression,
            lambda target: Affine(sums, 0.0, units[targets.index(target)]),
            lambda value: Affine(sums, value, nothing),
        )


def replicate(expression: Expression, targets: Sequence[Target], sums: Sums) -> Array | None:
    """The expression on every replicate of the sums, shape (r, R); None without replicates."""
    drawn = sums.replicates
    if drawn is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = evaluate(expression, lambda target: drawn[:, :, targets.index(target)], np.asarray)
    return np.broadcast_to(values, drawn.shape[:2])


def typical_error(replicates: Array, values: Array) -> Array:
    """The typical error of post-processed answers, shape (R,); NaN where one is unknown.

    A post-processing estimator has no standard error that could be computed, so it is run again
    on simulated summaries, and an expression is evaluated on every one of them. The root mean
    square of these replicates (r, R) about the values (R,), times 1.15, is the typical error. It
    is a measured habit, not a promise: the interval beside it is. See docs/spec/fourier.md#8.5.
    """
    with np.errstate(invalid="ignore"):
        square = np.square(replicates - values).mean(axis=0)
    return np.where(np.isfinite(square), SURCHARGE * np.sqrt(square), np.nan)
