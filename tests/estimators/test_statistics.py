"""Estimates of the first mechanisms over repeated surveys: unbiased, with honest standard errors.

400 seeded runs, in the fast tier 200, per mechanism and number of dimensions; two dimensions of
most are slow. Tolerances follow from alpha = 1e-6; the narrow bands (94 to 96.5 % and 15 %) need
more runs and are measured by benchmarks/statistics.py.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from support.histograms import histogram_of
from support.significance import coverage_fits, is_unbiased, variance_fits
from support.tiers import keep_fast, runs

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.estimate import Ratio, quantile
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import AnyDesign as Design
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.linear import ReportedSource
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.report import Reports
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy

RUNS = runs(400)
PEOPLE = 2_000
BOUNDS = (2.0, 10.0)
LEVELS = (0.5, 0.95)


@cache
def records(dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n, d), skewed, and a measure that depends on the first dimension."""
    random = np.random.default_rng(11)
    x = np.minimum(random.geometric(0.25, PEOPLE) - 1, 7)
    y = (x + random.integers(0, 4, PEOPLE)) % 6
    measure = BOUNDS[0] + (BOUNDS[1] - BOUNDS[0]) * np.minimum(1.0, (x + random.random(PEOPLE)) / 8)
    return np.stack([x, y], axis=1)[:, :dimensions], measure


def design_of(name: str, dimensions: int, epsilon: str = "2") -> Design:
    """The mechanism on 8, or 8 x 6, codes, with a measure where it takes one."""
    sizes = (8, 6)[:dimensions]
    bounds = () if name == "hio" else (BOUNDS,)
    domain = RecordDomain(
        ("x", "y")[:dimensions], sizes, ("pay",) * len(bounds), bounds, (None,) * len(bounds)
    )
    options = {} if name in ("fourier", "grr", "olh", "oue", "hrr") else {"fanout": 3}
    return mechanism(name).design(domain, Epsilon.parse(epsilon), options)


