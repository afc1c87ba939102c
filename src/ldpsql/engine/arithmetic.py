"""Arithmetic over jointly estimated sums, with its error carried along.

Over T sums, jointly estimated for each of R rows, an expression is kept in the simplest of three
forms: `Affine` (exactly linear, normal interval), `Quotient` of two affine forms (Fieller's
interval), or `Smooth` (value and gradient, delta method). An expression stays affine or a quotient
as long as it is one, so AVG(x) * 12 - 3 has as honest an interval as AVG(x).
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ldpsql.aggregates import Expression, Leaf, Operator, evaluate
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


class Form(ABC):
    """A number per row, computed from sums; + - * / give another form.

    The value is NaN where it is not estimable at the level of the sums, and the interval is at
    that level.
    """

    sums: Sums

    @property
    @abstractmethod
    def value(self) -> Array:
        """Shape (R,)."""

    @property
    @abstractmethod
    def slope(self) -> Array:
        """Gradient per row, shape (R, T)."""

    @property
    @abstractmethod
    def interval(self) -> Interval:
        """Standard errors and interval ends; NaN wherever the value is."""

    @property
    def constant_value(self) -> float | None:
        """The number that the form is, where no sum enters; else None."""
        return None

    def scaled(self, factor: float) -> Form:
        """The form times a number."""
        return Smooth(self.sums, self.value * factor, self.slope * factor)

    def shifted(self, constant: float) -> Form:
        """The form plus a number."""
        return Smooth(self.sums, self.value + constant, self.slope)

    def __add__(self, other: Form) -> Form:
        if other.constant_value is not None:
            return self.shifted(other.constant_value)
        if self.constant_value is not None:
            return other.shifted(self.constant_value)
        return Smooth(self.sums, self.value + other.value, self.slope + other.slope)

    def __sub__(self, other: Form) -> Form:
        return self + other.scaled(-1.0)

    def __mul__(self, other: Form) -> Form:
        if other.constant_value is not None:
            return self.scaled(other.constant_value)
        if self.constant_value is not None:
            return other.scaled(self.constant_value)
        x, y = self.value, other.value
        return Smooth(self.sums, x * y, y[:, None] * self.slope + x[:, None] * other.slope)

    def __truediv__(self, other: Form) -> Form:
        if other.constant_value is not None:
            if other.constant_value == 0.0:
                nothing = np.full(len(self.value), np.nan)
                return Smooth(self.sums, nothing, np.zeros_like(self.slope))
            return self.scaled(1.0 / other.constant_value)
        # d(x / y) = (dx - (x / y) dy) / y
        ratio = self.value / np.where(other.value == 0.0, np.nan, other.value)
        slope = (self.slope - ratio[:, None] * other.slope) / other.value[:, None]
        return Smooth(self.sums, ratio, slope)


@dataclass(frozen=True)
class Affine(Form):
    """constant + gradient . sums; gradient of shape (T,)."""

    sums: Sums
    constant: float
    gradient: Array

    @property
    def constant_value(self) -> float | None:
        """The constant, where the gradient is zero."""
        return None if self.gradient.any() else self.constant

    @cached_property
    def value(self) -> Array:
        """Shape (R,); a sum that no report could tell is NaN, a zero coefficient removes it."""
        used = np.where(self.gradient != 0.0, self.sums.values, 0.0)
        return np.asarray(self.constant + used @ self.gradient)

    @property
    def slope(self) -> Array:
        """Gradient per row, shape (R, T)."""
        return np.broadcast_to(self.gradient, self.sums.values.shape)

    @property
    def interval(self) -> Interval:
        """The normal interval."""
        stderr = np.sqrt(self.sums.variance(self.gradient))
        return _normal(self.value, stderr, self.sums.level)

    def scaled(self, factor: float) -> Affine:
        """The form times a number."""
        return replace(self, constant=self.constant * factor, gradient=self.gradient * factor)

    def shifted(self, constant: float) -> Affine:
        """The form plus a number."""
        return replace(self, constant=self.constant + constant)

    def __add__(self, other: Form) -> Form:
        if isinstance(other, Affine):
            return Affine(self.sums, self.constant + other.constant, self.gradient + other.gradient)
        return super().__add__(other)

    def __truediv__(self, other: Form) -> Form:
        if isinstance(other, Affine) and other.constant_value is None:
            return Quotient(self.sums, self, other)
        return super().__truediv__(other)


@dataclass(frozen=True)
class Quotient(Form):
    """numerator / denominator. NULL (NaN) exactly where Fieller's interval is unbounded."""

    sums: Sums
    numerator: Affine
    denominator: Affine

    @cached_property
    def _ratio(self) -> Ratio:
        top, bottom, sums = self.numerator, self.denominator, self.sums
        return Ratio(
            top.value,
            bottom.value,
            sums.variance(top.gradient),
            sums.variance(bottom.gradient),
            sums.cross(top.gradient, bottom.gradient),
        )

    @cached_property
    def interval(self) -> Interval:
        """Fieller's interval and the delta method's standard error."""
        low, high = self._ratio.interval(self.sums.level)
        return Interval(np.where(np.isnan(low), np.nan, self._ratio.stderr), low, high)

    @cached_property
    def value(self) -> Array:
        """Shape (R,)."""
        return np.where(np.isnan(self.interval.low), np.nan, self._ratio.value)

    @property
    def slope(self) -> Array:
        """Gradient per row, shape (R, T)."""
        bottom = self.denominator.value[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.numerator.value[:, None] / bottom
            return (self.numerator.gradient - ratio * self.denominator.gradient) / bottom

    def scaled(self, factor: float) -> Quotient:
        """The form times a number."""
        return replace(self, numerator=self.numerator.scaled(factor))

    def shifted(self, constant: float) -> Quotient:
        """The form plus a number: x / y + c = (x + c y) / y."""
        raised = self.denominator.scaled(constant)
        return replace(
            self,
            numerator=Affine(
                self.sums,
                self.numerator.constant + raised.constant,
                self.numerator.gradient + raised.gradient,
            ),
        )


@dataclass(frozen=True)
class Smooth(Form):
    """Any other expression: its value (R,) and gradient (R, T) at the estimates."""

    sums: Sums
    values: Array
    gradient: Array

    @property
    def value(self) -> Array:
        """Shape (R,)."""
        return self.values

    @property
    def slope(self) -> Array:
        """Gradient per row, shape (R, T)."""
        return self.gradient

    @property
    def interval(self) -> Interval:
        """Delta method."""
        is_finite = np.isfinite(self.slope)
        stderr = np.sqrt(self.sums.variance(np.where(is_finite, self.slope, 0.0)))
        stderr = np.where(is_finite.all(axis=1), stderr, np.nan)
        return _normal(self.value, stderr, self.sums.level)


def _normal(values: Array, stderr: Array, level: float) -> Interval:
    """values -+ z stderr, NaN where either is unknown."""
    stderr = np.where(np.isnan(values) | ~np.isfinite(stderr), np.nan, stderr)
    half = quantile(level) * stderr
    return Interval(stderr, values - half, values + half)


_ON_FORMS: Mapping[Operator, Callable[[Form, Form], Form]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_ON_ARRAYS: Mapping[Operator, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


def form_of(expression: Expression, places: Mapping[Leaf, int], sums: Sums) -> Form:
    """The form of an expression over sums; places: which of the T sums a target is."""
    units = np.eye(sums.values.shape[1])

    def leaf(target: Leaf) -> Form:
        return Affine(sums, 0.0, units[places[target]])

    def number(value: float) -> Form:
        return Affine(sums, value, np.zeros(len(units)))

    with np.errstate(divide="ignore", invalid="ignore"):
        return evaluate(expression, leaf, number, _ON_FORMS)


def replicate(expression: Expression, places: Mapping[Leaf, int], sums: Sums) -> Array | None:
    """The expression on every replicate of the sums, shape (r, R); None without replicates."""
    drawn = sums.replicates
    if drawn is None:
        return None

    def leaf(target: Leaf) -> Array:
        return drawn[:, :, places[target]]

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = evaluate(expression, leaf, np.asarray, _ON_ARRAYS)
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
