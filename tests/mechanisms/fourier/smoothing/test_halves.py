"""Half spectra: what numpy.fft.fftn gives, rearranged, and back."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.mechanisms.fourier.smoothing.halves import HalfSpectra

ORDERS = [(8,), (7,), (2,), (1,), (6, 5), (5, 6), (2, 2), (5, 4, 2), (2, 4, 2, 3), (3, 2)]


@pytest.mark.parametrize("orders", ORDERS)
def test_forward_is_half_of_the_full_transform(orders):
    tables = np.random.default_rng(1).random((3, 2, *orders))
    spectra = HalfSpectra(orders)
    found = spectra.forward(tables)
    assert found.shape == (3, 2, *spectra.shape)
    for row, block in np.ndindex(3, 2):
        expected = spectra.picked(np.fft.fftn(tables[row, block]))
        assert np.allclose(found[row, block], expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("orders", ORDERS)
def test_backward_undoes_forward(orders):
    tables = np.random.default_rng(2).random((3, 2, *orders))
    spectra = HalfSpectra(orders)
    back = spectra.backward(spectra.forward(tables))
    assert np.allclose(back, tables, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("orders", ORDERS)
def test_the_half_holds_every_frequency_or_its_conjugate(orders):
    spectra = HalfSpectra(orders)
    columns = [spectra.picked(column).ravel() for column in np.indices(orders)]
    kept = set(zip(*(column.tolist() for column in columns), strict=True))
    for frequency in np.ndindex(orders):
        mirrored = tuple((m - f) % m for f, m in zip(frequency, orders, strict=True))
        assert frequency in kept or mirrored in kept
    largest = max(orders)
    halved = (largest // 2 + 1) / largest if largest != 2 else 1.0
    assert len(kept) == round(np.prod(orders) * halved)
