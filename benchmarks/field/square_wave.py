"""SW-EMS: the square wave of Li, Wang, Lopuhaa-Zwakenberg, Li, Skoric (SIGMOD 2020), with EM.

Its estimate is the maximum-likelihood table by EM, smoothed after every step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.field.questions import Floats, Question, Table, alone

_MOST_STEPS, _CHANGE = 2000, 1e-3


@dataclass(frozen=True, eq=False)
class SquareWave:
    """Probabilities of reports in bins (rows) by codes (columns)."""

    matrix: Floats

    @classmethod
    def of(cls, epsilon: float, codes: int) -> SquareWave:
        """A value in [0, 1] is reported evenly within b of itself with odds e^epsilon to 1 against
        anywhere else in [-b, 1 + b]; bins of reports are as wide as codes."""
        odds = math.exp(epsilon)
        half = (epsilon * odds - odds + 1) / (2 * odds * (odds - 1 - epsilon))
        reach = max(1, round(half * codes))
        places = np.arange(codes + 2 * reach)[:, None] - reach
        inside = np.abs(places - np.arange(codes)) <= reach
        matrix = np.where(inside, odds, 1.0)
        return cls(matrix / matrix.sum(axis=0))


@cache
def square_wave(epsilon: float, codes: int) -> SquareWave:
    """Kept: it is the same for every survey."""
    return SquareWave.of(epsilon, codes)


def fit(reports: Floats, matrix: Floats, *, smooth: bool, change: float) -> Floats:
    """Shares of the codes by EM from counts of reports, until the log-likelihood gains less than
    `change`; smooth: with a binomial filter after every step."""
    codes = matrix.shape[1]
    found, before = np.full(codes, 1 / codes), -np.inf
    for _ in range(_MOST_STEPS):
        expected = matrix @ found
        found = found * (matrix.T @ (reports / expected))
        if smooth:
            padded = np.pad(found, 1, mode="edge")
            found = padded[:-2] + 2 * padded[1:-1] + padded[2:]
        found = found / found.sum()
        likelihood = float(reports @ np.log(expected))
        if likelihood - before < change:
            break
        before = likelihood
    return np.asarray(found)


def sw_ems(
    counts: Floats, epsilon: float, random: np.random.Generator, change: float = _CHANGE
) -> Floats:
    """Shares of the codes from one survey of the people who are counted."""
    matrix = square_wave(epsilon, len(counts)).matrix
    people = counts.sum()
    reports = random.multinomial(int(people), matrix @ (counts / people))
    return fit(reports, matrix, smooth=True, change=change)


@dataclass(frozen=True)
class SwEms:
    """The mechanism of one dimension, as the others of `ranges` are."""

    name: str = "SW-EMS"
    biased: bool = True

    def refuses(self, sizes: Sequence[int]) -> str:
        """Why the mechanism cannot be used for these codes, or an empty text."""
        return "one dimension only" if len(sizes) > 1 else ""

    def estimate(self, counts: Floats, epsilon: float, random: np.random.Generator) -> Floats:
        """See `ranges.Method`."""
        return sw_ems(counts, epsilon, random)

    def questions(
        self, counts: Floats, epsilon: float, random: np.random.Generator
    ) -> list[Question]:
        """See `ranges.Method`."""
        return alone(Table(square_wave(epsilon, len(counts)).matrix))
