"""SW-EMS: the square wave of Li, Wang, Lopuhaa-Zwakenberg, Li, Skoric (SIGMOD 2020), with EM.

Its estimate is the maximum-likelihood table by EM, smoothed after every step.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MOST_STEPS, _CHANGE = 2000, 1e-3


@cache
def square_wave(epsilon: float, codes: int) -> Floats:
    """Probabilities of reports in bins (rows) by codes (columns).

    A value in [0, 1] is reported evenly within b of itself with odds e^epsilon to 1 against
    anywhere else in [-b, 1 + b]; bins of reports are as wide as codes.
    """
    odds = math.exp(epsilon)
    half = (epsilon * odds - odds + 1) / (2 * odds * (odds - 1 - epsilon))
    reach = max(1, round(half * codes))
    places = np.arange(codes + 2 * reach)[:, None] - reach
    inside = np.abs(places - np.arange(codes)) <= reach
    matrix = np.where(inside, odds, 1.0)
    return np.asarray(matrix / matrix.sum(axis=0))


def fit(reports: Floats, matrix: Floats) -> Floats:
    """Shares of the codes by EM from counts of reports, with a binomial filter after every step,
    until the log-likelihood gains less than `_CHANGE`."""
    codes = matrix.shape[1]
    found, before = np.full(codes, 1 / codes), -np.inf
    for _ in range(_MOST_STEPS):
        expected = matrix @ found
        found = found * (matrix.T @ (reports / expected))
        padded = np.pad(found, 1, mode="edge")
        found = padded[:-2] + 2 * padded[1:-1] + padded[2:]
        found = found / found.sum()
        likelihood = float(reports @ np.log(expected))
        if likelihood - before < _CHANGE:
            break
        before = likelihood
    return np.asarray(found)


def sw_ems(counts: Floats, epsilon: float, random: np.random.Generator) -> Floats:
    """Shares of the codes from one survey of the people who are counted."""
    matrix = square_wave(epsilon, len(counts))
    people = counts.sum()
    reports = random.multinomial(int(people), matrix @ (counts / people))
    return fit(reports, matrix)
