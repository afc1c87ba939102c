"""What reports tell of counts and sums together: no report tells more, and some tell as much."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.algebra.least_error import limit_of_information, sign_bound, spectral_bound
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.algebra.sums_and_counts import (
    SHAPES,
    information_of_sums,
    information_with_sums,
    largest_information,
)
from ldpsql.algebra.workload import QueryClass, Workload
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon

EPSILONS = ("0.1", "0.5", "1", "2", "2.9")
NUMBERS = (np.arange(240) + 0.5) / 120.0 - 1.0


def ratios(shape: tuple[int, int, float], odds: float, counts: float, sums: float) -> np.ndarray:
    """What reports tell over what they pay, by a grid of numbers for each of 16 codes.

    Of some codes nobody, of others those in an interval, at its ends here and there, or whoever a
    threshold on a - const lambda chooses, are E times as likely.
    """
    power, growth, steepness = shape
    random = np.random.default_rng(3)
    amounts = (power + 2.0) * np.sign(NUMBERS) * np.abs(NUMBERS) ** power
    prices = 1.0 + steepness * np.abs(NUMBERS) ** growth
    prices /= prices.mean()
    found = []
    for _ in range(4000):
        ends = random.uniform(-1.0, 1.0, (2, 16))
        ends[1] = np.where(random.random() < 0.7, 1.0, ends[1])
        if random.random() < 0.7:
            ends[0] = ends[0, 0]
        inside = (ends[0][:, None] < NUMBERS) & (ends[1][:, None] > NUMBERS)
        inside &= (np.arange(16) < random.integers(1, 17))[:, None]
        report = 1.0 + (odds - 1.0) * inside
        level = report.mean(axis=1)
        gained = counts * np.var(level) + sums * np.mean((report @ amounts / 240.0) ** 2)
        found.append(gained / (level.mean() * np.mean(report @ prices / 240.0)))
    return np.array(found)


@pytest.mark.fast(2)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("counts", "sums"), [(0.0, 1.0), (1.0, 0.6)])
def test_no_report_tells_more_and_some_tell_nearly_as_much(shape, epsilon, counts, sums):
    odds = float(Epsilon.parse(epsilon).odds)
    found, most = ratios(shape, odds, counts, sums), largest_information(odds, shape, counts, sums)
    assert found.max() <= 1.001 * most
    assert found.max() >= 0.9 * most  # a tenth less would be false
    assert most == pytest.approx(largest_information(odds, shape, counts, sums, ends=160), rel=5e-4)


@pytest.mark.fast(1)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_counts_alone_tell_what_is_known(epsilon):
    budget = Epsilon.parse(epsilon)
    for shape in SHAPES:
        gained = largest_information(float(budget.odds), shape, 1.0, 1e-6)
        if not shape[2]:  # without prices
            assert gained == pytest.approx(limit_of_information(budget), rel=1e-3)
    weights, gained = zip(*information_with_sums(budget), strict=True)
    assert weights == tuple(sorted(weights))
    assert min(gained) > 0.999 * limit_of_information(budget)
    # Sums alone tell more than beside counts, and less than if people were at their bounds.
    assert 1.0 < information_of_sums(budget) / limit_of_information(budget) < 9.0 / 4.0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
@pytest.mark.parametrize("counted", [0.0, 0.25, 0.6])
def test_no_design_is_better_than_the_bound(epsilon, counted):
    """Whatever its levels; and the bound is not far."""
    domain = RecordDomain(("x",), (4,), ("pay",), ((0.0, 80.0),), (None,))
    classes = [QueryClass(1.0 - counted, ((0, "equality"),), 0)]
    classes += [QueryClass(counted, ((0, "equality"),))] if counted else []
    workload, budget = Workload(domain, tuple(classes)), Epsilon.parse(epsilon)
    least = spectral_bound(workload, budget)
    variance = mechanism("staircase").design(domain, budget, {}, workload).mean_variance
    assert least < variance < 1.75 * least
    assert least < sign_bound(workload, budget)
