"""Numerical methods that several parts of the collector and the designer share.

All are pure functions of arrays, but for the logarithm of odds, which is rounded to the safe side.
`scipy.special` takes a quarter of a second to import, so only the functions that need it do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cache
from math import prod
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_UPWARD = Context(prec=100, rounding=ROUND_CEILING)

_KNOTS, _HALVINGS, _NODES = 33, 16, 48
"""Of `shared_quantile`: correlations, steps of bisection, and points of an integral."""

_PRODUCTS_AT_ONCE = 1 << 22
"""Of `sum_outer_products`: numbers of joined rows."""

_SUM = 1e-12
"""Relative error of the sum at which a projection on the simplex ends."""

_PATIENCE, _MOST_EXTRAPOLATED, _NOTHING = 8, (0.1, 3.0), 1e-100
"""Of `optimise_weights`: steps within which something should change; the least and the largest
factor of an extrapolation; and weights below which a candidate is out, because multiplying numbers
below the normal ones takes a hundred times as long."""

_MOST_NUMBERS = 1 << 62
_STEP = 1e-4
"""Of `central_slopes`."""


def number_rows(rows: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.int64]:
    """A number for every row, shape (K,): equal for equal rows, and in the order of the rows.

    rows: shape (K, d), of numbers below `sizes`. Sorting these is many times faster than sorting
    rows. Where there would be more than 2^62 numbers, they are ranked on the way.
    """
    numbers, most = np.zeros(len(rows), dtype=np.int64), 1
    for column, size in zip(rows.T, sizes, strict=True):
        if most * size > _MOST_NUMBERS:
            numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
            most = len(rows)
        numbers, most = numbers * size + column, most * size
    return numbers


def distinct(numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Different whole numbers from 0, none of them large, ascending.

    `np.unique` of one array loads masked arrays when it is first called, which takes longer than a
    short answer's arithmetic.
    """
    return np.flatnonzero(np.bincount(np.asarray(numbers, dtype=np.int64)))


def project_on_simplex(
    values: Array,
    total: float = 1.0,
    *,
    variances: Array | None = None,
    level: Array | None = None,
) -> Array:
    """The nearest non-negative rows with this sum.

    Minimises sum of (x - values)^2 / variances over x >= 0 with sum x = total, row by row.

    values: shape (..., cells).  variances: of the same shape and positive; all alike where None.
    level: shape (...), a guess of the number subtracted from each row; it only saves steps, and is
    overwritten with the right number, for the next similar projection.
    Sources: Michelot, JOTA 50 (1986); Duchi, Shalev-Shwartz, Singer, Chandra, ICML 2008.
    """

    # The minimum is x = max(values - t v, 0) for the one t at which the sum is the total (t v is
    # the multiplier of the sum; v = variances). The sum is convex, decreasing and piecewise linear
    # in t, so a Newton step from anywhere lands at or below the root, further ones climb towards
    # it, and each but the last takes a cell off the support: they end after finitely many. A step
    # is computed from the excess over the total, not from t itself, so rounding does not add up.
    scale = 1.0 if variances is None else variances
    # The root if every cell were in the support, at or below the true one.
    lowest = (values.sum(axis=-1) - total) / np.broadcast_to(scale, values.shape).sum(axis=-1)
    level = np.array(lowest) if level is None else level
    is_first = True
    while True:
        nearest = values - level[..., None] * scale
        np.maximum(nearest, 0.0, out=nearest)
        excess = nearest.sum(axis=-1) - total
        if not (np.abs(excess) > _SUM * total).any():
            return nearest
        support = np.where(nearest > 0.0, scale, 0.0).sum(axis=-1)
        is_some = support > 0.0
        moved = np.where(is_some, level + excess / np.where(is_some, support, 1.0), lowest)
        if not is_first:
            # From the second step on only rounding could lower the level; without this line two
            # neighbouring numbers could follow each other for ever where values dwarf the total.
            moved = np.maximum(moved, level)
            if np.array_equal(moved, level):
                return nearest
        level[...] = moved
        is_first = False


def fit_marginals(
    table: Array,
    marginals: Sequence[tuple[tuple[int, ...], Array]],
    *,
    tolerance: float = 1e-9,
    cycles: int = 300,
) -> Array:
    """The table with these marginals that is nearest to a given one in relative entropy.

    From an even table this is the table of greatest entropy. Marginals that cannot hold together
    end in a compromise, of which the last one holds.

    table: not negative, any shape.  marginals: (axes, table over them, axes ascending); cells of
    the table whose marginal is 0 become 0, and cells that are 0 stay 0.  tolerance: ends the
    cycles, as the sum of the absolute changes in one of them.
    Source: Deming and Stephan, Annals of Mathematical Statistics 11 (1940).
    """
    aims = []
    for axes, wanted in marginals:
        others = tuple(axis for axis in range(table.ndim) if axis not in axes)
        shape = [size if axis in axes else 1 for axis, size in enumerate(table.shape)]
        aims.append((others, wanted.reshape(shape)))
    for _ in range(cycles):
        before = table
        for others, wanted in aims:
            now = table.sum(axis=others, keepdims=True)
            # Where a marginal is 0 all its cells are 0, and 0/0 leaves them so.
            table = table * np.divide(wanted, now, out=np.zeros_like(now), where=now > 0.0)
        if np.abs(table - before).sum() < tolerance:
            break
    return table


