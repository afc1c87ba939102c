"""The information of families by FFT against the channel written out."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from support.fourier_designs import (
    HAND_MADE,
    channel,
    dense_information,
    information_matrix,
)

from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.families import batches

DESIGNS = HAND_MADE
NAMES = list(DESIGNS)


def fourier_matrix(orders: tuple[int, ...]) -> np.ndarray:
    """exp(-2 pi i sum f u / m), shape (N, N)."""
    circles = [np.exp(-2j * np.pi * np.outer(np.arange(m), np.arange(m)) / m) for m in orders]
    return reduce(np.kron, circles)


def eigenvalues(design: FourierDesign) -> tuple[np.ndarray, float]:
    """(diagonal of X in the Fourier basis, largest entry beside it) of the channel."""
    matrix = information_matrix(channel(design))
    fourier = fourier_matrix(design.group.orders)
    rotated = fourier @ matrix @ fourier.conj().T / len(matrix)
    diagonal = np.diagonal(rotated)
    return diagonal.real, float(np.abs(rotated - np.diag(diagonal)).max())


@pytest.mark.parametrize("name", NAMES)
def test_the_information_is_the_spectrum_of_the_channel(name: str) -> None:
    """X = Q' D^-1 Q is diagonal in the characters, lambda on the diagonal; padding included."""
    diagonal, beside = eigenvalues(DESIGNS[name])
    assert beside < 1e-13
    found = dense_information(DESIGNS[name]).ravel()
    np.testing.assert_allclose(found, diagonal, atol=1e-13)


@pytest.mark.parametrize("most", [1, 7, 100])
def test_batches_hold_every_chosen_family_once(most: int) -> None:
    table = DESIGNS["all kinds"].table
    chosen = np.array([0, 2, 3, 5])
    found = [n for b in batches(table, 2.0, chosen, most) for n in b.families]
    assert found == chosen.tolist()
    everything = [n for b in batches(table, 2.0, None, most) for n in b.families]
    assert everything == list(range(len(table.shares)))
