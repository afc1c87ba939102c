"""The shared numerical methods against closed forms, exact sums and their own promises."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import comb, sqrt
from statistics import NormalDist

import numpy as np
import pytest

from ldpsql.algebra.numerics import (
    bound_probability,
    central_slopes,
    distinct,
    epsilon_of,
    fit_marginals,
    number_rows,
    optimise_weights,
    project_on_simplex,
    shared_quantile,
    step_weights,
    weigh_by_precision,
)
from ldpsql_device.epsilon import Epsilon

# -- projection on the simplex --------------------------------------------------------------------


def by_sorting(values, total):
    """The textbook projection of one row."""
    falling = np.sort(values)[::-1]
    level = (falling.cumsum() - total) / np.arange(1, len(values) + 1)
    return np.maximum(values - level[np.flatnonzero(falling > level)[-1]], 0.0)


@pytest.mark.parametrize(
    ("values", "nearest"),
    [
        ([3.0, 1.0], [3.0, 1.0]),
        ([5.0, 1.0], [4.0, 0.0]),
        ([5.0, -1.0], [4.0, 0.0]),
        ([2.0, 2.0, 3.0], [1.0, 1.0, 2.0]),
        ([-9.0, -9.0], [2.0, 2.0]),
        ([7.0], [4.0]),
    ],
)
def test_the_nearest_point_of_the_simplex(values, nearest):
    assert project_on_simplex(np.array(values), 4.0).tolist() == pytest.approx(nearest)


@pytest.mark.parametrize("guess", [None, -1e6, 0.0, 1e6])
def test_the_projection_is_the_textbooks_from_any_first_level(guess):
    rows = np.random.default_rng(5).normal(0, 30, (6, 40))
    rows[0] = 7.0
    rows[1, 3] = 1e9
    level = None if guess is None else np.full(6, guess)
    found = project_on_simplex(rows, 100.0, level=level)
    for row, result in zip(rows, found, strict=True):
        assert result == pytest.approx(by_sorting(row, 100.0), abs=1e-6)
    if level is not None:
        again = project_on_simplex(rows, 100.0, level=level)
        assert again == pytest.approx(found, abs=1e-6)
        assert np.maximum(rows - level[:, None], 0.0) == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e8, 1e16])
def test_the_projection_ends_where_rounding_hides_the_total(scale):
    values = scale * np.random.default_rng(8).normal(size=(20, 300))
    found = project_on_simplex(values, 1.0)
    assert found.min() >= 0.0
    assert found.sum(axis=1) == pytest.approx(np.ones(20), abs=1e-12 * scale + 1e-12)


def test_a_projection_with_variances_is_the_nearest_point_in_their_metric():
    random = np.random.default_rng(1)
    values, variances = random.normal(0.1, 0.2, 12), random.uniform(0.5, 2.0, 12)
    found = project_on_simplex(values, variances=variances)
    assert found.min() == 0.0
    assert found.sum() == pytest.approx(1.0, abs=1e-12)

    def far(point):
        return float(((point - values) ** 2 / variances).sum())

    others = random.dirichlet(np.full(12, 0.3), 2000)
    near = 0.99 * found + 0.01 * others
    assert min(map(far, [*others, *near])) > far(found)
    assert far(project_on_simplex(values)) > far(found)


# -- proportional fitting -------------------------------------------------------------------------


def test_independent_margins_fit_to_their_product():
    left, right = np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])
    found = fit_marginals(np.full((2, 3), 1 / 6), [((0,), left), ((1,), right)])
    assert found == pytest.approx(np.outer(left, right))


def test_a_fitted_table_has_its_marginals_and_no_interaction_beyond_them():
    """Three pairs of axes of a table without a triple interaction give that table back."""
    random = np.random.default_rng(2)
    pairs = [np.exp(random.normal(size=(2, 3))), np.exp(random.normal(size=(3, 2)))]
    across = np.exp(random.normal(size=(2, 2)))
    table = np.einsum("ij,jk,ik->ijk", *pairs, across)
    table /= table.sum()
    marginals = [
        ((0, 1), table.sum(axis=2)),
        ((1, 2), table.sum(axis=0)),
        ((0, 2), table.sum(axis=1)),
    ]
    assert fit_marginals(np.full(table.shape, 1 / 12), marginals) == pytest.approx(table, abs=1e-8)
    lopsided = fit_marginals(random.uniform(0.1, 1, table.shape), marginals)
    assert np.abs(lopsided - table).max() > 1e-3


def test_cells_of_an_empty_marginal_are_empty():
    found = fit_marginals(np.full((2, 2), 0.25), [((0,), np.array([0.0, 1.0]))])
    assert found.tolist() == [[0.0, 0.0], [0.5, 0.5]]


# -- slopes, precision ----------------------------------------------------------------------------


def test_slopes_of_a_polynomial():
    found = central_slopes(lambda x: float(x[0] ** 2 * x[1] + 3 * x[2]), np.array([2.0, 5.0, 1.0]))
    assert found == pytest.approx([20.0, 4.0, 3.0], abs=1e-7)


def test_weights_by_precision():
    assert weigh_by_precision(np.array([1.0, 3.0])) == pytest.approx([0.75, 0.25])
    assert weigh_by_precision(np.array([2.0, np.inf])) == pytest.approx([1.0, 0.0])
    assert weigh_by_precision(np.array([np.inf, np.inf])) is None
    assert weigh_by_precision(np.array([])) is None


@pytest.mark.parametrize("tiny", [0.0, 5e-324, 1e-300])
def test_many_answers_that_are_as_good_as_exact_share_the_weight(tiny):
    """Added up as they are, precisions of five of them overflow."""
    found = weigh_by_precision(np.array([tiny] * 5 + [1.0]))
    assert found is not None
    assert found == pytest.approx([0.2] * 5 + [0.0])


# -- multiplicative designs -----------------------------------------------------------------------


def gains_of(rates, loads):
    """F = sum over c of loads_c / (weights @ rates)_c."""

    def gains(weights):
        information = weights @ rates
        return rates @ (loads / information**2), float((loads / information).sum())

    return gains


def test_separate_loads_get_shares_by_their_roots():
    loads = np.array([1.0, 4.0, 9.0])
    start = np.full(3, 1 / 3)
    found = optimise_weights(gains_of(np.eye(3), loads), start, steps=100, gap=1e-9)
    assert found == pytest.approx(np.sqrt(loads) / 6.0, rel=1e-4)


@pytest.mark.parametrize("stall", [0.0, 1e-7])
def test_no_gain_exceeds_the_objective_at_the_optimum(stall):
    random = np.random.default_rng(3)
    gains = gains_of(random.uniform(0, 1, (30, 8)), random.uniform(0, 1, 8))
    start = np.full(30, 1 / 30)
    found = optimise_weights(gains, start, steps=5000, gap=1e-4, stall=stall)
    gain, objective = gains(found)
    assert found.sum() == pytest.approx(1.0)
    assert gain.max() <= objective * (1 + 1e-4)
    assert objective < gains(start)[1]


def test_a_step_with_power_one_half_never_raises_the_objective():
    random = np.random.default_rng(4)
    for _ in range(50):
        gains = gains_of(random.exponential(1, (6, 4)) ** 3, random.exponential(1, 4))
        weights = random.dirichlet(np.ones(6))
        gain, objective = gains(weights)
        assert gains(step_weights(weights, gain))[1] <= objective * (1 + 1e-12)


# -- tails ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0, 0.1684),
        (1, 29, 9e-4, 0.1776),
    ],
)
def test_published_95_percent_intervals(successes, trials, low, high):
    """Newcombe, Statistics in Medicine 17 (1998), table I, method 5."""
    found = bound_probability(successes, trials, 0.025)
    assert found == pytest.approx((low, high), abs=6e-5)


def tail(successes, trials, p):
    """Exactly, the probability of at least so many successes."""
    p = Fraction(p)
    terms = (comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(successes, trials + 1))
    return float(sum(terms))


@pytest.mark.parametrize("alpha", [0.05, 1e-6])
@pytest.mark.parametrize("trials", [1, 2, 17, 60])
def test_the_bounds_are_where_the_exact_sums_have_the_level(trials, alpha):
    for successes in range(1, trials + 1):
        low, _ = bound_probability(successes, trials, alpha)
        assert tail(successes, trials, low) == pytest.approx(alpha, rel=1e-9)
        _, high = bound_probability(trials - successes, trials, alpha)
        assert tail(successes, trials, 1 - Fraction(high)) == pytest.approx(alpha, rel=1e-9)


def test_no_success_and_no_failure_have_closed_forms():
    assert bound_probability(0, 100, 1e-6)[0] == 0.0
    assert bound_probability(100, 100, 1e-6)[1] == 1.0
    known = 1e-6 ** (1 / 10**6)
    assert bound_probability(0, 10**6, 1e-6)[1] == pytest.approx(1.0 - known, rel=1e-9)
    assert bound_probability(10**6, 10**6, 1e-6)[0] == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 1e-6])
def test_the_bounds_of_many_trials(alpha):
    """Within a hundredth of their distance from the normal approximation's."""
    z = {0.05: 1.6448536, 1e-6: 4.7534243}[alpha]
    spread = sqrt(0.3 * 0.7 / 1e6)
    low, high = bound_probability(300_000, 1_000_000, alpha)
    assert low == pytest.approx(0.3 - z * spread, abs=0.01 * z * spread)
    assert high == pytest.approx(0.3 + z * spread, abs=0.01 * z * spread)


