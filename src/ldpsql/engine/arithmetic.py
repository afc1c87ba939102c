"""Arithmetic over jointly estimated sums, with its error carried along.

Over T sums, jointly estimated for each of R rows, an expression is an `Affine` form as long as it
is exactly linear (normal interval), else a `Form`: value and gradient. The interval of a form is
that of the delta method, or one of its own: Fieller's for a quotient, whose numerator and
denominator are linear to first order, and for a function what becomes of the ends of its operand,
or an inverted test. Scaling and shifting keep it, so AVG(x) * 12 - 3 has as honest an interval as
AVG(x).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.estimate import Array, Ratio, quantile
from ldpsql.algebra.numerics import shared_quantile
from ldpsql.sql.aggregates import (
    Expression,
    Function,
    Leaf,
    Mode,
    Quantile,
    QuantileBetweenEdges,
    Spread,
    Target,
    Transform,
    evaluate,
)

_DRAWS, _HALVINGS = 20_000, 40
_ROUNDING = 1e-12  # of the terms of a sum
_ANGLES = 129

SURCHARGE = 1.15
"""The factor on a typical error in `typical_error`."""


@dataclass(frozen=True)
class Interval:
    """Standard errors and interval ends of R estimates, each of shape (R,); NaN where unknown."""

    stderr: Array
    low: Array
    high: Array

    def within(self, low: Array | float, high: Array | float) -> Interval:
        """The part of every interval between two bounds; where there is none, the nearest bound."""
        return Interval(self.stderr, np.clip(self.low, low, high), np.clip(self.high, low, high))

    def is_beyond(self, low: Array, high: Array) -> NDArray[np.bool_]:
        """Whether some part of each interval lies outside of two bounds, shape (R,)."""
        return np.asarray((self.low < low) | (self.high > high))


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
    gradient per row, shape (R, T).  ends: of its interval, each of shape (R,), where they are not
    those of the delta method.  constant: the number that it is where no sum enters, else None.
    denominator: of a quotient of affine forms, scaled and shifted or not; None for other forms.
    curvature: the variance, shape (R,), of what is quadratic in errors; 0. where nothing is.  bend:
    of a sum of squares about an estimated mean, whose error is that of a linear form less the
    square of another one, the gradient of the latter, (R, T).
    """

    constant: float | None = None

    def __init__(
        self,
        sums: Sums,
        value: Array,
        slope: Array,
        ends: tuple[Array, Array] | None = None,
        denominator: Affine | None = None,
        curvature: Array | float = 0.0,
        bend: Array | None = None,
    ) -> None:
        self.sums = sums
        self.value = value
        self.slope = slope
        self.ends = ends
        self.denominator = denominator
        self.curvature = curvature
        self.bend = bend

    @cached_property
    def interval(self) -> Interval:
        """Standard errors by the delta method, which is exact for an affine form, and the interval
        at the level of the sums, normal if it has no ends of its own; NaN wherever the value is.

        Where the slope is not finite, the standard error is what the interval would have made of
        it: half of its width over the normal quantile.
        """
        is_finite = np.asarray(np.isfinite(self.slope).all(axis=1))
        z = quantile(self.sums.level)
        variance = self.sums.variance(np.where(is_finite[:, None], self.slope, 0.0))
        # A slope at estimates has twice the curvature in its variance, on average, which is in
        # truth in that of the form once, and is never all of it.
        curvature = np.where(is_finite, self.curvature, 0.0)
        stderr = np.sqrt(np.maximum(variance - curvature, curvature))
        is_known = np.isfinite(stderr) & ~np.isnan(self.value)
        if self.ends is None:
            stderr = np.where(is_known & is_finite, stderr, np.nan)
            return Interval(stderr, self.value - z * stderr, self.value + z * stderr)
        low, high = (np.where(is_known, end, np.nan) for end in self.ends)
        own = np.where(is_finite, stderr, (high - low) / (2.0 * z))
        return Interval(np.where(is_known, own, np.nan), low, high)

    def scale(self, factor: float) -> Form:
        """The form times a number."""
        ends = None
        if self.ends is not None:
            low, high = (end * factor for end in self.ends)
            ends = (low, high) if factor >= 0.0 else (high, low)
        value, slope, curvature = (
            self.value * factor,
            self.slope * factor,
            self.curvature * factor**2,
        )
        return Form(self.sums, value, slope, ends, self.denominator, curvature)

    def shift(self, constant: float) -> Form:
        """The form plus a number."""
        ends = None
        if self.ends is not None:
            ends = (self.ends[0] + constant, self.ends[1] + constant)
        value = self.value + constant
        return Form(self.sums, value, self.slope, ends, self.denominator, self.curvature)

    def __add__(self, other: Form) -> Form:
        if other.constant is not None:
            return self.shift(other.constant)
        if self.constant is not None:
            return other.shift(self.constant)
        value = self.value + other.value
        # What differs by rounding alone is equal: a group in which a column is constant has no
        # variance, and nothing that is divided by it.
        is_rounding = np.abs(value) <= _ROUNDING * (np.abs(self.value) + np.abs(other.value))
        return Form(self.sums, np.where(is_rounding, 0.0, value), self.slope + other.slope)

    def __sub__(self, other: Form) -> Form:
        return self + other.scale(-1.0)

    def __mul__(self, other: Form) -> Form:
        if other.constant is not None:
            return self.scale(other.constant)
        if self.constant is not None:
            return other.scale(self.constant)
        x, y = self.value, other.value
        slope = y[:, None] * self.slope + x[:, None] * other.slope
        curvature = y**2 * self.curvature + x**2 * other.curvature
        return Form(self.sums, x * y, slope, curvature=curvature)

    def __truediv__(self, other: Form) -> Form:
        if other.constant == 0.0:
            nothing = np.full(len(self.value), np.nan)
            return Form(self.sums, nothing, np.zeros_like(self.slope))
        if other.constant is not None:
            return self.scale(1.0 / other.constant)
        return _quotient(self, other)


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

    def scale(self, factor: float) -> Affine:
        """The form times a number."""
        return Affine(self.sums, self.offset * factor, self.gradient * factor)

    def shift(self, constant: float) -> Affine:
        """The form plus a number."""
        return Affine(self.sums, self.offset + constant, self.gradient)

    def __add__(self, other: Form) -> Form:
        if isinstance(other, Affine):
            return Affine(self.sums, self.offset + other.offset, self.gradient + other.gradient)
        return super().__add__(other)


