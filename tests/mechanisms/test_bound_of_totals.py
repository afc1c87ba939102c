"""The bound on the sum of a measure over everybody: valid, sharp, and about what is unknown."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.workload import QueryClass, Workload
from ldpsql.bounds.least_error import sign_bound, spectral_bound
from ldpsql.mechanisms.registry import mechanism
from ldpsql.mechanisms.staircase.bound_of_totals import bound_of_total, find_excess, least_variance
from ldpsql_device.epsilon import Epsilon

DOMAIN = RecordDomain((), (), ("pay",), ((0.0, 80.0),), (None,))
TOTAL = Workload(DOMAIN, (QueryClass(1.0, (), 0),))


def test_the_largest_excess_is_that_of_some_pattern():
    """Of all 1,024 patterns of ten numbers."""
    random = np.random.default_rng(3)
    levels = 1.0 + 2.0 * (np.arange(1024)[:, None] >> np.arange(10) & 1)
    for _ in range(50):
        slopes, prices = random.normal(size=10), random.random(10) * random.choice([0.1, 1.0, 5.0])
        excess = (levels @ slopes) ** 2 / levels.sum(axis=1) - levels @ prices
        assert find_excess(slopes, prices, 3.0)[2].max() == pytest.approx(excess.max(), rel=1e-9)


@pytest.mark.fast(1)
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "2.9"])
def test_a_design_comes_near_the_bound_and_two_levels_do_not(epsilon):
    budget = Epsilon.parse(epsilon)
    least = least_variance(TOTAL, budget)
    assert least == bound_of_total(budget) > spectral_bound(TOTAL, budget)
    found = mechanism("staircase").design(DOMAIN, budget, {}, TOTAL).mean_variance
    assert least < found < 1.1 * least
    two = mechanism("staircase").design(DOMAIN, budget, {"levels": 2}, TOTAL).mean_variance
    assert two == pytest.approx(sign_bound(TOTAL, budget), rel=1e-6)
    assert two > found


def test_the_bound_is_not_above_what_published_mechanisms_have():
    """The Piecewise Mechanism's mean over numbers spread evenly, its own variance and theirs."""
    for epsilon in (0.5, 2.9):
        half = np.exp(epsilon / 2.0)
        piecewise = (1.0 / (half - 1.0) + 1.0) / 3.0 + (half + 3.0) / (3.0 * (half - 1.0) ** 2)
        assert bound_of_total(Epsilon.parse(str(epsilon))) < piecewise
