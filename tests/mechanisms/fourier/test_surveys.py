"""Repeated surveys where the variance is hardest to tell: everybody alike, or a few spikes.

At larger epsilon the variance of an estimate depends on where people are; intervals must be honest
there too. Flat and skewed data are in test_statistics.py, with the other mechanisms.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.fourier_designs import counted, domain_of
from support.significance import coverage_fits, is_unbiased, variance_fits
from support.tiers import runs

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import Ratio, quantile
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.recipe import Fourier
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy

RUNS, PEOPLE = runs(300), 1_000
BOUNDS = (10.0, 50.0)
DOMAIN = domain_of((32,), (BOUNDS,))
CASES = [
    ("0.5", "one cell", PEOPLE),
    ("2", "one cell", PEOPLE),
    ("2", "spiky", PEOPLE),
    ("4", "one cell", PEOPLE),
    ("4", "spiky", PEOPLE),
    ("4", "one cell", 10_000),
]
PLACES = {"one cell": np.array([10]), "spiky": np.array([4, 10, 15, 16, 25])}
SPANS = [(8, 16), (3, 26), (16, 29), (10, 11)]


@cache
def design_of(epsilon: str) -> FourierDesign:
    return Fourier().design(DOMAIN, Epsilon.parse(epsilon), {})


def queries() -> list[LinearQuery]:
    """Counts of four ranges, sums over the first two; the second holds everybody."""
    boxes = [Box(((span,),)) for span in SPANS]
    return [*map(LinearQuery.count, boxes), *(LinearQuery.sum(0, box) for box in boxes[:2])]


def people(data: str, count: int, seed: int) -> np.ndarray:
    """Codes and signs of people drawn anew, at one or five places; the measure is uniform."""
    random = np.random.default_rng([seed, 4])
    places = PLACES[data]
    codes = places[random.integers(0, len(places), count)]
    return np.stack([codes, random.random(count) < random.random(count)], axis=1).astype(np.int64)


def truths(data: str, count: int) -> np.ndarray:
    """Means over the people that might have been drawn."""
    places = PLACES[data]
    share = [float(((places >= low) & (places < high)).mean()) for low, high in SPANS]
    return count * np.array([*share, *(part * sum(BOUNDS) / 2.0 for part in share[:2])])


@cache
def simulated(epsilon: str, data: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Values (runs, k) and covariances (runs, k, k)."""
    design = design_of(epsilon)
    planned = [design.prepare(query) for query in queries()]
    values, covariances = [], []
    for seed in range(RUNS):
        reports = design.randomize(people(data, count, seed), SeededEntropy(seed))
        held = counted(design, reports)
        answer = design.estimator(held).answer(planned)
        values.append(answer.values)
        covariances.append(answer.covariance)
    return np.array(values), np.array(covariances)


FAST = [("2", "one cell", PEOPLE)]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(case, id=str(case), marks=() if case in FAST else pytest.mark.slow)
        for case in CASES
    ],
)
def case(request: pytest.FixtureRequest) -> tuple[str, str, int]:
    """Epsilon, data, people; a fixture, so that one simulation serves several tests."""
    return request.param


def test_estimates_are_unbiased(case: tuple[str, str, int]) -> None:
    values, _ = simulated(*case)
    for column, truth in enumerate(truths(*case[1:])):
        assert is_unbiased(values[:, column], truth)


def test_variances_are_those_of_the_estimates(case: tuple[str, str, int]) -> None:
    values, covariances = simulated(*case)
    for column in range(values.shape[1]):
        assert variance_fits(values[:, column], covariances[:, column, column].mean())
    joint = values[:, 0] + values[:, 5] / 30.0
    mean = covariances.mean(axis=0)
    assert variance_fits(joint, mean[0, 0] + mean[5, 5] / 900.0 + mean[0, 5] / 15.0)


def test_intervals_cover(case: tuple[str, str, int]) -> None:
    values, covariances = simulated(*case)
    errors = np.abs(values - truths(*case[1:]))
    stderrs = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    for level in (0.5, 0.95):
        inside = (errors <= quantile(level) * stderrs).sum(axis=0)
        assert all(coverage_fits(int(count), RUNS, level) for count in inside)


def averages(case: tuple[str, str, int], scale: float = 1.0) -> list[tuple[int, int, float]]:
    """(intervals that hold the truth, told ones, level) of AVG by Fieller, at two levels.

    scale: what the covariance of SUM and COUNT is multiplied with.
    """
    values, covariances = simulated(*case)
    truth = truths(*case[1:])
    found = []
    for level in (0.5, 0.95):
        held = told = 0
        for value, covariance in zip(values, covariances, strict=True):
            cross = float(covariance[1, 5]) * scale
            ratio = Ratio(value[5], value[1], covariance[5, 5], covariance[1, 1], cross)
            low, high = ratio.interval(level)
            if not np.isnan(low):
                told += 1
                held += bool(low <= truth[5] / truth[1] <= high)
        found.append((held, told, level))
    return found


def test_intervals_of_averages_cover(case: tuple[str, str, int]) -> None:
    for held, told, level in averages(case):
        assert told > 0.8 * RUNS
        assert coverage_fits(held, told, level)


def test_an_average_without_the_covariance_is_caught() -> None:
    """The negative control of the test above."""
    wrong = averages(("2", "one cell", PEOPLE), 0.0)
    assert not all(coverage_fits(held, told, level) for held, told, level in wrong)


@pytest.mark.slow
def test_the_variance_for_even_data_is_not_that_of_one_cell() -> None:
    """The negative control: the average case is not safe at epsilon 4.

    Source: docs/spec/fourier.md#1.4.4.
    """
    case = ("4", "one cell", PEOPLE)
    design = design_of("4")
    values, _ = simulated(*case)
    even = design.variance([design.prepare(query) for query in queries()], PEOPLE)
    fits = [variance_fits(values[:, column], even[column]) for column in range(len(even))]
    assert not all(fits)
    errors = np.abs(values - truths(*case[1:]))
    inside = (errors <= quantile(0.95) * np.sqrt(even)).sum(axis=0)
    assert not all(coverage_fits(int(count), RUNS) for count in inside)
