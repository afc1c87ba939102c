"""Published oracles for many values keep their laws, epsilons and variances."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from benchmarks.field.points import (
    ModularSubsetSelection,
    Oracle,
    ProjectiveGeometry,
    Sets,
    SubsetSelection,
)

EPSILONS = (0.5, 1.0, 2.0)
# Some 1,000 counts are looked at, each beyond 6 of its standard errors with probability 2e-9.
FAR = 6.0


def law_of_plane(oracle: ProjectiveGeometry, value: int) -> dict[int, float]:
    """From the definition: a unit for every point, e^epsilon of them where <u, x> = 0."""
    shape = (oracle.field,) * oracle.places
    own = oracle.vectors[value]
    points = [u for u in np.ndindex(*shape) if any(u) and next(d for d in u if d) == 1]
    units = [math.exp(oracle.epsilon) ** (int(np.dot(u, own)) % oracle.field == 0) for u in points]
    numbers = [int(np.ravel_multi_index(u, shape)) for u in points]
    return dict(zip(numbers, np.array(units) / sum(units), strict=True))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_points_of_a_projective_space_follow_their_law(epsilon: float) -> None:
    oracle, random = ProjectiveGeometry(20, epsilon), np.random.default_rng(1)
    laws = [law_of_plane(oracle, value) for value in range(20)]
    assert len(laws[0]) == oracle.points
    odds = max(max(law[u] for law in laws) / min(law[u] for law in laws) for u in laws[0])
    assert odds == pytest.approx(math.exp(epsilon))
    people = 200_000
    for value in (0, 7, 19):
        drawn = np.bincount(oracle.draw(np.full(people, value), random))
        for report, share in laws[value].items():
            spread = math.sqrt(people * share * (1.0 - share))
            assert abs(drawn[report] - people * share) < FAR * spread
    best = sum(max(law[u] for law in laws) for u in laws[0]) / 20
    assert best <= oracle.reconstruction * (1.0 + 1e-12)
    assert best > 0.9 * oracle.reconstruction


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_subsets_follow_their_law(epsilon: float) -> None:
    oracle, random, people = SubsetSelection(9, epsilon), np.random.default_rng(2), 200_000
    sets = list(combinations(range(9), oracle.size))
    units = np.array([math.exp(epsilon) if 4 in one else 1.0 for one in sets])
    drawn = np.sort(oracle.draw(np.full(people, 4), random), axis=1)
    found = np.unique(drawn @ 10 ** np.arange(oracle.size)[::-1], return_counts=True)
    counts = dict(zip(*(each.tolist() for each in found), strict=True))
    for one, share in zip(sets, units / units.sum(), strict=True):
        number = int("".join(map(str, one)))
        spread = math.sqrt(people * share * (1.0 - share))
        assert abs(counts.get(number, 0) - people * share) < FAR * spread
    assert len(sets) * math.exp(epsilon) / units.sum() / 9 == pytest.approx(oracle.reconstruction)


def measured(oracle: Oracle, people: int, runs: int, shares: np.ndarray) -> tuple[float, float]:
    """Mean squared error of a value's share times people, with its standard error over runs; the
    largest distance of a mean estimate from the truth in standard errors is checked."""
    random, found = np.random.default_rng(5), []
    counts = random.multinomial(people, shares)
    values, true = np.repeat(np.arange(oracle.k), counts), counts / people
    for _ in range(runs):
        found.append(oracle.estimate(oracle.draw(values, random)))
    away = np.array(found) - true
    bias = np.abs(away.mean(axis=0)) / (away.std(axis=0) / math.sqrt(runs))
    assert bias.max() < 7.0
    errors = people * np.square(away).mean(axis=1)
    return float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(runs))


@pytest.mark.fast(2)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", [SubsetSelection, ProjectiveGeometry])
def test_errors_are_those_of_the_formula(kind: type[Sets], epsilon: float) -> None:
    """The people are the same every time, so what varies is p (1 - p) and q (1 - q) alone."""
    oracle = kind(40, epsilon)  # type: ignore[call-arg]
    shares = 1.0 / np.arange(1, 41)
    shares /= shares.sum()
    error, stderr = measured(oracle, 3_000, 120, shares)
    expected = float(oracle.variance(shares).mean())
    assert abs(error - expected) < 5.5 * stderr
    # The negative control: the variance of a mechanism for a larger epsilon.
    other = kind(40, 1.2 * epsilon)  # type: ignore[call-arg]
    assert abs(error - float(other.variance(shares).mean())) > 5.5 * stderr


@pytest.mark.fast(1)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_residues_give_unbiased_shares(epsilon: float) -> None:
    oracle = ModularSubsetSelection.spread(60, epsilon)
    assert all(math.gcd(*pair) == 1 for pair in combinations(oracle.moduli, 2))
    shares = np.full(60, 1.0 / 60)
    error, stderr = measured(oracle, 3_000, 80, shares)
    assert error == pytest.approx(oracle.expected_variance, rel=0.25)
    least = float(SubsetSelection(60, epsilon).variance(shares).mean())
    assert error + 6 * stderr > least
    assert oracle.reconstruction < SubsetSelection(60, epsilon).reconstruction * 1.2


def test_many_values_need_many_points() -> None:
    """What the paper states: q = 3 for epsilon 1, and (3^10 - 1) / 2 points for 20,000 values."""
    oracle = ProjectiveGeometry(20_000, 1.0)
    assert (oracle.field, oracle.places, oracle.points) == (3, 10, 29_524)
    assert len(np.unique(oracle.vectors, axis=0)) == 20_000
    optimal = 4.0 * math.e / (math.e - 1.0) ** 2
    assert float(oracle.variance(np.zeros(1))[0]) == pytest.approx(optimal, rel=0.03)
