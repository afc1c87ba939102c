"""The linear estimator: joint covariances of few reports, and merged entries."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from support.histograms import histogram_of

from ldpsql.algebra.boxes import Box, LinearQuery
from ldpsql.algebra.record_domain import RecordDomain
from ldpsql.estimators import linear
from ldpsql.estimators.base import make_estimator
from ldpsql.estimators.linear import limit_jointly, merge_entries
from ldpsql.mechanisms.registry import mechanism
from ldpsql_device.epsilon import Epsilon
from ldpsql_lab.simulation import SeededEntropy

LINE = RecordDomain(("x",), (4,), (), (), ())


def smallest_variance(name: str, options: dict[str, Any]) -> float:
    """Of all differences of two counts over 150 surveys of 5 to 20 people, in people^2 per person;
    counts that nobody could answer are left out."""
    design = mechanism(name).design(LINE, Epsilon.parse("4"), options)
    planned = [design.prepare(LinearQuery.count(Box((((k, k + 1),),)))) for k in range(4)]
    least = np.inf
    for seed in range(150):
        people = (5, 10, 20)[seed % 3]
        codes = np.random.default_rng(seed).integers(0, 4, (people, 1)) * (seed % 2)
        histogram = histogram_of(design.randomize(codes, SeededEntropy(seed)))
        covariance = make_estimator(design, histogram).answer(planned).covariance
        for i, j in combinations(range(4), 2):
            if np.isfinite(covariance[[i, j], [i, j]]).all():
                spread = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
                least = min(least, spread / people)
    return float(least)


CASES = [("hh", {"fanout": 2, "oracle": "hrr"}), ("haarhrr", {})]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_difference_of_counts_of_few_reports_has_an_error(
    name: str, options: dict[str, Any]
) -> None:
    """The joint covariance is positive semidefinite, and leaves the noise in every difference."""
    assert smallest_variance(name, options) > 1e-6


def test_means_limited_one_by_one_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: without the joint limit some difference has no error at all."""
    monkeypatch.setattr(linear, "limit_jointly", lambda means, second: means)
    assert smallest_variance("haarhrr", {}) <= 0.0


def test_means_are_limited_by_their_second_moments() -> None:
    """Scaled until m m' <= S, and left alone where that holds."""
    second = np.array([[1.0, 0.8], [0.8, 1.0]])
    beyond = limit_jointly(np.array([0.9, -0.9]), second)
    assert np.linalg.eigvalsh(second - np.outer(beyond, beyond)).min() > -1e-12
    assert beyond[0] == -beyond[1] > 0
    within = np.array([0.5, 0.6])
    assert limit_jointly(within, second) is within


def test_entries_of_a_query_add_up_at_every_node() -> None:
    """Queries in ascending order, nodes each once."""
    entries = [
        (4, np.array([3, 1]), np.array([1.0, 2.0])),
        (2, np.array([1]), np.array([5.0])),
        (4, np.array([1]), np.array([10.0])),
    ]
    nodes, weights = merge_entries(entries, np.array([2, 4]))
    assert nodes.tolist() == [1, 3]
    assert weights.tolist() == [[5.0, 0.0], [12.0, 1.0]]
