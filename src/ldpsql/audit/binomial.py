"""Public. Sees parameters. Exact confidence bounds of a probability from a count.

Clopper and Pearson, Biometrika 26 (1934): the bound is where the binomial tail has the given
probability; the tail is a regularised incomplete beta function, by its continued fraction.
"""

from __future__ import annotations

import math

_TINY = 1e-300
_PRECISION = 1e-15
_MOST_TERMS = 1_000_000
_HALVINGS = 100


def lower_bound(successes: int, trials: int, alpha: float) -> float:
    """The p below the true probability, except with probability at most alpha.

    The p for which `successes` or more of `trials` have probability alpha; 0 without successes.
    """
    if successes == 0:
        return 0.0
    low, high = 0.0, successes / trials
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        if tail(successes, trials, middle) <= alpha:
            low = middle
        else:
            high = middle
    return low


def upper_bound(successes: int, trials: int, alpha: float) -> float:
    """The p above the true probability, except with probability at most alpha."""
    return 1.0 - lower_bound(trials - successes, trials, alpha)


def tail(successes: int, trials: int, p: float) -> float:
    """Probability of at least so many successes (>= 1) in so many trials."""
    return regularised_beta(p, float(successes), float(trials - successes + 1))


def regularised_beta(x: float, a: float, b: float) -> float:
    """I_x(a, b) for 0 <= x <= 1 and positive a and b."""
    if x <= 0.0 or x >= 1.0:
        return float(x > 0.0)
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log_front) * _fraction(x, a, b) / a
    return 1.0 - math.exp(log_front) * _fraction(1.0 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1.0 / _apart(1.0 - (a + b) * x / (a + 1.0))
    result = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / _apart(1.0 + term * d)
            c = _apart(1.0 + term / c)
            result *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            return result
    raise ArithmeticError("the incomplete beta function did not converge")


def _apart(value: float) -> float:
    """The value, kept apart from 0."""
    return value if abs(value) > _TINY else _TINY
