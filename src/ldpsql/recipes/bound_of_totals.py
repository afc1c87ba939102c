"""What no mechanism can do better than for the sum of a measure over everybody.

A measure's numbers, spread evenly between -1 and 1, are equidistant ones, 2 / n apart, averaged
over where these begin. Those span the part b = 1 - 1 / n of the bounds, so the mean variance is at
least b^2 times the least for n equidistant numbers v from -1 to 1, all alike in frequency. For
these take any staircase channel, with the objective F = v'X^-1 v and a = X^-1 v, and any prices
lambda. If w_S = (a'x_S)^2 / (1'x_S) exceeds lambda'x_S by at most delta for every pattern S, no
channel has less than 2 F - lambda'1 - delta, because F is convex and weights sum to 1 at most. As
w_S is the largest of 2 t a'x_S - t^2 1'x_S over t, the most that it exceeds is that of a function
of t alone: the best pattern holds the numbers where 2 t a - t^2 - lambda is positive. Source:
docs/spec/fourier.md#7.1.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from ldpsql.bounds import MEAN_SQUARE, share_of_totals, spectral_bound
from ldpsql.estimate import Array
from ldpsql.recipes.bound_of_cells import bound_of_cells
from ldpsql.recipes.staircase_optimiser import Program, optimise, raise_eigenvalues
from ldpsql.workload import Workload
from ldpsql_device.epsilon import Epsilon

_POINTS = 32


def least_variance(workload: Workload, epsilon: Epsilon) -> float | None:
    """The largest of the bounds on a workload's mean variance per person; None where none is known.

    Source: docs/spec/fourier.md#7.1 and docs/spec/rr-optimum.md#2.2.
    """
    spectral, share = spectral_bound(workload, epsilon), share_of_totals(workload)
    if spectral is None:
        return None
    if share:
        return max(spectral, share * bound_of_total(epsilon))
    asked = [entry.measure for entry in workload.classes]
    asked += [query.measure for query in workload.queries]
    if set(asked) != {None}:
        return spectral
    # Where only people are counted, what else a record holds is of no use.
    domain = replace(workload.domain, measure_names=(), bounds=(), measured=(), roundings=())
    counted = bound_of_cells(replace(workload, domain=domain), epsilon)
    return spectral if counted is None else max(spectral, counted)


@lru_cache
def bound_of_total(epsilon: Epsilon) -> float:
    """The least variance per person of a sum over everybody, in half of the distance of the bounds;
    people count as a sample."""
    values, odds = np.linspace(-1.0, 1.0, _POINTS), float(epsilon.odds)
    gram, people = np.outer(values, values), np.ones(_POINTS)
    found = optimise(raise_eigenvalues(gram), odds)
    program = Program(gram, odds, found.patterns, found.weights, people)
    prices, slopes = program.prices(0.5), program.inverse @ values
    excess = largest_excess(slopes, prices, odds)
    second = (2.0 * program.objective - float(prices.sum()) - max(excess, 0.0)) / _POINTS
    spanned = (1.0 - 1.0 / _POINTS) ** 2
    return spanned * (second - float(np.mean(values**2))) + MEAN_SQUARE


def largest_excess(slopes: Array, prices: Array, odds: float) -> float:
    """The most of w_S - lambda'x_S over all patterns, for slopes a.

    Between two t at which some number enters or leaves the best pattern this is one parabola.
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
    return float((2.0 * best * sums - best**2 * totals - levels @ prices).max())
