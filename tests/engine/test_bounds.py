"""Averages are shown within what is declared of what they average, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import category, integer, measure, public, survey_toml

from ldpsql.dbapi.connection import Connection
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql_lab.simulation import simulate

_PEOPLE = 600
_GROUPS = "SELECT age, AVG(pay) AS a, AVG(pay) + 0.5 AS more FROM app GROUP BY age"


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    """So few people, all at a bound, that averages of groups lie on either side of it."""
    survey = design(
        survey_toml(
            integer("age", 17, 24),
            category("state", "CA", "NY"),
            measure("pay", 5, 10),
            public("fee", "int"),
            public("paid", "int", bounds=[0, 50]),
            epsilon="2",
            mechanism="fourier",
        )
    )
    random = np.random.default_rng(2)
    people = pa.table(
        {
            "age": random.integers(17, 25, _PEOPLE),
            "state": np.array(["CA", "NY"])[random.integers(0, 2, _PEOPLE)],
            "pay": np.full(_PEOPLE, 10.0),
            "fee": random.integers(0, 50, _PEOPLE),
            "paid": np.where(random.random(_PEOPLE) < 0.9, 60, 0),
        }
    )
    with simulate(survey, people, seed=5) as opened:
        yield opened


def test_averages_and_their_intervals_stay_within_the_bounds(connection: Connection) -> None:
    """Expressions over them do not, and neither do the estimates behind them."""
    result = connection.execute(_GROUPS).result
    shown, more = (result.table[name].to_numpy() for name in ("a", "more"))
    bars, plain = result.intervals[1], result.intervals[2]
    known = ~np.isnan(shown)
    assert known.sum() >= 4
    assert (shown[known] >= 5.0).all()
    assert (shown[known] <= 10.0).all()
    assert (bars.low[known] >= 5.0).all()
    assert (bars.high[known] <= 10.0).all()
    raw = more - 0.5
    assert (raw[known] > 10.0).any()
    np.testing.assert_allclose(shown[known], np.clip(raw, 5.0, 10.0)[known])
    np.testing.assert_allclose(bars.low[known], np.clip(plain.low - 0.5, 5.0, 10.0)[known])
    np.testing.assert_allclose(bars.stderr[known], plain.stderr[known])
    estimates = result.estimates().values.reshape(-1, 2)
    np.testing.assert_allclose(estimates[known, 0], raw[known])


def test_a_note_says_so_where_something_was_cut(connection: Connection) -> None:
    result = connection.execute(_GROUPS).result
    notes = [note for note in result.notes if "declared bounds" in note]
    bars = result.intervals[2]
    cut = int(((bars.low < 5.5) | (bars.high > 10.5)).sum())
    assert len(notes) == 1
    assert notes[0].startswith(f"a (in {cut} of 8 rows): shown with its interval within")
    quiet = connection.execute("SELECT SUM(pay), COUNT(*) FROM app WHERE age < 20").result
    assert not any("declared bounds" in note for note in quiet.notes)


def test_conditions_and_orders_see_the_plain_estimate(connection: Connection) -> None:
    rows = connection.execute(f"SELECT a FROM ({_GROUPS}) WHERE a > 10").result
    assert rows.table.num_rows > 0
    assert rows.table["a"].to_pylist() == [10.0] * rows.table.num_rows


@pytest.mark.parametrize(
    ("average", "bounds"),
    [
        ("AVG(age)", (17.0, 24.0)),
        ("AVG(age < 20)", (0.0, 1.0)),
        ("COUNT_IF(age < 20) / COUNT(*)", (0.0, 1.0)),
        ("COUNT_IF(age < 20) / COUNT_IF(age < 22)", (0.0, 1.0)),
        ("COUNT_IF(age < 20) / COUNT_IF(age < 19)", (-np.inf, np.inf)),
        ("AVG(age - 20)", (-3.0, 4.0)),
        ("AVG(pay * (age - 18))", (-10.0, 60.0)),
        ("AVG(CASE WHEN age < 19 THEN pay END)", (5.0, 10.0)),
        ("AVG(pay) FILTER (WHERE state = 'CA')", (5.0, 10.0)),
        ("AVG(CASE WHEN state = 'CA' THEN 2 ELSE 1 END)", (1.0, 2.0)),
        ("AVG(fee)", (-np.inf, np.inf)),
        ("VAR_POP(age)", (-np.inf, np.inf)),
        ("AVG(age) - 20", (-np.inf, np.inf)),
    ],
)
def test_bounds_are_those_of_what_is_averaged(
    connection: Connection,
    average: str,
    bounds: tuple[float, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ldpsql.engine import relation  # noqa: PLC0415

    found = []
    bounds_of = relation.bounds_of

    def watch(*asked: object) -> tuple[float, float]:
        found.append(bounds_of(*asked))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(relation, "bounds_of", watch)
    connection.execute(f"SELECT {average} FROM app WHERE age < 23").result  # noqa: B018
    assert found == [bounds]


def test_interval_ends_as_columns_stay_within_the_bounds(connection: Connection) -> None:
    sql = "SELECT age, CI_LOW(AVG(pay)) AS low, CI_HIGH(AVG(pay)) AS high FROM app GROUP BY age"
    table = connection.execute(sql).result.table.to_pandas().dropna()
    assert len(table) >= 4
    assert table.low.between(5.0, 10.0).all()
    assert table.high.between(5.0, 10.0).all()


def test_an_interval_without_anything_possible_is_weak(connection: Connection) -> None:
    """At a low confidence level there are some."""
    result = Session(connection.session.store, confidence=0.05).execute(_GROUPS)
    bars, plain = result.intervals[1], result.intervals[2]
    outside = (plain.low > 10.5) | (plain.high < 5.5)
    assert outside.any()
    nearest = np.where(plain.low > 10.5, 10.0, 5.0)
    np.testing.assert_array_equal(bars.low[outside], nearest[outside])
    np.testing.assert_array_equal(bars.high[outside], nearest[outside])
    marks = np.array([mark is not None and mark.is_weak for mark in result.figures(1)])
    assert marks[outside].all()
    assert any("nothing that is possible" in note for note in result.weak_notes())


def test_averages_of_public_columns_stay_within_declared_bounds(connection: Connection) -> None:
    """Those without any are shown as they are estimated."""
    sql = "SELECT age, AVG({0}) AS a, AVG({0}) + 0.5 AS more FROM app GROUP BY age"
    bounded, free = (connection.execute(sql.format(name)).result for name in ("paid", "fee"))
    shown, more = (bounded.table[name].to_numpy() for name in ("a", "more"))
    known = ~np.isnan(shown)
    assert (more[known] - 0.5 > 50.0).any()
    np.testing.assert_allclose(shown[known], np.clip(more - 0.5, 0.0, 50.0)[known])
    plain, less = (free.table[name].to_numpy() for name in ("a", "more"))
    np.testing.assert_allclose(plain, less - 0.5)
