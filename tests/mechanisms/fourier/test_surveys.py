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


CASES = [
    ("2", "one cell", PEOPLE),
    ("0.5", "one cell", PEOPLE),
    ("2", "spiky", PEOPLE),
    ("4", "one cell", PEOPLE),
    ("4", "spiky", PEOPLE),
    ("4", "one cell", 10_000),
]


def averages_cover(
    values: np.ndarray, covariances: np.ndarray, truth: np.ndarray, scale: float = 1.0
) -> bool:
    """Whether intervals of AVG by Fieller hold the truth as often as they say, at two levels.

    Most must be told. scale: what the covariance of SUM and COUNT is multiplied with.
    """
    fits = []
    for level in (0.5, 0.95):
        held = told = 0
        for value, covariance in zip(values, covariances, strict=True):
            cross = float(covariance[1, 5]) * scale
            ratio = Ratio(value[5], value[1], covariance[5, 5], covariance[1, 1], cross)
            low, high = ratio.interval(level)
            told += not np.isnan(low)
            held += bool(low <= truth[5] / truth[1] <= high)
        assert told > 0.8 * RUNS
        fits.append(coverage_fits(held, told, level))
    return all(fits)


@pytest.mark.fast(1)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_estimates_are_unbiased_with_honest_errors(case: tuple[str, str, int]) -> None:
    """COUNT, SUM and AVG; the negative controls forget the covariance of SUM and COUNT, and at
    epsilon 4 take the variance for people who are spread evenly (docs/spec/fourier.md#1.4.4)."""
    (values, covariances), truth = simulated(*case), truths(*case[1:])
    errors, stderrs = np.abs(values - truth), np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    for column, mean in enumerate(truth):
        assert is_unbiased(values[:, column], mean)
        assert variance_fits(values[:, column], covariances[:, column, column].mean())
        for level in (0.5, 0.95):
            inside = int((errors[:, column] <= quantile(level) * stderrs[:, column]).sum())
            assert coverage_fits(inside, RUNS, level)
    joint, mean = values[:, 0] + values[:, 5] / 30.0, covariances.mean(axis=0)
    assert variance_fits(joint, mean[0, 0] + mean[5, 5] / 900.0 + mean[0, 5] / 15.0)
    assert averages_cover(values, covariances, truth)
    if case == CASES[0]:
        assert not averages_cover(values, covariances, truth, 0.0)
    if case == CASES[3]:
        planned = [design_of("4").prepare(query) for query in queries()]
        even = design_of("4").variance(planned, PEOPLE)
        assert not all(variance_fits(values[:, own], even[own]) for own in range(len(even)))
        held = (errors <= quantile(0.95) * np.sqrt(even)).sum(axis=0)
        assert not all(coverage_fits(int(count), RUNS) for count in held)
