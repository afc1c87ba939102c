"""Bins and groups of a dimension."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.significance import chi_square, chi_square_bound

from ldpsql.synthesis.axes import Bins, bins_of, grouped
from ldpsql_device.domains import Listed, int_domain
from ldpsql_device.schema import Dimension

AGE = Dimension("age", int_domain(0, 99), nulls="value")
SHOP = Dimension("shop", Listed("category", tuple(f"s{i}" for i in range(40))))


def covered(bins: Bins) -> list[int]:
    return [code for side in bins.axis.sides for a, b in side for code in range(a, b)]


def test_bins_cover_the_codes_and_null_stands_alone() -> None:
    bins = bins_of(0, AGE)
    assert bins.edges.tolist() == list(range(102))
    few = bins_of(0, AGE, noise=0.05)
    assert few.edges.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 101]
    assert bins_of(1, SHOP, noise=0.05).size == 40
    wide = Dimension("w", int_domain(0, 9999))
    assert bins_of(0, wide).size == 250


def test_groups_hold_about_equally_many_people() -> None:
    bins = bins_of(0, AGE)
    falling = np.append(np.exp(-np.arange(100) / 30.0), 0.2)
    bins = grouped(replace(bins, shares=falling / falling.sum()), AGE, 0.015)
    assert bins.groups == 9
    held = np.bincount(bins.group, bins.shares)
    assert held[:-1].max() < 1.6 * held[:-1].min()
    assert bins.group[-1] == 8  # NULL has neighbours no more than before
    assert sorted(covered(bins)) == list(range(101))
    assert (np.diff(bins.group) >= 0).all()


def test_large_values_of_a_category_stay_alone() -> None:
    bins = bins_of(0, SHOP)
    shares = np.full(40, 0.5 / 38)
    shares[[3, 30]] = 0.25
    bins = grouped(replace(bins, shares=shares), SHOP, 0.01)
    alone = [side for side in bins.axis.sides if side in (((3, 4),), ((30, 31),))]
    assert len(alone) == 2
    assert sorted(covered(bins)) == list(range(40))


def test_adapted_bins_have_the_shares_of_their_groups() -> None:
    bins = replace(bins_of(0, AGE), group=np.repeat([0, 1, 2], [50, 50, 1]))
    shares = np.zeros(101)
    shares[:10] = 0.1
    bins = replace(bins, shares=shares).adapted(np.array([0.2, 0.5, 0.3]))
    assert np.bincount(bins.group, bins.shares) == pytest.approx([0.2, 0.5, 0.3])
    assert bins.shares[:12] == pytest.approx([0.02] * 10 + [0.0] * 2)
    assert bins.shares[50:100] == pytest.approx(np.full(50, 0.01))


def test_codes_are_drawn_by_the_shares_of_bins() -> None:
    """And, the control, not evenly within a group."""
    bins = replace(bins_of(0, AGE, noise=0.05), group=np.array([0] * 5 + [1] * 6))
    shares = np.random.default_rng(1).dirichlet(np.ones(11))
    bins = replace(bins, shares=shares)
    random = np.random.default_rng(2)
    groups = (random.random(50_000) < shares[5:].sum()).astype(np.int64)
    codes = bins.draw(groups, random)
    width = np.diff(bins.edges)
    expected = 50_000 * np.repeat(shares / width, width)
    observed = np.bincount(codes, minlength=101)
    statistic, degrees = chi_square(observed, expected)
    assert statistic < chi_square_bound(degrees)
    held = np.bincount(bins.group, shares)
    even = np.repeat((held / np.bincount(bins.group, width))[bins.group], width)
    statistic, degrees = chi_square(observed, 50_000 * even)
    assert statistic > chi_square_bound(degrees)
