"""Tolerances from significance levels, and the small pieces that statistical tests share."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

ALPHA = 1e-6


def normal_bound(alpha: float = ALPHA) -> float:
    """|z| exceeds it with probability alpha."""
    return NormalDist().inv_cdf(1.0 - alpha / 2.0)


def chi_square_bound(degrees: int, alpha: float = ALPHA) -> float:
    """Upper quantile of the chi-square law (Wilson and Hilferty's cube-root approximation)."""
    z = NormalDist().inv_cdf(1.0 - alpha)
    spread = 2.0 / (9.0 * degrees)
    return degrees * (1.0 - spread + z * math.sqrt(spread)) ** 3


def chi_square(observed: np.ndarray, expected: np.ndarray) -> tuple[float, int]:
    """Pearson's statistic and its degrees of freedom; cells expected below 8 are pooled."""
    order = np.argsort(expected)
    observed, expected = observed[order].astype(float), expected[order].astype(float)
    small = expected < 8
    if small.any():
        observed = np.append(observed[~small], observed[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
    if expected[-1] < 8 and len(expected) > 1:
        observed = np.append(observed[:-2], observed[-2:].sum())
        expected = np.append(expected[:-2], expected[-2:].sum())
    return float(((observed - expected) ** 2 / expected).sum()), max(len(expected) - 1, 1)


def is_unbiased(estimates: np.ndarray, truth: float, alpha: float = ALPHA) -> bool:
    """Whether the mean of independent estimates is compatible with the truth."""
    error = estimates.std(ddof=1) / math.sqrt(len(estimates))
    return bool(abs(estimates.mean() - truth) <= normal_bound(alpha) * error)


def variance_fits(estimates: np.ndarray, variance: float, alpha: float = ALPHA) -> bool:
    """Whether the sample variance of normal estimates is compatible with the given one."""
    degrees = len(estimates) - 1
    ratio = estimates.var(ddof=1) / variance * degrees
    low = chi_square_bound(degrees, 1.0 - alpha / 2.0)
    return bool(low <= ratio <= chi_square_bound(degrees, alpha / 2.0))


def coverage_fits(inside: int, runs: int, level: float = 0.95, alpha: float = ALPHA) -> bool:
    """Whether `inside` of `runs` independent intervals agree with their level."""
    spread = math.sqrt(runs * level * (1.0 - level))
    return bool(abs(inside - runs * level) <= normal_bound(alpha) * spread + 0.5)
