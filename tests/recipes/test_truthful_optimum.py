"""The closed form of the truthful optimum against the specification and a linear program."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

from ldpsql.recipes.truthful import truthful_optimum
from ldpsql_device.errors import SurveyError

SKEWED = [0.4, 0.3, 0.15, 0.1, 0.05]


def best_agreement(pi: np.ndarray, epsilon: float, delta: float) -> float:
    """The linear program: over all channels P whose sets of reports keep (epsilon, delta)."""
    n, odds = len(pi), math.exp(epsilon)
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    slacks = len(pairs) * n if delta else 0
    entries: list[tuple[int, int, float]] = []
    right: list[float] = []
    for number, (a, b) in enumerate(pairs):
        for j in range(n):
            row = len(right)
            entries += [(row, a * n + j, 1.0), (row, b * n + j, -odds)]
            if delta:
                entries.append((row, n * n + number * n + j, -1.0))
            right.append(0.0)
        if delta:
            entries += [(len(right), n * n + number * n + j, 1.0) for j in range(n)]
            right.append(delta)
    rows, columns, values = zip(*entries, strict=True)
    shape = (len(right), n * n + slacks)
    sums = [(i, i * n + j, 1.0) for i in range(n) for j in range(n)]
    own, places, ones = zip(*sums, strict=True)
    cost = np.zeros(n * n + slacks)
    cost[np.arange(n) * (n + 1)] = -pi
    found = linprog(
        cost,
        coo_array((values, (rows, columns)), shape).tocsr(),
        right,
        coo_array((ones, (own, places)), (n, n * n + slacks)).tocsr(),
        np.ones(n),
        method="highs",
    )
    assert found.status == 0
    return -float(found.fun)


def priors(count: int) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    return [
        random.dirichlet(np.full(int(n), 0.5 + random.random()))
        for n in random.integers(2, 8, count)
    ]


@pytest.mark.parametrize("delta", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_no_channel_agrees_more(epsilon, delta):
    for pi in [*priors(4), np.array(SKEWED)]:
        found = truthful_optimum(list(pi), epsilon, delta).agreement
        assert found == pytest.approx(best_agreement(pi, epsilon, delta), abs=1e-9)


def test_randomized_response_over_all_values_falls_short_on_a_skewed_prior():
    """The negative control: what the closed form would be with all values in the support."""
    odds = math.e
    everything = odds / (odds + 4)
    assert best_agreement(np.array(SKEWED), 1.0, 0.0) > everything + 0.05


def test_vectors_of_the_specification():
    found = truthful_optimum(SKEWED, 1)
    assert found.support == (0, 1)
    assert found.agreement == pytest.approx(0.5117410050, abs=1e-10)
    minority = truthful_optimum([0.2, 0.8], "0.1", 0.15)
    assert minority.support == (1,)
    assert minority.agreement == pytest.approx(0.83, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_two_values(epsilon):
    """Warner's response between 1/(E + 1) and E/(E + 1), the likelier value for everybody outside;
    at the ends both are as good."""
    odds = math.exp(epsilon)
    for share in (0.01, 0.5 / (odds + 1), 1.001 / (odds + 1), 0.5):
        found = truthful_optimum([share, 1 - share], epsilon)
        inside = share >= 1 / (odds + 1)
        assert len(found.support) == (2 if inside else 1)
        assert found.agreement == pytest.approx(odds / (odds + 1) if inside else 1 - share)
        both = truthful_optimum([1 - share, share], epsilon, 0.1)
        expected = (odds + 0.1) / (odds + 1) if inside else (1 - share) + 0.1 * share
        assert both.agreement == pytest.approx(expected)


def test_randomized_response_is_optimal_up_to_the_threshold():
    """Ten values, epsilon 1: as long as none has less than 1 / (E + 9)."""
    least = 1 / (math.e + 9)
    assert least == pytest.approx(0.0853367, abs=5e-8)
    for share, size in ((least * 1.0001, 10), (least * 0.9999, 9)):
        rest = (1 - share) / 9
        assert len(truthful_optimum([rest] * 9 + [share], 1).support) == size


@pytest.mark.parametrize("pi", [[], [0.5, 0.6], [1.5, -0.5], [float("nan"), 1.0], ["x"]])
def test_priors_that_are_none_are_refused(pi):
    with pytest.raises(SurveyError):
        truthful_optimum(pi, 1)


@pytest.mark.parametrize("delta", [-0.1, 1, float("inf")])
def test_deltas_that_are_none_are_refused(delta):
    with pytest.raises(SurveyError):
        truthful_optimum(SKEWED, 1, delta)
