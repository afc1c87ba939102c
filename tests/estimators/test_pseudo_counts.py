"""Variances where little is known: concentrated people, few people, public columns far from 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.histograms import histogram_of
from support.significance import coverage_fits, variance_fits

from ldpsql.algebra.boxes import Box, LinearQuery, Weight
from ldpsql.algebra.estimate import quantile
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.linear import pseudo_squares
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.report import Histogram, Reports
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy

LINE = RecordDomain(("x",), (16,), (), (), ())
SIGNED = RecordDomain(("x",), (16,), ("pay",), ((-1.0, 5.0),), (None,))
PAY = Weight("pay")


def test_pseudo_counts_are_a_gram_matrix_with_the_largest_squares() -> None:
    """So two queries of the same nodes are doubted together, of different nodes apart."""
    weights = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, -3.0], [0.0, 0.0, 0.0]])
    found = pseudo_squares(weights, weights)
    assert np.diagonal(found) == pytest.approx([1.0, 4.0, 9.0, 0.0])
    assert (found[0, 1], found[0, 2]) == pytest.approx((2.0, 0.0))
    assert np.linalg.eigvalsh(found).min() > -1e-12


CONCENTRATED: list[tuple[str, dict[str, Any], RecordDomain]] = [
    *(("hh", {"fanout": 2, "oracle": oracle}, LINE) for oracle in ("hrr", "oue")),
    *(("hio", {"fanout": 2, "oracle": oracle}, LINE) for oracle in ("grr", "olh", "auto")),
    ("hh", {"fanout": 2, "oracle": "hrr", "inference": "consistent"}, LINE),
    ("hi", {"fanout": 2}, LINE),
    ("haarhrr", {}, LINE),
    ("hh", {"fanout": 2, "oracle": "hrr"}, SIGNED),
    ("lgrr-fd", {"fanout": 2, "fakes": 2}, SIGNED),
]


@pytest.mark.parametrize(("name", "options", "domain"), CONCENTRATED)
@pytest.mark.parametrize("epsilon", ["1", "6", "8"])
def test_no_error_is_nothing(
    name: str, options: dict[str, Any], domain: RecordDomain, epsilon: str
) -> None:
    """Everybody at the first code: no variance is told that is negative or 0."""
    design = mechanism(name).design(domain, Epsilon.parse(epsilon), options)
    ranges = [LinearQuery.count(Box((((a, b),),))) for a, b in ((0, 1), (0, 11), (3, 9), (8, 16))]
    if domain.bounds:
        ranges += [LinearQuery.sum(0, query.terms[0][1]) for query in ranges]
    planned = [design.prepare(query) for query in ranges]
    least = []
    for seed in range(12):
        people = (5, 60, 600)[seed % 3]
        codes = np.zeros((people, 1 + len(domain.bounds)), dtype=np.int64)
        histogram = histogram_of(design.randomize(codes, SeededEntropy(seed)))
        told = np.diagonal(make_estimator(design, histogram).answer(planned).covariance)
        least.append(np.min(told, initial=np.inf, where=np.isfinite(told)))
    assert min(least) > 0.0


# -- public columns --------------------------------------------------------------------------------

PEOPLE, RUNS = 3_000, 120
SUM = LinearQuery(((1.0, Box((((3, 11),),))),), weight=PAY)
COUNT = LinearQuery.count(Box((((3, 11),),)))


def weighted(reports: Reports, pay: np.ndarray) -> Histogram:
    """A histogram with one row per report, and its public column."""
    columns = [np.asarray(reports.columns[n]).astype(np.int64) for n in reports.format.columns]

    moments: dict[tuple[Weight, Weight | None], np.ndarray]
    moments = {(PAY, None): pay, (PAY, PAY): pay**2}
    ones = np.ones(len(pay), dtype=np.int64)
    return Histogram.of(reports.format.types, columns, ones, moments)


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(("hio", {"fanout": 2, "oracle": oracle}) for oracle in ("grr", "olh", "oue")),
        ("hio", {"fanout": 2, "inference": "consistent"}),
        ("hh", {"fanout": 2, "oracle": "hrr"}),
        ("hi", {"fanout": 2}),
        ("haarhrr", {}),
        ("lgrr-repaired", {"fanout": 2}),
        ("lgrr-fd", {"fanout": 2, "fakes": 2}),
        ("fourier", {}),
    ],
)
def test_few_people_who_weigh_nothing_are_no_proof_of_nothing(
    name: str, options: dict[str, Any]
) -> None:
    """Of 60 people three weigh 1, so that in some groups nobody does: the error is not 0, and not
    less than that of so many in other runs by far. Where all weigh 0, SUM is 0 for certain."""
    design = mechanism(name).design(LINE, Epsilon.parse("2"), options)
    planned = [design.prepare(SUM), design.prepare(COUNT)]
    codes = np.random.default_rng(1).integers(0, 16, (60, 1))
    pay = np.zeros(60)
    pay[[5, 25, 45]] = 1.0
    told = []
    for seed in range(40):
        reports = design.randomize(codes, SeededEntropy(seed))
        answer = make_estimator(design, weighted(reports, pay)).answer(planned)
        told.append(answer.stderr[0])
        assert np.linalg.eigvalsh(answer.covariance).min() > -1e-9
        alone = make_estimator(design, weighted(reports, pay)).values(planned)
        assert alone == pytest.approx(answer.values, rel=1e-9, abs=1e-9)
        nobody = make_estimator(design, weighted(reports, np.zeros(60))).answer(planned[:1])
        assert nobody.values[0] == 0.0
        assert nobody.stderr[0] == 0.0
    assert min(told) > 0.05 * np.median(told)


def simulated(design: Design, offset: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors (runs, 2) of SUM(pay) and COUNT(*), covariances, and the true ratios.

    People are a sample, as the covariance says: each run draws its own, and the truth is that of
    where they come from.
    """
    planned = [design.prepare(SUM), design.prepare(COUNT)]
    errors, covariances = [], []
    chance = np.array([0.04, 0.04, 0.04, 0.2, 0.1, 0.1, 0.08, 0.06, 0.06, 0.04, 0.04, *[0.04] * 5])
    chance /= chance.sum()
    count = PEOPLE * chance[3:11].sum()
    truth = np.array([(offset + 5.0) * count, count])
    for seed in range(RUNS):
        random = np.random.default_rng([seed, 5])
        codes = random.choice(16, (PEOPLE, 1), p=chance)
        pay = offset + 10.0 * random.random(PEOPLE)
        reports = design.randomize(codes, SeededEntropy(seed))
        answer = make_estimator(design, weighted(reports, pay)).answer(planned)
        errors.append(answer.values - truth)
        covariances.append(answer.covariance)
    return np.array(errors), np.array(covariances), truth


@pytest.mark.fast(1)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("hi", {"fanout": 2}),
        ("hh", {"fanout": 2, "oracle": "hrr"}),
        ("hio", {"fanout": 2}),
        ("lgrr-repaired", {"fanout": 2}),
    ],
)
def test_sums_and_averages_of_public_columns_are_honest(name: str, options: dict[str, Any]) -> None:
    """Of a column between 100 and 110: SUM, and AVG by its linear part SUM - truth x COUNT."""
    design = mechanism(name).design(LINE, Epsilon.parse("3"), options)
    errors, covariances, truth = simulated(design, 100.0)
    ratio = np.array([1.0, -truth[0] / truth[1]])
    for direction in (np.array([1.0, 0.0]), ratio):
        found = errors @ direction
        told = np.einsum("i,rij,j->r", direction, covariances, direction)
        assert told.min() > 0.0
        assert variance_fits(found, told.mean())
        for level in (0.5, 0.95):
            inside = np.abs(found) <= quantile(level) * np.sqrt(told)
            assert coverage_fits(int(inside.sum()), RUNS, level)