@cache
def simulated(name: str, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Values (runs, k) and covariances (runs, k, k) of the answers to `queries`."""
    design = design_of(name, dimensions)
    planned = [design.prepare(query) for query in queries(dimensions, has_measure=name != "hio")]
    codes, measure = records(dimensions)
    values, covariances = [], []
    for seed in range(RUNS):
        private = codes
        if name != "hio":
            fraction = (measure - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0])
            signs = np.random.default_rng([seed, 7]).random(PEOPLE) < fraction
            private = np.column_stack([codes, signs.astype(np.int64)])
        reports = design.randomize(private, SeededEntropy(seed))
        answer = make_estimator(design, histogram_of(reports)).answer(planned)
        values.append(answer.values)
        covariances.append(answer.covariance)
    return np.array(values), np.array(covariances)


def queries(dimensions: int, *, has_measure: bool) -> list[LinearQuery]:
    """COUNT of a box with two intervals on a side and of a range, SUM of that range; COUNT and
    SUM of a wider range, for AVG. Without a measure COUNT of another range instead of the SUMs."""
    box = Box((((0, 1), (3, 6)), ((1, 4),))[:dimensions])
    span = Box((((1, 5),), None)[:dimensions])
    wide = Box((((0, 7),), None)[:dimensions])
    rest = Box((((2, 8),), None)[:dimensions])
    counts = [LinearQuery.count(box), LinearQuery.count(span)]
    if not has_measure:
        return [*counts, LinearQuery.count(rest)]
    return [*counts, LinearQuery.sum(0, span), LinearQuery.count(wide), LinearQuery.sum(0, wide)]


def truths(dimensions: int, *, has_measure: bool) -> np.ndarray:
    """The true answers to `queries`."""
    codes, measure = records(dimensions)
    x = codes[:, 0]
    inside = (x < 1) | ((x >= 3) & (x < 6))
    if dimensions == 2:
        inside &= (codes[:, 1] >= 1) & (codes[:, 1] < 4)
    span = (x >= 1) & (x < 5)
    wide = x < 7
    rest = [measure[span].sum(), wide.sum(), measure[wide].sum()]
    if not has_measure:
        rest = [(x >= 2).sum()]
    return np.array([inside.sum(), span.sum(), *rest], dtype=float)


MECHANISMS = ("hgrr", "hio", "ahio", "ehio", "grr", "olh", "oue", "hrr")
CASES = [(name, dimensions) for name in MECHANISMS for dimensions in (1, 2)]
FAST = [("hgrr", 2), ("fourier", 1)]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            case, id=f"{case[0]}-{case[1]}d", marks=() if case in FAST else pytest.mark.slow
        )
        for case in CASES
    ],
)
def case(request: pytest.FixtureRequest) -> tuple[str, int]:
    """A mechanism and a number of dimensions; a fixture, so that tests of one simulation run
    after one another, on the same worker."""
    return request.param


def test_estimates_are_unbiased_with_honest_errors(case: tuple[str, int]) -> None:
    """Mean, spread, the spread of a sum of two, and how often intervals contain the truth.

    In so few runs only the level of 50 % can show intervals that are too wide.
    """
    name, dimensions = case
    values, covariances = simulated(name, dimensions)
    for column, truth in enumerate(truths(dimensions, has_measure=name != "hio")):
        variances = covariances[:, column, column]
        assert is_unbiased(values[:, column], truth)
        assert variance_fits(values[:, column], variances.mean())
        errors = np.abs(values[:, column] - truth)
        for level in LEVELS:
            inside = int((errors <= quantile(level) * np.sqrt(variances)).sum())
            assert coverage_fits(inside, RUNS, level)
    joint = values[:, 1] + values[:, 2] / 5.0
    variance = covariances[:, 1, 1] + covariances[:, 2, 2] / 25.0 + 2.0 * covariances[:, 1, 2] / 5.0
    assert variance_fits(joint, variance.mean())


def average_covers(name: str, dimensions: int, level: float, scale: float = 1.0) -> bool:
    """Whether the told intervals of AVG (Fieller) contain the truth as often as they say.

    Most of them must be told. scale: what the covariance of SUM and COUNT is multiplied with.
    """
    values, covariances = simulated(name, dimensions)
    truth = truths(dimensions, has_measure=True)
    average, told, inside = truth[4] / truth[3], 0, 0
    for value, covariance in zip(values, covariances, strict=True):
        cross = float(covariance[3, 4]) * scale
        ratio = Ratio(value[4], value[3], covariance[4, 4], covariance[3, 3], cross)
        low, high = ratio.interval(level)
        if not np.isnan(low):
            told += 1
            inside += bool(low <= average <= high)
    assert told >= 0.85 * RUNS
    return coverage_fits(inside, told, level)


def test_intervals_of_averages_cover(case: tuple[str, int]) -> None:
    """As those of COUNT and SUM; HIO has no measure."""
    name, dimensions = case
    if name != "hio":
        assert all(average_covers(name, dimensions, level) for level in LEVELS)


@pytest.mark.parametrize("scale", [0.0, -1.0])
def test_an_average_with_a_wrong_covariance_is_caught(scale: float) -> None:
    """The negative control: the covariance of SUM and COUNT forgotten, or its sign flipped."""
    assert not all(average_covers("oue", 1, level, scale) for level in LEVELS)


def after_drop_outs(name: str, runs: int = 200) -> np.ndarray:
    """Estimated share of people in the second of `queries`, where every second user of one group
    stays away: shape (runs,)."""
    design = design_of(name, 1)
    planned = design.prepare(queries(1, has_measure=True)[1])
    codes, _ = records(1)
    private = np.column_stack([codes, np.zeros(len(codes), dtype=np.int64)])
    group = planned.alternatives[0][0].group
    shares = []
    for seed in range(runs):
        reports = design.randomize(private, SeededEntropy(seed))
        away = np.random.default_rng([seed, 5]).random(len(codes)) < 0.5
        stays = ~((np.asarray(reports.columns["question"]) == group) & away)
        kept = Reports(
            reports.format, {column: rows[stays] for column, rows in reports.columns.items()}
        )
        estimator = make_estimator(design, histogram_of(kept))
        shares.append(estimator.answer([planned]).values[0] / len(kept))
    return np.array(shares)


@pytest.mark.parametrize("name", keep_fast(["hgrr", "ehio"], ["hgrr"]))
def test_drop_outs_of_one_group_bias_nothing(name: str) -> None:
    """Every group is divided by the number of users who did report."""
    assert is_unbiased(after_drop_outs(name), truths(1, has_measure=True)[1] / PEOPLE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hgrr", "ehio"])
def test_dividing_by_expected_group_sizes_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: group sizes as designed, not as reported."""

    def expected(self: ReportedSource, group: int) -> float:
        return float(design_of(name, 1).table.shares[group] * PEOPLE)

    monkeypatch.setattr(ReportedSource, "size", expected)
    assert not is_unbiased(after_drop_outs(name), truths(1, has_measure=True)[1] / PEOPLE)


def test_a_standard_error_without_the_assignment_noise_is_caught() -> None:
    """The negative control: only the noise of the answers, not that of who is in the group.

    At epsilon 6 most of the error of one leaf is that its group is a sample: n^2 f (1 - f) / m
    for n people, m of them in the group, and a share f at the leaf.
    """
    design = design_of("hgrr", 1, epsilon="6")
    planned = design.prepare(LinearQuery.count(Box((((0, 1),),))))
    codes, _ = records(1)
    private = np.column_stack([codes, np.zeros(len(codes), dtype=np.int64)])
    ((cells,),) = planned.alternatives
    share = float((codes[:, 0] == 0).mean())
    values, variances, assigned = [], [], []
    for seed in range(RUNS):
        histogram = histogram_of(design.randomize(private, SeededEntropy(seed)))
        answer = make_estimator(design, histogram).answer([planned])
        values.append(answer.values[0])
        variances.append(answer.covariance[0, 0])
        assigned.append(PEOPLE**2 * share * (1.0 - share) / histogram.sizes[cells.group])
    full, sampling = float(np.mean(variances)), float(np.mean(assigned))
    assert 0.0 < sampling < full
    assert variance_fits(np.array(values), full)
    assert not variance_fits(np.array(values), full - sampling)