def test_a_bound_is_wrong_no_more_often_than_it_says():
    """Over all outcomes of 40 trials."""
    trials, alpha = 40, 0.02
    for p in (0.03, 0.2, 0.5, 0.77):
        chances = [comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
        bounds = [bound_probability(k, trials, alpha)[0] for k in range(trials + 1)]
        wrong = sum(chance for chance, bound in zip(chances, bounds, strict=True) if bound > p)
        assert wrong <= alpha


# -- logarithm of odds ----------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["0.001", "0.5", "1", "2", "7.25", "20"])
def test_the_epsilon_of_odds_is_rounded_up(given: str) -> None:
    """To 12 decimals: the odds of an epsilon give it back, a little more than them gives more."""
    odds = Epsilon.parse(given).odds
    assert epsilon_of(odds) == Decimal(given)
    assert epsilon_of(odds * (1 + Fraction(1, 10**30))) == Decimal(given) + Decimal("1e-12")
    assert epsilon_of(odds * (1 - Fraction(1, 10**13))) == Decimal(given)


def test_equal_chances_have_epsilon_0() -> None:
    """Nothing is told."""
    assert epsilon_of(Fraction(1)) == 0
    assert epsilon_of(Fraction(2)) == Decimal("0.693147180560")
    assert epsilon_of(Fraction(2**64 - 1)) == Decimal("44.361419555837")


# -- tests that share an error --------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.999])
def test_tests_of_the_same_number_are_two_sided_and_independent_ones_one_sided(level) -> None:
    normal = NormalDist()
    same, apart = shared_quantile(np.array([1.0, 0.0]), level)
    assert same == pytest.approx(normal.inv_cdf(0.5 + level / 2.0), abs=1e-4)
    assert apart == pytest.approx(normal.inv_cdf(level), abs=1e-4)


def test_the_more_two_numbers_agree_the_more_they_share() -> None:
    found = shared_quantile(np.linspace(-1.0, 1.0, 200), 0.95)
    assert (np.diff(found) >= 0.0).all()


@pytest.mark.parametrize("correlation", [0.3, 0.8, 0.9, 0.99])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_neither_errs_too_often_wherever_the_means_are(correlation, level) -> None:
    """Against simulation: at the worst means the error is near what it may be, and never more."""
    (z,) = shared_quantile(np.array([correlation]), level)
    draws = 400_000
    covariance = [[1.0, correlation], [correlation, 1.0]]
    x, y = np.random.default_rng(2).multivariate_normal([0.0, 0.0], covariance, draws).T
    worst = 0.0
    for below in (0.0, 0.5, 1.0, 1.5, 3.0, 9.0):
        for above in (0.0, 1.0, 3.0):
            low, high = x - below, y + above
            is_wrong = ((low < -z) & (high < -z)) | ((low > z) & (high > z))
            worst = max(worst, is_wrong.mean())
    error = 5.0 * sqrt(level * (1.0 - level) / draws)
    assert 1.0 - level - 0.005 < worst < 1.0 - level + error


@pytest.mark.parametrize("sizes", [(3, 4, 5), (1 << 31, 7, 1 << 31, 3)])
def test_numbers_of_rows_are_equal_and_ordered_as_rows_are(sizes: tuple[int, ...]) -> None:
    """Where one number holds them all, and where it does not."""
    random = np.random.default_rng(3)
    few = [np.array([0, size - 1, size // 2]) for size in sizes]
    rows = np.stack([random.choice(own, 400) for own in few], axis=1).astype(np.int64)
    numbers = number_rows(rows, sizes)
    expected = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    np.testing.assert_array_equal(np.unique(numbers, return_inverse=True)[1].reshape(-1), expected)


@pytest.mark.parametrize("numbers", [[], [3], [5, 0, 5, 2, 2]])
def test_different_numbers_are_those_of_a_set(numbers: list[int]) -> None:
    assert distinct(numbers).tolist() == sorted(set(numbers))
