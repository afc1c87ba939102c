"""Public. Sees parameters. Arithmetic over aggregates, with its error carried along.

Every aggregate is a sum that the reports estimate, or a ratio of two. Over T such sums, jointly
estimated for each of R rows, an expression is kept in the simplest of three forms: `Affine`
(exactly linear, normal interval), `Quotient` of two affine forms (Fieller's interval), or
`Smooth` (value and gradient, delta method). An expression stays affine or a quotient as long as it
is one, so AVG(x) * 12 - 3 has as honest an interval as AVG(x).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ldpsql.estimate import Array, Ratio, quantile
from ldpsql.parser.query import Aggregate, Expression, Number

NULL_LEVEL = 0.95


@dataclass(frozen=True)
class Sums:
    """Jointly estimated sums: values (R, T), covariance (R, T, T).

    replicates: (r, R, T) beside post-processed values; see `Estimates`.
    """

    values: Array
    covariance: Array
    replicates: Array | None = None

    def spread(self, gradient: Array) -> Array:
        """Variance of the linear form with the given gradient, (T,) or (R, T); shape (R,)."""
        rows = np.broadcast_to(gradient, self.values.shape)
        # A sum that no report could tell has infinite variance; a zero coefficient removes it.
        used = np.where((rows[:, :, None] != 0.0) & (rows[:, None, :] != 0.0), self.covariance, 0.0)
        spread: Array = np.maximum(np.einsum("rt,rts,rs->r", rows, used, rows), 0.0)
        return spread

    def cross(self, left: Array, right: Array) -> Array:
        """Covariance of two linear forms, gradients of shape (T,); shape (R,)."""
        used = np.where((left[:, None] != 0.0) & (right[None, :] != 0.0), self.covariance, 0.0)
        return np.asarray(np.einsum("t,rts,s->r", left, used, right))


@dataclass(frozen=True)
class Interval:
    """Standard errors and interval ends of R estimates, each of shape (R,); NaN where unknown."""

    stderr: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Affine:
    """constant + gradient . sums; gradient of shape (T,)."""

    constant: float
    gradient: Array

    @property
    def is_constant(self) -> bool:
        """Whether no sum enters."""
        return not self.gradient.any()

    def value(self, sums: Sums) -> Array:
        """Shape (R,)."""
        used = np.where(self.gradient != 0.0, sums.values, 0.0)
        return self.constant + used @ self.gradient

    def slope(self, sums: Sums) -> Array:
        """Gradient per row, shape (R, T)."""
        return np.broadcast_to(self.gradient, sums.values.shape)

    def interval(self, sums: Sums, level: float) -> Interval:
        """Normal interval."""
        stderr = np.sqrt(sums.spread(self.gradient))
        return _normal(self.value(sums), stderr, level)

    def scaled(self, factor: float) -> Affine:
        """The form times a number."""
        return Affine(self.constant * factor, self.gradient * factor)

    def plus(self, other: Affine) -> Affine:
        """The sum of two forms."""
        return Affine(self.constant + other.constant, self.gradient + other.gradient)


@dataclass(frozen=True)
class Quotient:
    """numerator / denominator. NULL (NaN) where the denominator cannot be told from zero."""

    numerator: Affine
    denominator: Affine

    def value(self, sums: Sums) -> Array:
        """Shape (R,); NaN where Fieller's 95 % interval is unbounded."""
        return np.array(
            [ratio.value if _is_told(ratio) else np.nan for ratio in self._ratios(sums)]
        )

    def slope(self, sums: Sums) -> Array:
        """Gradient per row, shape (R, T)."""
        bottom = self.denominator.value(sums)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.numerator.value(sums)[:, None] / bottom
            return (self.numerator.gradient - ratio * self.denominator.gradient) / bottom

    def interval(self, sums: Sums, level: float) -> Interval:
        """Fieller's interval and the delta method's standard error."""
        ratios = self._ratios(sums)
        told = [_is_told(ratio) for ratio in ratios]
        ends = [
            ratio.interval(level) if known else (np.nan, np.nan)
            for ratio, known in zip(ratios, told, strict=True)
        ]
        stderr = [
            ratio.stderr if known else np.nan for ratio, known in zip(ratios, told, strict=True)
        ]
        low, high = np.array(ends).reshape(-1, 2).T
        return Interval(np.array(stderr), low, high)

    def _ratios(self, sums: Sums) -> list[Ratio]:
        top, bottom = self.numerator, self.denominator
        columns = zip(
            top.value(sums),
            bottom.value(sums),
            sums.spread(top.gradient),
            sums.spread(bottom.gradient),
            sums.cross(top.gradient, bottom.gradient),
            strict=True,
        )
        return [Ratio(*map(float, column)) for column in columns]


