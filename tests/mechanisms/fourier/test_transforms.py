"""The information of families by FFT against the channel written out."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from support.fourier_designs import (
    HAND_MADE,
    by_hand,
    channel,
    dense_information,
    information_matrix,
    phase_of,
)

from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.families import FamilyBatch, arc_transform, batches
from ldpsql.mechanisms.fourier.group import mirror

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


def test_an_information_with_a_wrong_character_is_caught() -> None:
    """The negative control: another character's families in the second half of the table."""
    design = by_hand()["arcs, two axes"]
    diagonal, _ = eigenvalues(design)
    design.table.clusters[0].characters[0] = [1, 2]
    assert np.abs(dense_information(design).ravel() - diagonal).max() > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_transforms_are_those_of_the_odds(name: str) -> None:
    """X(h) / s over all of H by numpy; the half spectrum is its first half."""
    design = DESIGNS[name]
    for batch in batches(design.table, design.collected.odds):
        for row in range(len(batch.families)):
            x = 1.0 + (design.collected.odds - 1.0) * batch.cluster.mask(row)
            whole = np.fft.fftn(x.reshape(batch.cluster.orders)) / x.sum()
            half = whole[..., : batch.cluster.orders[-1] // 2 + 1]
            np.testing.assert_allclose(batch.transform[row], half, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_scattered_phases_are_the_transform_of_what_they_stand_for(name: str) -> None:
    """sum over h of C^(h) at f = h k: the DFT of the counts pulled back, over the kernel's size."""
    design = DESIGNS[name]
    group = design.group
    random = np.random.default_rng(4)
    for cluster in design.table.clusters:
        last = np.array([len(cluster) - 1])
        batch = FamilyBatch(cluster.pick(last), last, design.collected.odds)
        counts = random.random((1, cluster.phases))
        found = batch.scatter(batch.transform_counts(counts))
        shape = group.shape(cluster.axes)
        pulled = np.zeros(shape)
        for place in np.ndindex(shape):
            element = [0] * len(group.orders)
            for axis, coordinate in zip(cluster.axes, place, strict=True):
                element[axis] = coordinate
            pulled[place] = counts[0, phase_of(cluster, len(cluster) - 1, element)]
        expected = np.fft.fftn(pulled) * cluster.phases / pulled.size
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("order", [2, 5, 12])
def test_arcs_have_a_closed_transform(order: int) -> None:
    harmonics = np.arange(order)
    lengths = np.arange(1, order)
    found = arc_transform(order, lengths, harmonics)
    for row, length in enumerate(lengths):
        np.testing.assert_allclose(
            found[row], np.fft.fft((np.arange(order) < length).astype(float)), atol=1e-12
        )


def test_the_mirror_leaves_zero_in_place() -> None:
    dense = np.arange(12).reshape(3, 4)
    found = mirror(dense)
    for i in range(3):
        for j in range(4):
            assert found[i, j] == dense[-i % 3, -j % 4]


@pytest.mark.parametrize("most", [1, 7, 100])
def test_batches_hold_every_chosen_family_once(most: int) -> None:
    table = DESIGNS["all kinds"].table
    chosen = np.array([0, 2, 3, 5])
    found = [n for b in batches(table, 2.0, chosen, most) for n in b.families]
    assert found == chosen.tolist()
    everything = [n for b in batches(table, 2.0, None, most) for n in b.families]
    assert everything == list(range(len(table.shares)))