def _quotient(numerator: Form, denominator: Form) -> Form:
    """numerator / denominator with Fieller's interval; NULL (NaN) exactly where it is unbounded."""
    sums = numerator.sums
    if isinstance(denominator, Affine) and numerator.bend is not None:
        low, high = _ends_of_bent(numerator, denominator)
    else:
        low, high = _ratio(numerator, denominator).interval(sums.level)
    # d(x / y) = (dx - (x / y) dy) / y
    bottom = denominator.value[:, None]
    slope = (numerator.slope - numerator.value[:, None] / bottom * denominator.slope) / bottom
    value = np.where(np.isnan(low), np.nan, numerator.value / denominator.value)
    affine = denominator if isinstance(denominator, Affine) else None
    curvature = numerator.curvature / np.square(denominator.value)
    denominated = affine if isinstance(numerator, Affine) else None
    return Form(sums, value, slope, (low, high), denominated, curvature)


def _ratio(numerator: Form, denominator: Form) -> Ratio:
    """Of two forms, with as much variance as slopes at estimates give what is quadratic in errors,
    or as it has on average, if that is more."""
    sums = numerator.sums
    top, bottom = (
        np.maximum(sums.variance(each.slope), 2.0 * each.curvature)
        for each in (numerator, denominator)
    )
    cross = sums.cross(numerator.slope, denominator.slope)
    return Ratio(numerator.value, denominator.value, top, bottom, cross)


