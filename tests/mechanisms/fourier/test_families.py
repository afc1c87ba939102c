"""Base sets, orders, what is no family, and information against the channel written out."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from math import gcd

import numpy as np
import pytest
from support.fourier_designs import (
    HAND_MADE,
    channel,
    dense_information,
    information_matrix,
)

from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql.mechanisms.fourier.families import Cluster, FamilyTable, mix
from ldpsql.mechanisms.fourier.group import Group
from ldpsql_device.errors import SurveyError
from ldpsql_device.plan import scrambled_ranks

PLANE = Group((4, 6), (4, 6), (4, 6), ((0, 1),))
DESIGNS = HAND_MADE


def arcs(characters: list[list[int]], lengths: list[list[int]], order: int = 12) -> Cluster:
    return Cluster("arcs", ((0, 1),), (order,), np.array(characters), np.array(lengths), PLANE)


@pytest.mark.parametrize("name", list(DESIGNS))
def test_sizes_are_those_of_the_base_sets(name: str) -> None:
    for cluster in DESIGNS[name].table.clusters:
        FamilyTable([cluster], np.ones(len(cluster)))
        masks = [cluster.mask(number) for number in range(len(cluster))]
        assert all(mask.shape == (cluster.phases,) for mask in masks)
        assert [int(mask.sum()) for mask in masks] == cluster.sizes.tolist()


def test_a_product_of_arcs_is_a_box() -> None:
    cluster = Cluster("arcs", ((0,), (1,)), (4, 6), np.array([[1, 1]]), np.array([[2, 3]]), PLANE)
    box = np.zeros((4, 6), dtype=bool)
    box[:2, :3] = True
    np.testing.assert_array_equal(cluster.mask(0), box.ravel())


@pytest.mark.parametrize(("order", "tooth"), [(12, 5), (12, 4), (15, 6), (16, 7)])
def test_a_comb_is_as_specified(order: int, tooth: int) -> None:
    """Code by code, from the formula of docs/spec/fourier.md#1.1."""
    window, width = order // 2 + 1, 2
    shared = gcd(tooth, order)
    teeth = order // shared
    expected = [
        u < window and ((tooth * (u - window // 2)) % order // shared + width // 2) % teeth < width
        for u in range(order)
    ]
    line = Group((order,), (order,), (order,), ((0,),))
    parameters = np.array([[tooth, window, width]])
    comb = Cluster("comb", ((0,),), (order,), np.array([[1]]), parameters, line)
    assert comb.mask(0).tolist() == expected


def test_scrambled_arcs_start_at_a_balanced_random_place() -> None:
    """Every category holds one arc of the length; all starts occur equally often."""
    room = Group((3, 4, 6), (3, 4, 6), (3, 4, 6), ((0, 1, 2),))
    ones, parameters = np.array([[1, 1, 1]]), np.array([[2, 5, 0]])
    cluster = Cluster("scrambled", ((0,), (1,), (2,)), (3, 4, 6), ones, parameters, room)
    mask = cluster.mask(0).reshape(12, 6)
    assert (mask.sum(axis=1) == 2).all()
    assert (mask.sum(axis=0) == 4).all()
    ranks = scrambled_ranks((3, 4), 5, 0)
    for category, rank in enumerate(ranks):
        turn = rank * 6 // 12
        assert set(np.flatnonzero(mask[category])) == {(-turn) % 6, (1 - turn) % 6}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"characters": np.array([[1, 6]])}, "character"),
        ({"characters": np.array([[4, 1]])}, "character"),
        ({"characters": np.array([[-1, 1]])}, "character"),
        ({"orders": (5,)}, "character"),
        ({"orders": (1 << 25,)}, "phases"),
        ({"parameters": np.array([[12]])}, "everything"),
        ({"factors": ((0, 0),)}, "once"),
        ({"factors": ()}, "once"),
    ],
)
def test_what_is_no_family_is_refused(changed: dict[str, object], message: str) -> None:
    good = arcs([[1, 1]], [[3]])
    FamilyTable([good], np.ones(1))
    with pytest.raises(SurveyError, match=message):
        FamilyTable([replace(good, **changed)], np.ones(1))


def test_families_outside_the_blocks_are_refused() -> None:
    group = Group((4, 6), (4, 6), (4, 6), ((0,), (1,)))
    with pytest.raises(SurveyError, match="outside its blocks"):
        FamilyTable([replace(arcs([[1, 1]], [[3]]), group=group)], np.ones(1))


@pytest.mark.parametrize("name", list(DESIGNS))
def test_families_are_read_back_as_they_were(name: str) -> None:
    """From the plan, in the order of its questions, and from what a store keeps of them."""
    design = DESIGNS[name]
    read, table = FamilyTable.of_plan(design.plan, design.group), design.table
    assert len(read.shares) == design.plan.questions
    np.testing.assert_array_equal(read.phases, design.plan.limits[:, 0])
    unpacked = FamilyTable.unpack(table.pack(), design.group)
    assert unpacked is not None
    for field in ("shares", "sizes", "phases", "starts"):
        np.testing.assert_array_equal(getattr(unpacked, field), getattr(table, field))
    for again in (read, unpacked):
        for own, other in zip(again.clusters, table.clusters, strict=True):
            assert (own.base, own.factors, own.orders) == (other.base, other.factors, other.orders)
            np.testing.assert_array_equal(own.characters, other.characters)
            np.testing.assert_array_equal(own.parameters, other.parameters)


def test_of_what_is_no_table_there_is_none() -> None:
    assert FamilyTable.unpack({"face 0": np.ones(3)}, PLANE) is None


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
    for chosen in (np.array([0, 2, 3, 5]), np.arange(len(table.shares))):
        found = [n for b in mix(table.clusters, 2.0, chosen, (), most)[2] for n in b.families]
        assert sorted(found) == chosen.tolist()
