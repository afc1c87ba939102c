"""From noisy tables to possible ones."""

from __future__ import annotations

import numpy as np
import pytest
from support.significance import normal_bound

from ldpsql.synthesis.consistency import (
    NoisyShares,
    average,
    denoise_dependence,
    denoise_interaction,
    fit_to_marginals,
    mutual_information,
    nearest_shares,
    shrink_singular_values,
    shrink_to_even,
)


def even(shares: np.ndarray, variance: float) -> NoisyShares:
    return NoisyShares(shares, np.full(shares.shape, variance))


def test_the_simplex_projection_is_the_nearest_point() -> None:
    """No other point of the simplex is nearer, in the metric of the precisions."""
    random = np.random.default_rng(1)
    shares, variances = random.normal(0.1, 0.2, 12), random.uniform(0.5, 2.0, 12)
    found = nearest_shares(NoisyShares(shares, variances))
    assert found.min() == 0.0
    assert found.sum() == pytest.approx(1.0, abs=1e-12)

    def far(point: np.ndarray) -> float:
        return float(((point - shares) ** 2 / variances).sum())

    others = random.dirichlet(np.full(12, 0.3), 2000)
    near = 0.99 * found + 0.01 * others
    assert min(map(far, [*others, *near])) > far(found)
    assert far(np.maximum(shares, 0) / np.maximum(shares, 0).sum()) > far(found)


def test_exact_shares_stay_and_the_others_share_the_rest() -> None:
    noisy = NoisyShares(np.array([0.5, -0.2, 0.9]), np.array([0.0, 1.0, 1.0]))
    assert nearest_shares(noisy) == pytest.approx([0.5, 0.0, 0.5])
    assert nearest_shares(even(np.array([0.25, 0.75]), 0.0)) == pytest.approx([0.25, 0.75])


def test_averages_weigh_by_precision() -> None:
    first, second = even(np.array([0.2, 0.8]), 1.0), even(np.array([0.5, 0.5]), 3.0)
    both = average([first, second])
    assert both.shares == pytest.approx([0.275, 0.725])
    assert both.variances == pytest.approx([0.75, 0.75])
    exact = even(np.array([0.4, 0.6]), 0.0)
    only = average([first, exact, second])
    assert (only.shares == exact.shares).all()
    assert (only.variances == exact.variances).all()


@pytest.mark.parametrize("spread", [0.0, 0.02, 0.1])
def test_calmed_shares_are_nearer_to_the_truth(spread: float) -> None:
    """On average over the noise, however far the truth is from even; much nearer where it is."""
    random = np.random.default_rng(7)
    truth = 0.1 + spread * np.linspace(-1, 1, 10)
    draws = truth + random.normal(0.0, 0.03, (2000, 10))
    raw = ((draws - truth) ** 2).sum(axis=1)
    calm = np.array([shrink_to_even(even(draw, 0.03**2)).shares for draw in draws])
    gain = raw - ((calm - truth) ** 2).sum(axis=1)
    assert gain.mean() > normal_bound() * gain.std() / np.sqrt(len(gain))
    if spread == 0.0:
        assert gain.mean() > 0.7 * raw.mean()


def test_exact_shares_are_not_calmed() -> None:
    exact = even(np.array([0.1, 0.2, 0.7, 0.0]), 0.0)
    assert shrink_to_even(exact) is exact


def test_without_noise_a_dependence_is_kept_as_it_is() -> None:
    table = np.random.default_rng(2).dirichlet(np.ones(12)).reshape(3, 4)
    left, right = table.sum(axis=1), table.sum(axis=0)
    found = denoise_dependence(even(table, 0.0), left, right)
    assert found is not None
    assert np.outer(left, right) + found == pytest.approx(table, abs=1e-12)


def test_a_dependence_is_told_from_noise() -> None:
    """Independent columns are rarely linked, dependent ones always; shrinking lowers the error."""
    random = np.random.default_rng(3)
    left, right = random.dirichlet(np.full(10, 5.0)), random.dirichlet(np.full(8, 5.0))
    independent, noise, runs = np.outer(left, right), 0.004, 400
    signal = 0.012 * np.outer(np.linspace(-1, 1, 10), np.linspace(-1, 1, 8))
    # Its only singular value, 0.045, is twice the largest that noise has: 0.004 (3 + sqrt 7).
    linked, raw, kept = 0, 0.0, 0.0
    for _ in range(runs):
        draw = random.normal(0.0, noise, independent.shape)
        linked += denoise_dependence(even(independent + draw, noise**2), left, right) is not None
        found = denoise_dependence(even(independent + signal + draw, noise**2), left, right)
        assert found is not None
        assert found.sum(axis=0) == pytest.approx(np.zeros(8), abs=1e-12)
        raw += float((draw**2).sum())
        kept += float(((found - signal) ** 2).sum())
    assert linked <= 4
    assert kept < raw / 2


def test_singular_values_lose_what_noise_adds() -> None:
    """The shrinker's threshold is the largest singular value of noise alone."""
    values = np.array([10.0, 3.1, 2.9, 0.1])
    found = shrink_singular_values(values, 0.5, (9, 9))
    assert found[0] == pytest.approx(np.sqrt(100 - 4 * 0.25 * 9))
    assert (found > 0).tolist() == [True, True, False, False]
    assert shrink_singular_values(values, 0.0, (9, 9)) == pytest.approx(values)


def test_an_interaction_has_no_margins_and_must_exceed_the_noise() -> None:
    random = np.random.default_rng(4)
    signs = np.einsum("i,j,k->ijk", [1.0, -1.0], [1.0, -1.0], np.array([1.0, -1.0, 0.0]))
    noise = random.normal(0.0, 0.01, signs.shape)
    found = denoise_interaction(even(0.1 * signs + noise + 0.05, 1e-4))
    assert found is not None
    for place in range(3):
        assert np.abs(found.sum(axis=place)).max() < 1e-12
    assert np.corrcoef(found.ravel(), signs.ravel())[0, 1] > 0.98
    assert denoise_interaction(even(noise + 0.05, 1e-4)) is None


def test_possible_tables_keep_their_margins_and_are_nowhere_negative() -> None:
    random = np.random.default_rng(5)
    left, right = random.dirichlet(np.ones(4)), random.dirichlet(np.ones(5))
    wild = np.outer(left, right) + random.normal(0, 0.05, (4, 5))
    assert wild.min() < 0
    found = fit_to_marginals(wild, [((0,), left), ((1,), right)])
    assert found.min() >= 0
    assert found.sum(axis=1) == pytest.approx(left, abs=1e-9)
    assert found.sum(axis=0) == pytest.approx(right, abs=1e-9)


def test_information_is_zero_for_independent_columns_only() -> None:
    assert mutual_information(np.outer([0.3, 0.7], [0.1, 0.9])) == pytest.approx(0.0, abs=1e-12)
    assert mutual_information(np.eye(4) / 4) == pytest.approx(np.log(4))


def test_noise_is_a_root_mean_square() -> None:
    random = np.random.default_rng(6)
    variances = random.uniform(1.0, 2.0, 1000)
    noisy = NoisyShares(random.normal(0.0, np.sqrt(variances)), variances)
    ratio = float((noisy.shares**2).mean()) / noisy.noise**2
    assert abs(ratio - 1.0) < normal_bound() * np.sqrt(2.2 / 1000)