def _spread(function: Spread, operands: Sequence[Form]) -> Form:
    """A sum of products about estimated means, without the bias that errors of these make.

    The product of the errors of both means is on average their covariance per person, which
    unbiased estimates get back; of a known number of people nothing else is biased. What is
    post-processed has no such error that is known, and stays as it is.
    """
    products, left, right, people = operands
    sums, number = left.sums, people.value
    plain = products - left * right / people
    if sums.replicates is not None:
        return plain
    slopes = [each.slope - (each.value / number)[:, None] * people.slope for each in (left, right)]
    product = sums.cross(*slopes)
    curvature = (sums.variance(slopes[0]) * sums.variance(slopes[1]) + product**2) / number**2
    # Where a column is constant nothing is to be corrected but rounding.
    value = np.where(plain.value == 0.0, 0.0, plain.value + product / number)
    made = Form(sums, value, plain.slope, None, None, curvature)
    if function.left == function.right:
        made.bend = slopes[0] / np.sqrt(number)[:, None]
        made.ends = _ends_of_bent(made, Affine(sums, 1.0, np.zeros(len(slopes[0].T))))
    return made


def _ends_of_bent(numerator: Form, denominator: Affine) -> tuple[Array, Array]:
    """The ends of the interval of a quotient whose numerator has a bend.

    It holds the quotient of everything that lies within z standard errors of the estimates, jointly
    (a profile interval), for which Fieller's is the case without a bend. With the form of the bend
    at s z of its standard errors, s from -1 to 1, there are sqrt(1 - s^2) z left for what does not
    depend on it, which is a quotient of linear forms.
    """
    sums, z, bend = numerator.sums, quantile(numerator.sums.level), numerator.bend
    assert bend is not None
    spread = sums.variance(bend)
    steps = [
        np.where(spread > 0.0, sums.cross(each.slope, bend), 0.0)
        / np.where(spread > 0.0, spread, 1.0)
        for each in (numerator, denominator)
    ]
    top, bottom = (
        np.maximum(sums.variance(each.slope) - step**2 * spread, 0.0)
        for each, step in zip((numerator, denominator), steps, strict=True)
    )
    cross = sums.cross(numerator.slope, denominator.slope) - steps[0] * steps[1] * spread
    plain = np.where(numerator.value == 0.0, 0.0, numerator.value - spread)
    # The value itself may be beyond what is plausible, by the bias that was taken out of it.
    low = high = numerator.value / denominator.value
    for angle in np.linspace(-np.pi / 2.0, np.pi / 2.0, _ANGLES):
        moved = np.sin(angle) * z * np.sqrt(spread)
        ratio = Ratio(
            plain + steps[0] * moved - moved**2,
            denominator.value + steps[1] * moved,
            *(top, bottom, cross),
        )
        ends = ratio.interval_within(np.cos(angle) * z)
        low, high = np.minimum(low, ends[0]), np.maximum(high, ends[1])
    return low, high


def _transform(function: Transform, operand: Form) -> Form:
    """A root or a square, with what becomes of the ends of the operand's interval."""
    bars, value = operand.interval, function.value([operand.value])
    low, high = function.value([bars.low]), function.value([bars.high])
    if function.name == "root":
        factor = 0.5 / np.where(value > 0.0, value, np.nan)
    else:
        factor = 2.0 * operand.value
        has_zero = (bars.low < 0.0) & (bars.high > 0.0)
        low, high = np.where(has_zero, 0.0, np.minimum(low, high)), np.maximum(low, high)
    curvature = operand.curvature * factor**2
    return Form(operand.sums, value, factor[:, None] * operand.slope, (low, high), None, curvature)


