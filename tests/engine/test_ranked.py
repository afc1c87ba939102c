"""Rows that estimates choose, by HAVING or by an order that LIMIT cuts: intervals hold together."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from support.significance import normal_bound
from support.surveys import integer, measure, public, survey_toml
from support.tiers import runs

from ldpsql.algebra.estimate import quantile, share_error
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.store.store import Store
from ldpsql_lab.simulation import collect

CODES, PEOPLE = 300, 1_500
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
    together, alone, count = 0, 0, runs(40)
    for seed in range(count):
        with fill(seed) as filled:
            found = Session(filled).execute(TOP)
        values, bars = found.table["n"].to_numpy(), found.intervals[1]
        truth = PEOPLE / CODES
        together += bool(((bars.low <= truth) & (truth <= bars.high)).all())
        alone += bool((abs(values - truth) <= quantile(0.95) * bars.stderr).all())
    spread = math.sqrt(count * 0.95 * 0.05)
    assert together >= 0.95 * count - normal_bound() * spread
    assert alone < 0.5 * count


@pytest.mark.slow
def test_intervals_of_few_people_hold_together() -> None:
    """Where hardly any noise is left, the errors of rare items are as skewed as their counts; the
    control, intervals of a normal error at the same level, fails for the rarest ones."""
    items, people, surveys = 100, 1_000, 150
    made = design(
        survey_toml(
            integer("item", 0, items - 1), public("run", "int"), mechanism="grr", epsilon="6"
        )
    )
    drawn = np.random.default_rng(3).integers(0, items, surveys * people)
    table = pa.table({"item": drawn, "run": np.arange(surveys).repeat(people)})
    truth, together, normal = people / items, 0, 0
    with collect(made, table, seed=3)[1] as filled:
        session = Session(filled, seconds=3600.0)
        for run in range(surveys):
            found = session.execute(
                f"SELECT item, COUNT(*) AS n FROM app WHERE run = {run} "
                "GROUP BY item ORDER BY n LIMIT 10"
            )
            values, bars = found.table["n"].to_numpy(), found.intervals[1]
            together += bool(((bars.low <= truth) & (truth <= bars.high)).all())
            most = quantile(share_error(0.95, items)) * bars.stderr
            normal += bool((abs(values - truth) <= most).all())
    slack = normal_bound() * math.sqrt(surveys * 0.95 * 0.05)
    assert together >= 0.95 * surveys - slack
    assert normal < 0.95 * surveys - slack


@pytest.mark.parametrize(
    ("sql", "candidates"),
    [
        (TOP, CODES),
        (TOP.replace("ORDER BY n", "ORDER BY 2"), CODES),
        (TOP.replace("n DESC LIMIT 10", "sqrt(n) LIMIT 10 OFFSET 3"), CODES),
        (f"SELECT * FROM ({TOP}) ORDER BY item", CODES),
        ("SELECT shop, COUNT(*) AS n FROM app WHERE item < 9 GROUP BY 1 ORDER BY n LIMIT 2", 4),
        ("SELECT item, COUNT(*) AS n FROM app GROUP BY item HAVING COUNT(*) > 20", CODES),
        (f"SELECT item, n FROM ({TOP.partition(' ORDER')[0]}) WHERE n > 20", CODES),
        (f"{TOP.partition(' ORDER')[0]} QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) < 5", CODES),
        ("SELECT item, COUNT(*) AS n FROM app GROUP BY item HAVING item < 20", 0),
        ("SELECT item, COUNT(*) AS n FROM app GROUP BY item HAVING COUNT(*) > -1e9", 0),
        (TOP.replace("n DESC LIMIT 10", "item LIMIT 10"), 0),
        (TOP.replace("LIMIT 10", "LIMIT 1000"), 0),
        (TOP.replace("LIMIT 10", ""), 0),
    ],
)
def test_what_counts_as_chosen(sql: str, candidates: int, store: Store) -> None:
    """Rows that an order of estimates leaves out; the note says of how many, and of the bias."""
    found = Session(store).execute(sql)
    z = quantile(share_error(0.95, candidates) if candidates else 0.95)
    place = found.table.num_columns - 1
    bars, (least, most) = found.intervals[place], found.forged()[place]
    width = 2.0 * z * bars.stderr
    if candidates:  # d = z sqrt(s^2 + c d) on one side, and at least (z^2 - 1) / 6 c on the other
        for c, other in ((most, -least), (-least, most)):
            d = z * (z * c / 2.0 + np.sqrt(bars.stderr**2 + (z * c / 2.0) ** 2))
            width += np.maximum(d - z * bars.stderr, (z * z - 1.0) / 6.0 * other)
    assert bars.high - bars.low == pytest.approx(width)
    told = [note for note in found.notes if "tend to be too high" in note]
    assert len(told) == bool(candidates)
    assert not told or f"among {candidates:,}:" in told[0]


def test_chosen_averages_are_within_their_bounds() -> None:
    """Also those whose denominator can be told from 0 alone, but not together with all others: they
    may be anything that an average can be."""
    made = design(
        survey_toml(
            integer("item", 0, CODES - 1), measure("pay", 0, 100), mechanism="olh", epsilon="2"
        )
    )
    random = np.random.default_rng(2)
    table = {"item": random.zipf(1.5, PEOPLE) % CODES, "pay": random.uniform(0, 100, PEOPLE)}
    with collect(made, pa.table(table), seed=2)[1] as filled:
        found = Session(filled).execute(
            "SELECT item, AVG(pay) AS n FROM app GROUP BY item ORDER BY n DESC LIMIT 5"
        )
    values, bars = found.table["n"].to_numpy(), found.intervals[1]
    assert ((values >= 0.0) & (values <= 100.0)).all()
    assert ((bars.low == 0.0) & (bars.high == 100.0)).any()
    assert ((bars.low >= 0.0) & (bars.high <= 100.0)).all()
