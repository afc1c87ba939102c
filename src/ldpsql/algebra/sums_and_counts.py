"""How much reports can tell of counts and of sums of a measure, together.

A report is likely or less likely, x = E = e^epsilon or 1, of a person with a code and a number v
between -1 and 1; let s be the mean of x over the numbers of a code, and u that of x a(v). With
A, the mean of s over the codes, and prices lambda(v) with mean 1 let kappa be such that

    mean of c (s - A)^2 + b u^2  <=  kappa A x mean of lambda x

over the codes, for every report. By duality no survey tells more than kappa of all counts and sums
together, the latter with the weight b (E v a)^2; c = 1, or 0 where only sums are asked. Here
a = (p + 2) sign(v) |v|^p, which makes E v a = 1, and lambda is 1 + t |v|^q but for a factor: with
these prices reports cannot gain much by speaking of the ends of the bounds alone. Of any one code
the numbers with x = E are an interval then (a - const |v|^q rises and falls once, for q >= p), and
the worst mixture of intervals over many codes, which no few codes exceed, is found by its hull.
Source: docs/spec/fourier.md#7.1.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.numerics import Array
from ldpsql_device.epsilon import Epsilon

SHAPES = ((1, 2, 0.0), (2, 2, 2.0), (2, 2, 8.0), (5, 6, 20.0))
"""p, q and t."""
WEIGHTS = (4.0 / 9.0, 0.5, 0.6, 0.75, 0.9, 1.2)
"""Of sums beside counts."""
_ENDS, _MEANS = 96, 48
_ROUNDS, _HALVINGS, _CLOSE = 16, 40, 1e-7


@lru_cache
def information_of_sums(epsilon: Epsilon) -> float:
    """The least kappa where only sums of a measure are asked, with the weight 1."""
    odds = float(epsilon.odds)
    return min(largest_information(odds, shape, 0.0, 1.0) for shape in SHAPES)


@lru_cache
def information_with_sums(epsilon: Epsilon) -> tuple[tuple[float, float], ...]:
    """Weights of sums beside counts, and the least kappa for each."""
    odds = float(epsilon.odds)
    return tuple(
        (weight, min(largest_information(odds, shape, 1.0, weight) for shape in SHAPES))
        for weight in WEIGHTS
    )


def largest_information(
    odds: float, shape: tuple[int, int, float], counts: float, sums: float, ends: int = _ENDS
) -> float:
    """kappa, to about a thousandth.

    ends: into how many parts the bounds are divided by the ends of intervals.
    """
    part, amount, price = _intervals(shape, ends)
    level, cost = 1.0 + (odds - 1.0) * part, 1.0 + (odds - 1.0) * price
    # Among them that of the reports which tell most of counts alone.
    means = np.geomspace(1.0, odds, _MEANS + 2)[1:-1, None]
    means[0] = 2.0 * odds / (odds + 1.0)
    gained = counts * (level - means) ** 2 + sums * ((odds - 1.0) * amount) ** 2
    away, paid = level - means, means * cost
    found = np.zeros_like(means)
    # For every A the largest ratio of what mixtures with the mean A gain and pay (Dinkelbach): the
    # best mixture for the ratio so far, which has the mean A and two intervals, gives the next.
    for _ in range(_ROUNDS):
        excess = gained - found * paid
        # The mixture of most excess with the mean A, by its dual: the multiplier `slope` of that
        # constraint at which the best single interval changes from below A to above it.
        room = np.ptp(excess, axis=1, keepdims=True)
        low, high = -room / (odds - means), room / (means - 1.0)
        for _ in range(_HALVINGS):
            slope = (low + high) / 2.0
            best = (excess - slope * away).argmax(axis=1)[:, None]
            is_right = np.take_along_axis(away, best, axis=1) > 0.0
            low, high = np.where(is_right, slope, low), np.where(is_right, high, slope)
        pair = [(excess - slope * away).argmax(axis=1)[:, None] for slope in (high, low)]
        left, right = (np.take_along_axis(away, own, axis=1) for own in pair)
        share = np.where(right > left, right / np.where(right > left, right - left, 1.0), 1.0)
        ratio = _mix(gained, pair, share) / _mix(paid, pair, share)
        is_close = bool((ratio - found <= _CLOSE * ratio.max()).all())
        found = np.maximum(ratio, found)
        if is_close:
            break
    return float(found.max())


def _mix(values: Array, pair: list[NDArray[np.int64]], share: Array) -> Array:
    """Of the first of a pair of columns a share, and of the second the rest."""
    first, second = (np.take_along_axis(values, own, axis=1) for own in pair)
    return np.asarray(share * first + (1.0 - share) * second)


def _intervals(shape: tuple[int, int, float], count: int) -> tuple[Array, Array, Array]:
    """Of all intervals between `count` + 1 points of [-1, 1] their part of it, and the means of a
    and lambda over them, 0 elsewhere; of an interval and its mirror image one."""
    power, growth, steepness = shape
    points = np.linspace(-1.0, 1.0, count + 1)
    sizes = np.abs(points)
    amounts = (power + 2.0) * sizes ** (power + 1) / (2.0 * (power + 1))
    prices = points + steepness * points * sizes**growth / (growth + 1.0)
    prices /= 2.0 * prices[-1]
    first, last = np.triu_indices(count + 1)
    ends = (own[last] - own[first] for own in (points / 2.0, amounts, prices))
    part, amount, price = ends
    kept = amount >= 0.0
    return part[kept], amount[kept], price[kept]