def _invert(function: Quantile, operands: Sequence[Form]) -> Form:
    """A quantile with the interval that a test leaves (Woodruff, Journal of the ASA 47, 1952).

    The quantile is at code k where the people up to k reach its rank and those up to k - 1 do not.
    Each is tested against the rank, jointly with the number of people that the rank depends on. The
    interval reaches from the first to the last code that is not rejected. Between them some may be,
    as estimated counts need not grow with the codes; to leave out as many codes at the ends instead
    (rearrangement) would be narrower, but wrong where nobody has the values beside the quantile,
    whose counts are then all as close to the rank as its own.

    An interval without the quantile is one whose first code lies above it or whose last lies below
    it. In the first case the counts up to k and up to k - 1 are both too low, in the second both
    too high, so the tests of two counts that hardly agree share the error (`shared_quantile`).

    The standard error is the interval's width over twice the normal quantile, and the slope that
    of the test's statistic scaled to it.
    """
    sums, z = operands[0].sums, quantile(operands[0].sums.level)
    people, below = _place(operands[0]), [_place(each) for each in operands[1:]]
    shares = function.together or (function.share,)
    own = shares.index(function.share)
    low, value, high, stderr = (np.full(len(sums.values), np.nan) for _ in range(4))
    slope = np.zeros(sums.values.shape)
    for row, (values, covariance) in enumerate(zip(sums.values, sums.covariance, strict=True)):
        count, spread = values[people], covariance[people, people]
        if not np.isfinite(values[[people, *below]]).all() or count <= z * np.sqrt(max(spread, 0)):
            continue
        ranks = [function.with_share(share).ranks(count) for share in shares]
        # How the rank grows with the number of people.
        steps = [1.0 - share if function.is_descending else share for share in shares]
        first = values[below] - (ranks[own][0] - 0.5)
        last = values[below] - (ranks[own][1] - 0.5)
        # Of the differences between counts and the rank, and between those of neighbouring codes.
        joint = steps[own] * covariance[below, people]
        variance = covariance[below, below] - 2.0 * joint + steps[own] ** 2 * spread
        deviation = np.sqrt(np.maximum(variance, 0.0))
        between = covariance[below[:-1], below[1:]] - joint[:-1] - joint[1:]
        between += steps[own] ** 2 * spread
        # The tests of several quantiles look at the codes where these are.
        gradient = np.zeros((len(shares), len(values)))
        for number, (rank, *_) in enumerate(ranks if below else ()):
            code = min(int((values[below] < rank - 0.5).sum()), len(below) - 1)
            gradient[number, below[code]] += 1.0
            gradient[number, people] -= steps[number]
        if len(shares) > 1:
            factor = _largest_of(gradient @ covariance @ gradient.T, sums.level)
            reach = factor * deviation
        else:
            factor = z
            reach = _reach_of_neighbours(deviation, between, sums.level) * deviation
        # Without its bounds an array of none is never significantly too low or too high.
        from_code = int(np.argmax(np.append(first + reach >= 0.0, True)))
        to_code = len(below) - int(np.argmax(np.append((last - reach < 0.0)[::-1], True)))
        low[row], high[row] = function.values[from_code], function.highest[to_code]
        value[row] = function.value([count, *values[below]])
        stderr[row] = (high[row] - low[row]) / (2.0 * factor)
        own_variance = gradient[own] @ covariance @ gradient[own]
        if own_variance > 0.0:
            slope[row] = -gradient[own] * stderr[row] / np.sqrt(own_variance)
    return Form(sums, value, slope, (low, high))


def _invert_between_edges(function: QuantileBetweenEdges, operands: Sequence[Form]) -> Form:
    """A quantile that is interpolated within bins, with the interval that a test leaves.

    As the value is, the people up to a point are interpolated between those up to the two edges
    beside it; so their difference d from the rank is linear within a bin, and its standard error s
    is convex. The interval reaches from the first point with d + z s >= 0 to the last one with d -
    z s <= 0, which lie in the bins beside the first and the last edge of which that holds. One
    difference is tested at the true quantile, so nothing is shared with neighbours.
    """
    sums, z = operands[0].sums, quantile(operands[0].sums.level)
    people, below = _place(operands[0]), [_place(each) for each in operands[1:]]
    shares = function.together or (function.share,)
    own, edges = shares.index(function.share), [*below, people]
    low, value, high, stderr = (np.full(len(sums.values), np.nan) for _ in range(4))
    slope = np.zeros(sums.values.shape)
    for row, (values, covariance) in enumerate(zip(sums.values, sums.covariance, strict=True)):
        count, spread = values[people], covariance[people, people]
        if not np.isfinite(values[edges]).all() or count <= z * np.sqrt(max(spread, 0)):
            continue
        gradient = np.zeros((len(shares), len(values) + 1))
        for number, share in enumerate(shares):
            asked = function.with_share(share)
            place, part = asked.locate([count, *values[below]])
            gradient[number, people] -= asked.step
            gradient[number, [-1, *edges][place]] += 1.0 - part
            gradient[number, edges[place]] += part
        gradient = gradient[:, :-1]  # nobody is below the first edge
        if len(shares) > 1:
            factor = _largest_of(gradient @ covariance @ gradient.T, sums.level)
        else:
            factor = z
        # Of the differences at all edges, and between those of neighbours.
        step = function.step
        joint = step * np.append(0.0, covariance[edges, people])
        variance = np.append(0.0, covariance[edges, edges]) - 2.0 * joint + step**2 * spread
        between = np.append(0.0, covariance[edges[:-1], edges[1:]]) + step**2 * spread
        between -= joint[:-1] + joint[1:]
        difference = np.append(0.0, values[edges]) - step * count
        line = Line(difference, variance, between)
        down, up = _share_between_ends(line, factor, sums.level)
        value[row] = function.value([count, *values[below]])
        low[row] = min(value[row], function.point(*line.cross(down)))
        high[row] = max(value[row], function.point(*line.cross(-up)))
        stderr[row] = (high[row] - low[row]) / (2.0 * factor)
        own_variance = gradient[own] @ covariance @ gradient[own]
        if own_variance > 0.0:
            slope[row] = -gradient[own] * stderr[row] / np.sqrt(own_variance)
    return Form(sums, value, slope, (low, high))


