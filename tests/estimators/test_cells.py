"""Answers from the counts of a channel's reports, solved by its inverse."""

from __future__ import annotations

import numpy as np
import pytest
from support.fourier_designs import domain_of
from support.histograms import histogram_of
from support.sensitive_domains import made, matrix

from ldpsql.algebra.boxes import Box, LinearQuery, Weight
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.cells import MatrixChannel
from ldpsql.mechanisms.registry import mechanism
from ldpsql.reports.report import Histogram, Rows
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy

PEOPLE = 1_000


@pytest.fixture(scope="module")
def design():
    domain = domain_of((12,), ((10.0, 50.0),))
    return mechanism("staircase").design(domain, Epsilon.parse("1"), {"levels": 2})


def test_the_exact_counts_give_the_exact_answers(design):
    """From the channel that is drawn from, not from the one that was wished for."""
    random = np.random.default_rng(5)
    cells = random.integers(0, 100, 24).astype(float)
    counts = design.channel.matrix @ cells
    estimate = counts @ design.channel.contributions
    assert estimate == pytest.approx(cells, abs=1e-9 * cells.sum())


def test_covariance_adds_up(design):
    """The variance of a sum is that of its parts, taken together."""
    random = np.random.default_rng(1)
    codes = np.stack(
        [random.choice([1, 4, 4, 4, 9], PEOPLE), random.integers(0, 2, PEOPLE)], axis=1
    )
    histogram = histogram_of(design.randomize(codes, SeededEntropy(1)))
    parts = [LinearQuery.count(Box((((a, b),),))) for a, b in ((0, 5), (5, 9), (9, 12))]
    whole = LinearQuery.count(Box((((0, 9),),)))
    estimator = make_estimator(design, histogram)
    found = estimator.answer([design.prepare(query) for query in (*parts, whole)])
    assert found.values[0] + found.values[1] == pytest.approx(found.values[3])
    assert sum(found.values[:3]) == pytest.approx(PEOPLE)
    both = found.covariance[:2, :2].sum()
    assert both == pytest.approx(found.covariance[3, 3], rel=0.02)


def test_public_weights_are_summed():
    """Sums of a public column, from the moments of the rows."""
    design = mechanism("staircase").design(domain_of((4,)), Epsilon.parse("3"), {})
    weight = Weight("amount")
    random = np.random.default_rng(2)
    codes, amount = random.integers(0, 4, 20_000), random.random(20_000)
    reports = design.randomize(codes[:, None], SeededEntropy(3))
    answer = np.asarray(reports.columns["answer0"]).astype(np.int64)
    size = len(design.weights)
    moments = {
        (weight, None): np.bincount(answer, amount, size),
        (weight, weight): np.bincount(answer, amount**2, size),
    }
    columns = (np.zeros(size, dtype=np.int64), np.arange(size))
    histogram = Histogram(1, columns, np.bincount(answer, minlength=size), moments)
    query = LinearQuery(((1.0, Box((((1, 3),),))),), None, weight)
    found = make_estimator(design, histogram).answer([design.prepare(query)])
    truth = amount[(codes >= 1) & (codes < 3)].sum()
    assert abs(found.values[0] - truth) < 5 * found.stderr[0] < 0.1 * truth


@pytest.mark.parametrize(
    ("name", "sizes", "held"),
    [
        ("urr", (7,), (3,)),
        ("cprr", (3, 4), (2, 2)),
        ("jurr", (3, 4), (2, 1)),
        ("jurr", (3, 2, 3), (1, 1, 3)),
        ("jurr-g", (3, 4), (2, 2)),
        ("tdrr", (3, 4), (3, 2)),
        ("jd-grr", (3, 4), (3, 4)),
    ],
)
def test_a_square_channel_has_one_inverse(name, sizes, held):
    design = made(name, sizes, held, "2.5")
    plain, solved = MatrixChannel(matrix(design).T), design.channel
    random = np.random.default_rng(4)
    cells = random.integers(0, solved.cells, 900)
    codes = np.stack(np.unravel_index(cells, sizes), axis=1)
    rows = histogram_of(design.randomize(codes, SeededEntropy(2))).load(0)
    totals = solved.totals(rows, (None, None))
    counts = solved.counts(rows, (None, None)).astype(int)
    by_cell = Rows((np.arange(solved.cells),), counts)
    assert plain.totals(by_cell, (None, None)) == pytest.approx(totals)
    left, right = random.normal(size=(2, 3, solved.cells))
    people = np.abs(totals)
    expected = solved.second(people, left, right)
    assert plain.second(people, left, right) == pytest.approx(expected)
    assert plain.spread(left) == pytest.approx(solved.spread(left))


@pytest.mark.parametrize("sets", [2, 500])
def test_many_sets_have_the_moments_that_each_has_alone(sets: int) -> None:
    """Each sum over reports is worked out by itself, for few sets and for many."""
    random = np.random.default_rng(4)
    matrix = random.random((30, 6))
    channel = MatrixChannel(matrix / matrix.sum(axis=0))
    totals, left, right = (random.normal(size=(rows, 6)) for rows in (sets, 2, 3))
    found = channel.second(totals, left, right)
    weights = [channel.contributions @ own.T for own in (left, right)]
    for own, each in zip(totals @ channel.matrix.T, found, strict=True):
        expected = np.einsum("ra,r,rb->ab", weights[0], own, weights[1])
        np.testing.assert_allclose(each, expected, rtol=1e-9, atol=1e-9)
