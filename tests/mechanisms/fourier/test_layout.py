"""Half spectra of real tables and back; the vector of shared coefficients.

Nothing is lost and nothing stands twice.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.fourier_coefficients import pair_blocks

from ldpsql.mechanisms.fourier.projection import Block, CoefficientLayout


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
