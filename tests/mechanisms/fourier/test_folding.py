"""Classes of frequencies up to the sign of every coordinate."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsql.mechanisms.fourier.folding import Folding
from ldpsql.mechanisms.fourier.group import Group

GROUP = Group((5, 6, 2), (5, 6), (5, 6), ((0, 1, 2),))
FOLDING = Folding(GROUP)


def test_classes_are_counted_with_their_members() -> None:
    """All frequencies but zero, each once."""
    assert FOLDING.classes == 3 * 4 * 2 - 1
    assert FOLDING.multiplicity[:-1].sum() == 5 * 6 * 2 - 1
    assert FOLDING.multiplicity[-1] == 1.0


def test_the_class_of_a_frequency_is_that_of_its_reflections() -> None:
    numbers, places = FOLDING.numbers((0, 1, 2)).ravel(), FOLDING.places((0, 1, 2))
    own = numbers[places].reshape(GROUP.orders)
    for axis in range(3):
        np.testing.assert_array_equal(own, np.roll(np.flip(own, axis), 1, axis))
    assert own[0, 0, 0] == FOLDING.classes
    counted = np.bincount(own.ravel(), minlength=FOLDING.classes + 1)
    np.testing.assert_array_equal(counted, FOLDING.multiplicity)


def test_a_part_has_the_numbers_of_the_whole() -> None:
    whole = FOLDING.numbers((0, 1, 2))
    np.testing.assert_array_equal(FOLDING.numbers((0, 2)), whole[:, 0, :])
    np.testing.assert_array_equal(FOLDING.numbers((1,)), whole[0, :, 0])


@pytest.mark.parametrize("face", GROUP.faces)
def test_folding_keeps_one_value_per_class(face: tuple[int, ...]) -> None:
    faces = {other: np.zeros([order - 1 for order in GROUP.shape(other)]) for other in GROUP.faces}
    random = np.random.default_rng(2)
    piece = random.random([order - 1 for order in GROUP.shape(face)])
    for axis in range(piece.ndim):
        piece = (piece + np.flip(piece, axis)) / 2.0
    flat = FOLDING.folded({**faces, face: piece})
    assert (flat * FOLDING.multiplicity).sum() == pytest.approx(piece.sum())
    dense = flat[FOLDING.numbers(face)]
    corner = tuple(slice(1, None) for _ in face)
    np.testing.assert_allclose(
        dense[corner], piece[tuple(slice(0, o // 2) for o in GROUP.shape(face))]
    )


def test_members_and_folds_of_an_axis() -> None:
    assert FOLDING.members(6).tolist() == [1, 2, 2, 1]
    assert FOLDING.members(5).tolist() == [1, 2, 2]
    assert FOLDING.fold(np.arange(-6, 12), 1).tolist() == [0, 1, 2, 3, 2, 1] * 3
