"""Axes, blocks, faces, and dense arrays over them."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.mechanisms.fourier.group import (
    LARGEST_BLOCK,
    Group,
    gather_faces,
    parts_of,
    spread_faces,
)
from ldpsql_device.errors import SurveyError

SIGNED = Group((6, 4, 2, 2), (5, 4), (9, 4), ((0, 1, 2), (0, 1, 3)))


def test_faces_are_the_parts_of_blocks() -> None:
    expected = {(0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (0, 1, 2)}
    assert set(SIGNED.faces) == expected | {(0, 1, 3)}
    assert list(SIGNED.faces) == sorted(SIGNED.faces, key=len)
    assert (2, 3) not in SIGNED.faces


def test_the_smallest_block_that_holds_some_axes() -> None:
    group = Group((9, 4, 5), (9, 4, 5), (9, 4, 5), ((0, 1), (0, 2), (1, 2)))
    assert group.block_of([0]) == (0, 1)
    assert group.block_of([2, 1]) == (1, 2)
    assert group.block_of([0, 1, 2]) is None


def test_a_block_of_too_many_cells_is_refused() -> None:
    sizes = (LARGEST_BLOCK, 2)
    Group(sizes, sizes, sizes, ((0,), (1,)))
    with pytest.raises(SurveyError, match="coarser bins"):
        Group(sizes, sizes, sizes, ((0, 1),))


def test_bins_count_the_codes_that_a_side_covers() -> None:
    """9 codes in 5 bins of two, the last of one; codes inside a bin count alike."""
    assert SIGNED.width(0) == 2
    weights = SIGNED.bin_weights(((1, 4), (8, 9)), 0)
    np.testing.assert_allclose(weights, [0.5, 1.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(SIGNED.bin_weights(None, 0), np.ones(5))
    np.testing.assert_allclose(SIGNED.bin_weights((), 1), np.zeros(4))
    np.testing.assert_allclose(SIGNED.bin_weights(((1, 2), (3, 4)), 1), [0, 1, 0, 1])


def test_gathering_and_spreading_are_inverse() -> None:
    random = np.random.default_rng(1)
    dense = random.random((3, 4, 2))
    faces = gather_faces({(0, 1, 2): dense})
    assert set(faces) == set(parts_of(((0, 1, 2),)))
    assert faces[(0, 2)].shape == (2, 1)
    again = spread_faces(faces, (0, 1, 2), dense.shape)
    np.testing.assert_array_equal(again, dense)


def test_gathering_adds_what_blocks_share() -> None:
    first, second = np.arange(12.0).reshape(3, 4), np.arange(6.0).reshape(3, 2)
    faces = gather_faces({(0, 1): first, (0, 2): second})
    np.testing.assert_array_equal(faces[(0,)], first[1:, 0] + second[1:, 0])
    np.testing.assert_array_equal(faces[(0, 1)], first[1:, 1:])
    np.testing.assert_array_equal(first, np.arange(12.0).reshape(3, 4))
