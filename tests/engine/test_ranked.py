"""Rows that LIMIT keeps in an order of estimates: their intervals hold together."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from support.significance import normal_bound
from support.surveys import integer, public, survey_toml

from ldpsql.algebra.estimate import quantile, share_error
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.store.store import Store
from ldpsql_lab.simulation import collect

CODES, PEOPLE, RUNS = 300, 1_500, 40
SURVEY = design(
    survey_toml(integer("item", 0, CODES - 1), public("shop", "int"), mechanism="olh", epsilon="2")
)
TOP = "SELECT item, COUNT(*) AS n FROM app GROUP BY item ORDER BY n DESC LIMIT 10"


def fill(seed: int) -> Store:
    """Every item as frequent as the others, so that only chance orders them."""
    items = np.arange(PEOPLE) % CODES
    table = pa.table({"item": items, "shop": np.arange(PEOPLE) % 4})
    return collect(SURVEY, table, seed=seed)[1]


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with fill(1) as filled:
        yield filled


def test_intervals_of_chosen_rows_hold_together() -> None:
    """In 95 % of surveys all of them; those of each row by itself, the control, hardly ever."""
    together = alone = 0
    for seed in range(RUNS):
        with fill(seed) as filled:
            found = Session(filled).execute(TOP)
        values, bars = found.table["n"].to_numpy(), found.intervals[1]
        truth = PEOPLE / CODES
        together += bool(((bars.low <= truth) & (truth <= bars.high)).all())
        alone += bool((abs(values - truth) <= quantile(0.95) * bars.stderr).all())
    spread = math.sqrt(RUNS * 0.95 * 0.05)
    assert together >= 0.95 * RUNS - normal_bound() * spread
    assert alone < 0.5 * RUNS


@pytest.mark.parametrize(
    ("sql", "candidates"),
    [
        (TOP, CODES),
        (TOP.replace("ORDER BY n", "ORDER BY 2"), CODES),
        (TOP.replace("n DESC LIMIT 10", "sqrt(n) LIMIT 10 OFFSET 3"), CODES),
        (f"SELECT * FROM ({TOP}) ORDER BY item", CODES),
        ("SELECT shop, COUNT(*) AS n FROM app WHERE item < 9 GROUP BY 1 ORDER BY n LIMIT 2", 4),
        (TOP.replace("n DESC LIMIT 10", "item LIMIT 10"), 0),
        (TOP.replace("LIMIT 10", "LIMIT 1000"), 0),
        (TOP.replace("LIMIT 10", ""), 0),
    ],
)
def test_what_counts_as_chosen(sql: str, candidates: int, store: Store) -> None:
    """Rows that an order of estimates leaves out; the note says of how many, and of the bias."""
    found = Session(store).execute(sql)
    level = share_error(0.95, candidates) if candidates else 0.95
    bars = found.intervals[found.table.num_columns - 1]
    assert (bars.high - bars.low) / 2.0 == pytest.approx(quantile(level) * bars.stderr)
    told = [note for note in found.notes if "tend to be too high" in note]
    assert len(told) == bool(candidates)
    assert not told or f"among {candidates:,}:" in told[0]