def central_slopes(function: Callable[[Array], float], at: Array) -> Array:
    """The gradient of a function at a point, by central differences; shape (k,) like the point.

    The error is _STEP^2 / 6 of the third derivative, and rounding of the function's values over
    2 _STEP: with values known to 1e-9 and coordinates of the size of 1, about 1e-5.
    """
    steps = np.eye(len(at)) * _STEP
    return np.array([(function(at + s) - function(at - s)) / (2.0 * _STEP) for s in steps])


def weigh_by_precision(variances: Array) -> Array | None:
    """Weights of independent unbiased answers to one question that give the least variance.

    They are proportional to 1 / variance and sum to 1, shape (k,). Infinite variances get no
    weight, and where some answers are exact, those share it evenly. None if no variance is finite.
    """
    if not np.isfinite(variances).any():
        return None
    return weigh_all_by_precision(variances)


def weigh_all_by_precision(variances: Array) -> Array:
    """The same for many questions, shape (k, ...); NaN for one without a finite variance."""
    least = variances.min(axis=0)
    # Relative to the least variance, so that precisions of tiny variances do not overflow.
    with np.errstate(invalid="ignore"):
        precision = np.where(
            least == 0.0, variances == 0.0, least / np.where(variances == 0.0, 1.0, variances)
        )
        return np.asarray(precision / precision.sum(axis=0))


def multiply_outer(left: Array, right: Array) -> Array:
    """Outer products of vectors along the last axes, shape (..., k, l)."""
    return np.asarray(left[..., :, None] * right[..., None, :])