@dataclass(frozen=True)
class Smooth:
    """Any other expression: its value (R,) and gradient (R, T) at the estimates."""

    values: Array
    gradient: Array

    def value(self, sums: Sums) -> Array:
        """Shape (R,)."""
        return self.values

    def slope(self, sums: Sums) -> Array:
        """Gradient per row, shape (R, T)."""
        return self.gradient

    def interval(self, sums: Sums, level: float) -> Interval:
        """Delta method."""
        finite = np.isfinite(self.gradient)
        spread = np.sqrt(sums.spread(np.where(finite, self.gradient, 0.0)))
        unknown = np.isnan(self.values) | ~finite.all(axis=1)
        stderr = np.where(unknown, np.nan, spread)
        return _normal(self.values, stderr, level)


Form = Affine | Quotient | Smooth
Leaf = Callable[[Aggregate], Form]


def form_of(expression: Expression, leaf: Leaf, sums: Sums) -> Form:
    """The form of an expression; `leaf` gives that of an aggregate."""
    if isinstance(expression, Aggregate):
        return leaf(expression)
    if isinstance(expression, Number):
        return Affine(expression.value, np.zeros(sums.values.shape[1]))
    left = form_of(expression.left, leaf, sums)
    right = form_of(expression.right, leaf, sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _OPERATIONS[expression.op](left, right, sums)


def _add(left: Form, right: Form, sums: Sums) -> Form:
    if isinstance(left, Affine) and isinstance(right, Affine):
        return left.plus(right)
    if isinstance(left, Quotient) and isinstance(right, Affine) and right.is_constant:
        return Quotient(
            left.numerator.plus(left.denominator.scaled(right.constant)), left.denominator
        )
    if isinstance(right, Quotient) and isinstance(left, Affine) and left.is_constant:
        return _add(right, left, sums)
    return Smooth(left.value(sums) + right.value(sums), left.slope(sums) + right.slope(sums))


def _subtract(left: Form, right: Form, sums: Sums) -> Form:
    minus = Affine(-1.0, np.zeros(sums.values.shape[1]))
    return _add(left, _multiply(right, minus, sums), sums)


def _multiply(left: Form, right: Form, sums: Sums) -> Form:
    if isinstance(right, Affine) and right.is_constant:
        return _scaled(left, right.constant, sums)
    if isinstance(left, Affine) and left.is_constant:
        return _scaled(right, left.constant, sums)
    x, y = left.value(sums), right.value(sums)
    return Smooth(x * y, y[:, None] * left.slope(sums) + x[:, None] * right.slope(sums))


def _scaled(form: Form, factor: float, sums: Sums) -> Form:
    if isinstance(form, Affine):
        return form.scaled(factor)
    if isinstance(form, Quotient):
        return Quotient(form.numerator.scaled(factor), form.denominator)
    return Smooth(form.values * factor, form.gradient * factor)


def _divide(left: Form, right: Form, sums: Sums) -> Form:
    if isinstance(right, Affine) and right.is_constant:
        if right.constant == 0.0:
            return Smooth(np.full(len(sums.values), np.nan), np.zeros_like(sums.values))
        return _scaled(left, 1.0 / right.constant, sums)
    if isinstance(left, Affine) and isinstance(right, Affine):
        return Quotient(left, right)
    x, y = left.value(sums), right.value(sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(y == 0.0, np.nan, x / y)
        slope = (left.slope(sums) - ratio[:, None] * right.slope(sums)) / y[:, None]
    return Smooth(ratio, slope)


_OPERATIONS: Mapping[str, Callable[[Form, Form, Sums], Form]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
}


def _normal(values: Array, stderr: Array, level: float) -> Interval:
    half = quantile(level) * stderr
    unknown = np.isnan(values) | ~np.isfinite(stderr)
    shown = np.where(unknown, np.nan, stderr)
    return Interval(
        shown, np.where(unknown, np.nan, values - half), np.where(unknown, np.nan, values + half)
    )


def _is_told(ratio: Ratio) -> bool:
    """Whether the denominator differs from zero at 95 %."""
    return not np.isnan(ratio.interval(NULL_LEVEL)[0])
