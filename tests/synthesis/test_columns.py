"""Bins and groups of dimensions, values of cells, and public columns."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from support.significance import chi_square, chi_square_bound, normal_bound
from support.surveys import boolean, mix, public, survey_toml

from ldpsql.designer import design
from ldpsql.store.base import Selection
from ldpsql.synthesis.columns import (
    Bins,
    PublicPeople,
    amounts_of,
    cut_bins,
    group_bins,
    truncated_exponential,
    values_of,
)
from ldpsql_device.schema import Dimension, Measure
from ldpsql_device.values import Listed, int_domain, time_range
from ldpsql_lab.simulation import simulate

AGE = Dimension("age", int_domain(0, 99), missing="code")
SHOP = Dimension("shop", Listed("category", tuple(f"s{i}" for i in range(40))))


def covered(bins: Bins) -> list[int]:
    return [code for side in bins.axis.sides for a, b in side for code in range(a, b)]


def test_bins_cover_the_codes_and_null_stands_alone() -> None:
    bins = cut_bins(0, AGE)
    assert bins.edges.tolist() == list(range(102))
    few = cut_bins(0, AGE, noise=0.05)
    assert few.edges.tolist() == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 101]
    assert cut_bins(1, SHOP, noise=0.05).size == 40
    wide = Dimension("w", int_domain(0, 9999))
    assert cut_bins(0, wide).size == 250


def test_groups_hold_about_equally_many_people() -> None:
    bins = cut_bins(0, AGE)
    falling = np.append(np.exp(-np.arange(100) / 30.0), 0.2)
    bins = group_bins(replace(bins, shares=falling / falling.sum()), AGE, 0.015)
    assert bins.groups == 9
    held = np.bincount(bins.group, bins.shares)
    assert held[:-1].max() < 1.6 * held[:-1].min()
    assert bins.group[-1] == 8  # NULL has neighbours no more than before
    assert sorted(covered(bins)) == list(range(101))
    assert (np.diff(bins.group) >= 0).all()


def test_large_values_of_a_category_stay_alone() -> None:
    bins = cut_bins(0, SHOP)
    shares = np.full(40, 0.5 / 38)
    shares[[3, 30]] = 0.25
    bins = group_bins(replace(bins, shares=shares), SHOP, 0.01)
    alone = [side for side in bins.axis.sides if side in (((3, 4),), ((30, 31),))]
    assert len(alone) == 2
    assert sorted(covered(bins)) == list(range(40))


def test_adapted_bins_have_the_shares_of_their_groups() -> None:
    bins = replace(cut_bins(0, AGE), group=np.repeat([0, 1, 2], [50, 50, 1]))
    shares = np.zeros(101)
    shares[:10] = 0.1
    bins = replace(bins, shares=shares).adapt(np.array([0.2, 0.5, 0.3]))
    assert np.bincount(bins.group, bins.shares) == pytest.approx([0.2, 0.5, 0.3])
    assert bins.shares[:12] == pytest.approx([0.02] * 10 + [0.0] * 2)
    assert bins.shares[50:100] == pytest.approx(np.full(50, 0.01))


def test_codes_are_drawn_by_the_shares_of_bins() -> None:
    """And, the control, not evenly within a group."""
    bins = replace(cut_bins(0, AGE, noise=0.05), group=np.array([0] * 5 + [1] * 6))
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


# -- values ----------------------------------------------------------------------------------------

TYPES = {
    "i": pa.int64(),
    "f": pa.float64(),
    "c": pa.int64(),
    "b": pa.bool_(),
    "d": pa.date32(),
    "t": pa.timestamp("us"),
}


def test_every_type_comes_back_with_its_code() -> None:
    random = np.random.default_rng(1)
    for dimension in mix().schema.dimensions:
        codes = random.integers(0, dimension.size, 300)
        found = values_of(dimension, codes, random)
        assert found.type == TYPES[dimension.name]
        assert [dimension.code(value, 0)[0] for value in found.to_pylist()] == codes.tolist()


def test_values_within_a_code_differ() -> None:
    random = np.random.default_rng(2)
    binned = Dimension("i", int_domain(0, 9, bin_width=5))
    assert set(values_of(binned, np.ones(200, np.int64), random).to_pylist()) == {5, 6, 7, 8, 9}
    months = Dimension("d", time_range("date", "2026-01-01", "2026-12-31", "month"))
    days = values_of(months, np.full(500, 1), random).to_pylist()
    assert (min(days), max(days)) == (date(2026, 2, 1), date(2026, 2, 28))
    hours = Dimension("t", time_range("timestamp", "2026-01-01", "2026-01-01", "hour"))
    moments = values_of(hours, np.full(50, 23), random).to_pylist()
    assert min(moments) >= datetime(2026, 1, 1, 23)
    assert len(set(moments)) == 50


def test_the_code_of_null_is_null() -> None:
    dimension = Dimension("i", int_domain(3, 4), missing="code")
    found = values_of(dimension, np.array([2, 0, 1]), np.random.default_rng(0))
    assert found.to_pylist() == [None, 3, 4]


@pytest.mark.parametrize("mean", [0.0005, 0.03, 0.3, 0.5, 0.52, 0.9, 0.999])
def test_the_truncated_exponential_has_its_mean(mean: float) -> None:
    """By the midpoint rule over its quantiles, which stay within bounds and ascend."""
    uniform = (np.arange(200_000) + 0.5) / 200_000
    found = truncated_exponential(np.full(len(uniform), mean), uniform)
    assert found.mean() == pytest.approx(mean, abs=2e-5)
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert (np.diff(found) >= 0).all()


def test_amounts_have_the_means_asked_for() -> None:
    random = np.random.default_rng(3)
    chances = np.repeat([0.1, 0.6, 1.0, 0.0], 50_000)
    found = amounts_of(Measure("pay", (-10, 90)), chances, random).to_numpy().reshape(4, -1)
    for row, mean in zip(found[:2], (0.0, 50.0), strict=True):
        error = row.std() / np.sqrt(len(row))
        assert abs(row.mean() - mean) < normal_bound() * error
    assert found[2].min() > 89.0
    assert found[3].max() < -9.0


# -- public columns --------------------------------------------------------------------------------

TOML = survey_toml(
    *(boolean("b"), public("shop", "text"), public("amount", "float"), public("beta", "bool")),
    table="t",
    epsilon="2",
    mechanism="{}",
)


def people(n: int = 3000) -> pa.Table:
    random = np.random.default_rng(1)
    shops = np.array(["x", "y", None], dtype=object)[random.integers(0, 3, n)]
    return pa.table(
        {
            "b": random.random(n) < 0.5,
            "shop": pa.array(shops, pa.string()),
            "amount": random.integers(0, 50, n) / 2.0,
            "beta": random.random(n) < 0.3,
        }
    )


def test_combinations_are_counted_for_both_kinds_of_reports() -> None:
    for mechanism in ("grr", "oue"):
        with simulate(design(TOML.format(mechanism)), people()) as connection:
            found = connection.session.store.public_people("t")
        true = people().group_by(["shop", "amount", "beta"]).aggregate([([], "count_all")])
        wanted = {tuple(list(row.values())[:3]): row["count_all"] for row in true.to_pylist()}
        rows = [list(row.values()) for row in found.to_pylist()]
        assert {tuple(row[:3]): row[3] for row in rows} == wanted


def test_the_axis_follows_the_order_of_the_histograms() -> None:
    with simulate(design(TOML.format("grr")), people()) as connection:
        store = connection.session.store
        public = PublicPeople.of(store.public_people("t"))
        histograms = store.histograms("t", Selection(keys=public.keys))
    assert public.keys == ("shop", "beta")
    assert public.independent == ("amount",)
    assert [h.people for _, h in histograms] == np.bincount(public.cell, public.counts).tolist()
    for place, (key, _) in enumerate(histograms):
        inside = public.values.filter(pa.array(public.cell == place))
        assert {(row["shop"], row["beta"]) for row in inside.to_pylist()} == {key}


def test_combinations_are_drawn_as_often_as_they_occur() -> None:
    """Given their cell; and, the control, not evenly."""
    with simulate(design(TOML.format("grr")), people()) as connection:
        public = PublicPeople.of(connection.session.store.public_people("t"))
    random = np.random.default_rng(2)
    cells = np.repeat(np.arange(6), 20_000)
    drawn = public.draw(cells, random)
    order = {tuple(row.values()): i for i, row in enumerate(public.values.to_pylist())}
    rows = np.array([order[tuple(row.values())] for row in drawn.to_pylist()])
    assert (public.cell[rows] == cells).all()
    observed = np.bincount(rows, minlength=len(order))
    held = np.bincount(public.cell, public.counts)
    expected = 20_000 * public.counts / held[public.cell]
    statistic, degrees = chi_square(observed, expected)
    assert statistic < chi_square_bound(degrees)
    evenly = 20_000 / np.bincount(public.cell)[public.cell]
    statistic, degrees = chi_square(observed, evenly)
    assert statistic > chi_square_bound(degrees)