def _share_between_ends(line: Line, factor: float, level: float) -> tuple[float, float]:
    """How many standard errors a test allows at the lower end and at the upper one.

    Where all people beyond a rank are no more than the error of their number, the interval reaches
    to that end of the domain whatever the reports are. Nothing can be missed there, and the other
    end has the whole error.
    """
    errors = np.sqrt(np.maximum(line.variances[[1, -2]], 0.0))
    is_open = np.abs(line.values[[0, -1]]) <= factor * errors
    if is_open.all() or not is_open.any() or level <= 0.5:
        return factor, factor
    one_sided = factor * quantile(2.0 * level - 1.0) / quantile(level)
    return (np.inf, one_sided) if is_open[0] else (one_sided, np.inf)


@dataclass(frozen=True)
class Line:
    """A random line from point to point: at each its value and variance, shape (n + 1,), and the
    covariance with the next one, (n,)."""

    values: Array
    variances: Array
    between: Array

    def cross(self, factor: float) -> tuple[int, float]:
        """The piece and the part of it where the line plus so many standard errors reaches 0: for
        the first time; less so many of them, where the factor is negative, for the last time.

        It is below 0 at its first point without an error, and not below at its last.
        """
        if np.isinf(factor):
            return (0, 0.0) if factor > 0.0 else (len(self.between) - 1, 1.0)
        ends = self.values + factor * np.sqrt(np.maximum(self.variances, 0.0))
        if factor >= 0.0:
            piece = int(np.argmax(ends >= 0.0)) - 1
        else:
            piece = len(ends) - 1 - int(np.argmax((ends <= 0.0)[::-1]))
        if not 0 <= piece < len(self.between):
            return min(max(piece, 0), len(self.between) - 1), float(piece >= 0)
        (start, end), (own, other) = (
            each[piece : piece + 2] for each in (self.values, self.variances)
        )
        below, above = 0.0, 1.0
        for _ in range(_HALVINGS):
            part = (below + above) / 2.0
            left = 1.0 - part
            variance = left**2 * own + 2.0 * part * left * self.between[piece] + part**2 * other
            reached = left * start + part * end + factor * np.sqrt(max(variance, 0.0)) >= 0.0
            below, above = (below, part) if reached else (part, above)
        return piece, above


def _reach_of_neighbours(deviation: Array, between: Array, level: float) -> Array:
    """How many standard errors each of a row of numbers may be off, in a test shared with either
    neighbour; between: the covariances of neighbours."""
    product = deviation[:-1] * deviation[1:]
    correlations = np.where(product > 0.0, between / np.where(product > 0.0, product, 1.0), 0.0)
    of_pairs = shared_quantile(np.concatenate([[0.0], correlations, [0.0]]), level)
    return np.maximum(of_pairs[:-1], of_pairs[1:])


def _place(form: Form) -> int:
    """Which sum a form is."""
    assert isinstance(form, Affine)
    return int(np.argmax(form.gradient))


