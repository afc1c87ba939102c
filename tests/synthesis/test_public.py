"""Public columns of a synthetic table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from support.significance import chi_square, chi_square_bound

from ldpsql.bench import simulate
from ldpsql.designer import design
from ldpsql.store.base import Selection
from ldpsql.synthesis.public import PublicPeople

TOML = """
[survey]
table = "t"
epsilon = "2"
mechanism = "{}"
[dimension.b]
type = "bool"
[public.shop]
type = "text"
nulls = "value"
[public.amount]
type = "float"
[public.beta]
type = "bool"
"""


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
