"""Clopper and Pearson's bounds against tables, exact sums and their own promise."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from ldpsql.audit.binomial import lower_bound, regularised_beta, tail, upper_bound


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0, 0.1684),
        (1, 29, 9e-4, 0.1776),
    ],
)
def test_published_95_percent_intervals(successes, trials, low, high):
    """Newcombe, Statistics in Medicine 17 (1998), table I, method 5."""
    assert lower_bound(successes, trials, 0.025) == pytest.approx(low, abs=6e-5)
    assert upper_bound(successes, trials, 0.025) == pytest.approx(high, abs=6e-5)


@pytest.mark.parametrize("trials", [1, 2, 17, 60])
@pytest.mark.parametrize(
    "p", [Fraction(1, 1000), Fraction(1, 3), Fraction(1, 2), Fraction(97, 100)]
)
def test_the_tail_is_the_exact_sum(trials, p):
    for successes in range(1, trials + 1):
        terms = (
            comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(successes, trials + 1)
        )
        assert tail(successes, trials, float(p)) == pytest.approx(float(sum(terms)), rel=1e-11)


def test_no_success_and_no_failure_have_closed_forms():
    assert lower_bound(0, 100, 1e-6) == 0.0
    assert upper_bound(0, 10**6, 1e-6) == pytest.approx(1.0 - 1e-6 ** (1 / 10**6), rel=1e-9)
    assert lower_bound(10**6, 10**6, 1e-6) == pytest.approx(1e-6 ** (1 / 10**6), rel=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 1e-6])
def test_the_bound_solves_its_equation_for_many_trials(alpha):
    bound = lower_bound(300_000, 1_000_000, alpha)
    assert tail(300_000, 1_000_000, bound) == pytest.approx(alpha, rel=1e-6)
    assert 0.29 < bound < 0.3


def test_it_is_wrong_no_more_often_than_it_says():
    """Over all outcomes of 40 trials; a bound a few percent larger would be."""
    trials, alpha = 40, 0.02
    for p in (0.03, 0.2, 0.5, 0.77):
        chances = [comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
        bounds = [lower_bound(k, trials, alpha) for k in range(trials + 1)]
        wrong = sum(chance for chance, bound in zip(chances, bounds, strict=True) if bound > p)
        assert wrong <= alpha
    tightest = bounds[30] * (1 - 1e-9)
    chances = [comb(trials, k) * tightest**k * (1 - tightest) ** (trials - k) for k in range(41)]
    assert sum(chances[30:]) == pytest.approx(alpha, rel=1e-6)


def test_the_ends_of_the_beta_function():
    assert (regularised_beta(0.0, 2.0, 3.0), regularised_beta(1.0, 2.0, 3.0)) == (0.0, 1.0)