def _largest_of(covariance: Array, level: float) -> float:
    """Within how many standard errors several normal variables lie together with a probability, by
    simulation; no less than one of them alone."""
    roots = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    scale = np.where(roots > 0.0, roots, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.multiply.outer(scale, scale))
    drawn = np.random.default_rng(0).standard_normal((_DRAWS, len(roots)))
    largest = np.abs(drawn * np.sqrt(np.maximum(values, 0.0)) @ vectors.T).max(axis=1)
    return max(float(np.quantile(largest, level)), quantile(level))


def _most_frequent(function: Mode, operands: Sequence[Form]) -> Form:
    """The mode, with the codes from the first to the last that may be it.

    A code is rejected where another one is more frequent by a test at the level of the sums; as
    there are many others, each test has its part of the error (Bonferroni).
    """
    sums, codes = operands[0].sums, [_place(each) for each in operands]
    low, value, high = (np.full(len(sums.values), np.nan) for _ in range(3))
    # A one-sided test, hence twice the error; below a level of 0.5 whatever leads is the mode.
    two_sided = 1.0 - 2.0 * (1.0 - sums.level) / max(len(codes) - 1, 1)
    factor = quantile(two_sided) if two_sided > 0.0 else 0.0
    for row, (values, covariance) in enumerate(zip(sums.values, sums.covariance, strict=True)):
        counts, own = values[codes], covariance[np.ix_(codes, codes)]
        if not np.isfinite(counts).all() or not (counts > 0.0).any():
            continue
        diagonal = np.diagonal(own)
        variance = diagonal[:, None] + diagonal[None, :] - 2.0 * own
        lead = counts[:, None] - counts[None, :] - factor * np.sqrt(np.maximum(variance, 0.0))
        kept = np.flatnonzero(~(lead > 0.0).any(axis=0))
        top = int(np.argmax(counts))
        value[row] = function.values[top]
        low[row], high[row] = function.values[min(top, *kept)], function.highest[max(top, *kept)]
    return Form(sums, value, np.full(sums.values.shape, np.nan), (low, high))


def _form_of_function(function: Function, operands: list[Form]) -> Form:
    """The form of a function of forms."""
    if isinstance(function, QuantileBetweenEdges):
        return _invert_between_edges(function, operands)
    if isinstance(function, Quantile):
        return _invert(function, operands)
    if isinstance(function, Mode):
        return _most_frequent(function, operands)
    if isinstance(function, Spread):
        return _spread(function, operands)
    assert isinstance(function, Transform)
    return _transform(function, *operands)


def _places(targets: Sequence[Target]) -> Mapping[Leaf, int]:
    """Where every sum stands."""
    return {target: place for place, target in enumerate(targets)}


def form_of(expression: Expression, targets: Sequence[Target], sums: Sums) -> Form:
    """The form of an expression over sums; targets: what the T sums are."""
    units = np.eye(sums.values.shape[1])
    nothing, places = np.zeros(len(units)), _places(targets)
    with np.errstate(divide="ignore", invalid="ignore"):
        return evaluate(
            expression,
            lambda target: Affine(sums, 0.0, units[places[target]]),
            lambda value: Affine(sums, value, nothing),
            apply=_form_of_function,
        )


def replicate(expression: Expression, targets: Sequence[Target], sums: Sums) -> Array | None:
    """The expression on every replicate of the sums, shape (r, R); None without replicates."""
    drawn, places = sums.replicates, _places(targets)
    if drawn is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        values = evaluate(
            expression,
            lambda target: drawn[:, :, places[target]],
            np.asarray,
            apply=lambda function, operands: function.value(operands),
        )
    return np.broadcast_to(values, drawn.shape[:2])


def typical_error(replicates: Array, values: Array) -> Array:
    """The typical error of post-processed answers, shape (R,); NaN where one is unknown.

    A post-processing estimator has no standard error that could be computed, so it is run again
    on simulated summaries, and an expression is evaluated on every one of them. The root mean
    square of these replicates (r, R) about the values (R,), times 1.15, is the typical error. It
    is a measured habit, not a promise: the interval beside it is. See docs/spec/fourier.md#8.5.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        square = np.square(replicates - values).mean(axis=0)
    return np.where(np.isfinite(square), SURCHARGE * np.sqrt(square), np.nan)
