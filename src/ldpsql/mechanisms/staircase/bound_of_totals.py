"""The least error of any mechanism for the sum of a measure over everybody.

A measure's numbers, spread evenly between -1 and 1, are equidistant ones, 2 / n apart, averaged
over where these begin. Those span the part b = 1 - 1 / n of the bounds, so the mean variance is at
least b^2 times the least for n equidistant numbers v from -1 to 1, all alike in frequency.

For these a channel has v'X^-1 v, X = sum of theta_S x_S x_S' / (1'x_S) over staircase patterns S,
and that is the largest of 2 a'v - a'X a over all a. Whatever prices lambda, a'X a is at most
1'lambda + delta, where (a'x_S)^2 / (1'x_S) exceeds lambda'x_S by at most delta for every pattern,
because sum of theta_S x_S = 1 and the weights theta sum to 1 at most. So every a and lambda make a
bound, 2 a'v - 1'lambda - delta, and by duality the best of them is the least variance itself. As
(a'x_S)^2 / (1'x_S) is the largest of 2 t a'x_S - t^2 1'x_S over t, seeking the best is a linear
program with a constraint for every t and S; those that matter are added as they are violated.
Source: docs/spec/fourier.md#7.1.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ldpsql.algebra.estimate import Array
from ldpsql.algebra.least_error import MEAN_SQUARE, share_of_totals, spectral_bound
from ldpsql.algebra.workload import Workload
from ldpsql.mechanisms.staircase.bound_of_cells import bound_of_cells
from ldpsql_device.epsilon import Epsilon

_POINTS = 32
_ROUNDS, _NEAR = 200, 1e-3
_UNUSED_ROUNDS = 15
_VIOLATED = 1e-9


def least_variance(workload: Workload, epsilon: Epsilon) -> float | None:
    """The largest of the bounds on a workload's mean variance per person; None where none is known.

    People are spread as `RecordDomain.cell_shares` has them.

    Source: docs/spec/fourier.md#7.1 and docs/spec/rr-optimum.md#2.2.
    """
    asked = [entry.measure for entry in workload.classes]
    asked += [query.measure for query in workload.queries]
    counted = None
    if set(asked) == {None}:
        # Where only people are counted, what else a record holds is of no use.
        domain = replace(workload.domain, measure_names=(), bounds=(), measured=(), roundings=())
        counted = bound_of_cells(replace(workload, domain=domain), epsilon)
    if any(levels > 2 for *_, levels, _ in workload.domain.nullable):
        return counted  # not all codes are as frequent, as the others have them
    spectral, share = spectral_bound(workload, epsilon), share_of_totals(workload)
    if spectral is None:
        return None
    if share:
        return max(spectral, share * bound_of_total(epsilon))
    return spectral if counted is None else max(spectral, counted)


@lru_cache
def bound_of_total(epsilon: Epsilon) -> float:
    """The least variance per person of a sum over everybody, in half of the distance of the bounds;
    people count as a sample."""
    values, odds = np.linspace(-1.0, 1.0, _POINTS), float(epsilon.odds)
    second = bound_of_second_moments(values, odds) / _POINTS
    spanned = (1.0 - 1.0 / _POINTS) ** 2
    return spanned * (second - float(np.mean(values**2))) + MEAN_SQUARE


def bound_of_second_moments(values: Array, odds: float) -> float:
    """A bound within a thousandth of the least v'X^-1 v.

    values: v, an even number of them, ascending and symmetric about 0.  odds: E.
    """
    from scipy.optimize import linprog  # noqa: PLC0415  (slow to import; for measures alone)

    half, root = len(values) // 2, (odds + 1.0) / (odds - 1.0)
    # The best a and lambda are averages with their mirror images: a is odd, lambda even, and the
    # program is about their upper halves. a and lambda count in units of root^2 and t in units of
    # root, so that all stay near 1 whatever E is. No a is as large as len(values), which only keeps
    # the first rounds, with few constraints, from infinity.
    aims = np.concatenate([-4.0 * values[half:], np.full(half, 2.0)])
    limits = [(-len(values), len(values))] * half + [(-(len(values) ** 2), len(values) ** 2)] * half
    upper = 1.0 + (odds - 1.0) * np.tri(half + 1, len(values), -1)[:, ::-1]
    slopes = [scale * root * values for scale in (0.4, 0.8, 1.6, 3.2)]
    turns = np.concatenate([upper @ each / upper.sum(axis=1) for each in slopes])
    rows, ends = _constrain(turns, np.tile(upper, (len(slopes), 1)), root)
    unused, best = np.zeros(len(rows)), -math.inf
    for _ in range(_ROUNDS):
        found = linprog(aims, A_ub=rows, b_ub=ends, bounds=limits, method="highs-ds")
        slope = root * np.concatenate([-found.x[:half][::-1], found.x[:half]])
        prices = np.concatenate([found.x[half:][::-1], found.x[half:]])
        turns, levels, excess = find_excess(slope, prices, odds)
        best = max(best, -found.fun - max(float(excess.max()), 0.0))
        if -found.fun - best < _NEAR * abs(best):
            break
        # Constraints that have not mattered for some rounds only slow the program down.
        unused = np.where(found.ineqlin.marginals < 0.0, 0.0, unused + 1.0)
        kept, new = unused < _UNUSED_ROUNDS, (excess > _VIOLATED) & (turns >= 0.0)
        added, sums = _constrain(turns[new], levels[new], root)
        rows, ends = np.concatenate([rows[kept], added]), np.concatenate([ends[kept], sums])
        unused = np.concatenate([unused[kept], np.zeros(len(added))])
    return root**2 * best


def _constrain(turns: Array, levels: Array, root: float) -> tuple[Array, Array]:
    """2 root t a'x - lambda'x <= t^2 1'x, in the upper halves of a and lambda."""
    half = levels.shape[1] // 2
    upper, lower = levels[:, half:], levels[:, :half][:, ::-1]
    rows = np.hstack([2.0 * root * turns[:, None] * (upper - lower), -(upper + lower)])
    return rows, turns**2 * levels.sum(axis=1)


def find_excess(slopes: Array, prices: Array, odds: float) -> tuple[Array, Array, Array]:
    """Where 2 t a'x_S - t^2 1'x_S - lambda'x_S is largest: t, x_S and by how much.

    One row for every stretch of t on which the best pattern S is the same, which holds all numbers
    of positive 2 t a - t^2 - lambda.

    The largest of them is the most of (a'x_S)^2 / (1'x_S) - lambda'x_S over all patterns. Between
    two t at which some number enters or leaves, it is one parabola.
    """
    roots = np.sqrt(np.maximum(slopes**2 - prices, 0.0))
    turns = np.sort(np.concatenate([slopes - roots, slopes + roots]))
    ends = np.concatenate([[turns[0] - 1.0], turns, [turns[-1] + 1.0]])
    middles = (ends[:-1] + ends[1:]) / 2.0
    gains = 2.0 * middles[:, None] * slopes - middles[:, None] ** 2 - prices
    levels = 1.0 + (odds - 1.0) * (gains > 0.0)
    sums, totals = levels @ slopes, levels.sum(axis=1)
    # Beyond the last turn no number pays, and a pattern of none is as good as any.
    low, high = np.append(-np.inf, ends[1:-1]), np.append(ends[1:-1], np.inf)
    best = np.clip(sums / totals, low, high)
    return best, levels, 2.0 * best * sums - best**2 * totals - levels @ prices