def sum_outer_products(weights: Array, tables: Sequence[Array]) -> Array:
    """sum over q of weight_q x the outer product of row q of every table, shape (columns of each).

    One product of two matrices: of the joined rows of the first tables, and of the others.
    """
    middle = (len(tables) + 1) // 2
    shape = tuple(table.shape[1] for table in tables)
    size = max(prod(shape[:middle]), prod(shape[middle:]))
    total = np.zeros((prod(shape[:middle]), prod(shape[middle:])))
    step = max(1, _PRODUCTS_AT_ONCE // size)
    for first in range(0, len(weights), step):
        rows = slice(first, first + step)
        left, right = weights[rows, None], np.ones_like(weights[rows, None])
        for table in tables[:middle]:
            left = (left[:, :, None] * table[rows, None, :]).reshape(len(left), -1)
        for table in tables[middle:]:
            right = (right[:, :, None] * table[rows, None, :]).reshape(len(right), -1)
        total += left.T @ right
    return total.reshape(shape)


def step_weights(weights: Array, gains: Array, power: float = 0.5) -> Array:
    """One multiplicative step of an A-optimal design, w_i <- w_i gain_i^p, scaled to sum to 1.

    For a convex objective F of homogeneous degree -1 in the weights, with gain_i = -dF/dw_i, the
    sum of w_i gain_i is F, so the step is w_i (gain_i / F)^p: candidates that gain more than the
    average grow, and the best design is a fixed point. With p = 1/2 no step raises F; larger
    powers are faster and need not be monotone. Weights stay positive, and those that are 0 stay so.

    weights, gains: shape (candidates,), not negative, with some positive product.
    Sources: Silvey, Titterington, Torsney, Communications in Statistics A7 (1978);
    docs/spec/fourier.md#2.3.
    """
    # Relative to the largest gain, so that powers of very large or small gains stay in range.
    moved = weights * (gains / gains.max()) ** power
    return np.asarray(moved / moved.sum())


def optimise_weights(
    gains: Callable[[Array], tuple[Array, float]],
    weights: Array,
    *,
    steps: int,
    gap: float,
    floor: float = 0.0,
    stall: float = 0.0,
) -> Array:
    """The weights that minimise a convex objective, by accelerated multiplicative steps.

    gains: for weights that sum to 1, -dF/dw_i of every candidate, and F.  weights: the first ones,
    positive for every candidate that may be used.  gap: ends the steps once no used candidate's
    gain exceeds their mean by more than this part of F + floor; as F is convex, F is then at most
    that much above its minimum over these candidates.  stall: ends them, too, once the last
    _PATIENCE changed F by less than this part of F + floor.

    A step begins where the last two designs point to: the later one times their ratio to the power
    k / (k + 2), k being the number of steps since one raised F. This is Nesterov's method in the
    logarithms of the weights.
    """
    found, smooth, objectives = weights, 0, list[float]()
    for step in range(steps):
        gain, objective = gains(weights)
        objectives.append(objective)
        best = float(gain[weights > 0.0].max(initial=0.0))
        if best - float(gain @ weights) <= gap * (objective + floor):
            return weights
        before, found = found, step_weights(weights, gain)
        if step >= _PATIENCE:
            changed = abs(objectives[step - _PATIENCE] - objective)
            if changed < stall * (objective + floor):
                break
        smooth = smooth + 1 if objective <= min(objectives[-2:]) else 0
        weights = _extrapolate(before, found, smooth / (smooth + 2.0))
    return found


def _extrapolate(before: Array, after: Array, power: float) -> Array:
    """after (after / before)^power, scaled to sum to 1; what is next to nothing becomes 0."""
    is_in = before > _NOTHING
    ratios = np.divide(after, before, out=np.zeros_like(after), where=is_in)
    moved = after * np.where(is_in, np.clip(ratios**power, *_MOST_EXTRAPOLATED), 0.0)
    return np.asarray(moved / moved.sum())


def bound_probability(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """Bounds below and above the probability of success, each wrong with probability at most alpha.

    The lower one is the p for which at least so many successes have probability alpha, the upper
    one that for which at most so many do. Source: Clopper and Pearson, Biometrika 26 (1934).
    """
    from scipy.special import betainccinv, betaincinv  # noqa: PLC0415

    # P(at least k of n) = I_p(k, n - k + 1), the regularised incomplete beta function; the inverse
    # of its complement keeps bounds near 1 exact.
    failures = trials - successes
    low = float(betaincinv(successes, failures + 1, alpha)) if successes else 0.0
    high = float(betainccinv(successes + 1, failures, alpha)) if failures else 1.0
    return low, high


def shared_quantile(correlations: Array, level: float) -> Array:
    """Standard errors within which a test of one number from below, and one of the next number from
    above, together err with probability 1 - level at most; of the same shape as correlations.

    Let x and y be normal with this correlation and means -a <= 0 <= b in standard errors, a and b
    unknown. The test from below errs where both fall below -z, the one from above where both exceed
    z. The worst b is 0. For numbers that are the same the result is the two-sided quantile, 1.96
    for 0.95; for those that hardly agree the one-sided one, 1.645, for then only one of the tests
    can err at a time. It is right to 1e-4 at 33 correlations, and if at all too large elsewhere.
    """
    roots = np.sqrt(1.0 - np.clip(correlations, 0.0, 1.0))
    knots = np.floor(roots * (_KNOTS - 1) + _SUM).astype(np.int64)
    return _shared_quantiles(level)[knots]


@cache
def _shared_quantiles(level: float) -> Array:
    """Quantiles for `shared_quantile` where 1 - correlation is the square of k / 32, for every
    k."""
    below = np.vectorize(NormalDist().cdf, otypes=[np.float64])
    correlations = (1.0 - np.square(np.linspace(0.0, 1.0, _KNOTS)))[:, None]
    gaps = np.append(np.linspace(0.0, 4.0, 17), 9.0)  # a; beyond 9 one test alone errs
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    # Two variables that differ by rounding alone would make the integrand one of 0 / 0.
    angles = 0.5 * (1.0 + points) * np.arcsin(np.minimum(correlations, 1.0 - 1e-9))[..., None]
    scale = np.arcsin(np.minimum(correlations, 1.0 - 1e-9)) / (4.0 * np.pi)

    def both_below(h: Array, k: Array) -> Array:
        # P(x < h, y < k) grows with the correlation by the density at (h, k); see Drezner and
        # Wesolowsky, Journal of Statistical Computation and Simulation 35 (1990).
        h, k = np.broadcast_to(h, correlations.shape), k[..., None]
        square = h[..., None] ** 2 + k**2 - 2.0 * h[..., None] * k * np.sin(angles)
        density = np.exp(-0.5 * square / np.square(np.cos(angles)))
        return np.asarray(below(h) * below(k[..., 0]) + scale * (density @ weights))

    normal = NormalDist()
    high = np.full((_KNOTS, 1), normal.inv_cdf(0.5 + level / 2.0))
    low = np.full((_KNOTS, 1), max(normal.inv_cdf(level), 0.0))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        error = both_below(-middle, gaps - middle) + both_below(-middle, -gaps - middle)
        is_enough = error.max(axis=1, keepdims=True) <= 1.0 - level
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    return high[:, 0]


def join_ranges(ranges: Sequence[Array]) -> Array:
    """From the least of all lower ends to the most of all upper ones, each (2, m), shape (2, m)."""
    return np.array([np.min(ranges, axis=0)[0], np.max(ranges, axis=0)[1]])


def epsilon_of(odds: Fraction) -> Decimal:
    """The natural logarithm of odds >= 1, rounded up to 12 decimals.

    >>> epsilon_of(Fraction(3))
    Decimal('1.098612288669')
    """
    if odds == 1:
        return Decimal(0)
    ratio = _UPWARD.divide(Decimal(odds.numerator), Decimal(odds.denominator))
    return _UPWARD.quantize(_UPWARD.next_plus(_UPWARD.ln(ratio)), Decimal("1e-12"))
