"""Consistent inference and optimal allocation: vectors, dense least squares, statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.histograms import histogram_of
from support.significance import coverage_fits, is_unbiased, variance_fits
from support.tiers import keep_fast, runs

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.trees import AxisDetails, Tree, balance
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_device.errors import SurveyError
from ldpsql_lab.simulation import SeededEntropy

CONSISTENT = {"inference": "consistent"}


# -- details -----------------------------------------------------------------------------------


def test_energies_of_single_intervals() -> None:
    """docs/spec/h4mda.md#10.4, vector V1."""
    tree = Tree(4, (2, 2))
    assert AxisDetails(tree, ((1, 3),)).energies == pytest.approx([1, 0, 1])
    assert AxisDetails(tree, ((0, 1),)).energies == pytest.approx([0.25, 0.25, 0.5])


def test_details_are_orthogonal_projections_that_sum_to_the_indicator() -> None:
    """Summed over all levels, the details give each leaf its indicator back."""
    tree = balance(23, 3)
    axis = AxisDetails(tree, ((2, 9), (17, 20)))
    leaves = axis.sums[-1]
    indicator = np.zeros(23)
    indicator[2:9] = indicator[17:20] = 1
    assert leaves.sum(axis=0) == pytest.approx(indicator)
    assert axis.energies.sum() == pytest.approx(10)


# -- least squares -------------------------------------------------------------------------------


# -- statistics ------------------------------------------------------------------------------------

PEOPLE, RUNS = 3_000, runs(300)
SIGNED = RecordDomain(("x", "y"), (9, 4), ("x",), ((0.0, 8.0),), (0,))
OPTIONS = {"fanout": 3, "oracle": "auto", "allocation": "optimal", **CONSISTENT}


@pytest.fixture(scope="module", params=keep_fast(["ehio", "ahio", "hgrr"], ["ahio"]))
def simulated(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(values, covariances, truths) of a box, its halves and a SUM over many surveys."""
    options = {k: v for k, v in OPTIONS.items() if request.param != "hgrr" or k != "oracle"}
    design = mechanism(request.param).design(SIGNED, Epsilon.parse("1.5"), options)
    boxes = [Box((((1, 7),), ((1, 3),))), Box((((1, 4),), ((1, 3),))), Box((((4, 7),), ((1, 3),)))]
    asked = [LinearQuery.count(box) for box in boxes] + [LinearQuery.sum(0, boxes[0])]
    planned = [design.prepare(query) for query in asked]
    random = np.random.default_rng(5)
    x = np.minimum(random.geometric(0.3, PEOPLE) - 1, 8)
    y = (x + random.integers(0, 3, PEOPLE)) % 4
    values, covariances = [], []
    for seed in range(RUNS):
        signs = np.random.default_rng([seed, 1]).random(PEOPLE) < x / 8
        codes = np.stack([x, y, signs.astype(np.int64)], axis=1)
        answer = make_estimator(
            design, histogram_of(design.randomize(codes, SeededEntropy(seed)))
        ).answer(planned)
        values.append(answer.values)
        covariances.append(answer.covariance)
    inside = (y >= 1) & (y < 3)
    truths = [
        inside & (x >= 1) & (x < 7),
        inside & (x >= 1) & (x < 4),
        inside & (x >= 4) & (x < 7),
    ]
    exact = np.array([*(t.sum() for t in truths), x[truths[0]].sum()], dtype=float)
    return np.array(values), np.array(covariances), exact


def test_answers_agree_with_themselves(simulated: Any) -> None:
    """Children add up to their parent in every single run."""
    values, _, _ = simulated
    assert values[:, 0] == pytest.approx(values[:, 1] + values[:, 2], abs=1e-6)


def test_unbiased_with_honest_errors(simulated: Any) -> None:
    """Mean, spread and coverage of COUNT and SUM."""
    values, covariances, exact = simulated
    for column, truth in enumerate(exact):
        variances = covariances[:, column, column]
        assert is_unbiased(values[:, column], truth)
        assert variance_fits(values[:, column], variances.mean())
        assert not variance_fits(values[:, column], variances.mean() / 2)  # negative control
        inside = np.abs(values[:, column] - truth) <= 1.96 * np.sqrt(variances)
        assert coverage_fits(int(inside.sum()), RUNS)


def test_far_better_than_direct_answers() -> None:
    """Half boxes of 64 x 64 at epsilon 1: at most a sixth of direct HIO's variance.

    The allocation is made for all ranges over one or two dimensions, not for these boxes.
    """
    domain = RecordDomain(("x", "y"), (64, 64), (), (), ())
    options = {"fanout": 4, "oracle": "auto"}
    best = {**options, **CONSISTENT, "allocation": "optimal"}
    starts = np.random.default_rng(1).integers(0, 33, (30, 2)).tolist()
    queries = [LinearQuery.count(Box((((a, a + 32),), ((b, b + 32),)))) for a, b in starts]
    found = []
    for chosen in (best, {"fanout": 4}):
        design = mechanism("hio").design(domain, Epsilon.parse("1"), chosen)
        found.append(design.variance([design.prepare(q) for q in queries], 100_000).mean())
    assert found[0] < found[1] / 6


# -- allocation ------------------------------------------------------------------------------------


def test_too_large_a_decode_is_refused() -> None:
    """Consistent inference touches every node."""
    domain = RecordDomain(("x", "y"), (512, 512), (), (), ())
    with pytest.raises(SurveyError, match="decodes every node"):
        mechanism("hio").design(domain, Epsilon.parse("1"), CONSISTENT)
