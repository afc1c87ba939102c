"""Half spectra of real tables and back; the vector of shared coefficients.

Nothing is lost and nothing stands twice.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.fourier_coefficients import pair_blocks

from ldpsql.mechanisms.fourier.projection import Block, BlockShape, CoefficientLayout

ORDERS = [(8,), (7,), (2,), (1,), (6, 5), (5, 6), (2, 2), (5, 4, 2), (2, 4, 2, 3), (3, 2)]


@pytest.mark.parametrize("orders", ORDERS)
def test_forward_is_half_of_the_full_transform(orders):
    tables = np.random.default_rng(1).random((3, 2, *orders))
    spectra = BlockShape((0, 1), orders, orders)
    found = spectra.forward(tables)
    assert found.shape == (3, 2, *spectra.half)
    for row, block in np.ndindex(3, 2):
        expected = spectra.halve(np.fft.fftn(tables[row, block]))
        assert np.allclose(found[row, block], expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("orders", ORDERS)
def test_backward_undoes_forward(orders):
    tables = np.random.default_rng(2).random((3, 2, *orders))
    spectra = BlockShape((0, 1), orders, orders)
    back = spectra.backward(spectra.forward(tables))
    assert np.allclose(back, tables, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("orders", ORDERS)
def test_the_half_holds_every_frequency_or_its_conjugate(orders):
    spectra = BlockShape((0, 1), orders, orders)
    columns = [spectra.halve(column).ravel() for column in np.indices(orders)]
    kept = set(zip(*(column.tolist() for column in columns), strict=True))
    for frequency in np.ndindex(orders):
        mirrored = tuple((m - f) % m for f, m in zip(frequency, orders, strict=True))
        assert frequency in kept or mirrored in kept
    largest = max(orders)
    halved = (largest // 2 + 1) / largest if largest != 2 else 1.0
    assert len(kept) == round(np.prod(orders) * halved)


def blank(axes, orders, sizes=None):
    zero = np.zeros(orders)
    return Block(axes, zero.astype(complex), zero, zero, sizes or orders)


@pytest.mark.parametrize("orders", [(8,), (7,), (2,), (6, 5), (5, 6), (4, 3, 2), (2, 2)])
def test_a_table_comes_back_from_its_coefficients(orders):
    layout = CoefficientLayout([blank(tuple(range(len(orders))), orders)])
    tables = np.random.default_rng(1).random((3, 1, *orders))
    vectors = layout.vectors([tables])
    assert np.allclose(layout.tables(vectors)[0], tables, atol=1e-12)
    assert layout.multiplicity.sum() == np.prod(orders)


def test_coefficients_are_those_of_fftn():
    layout = CoefficientLayout([blank((0, 1), (6, 5))])
    table = np.random.default_rng(2).random((6, 5))
    expected = np.fft.fftn(table)[tuple(layout.frequencies.T)]
    assert np.allclose(layout.vectors([table[None, None]])[0], expected, atol=1e-12)
    assert not layout.frequencies[0].any()


def test_blocks_share_the_coefficients_of_their_common_axes():
    table = np.random.default_rng(3).random((4, 5, 6))
    blocks, truth = pair_blocks(table, 1.0, np.random.default_rng(4))
    layout = CoefficientLayout(blocks)
    inside = (layout.frequencies != 0).sum(axis=1)
    assert (layout.copies[inside == 2] == 1).all()
    assert (layout.copies[inside == 1] == 2).all()
    assert layout.copies[0] == 3
    tables = [truth[kind.members[0]][None, None] for kind in layout.kinds]
    found = layout.vectors(tables)
    assert np.allclose(found[0], np.fft.fftn(table)[tuple(layout.frequencies.T)], atol=1e-10)
    for back, given in zip(layout.tables(found), tables, strict=True):
        assert np.allclose(back, given, atol=1e-12)
