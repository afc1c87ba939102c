"""The power of frequencies: expected before reports, and fitted to them."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.mechanisms.fourier.prior import expected_power, fit_power

ORDERS = (32, 32)


def frequencies() -> np.ndarray:
    """All but the zero frequency of two circles."""
    return np.stack(np.indices(ORDERS), axis=-1).reshape(-1, 2)[1:]


def test_expected_power_falls_with_frequency_and_with_axes() -> None:
    asked = np.array([[1, 0], [3, 0], [29, 0], [0, 2], [1, 1], [2, 3]])
    found = expected_power(asked, ORDERS, (True, True))
    expected = [0.1, 0.1 / 9, 0.1 / 9, 0.1 / 4, 0.004, 0.004 / 36]
    np.testing.assert_allclose(found, expected)
    # Where an axis has no order, all its frequencies are alike.
    found = expected_power(asked, ORDERS, (False, True))
    np.testing.assert_allclose(found, [0.1, 0.1, 0.1, 0.1 / 4, 0.004, 0.004 / 9])


@pytest.mark.parametrize(("scale", "exponent"), [(0.2, -2.0), (1e-3, -1.0), (2.0, -3.0)])
def test_a_power_law_is_found_again(scale: float, exponent: float) -> None:
    """On the face of both axes, at any noise that leaves something of it."""
    random, asked = np.random.default_rng(5), frequencies()
    folded = np.minimum(asked, np.array(ORDERS) - asked)
    power = scale * np.prod(np.maximum(folded, 1.0) ** exponent, axis=1)
    noise = np.full(len(asked), 0.01 * np.median(power))
    energy = (power + noise) * random.exponential(size=len(asked))
    found = fit_power(energy, noise, np.full(len(asked), 2.0), asked, ORDERS, (True, True))
    both = (asked != 0).all(axis=1)
    away = np.log(found[both] / power[both])
    assert np.abs(away).max() < 0.6
    assert abs(away.mean()) < 0.15


def test_noise_alone_is_recognised() -> None:
    random, asked = np.random.default_rng(6), frequencies()
    noise = np.full(len(asked), 1.0)
    energy = random.exponential(size=len(asked))
    found = fit_power(energy, noise, np.full(len(asked), 2.0), asked, ORDERS, (True, True))
    both = (asked != 0).all(axis=1)
    assert np.median(found[both]) < 0.05


@pytest.mark.parametrize("sign", [1, -1])
def test_power_where_signs_differ_is_found(sign: int) -> None:
    """As attributes have it that rise together, or one against the other."""
    random, asked = np.random.default_rng(7), frequencies()
    folded = np.minimum(asked, np.array(ORDERS) - asked)
    sides = np.sign(np.array(ORDERS) - 2 * asked).prod(axis=1)
    power = 0.1 * np.prod(np.maximum(folded, 1.0) ** -2.0, axis=1) * np.exp(-2.0 * sign * sides)
    noise = np.full(len(asked), 1e-6)
    energy = (power + noise) * random.exponential(size=len(asked))
    found = fit_power(energy, noise, np.full(len(asked), 2.0), asked, ORDERS, (True, True))
    both = (asked != 0).all(axis=1)
    ratios = [np.log(found[both & (sides == side)]).mean() for side in (1, -1)]
    assert ratios[1] - ratios[0] == pytest.approx(4.0 * sign, abs=0.3)
    # A category's frequencies have no sign: no pair, and both sides alike.
    found = fit_power(energy, noise, np.full(len(asked), 2.0), asked, ORDERS, (True, False))
    both &= asked[:, 0] == 1
    np.testing.assert_allclose(found[both], found[both][0])


def test_a_flat_spectrum_far_above_the_prior_is_found() -> None:
    """That of one cell: the first steps from the prior have far to go."""
    asked = np.arange(1, 64)[:, None]
    energy, noise = np.ones(63), np.full(63, 1e-7)
    found = fit_power(energy, noise, np.full(63, 2.0), asked, (64,), (True,))
    np.testing.assert_allclose(np.log(found), 0.0, atol=0.7)
