"""The prior of the people's frequencies, before anybody has reported and fitted to reports.

Real distributions have less power at high frequencies, and less in departures from independence
than in single axes. Nobody knows how much less, so a power law is fitted to what was observed, face
by face, by the largest marginal likelihood (empirical Bayes), with `expected_power` as the centre
of a weak prior for its parameters. Sources: Efron and Morris, Journal of the ASA 68 (1973);
Zhang, Annals of Statistics 33 (2005), on empirical Bayes in sequences of coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ldpsql.algebra.estimate import Array
from ldpsql.algebra.numerics import number_rows

_ONE_AXIS, _FURTHER_AXIS, _SLOPE = 0.1, 0.04, -2.0
_SCALE_SPREAD, _SLOPE_SPREAD, _BEND_SPREAD = 2.0, 1.5, 2.0
_SIDE_SPREAD, _TILT_SPREAD = 1.0, 0.5
"""Standard deviations, before reports, of the logarithm of a face's power, of its slopes and bends
in the logarithms of the frequencies, and of what depends on the sides of two frequencies."""
_STEPS, _ENOUGH, _LEAST_STEP, _LONGEST_STEP = 40, 1e-4, 1e-3, 3.0
_LARGEST_LOG = 60.0


def expected_power(
    frequencies: NDArray[np.int64], orders: Sequence[int], is_ordered: Sequence[bool]
) -> Array:
    """|p^(f)|^2 of the people's shares p at K frequencies (K, d), as far as anybody can know before
    they reported, shape (K,).

    One axis has .1 / k^2 at the distance k of a frequency from 0, as a density with jumps has;
    departures from independence have .004 / (k1 k2)^2, and .04 of that for every further axis.
    Nothing makes one frequency of a category or a sign smaller than another: k counts as 1.
    """
    is_used = frequencies != 0
    logs = _logs(frequencies, orders, is_ordered).sum(axis=1)
    axes = np.maximum(is_used.sum(axis=1), 1)
    return np.asarray(_ONE_AXIS * _FURTHER_AXIS ** (axes - 1.0) * np.exp(_SLOPE * logs))


def _logs(
    frequencies: NDArray[np.int64], orders: Sequence[int], is_ordered: Sequence[bool]
) -> Array:
    """log k of every coordinate, 0 of coordinates that are 0, shape (K, d)."""
    folded = np.minimum(frequencies, np.array(orders) - frequencies)
    return np.where(np.array(is_ordered), np.log(np.maximum(folded, 1)), 0.0)


def fit_power(
    energy: Array,
    noise: Array,
    weight: Array,
    frequencies: NDArray[np.int64],
    orders: Sequence[int],
    is_ordered: Sequence[bool],
) -> Array:
    """The prior variance s of coefficients that were observed with noise, shape (K,).

    energy: |T_f|^2, or its mean over several observations of one truth.  noise: v, 0 where a
    coefficient is exact, inf where it was not observed.  weight: how many real numbers it stands
    for.  In units of shares of people.

    On every face log s is b0 + the sum over its axes of b_i log k_i + c_i (log k_i)^2: a power law
    that may bend, as that of a wide bump does. Every pair of axes with an order adds
    c_ij log k_i log k_j + (d_ij + e_ij log(k_i k_j)) x 1 where the frequencies have the same sign,
    and x -1 where not: attributes that rise together have most of their power where the signs
    differ. The parameters are those that make the energies likeliest; T_f is normal with the
    variance s + v. Fisher scoring with halved steps: the matrix is positive definite whatever the
    energies, so a short enough step never makes it worse.
    """
    logs, centre = (
        _logs(frequencies, orders, is_ordered),
        np.log(expected_power(frequencies, orders, is_ordered)),
    )
    used = np.isfinite(noise) & (noise > 0.0)
    is_present = frequencies != 0
    # Of m/2, which is -m/2, neither.
    sides = np.sign(np.array(orders) - 2 * frequencies)
    power = np.exp(centre)
    faces = number_rows(is_present.astype(np.int64), [2] * len(orders))
    for number in np.unique(faces[used]):
        face = faces == number
        axes = np.flatnonzero(is_present[face.argmax()] & np.array(is_ordered))
        # log s - centre is linear in the parameters' distances from their prior means.
        regressors, spread = _regressors(logs[face][:, axes], sides[face][:, axes])
        own = used[face]
        found = _score(
            regressors[own],
            centre[face][own],
            energy[face][own],
            noise[face][own],
            weight[face][own] / 2.0,
            spread**-2.0,
        )
        logarithm = centre[face] + regressors @ found
        power[face] = np.exp(np.clip(logarithm, -_LARGEST_LOG, _LARGEST_LOG))
    return power


def _regressors(logs: Array, sides: NDArray[np.int64]) -> tuple[Array, Array]:
    """The regressors of log s on one face, shape (K, p), and the standard deviation that each
    parameter is expected to have about its prior mean, shape (p,).

    logs, sides: of every frequency, log k and its sign, shape (K, axes).
    """
    axes = logs.shape[1]
    columns = [np.ones(len(logs)), *logs.T, *logs.T**2]
    spread = [_SCALE_SPREAD, *[_SLOPE_SPREAD] * axes, *[_BEND_SPREAD] * axes]
    for one, other in combinations(range(axes), 2):
        side = sides[:, one] * sides[:, other]
        both = logs[:, one] + logs[:, other]
        columns += [logs[:, one] * logs[:, other], side, side * both]
        spread += [_BEND_SPREAD, _SIDE_SPREAD, _TILT_SPREAD]
    return np.column_stack(columns), np.array(spread)


def _score(
    regressors: Array, centre: Array, energy: Array, noise: Array, weight: Array, ridge: Array
) -> Array:
    """The parameters b that minimise

    sum of weight (log t + energy / t) + sum of ridge b^2 / 2,  t = exp(centre + X b) + noise.
    """

    def spread(at: Array) -> Array:
        return np.asarray(np.exp(np.clip(centre + regressors @ at, -_LARGEST_LOG, _LARGEST_LOG)))

    def objective(at: Array) -> float:
        total = spread(at) + noise
        return float(weight @ (np.log(total) + energy / total) + ridge @ at**2 / 2.0)

    found = np.zeros(regressors.shape[1])
    best = objective(found)
    for _ in range(_STEPS):
        own = spread(found)
        total = own + noise
        share = own / total
        slope = regressors.T @ (weight * share * (1.0 - energy / total)) + ridge * found
        matrix = (regressors * (weight * share**2)[:, None]).T @ regressors + np.diag(ridge)
        step = np.linalg.solve(matrix, slope)
        # Far from the answer a step that fits the slope alone would leave all numbers there are.
        length = min(1.0, _LONGEST_STEP / max(float(np.abs(regressors @ step).max()), 1e-300))
        while (now := objective(found - length * step)) > best and length > _LEAST_STEP:
            length /= 2.0
        if best - now < _ENOUGH:
            break
        found, best = found - length * step, now
    return found
