"""What is known of the coefficients, and band shrinkage, band by band."""

from __future__ import annotations

import numpy as np
import pytest
from support.fourier_coefficients import noisy_block

from ldpsql.decoders.fourier.projection import Block, Layout
from ldpsql.decoders.fourier.smoothing import SmoothingProblem, bands, shrink
from ldpsql.workload import spectrum


def problem(workload, information=None):
    shape = workload.shape
    known = np.ones(shape) if information is None else information
    block = Block(tuple(range(workload.ndim)), np.zeros(shape, complex), known, workload, shape)
    return SmoothingProblem([block], 1000)


def ranges(*sizes):
    workload = np.ones(())
    for size in sizes:
        workload = np.multiply.outer(workload, spectrum("range", size, size))
    return workload


@pytest.mark.parametrize("sizes", [(16,), (64, 64), (125, 125), (48, 48, 48)])
def test_ranges_leave_no_frequency_out_whatever_the_number_of_people_weighs(sizes):
    workload = ranges(*sizes)
    assert not problem(workload).has_gaps
    workload.flat[0] = 0.0
    assert not problem(workload).has_gaps


def test_windows_of_half_the_codes_leave_frequencies_out():
    window = np.zeros(16)
    window[:8] = 1.0
    assert problem(np.abs(np.fft.fft(window)) ** 2).has_gaps


def test_what_is_not_observed_is_no_gap():
    workload = ranges(8, 8)
    workload[3, :] = workload[5, :] = 0.0
    assert problem(workload).has_gaps
    known = np.ones((8, 8))
    known[3, :] = known[5, :] = 0.0
    assert not problem(workload, known).has_gaps


def layout_of(*orders):
    return Layout([noisy_block(np.ones(orders), 1.0, np.random.default_rng(0))])


def test_bands_are_products_of_octaves():
    layout = layout_of(16, 2)
    octave = {0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 3, 7: 3, 8: 4}
    expected = [
        (octave[min(f, 16 - f)], octave[min(s, 2 - s)]) for f, s in layout.frequencies.tolist()
    ]
    found = bands(layout)
    assert len(set(zip(found.tolist(), expected, strict=True))) == len(set(expected)) == 10
    assert len(set(found.tolist())) == 10


def test_a_band_of_noise_is_shrunk_by_james_and_stein():
    layout = layout_of(16)
    noise = np.where(layout.frequencies[:, 0] == 0, 0.0, 2.0)
    vectors = np.full((2, len(noise)), 3.0 + 4.0j)
    vectors[1] *= 0.01
    found = shrink(vectors, noise, layout, significant_stay=False)
    octave = (layout.frequencies[:, 0] >= 4) & (layout.frequencies[:, 0] <= 7)
    # Four frequencies count eight real numbers: z = 8 x 25 / 2 = 100.
    assert found[0, octave] == pytest.approx(vectors[0, octave] * (1.0 - 6.0 / 100.0))
    assert not found[1, octave].any()


def test_small_exact_and_unobserved_coefficients_are_left_alone():
    layout = layout_of(16)
    frequency = layout.frequencies[:, 0]
    noise = np.where(frequency == 0, 0.0, np.where(frequency == 5, np.inf, 1e9))
    vectors = np.ones((1, len(noise)), dtype=complex)
    found = shrink(vectors, noise, layout, significant_stay=False)[0]
    for alone in (0, 1, 5, 8):  # people, the bands {1} and {8}, an unobserved one
        assert found[frequency == alone] == 1.0
    assert found[frequency == 6] == 0.0


def test_a_significant_band_can_be_left_alone():
    layout = layout_of(16)
    noise = np.where(layout.frequencies[:, 0] == 0, 0.0, 2.0)
    strong = np.full((1, len(noise)), 3.0 + 4.0j)
    weak = strong * 0.3
    assert np.array_equal(shrink(strong, noise, layout, significant_stay=True), strong)
    shrunk = shrink(weak, noise, layout, significant_stay=True)
    assert np.abs(shrunk[0, 6]) < np.abs(weak[0, 6])


def test_shrinkage_lowers_the_error_of_noise():
    layout = layout_of(64)
    random = np.random.default_rng(8)
    table = np.exp(-((np.arange(64) - 30) ** 2) / 60.0) * 1000
    block = noisy_block(table, 1.0, random)
    noise = table.sum() / block.information[tuple(layout.frequencies.T)]
    noise[0] = 0.0
    truth = layout.vectors([table[None, None]])[0]
    observed = block.spectrum[tuple(layout.frequencies.T)][None, :]
    found = shrink(observed, noise, layout, significant_stay=False)[0]
    weight = layout.multiplicity
    assert (weight * np.abs(found - truth) ** 2).sum() < 0.5 * (
        weight * np.abs(observed[0] - truth) ** 2
    ).sum()
