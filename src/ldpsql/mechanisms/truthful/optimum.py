"""Public. Sees parameters. The most that reports can agree with values, if a prior is right.

Among the (epsilon, delta)-LDP channels over n values that report a value, the largest probability
that the report is the value, for a value drawn from the prior pi, is

    delta + (1 - delta) max over s of E Pi_s / (E + s - 1),      E = e^epsilon,

Pi_s being the sum of the s largest shares. It is attained by telling the truth with probability
delta, and else running randomized response over the s likeliest values; a value outside them
answers as one of them would. For two values this is the channel of Zhou, Lu, Wu (J. Communications
2019). Specification: rr-optimum, section 1.

A high agreement is no good estimate: values outside the support cannot be counted at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError

Share = float | Fraction
_NEAR = Fraction(1, 10**6)


@dataclass(frozen=True)
class TruthfulOptimum:
    """support: the values that randomized response runs over, the likeliest first.  agreement:
    the probability that a report is the value."""

    support: tuple[int, ...]
    agreement: float


def truthful_optimum(
    pi: Sequence[Share], eps: Epsilon | str | float, delta: Share = 0
) -> TruthfulOptimum:
    """The support and the agreement of the optimal channel for a prior.

    pi: the share of every value.  SurveyError for shares that are none, or do not sum to 1, for
    delta outside [0, 1), and for an epsilon that is none.

    >>> truthful_optimum([0.4, 0.3, 0.15, 0.1, 0.05], 1).support
    (0, 1)
    """
    shares = normal_shares(pi)
    lost = exact(delta)
    if not 0 <= lost < 1:
        raise SurveyError(f"delta must be at least 0 and below 1, not {float(lost):g}")
    odds = (eps if isinstance(eps, Epsilon) else Epsilon.parse(eps)).odds
    order = sorted(range(len(shares)), key=lambda value: (-shares[value], value))
    size, covered = 0, Fraction(0)
    while size < len(order) and shares[order[size]] * (odds + size - 1) >= covered:
        covered += shares[order[size]]
        size += 1
    best = odds * covered / (odds + size - 1)
    return TruthfulOptimum(tuple(order[:size]), float(lost + (1 - lost) * best))


def normal_shares(pi: Sequence[Share]) -> tuple[Fraction, ...]:
    """The shares as exact decimals, summing to exactly 1; SurveyError where they are none."""
    shares = tuple(map(exact, pi))
    total = sum(shares, Fraction(0))
    if not shares or min(shares) < 0 or abs(total - 1) > _NEAR:
        raise SurveyError("a prior is a list of shares, none below 0, that sum to 1")
    return tuple(share / total for share in shares)


def exact(number: object) -> Fraction:
    """A number by its shortest decimal form, so that 0.1 means 1/10; SurveyError for others."""
    try:
        return number if isinstance(number, Fraction) else Fraction(str(number))
    except (ValueError, ZeroDivisionError):
        raise SurveyError(f"not a number: {number!r}") from None
