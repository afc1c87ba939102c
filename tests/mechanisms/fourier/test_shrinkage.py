"""What is known of the coefficients, and their shrinkage."""

from __future__ import annotations

import numpy as np
import pytest
from support.fourier_coefficients import noisy_block, range_spectrum

from ldpsql.mechanisms.fourier.projection import Block
from ldpsql.mechanisms.fourier.smoothing import SmoothingProblem


def problem(workload, information=None):
    shape = workload.shape
    known = np.ones(shape) if information is None else information
    block = Block(tuple(range(workload.ndim)), np.zeros(shape, complex), known, workload, shape)
    return SmoothingProblem([block], 1000)


@pytest.mark.parametrize("sizes", [(16,), (64, 64), (125, 125), (48, 48, 48)])
def test_ranges_leave_no_frequency_out_whatever_the_number_of_people_weighs(sizes):
    workload = range_spectrum(sizes)
    assert not problem(workload).has_gaps
    workload.flat[0] = 0.0
    assert not problem(workload).has_gaps


def test_windows_of_half_the_codes_leave_frequencies_out():
    window = np.zeros(16)
    window[:8] = 1.0
    assert problem(np.abs(np.fft.fft(window)) ** 2).has_gaps


def test_what_is_not_observed_is_no_gap():
    workload = range_spectrum((8, 8))
    workload[3, :] = workload[5, :] = 0.0
    assert problem(workload).has_gaps
    known = np.ones((8, 8))
    known[3, :] = known[5, :] = 0.0
    assert not problem(workload, known).has_gaps


def problem_of(*orders, people=1000):
    return SmoothingProblem([noisy_block(np.ones(orders), 1.0, np.random.default_rng(0))], people)


def test_what_is_mostly_noise_is_shrunk_most():
    """A smooth table keeps its low frequencies, and hardly any of the high ones."""
    table = np.exp(-((np.arange(64) - 30) ** 2) / 60.0) * 1000
    block = noisy_block(table, 1.0, np.random.default_rng(8))
    own = SmoothingProblem([block], table.sum())
    factor = (own.shrink(own.observed[None, :], own.noise)[0] / own.observed).real
    frequency = own.layout.frequencies[:, 0]
    assert factor[frequency == 1] > 0.9
    assert factor[frequency > 20].max() < 0.2
    assert ((factor >= 0.0) & (factor <= 1.0)).all()


def test_exact_and_unobserved_coefficients_are_left_alone():
    own = problem_of(16)
    frequency = own.layout.frequencies[:, 0]
    noise = np.where(frequency == 0, 0.0, np.where(frequency == 5, np.inf, 1e9))
    vectors = np.ones((1, len(noise)), dtype=complex)
    found = own.shrink(vectors, noise)[0]
    for alone in (0, 5):  # people, an unobserved one
        assert found[frequency == alone] == 1.0
    assert np.abs(found[frequency == 6]) < 0.1


def test_a_significant_band_can_be_left_alone():
    own = problem_of(16)
    noise = np.where(own.layout.frequencies[:, 0] == 0, 0.0, 2.0)
    strong = np.full((1, len(noise)), 3.0 + 4.0j)
    weak = strong * 0.3
    assert np.array_equal(own.shrink(strong, noise, significant_stay=True), strong)
    shrunk = own.shrink(weak, noise, significant_stay=True)
    assert np.abs(shrunk[0, 6]) < np.abs(weak[0, 6])


def test_independent_attributes_are_products_of_margins():
    """Without noise: the prior of a product is that product."""
    x, y = np.array([0.1, 0.2, 0.7, 0.0]), np.array([0.5, 0.2, 0.3])
    table = 1000.0 * np.outer(x, y)
    block = noisy_block(table, 1.0, np.random.default_rng(1))
    own = SmoothingProblem([block], 1000)
    truth = own.layout.vectors([table[None, None]])
    found = own._independent(truth, np.where(own.noise > 0.0, 1e-12, 0.0))
    np.testing.assert_allclose(found, truth, atol=1e-6)
