"""One confidence level per answer: a number is shown exactly where its interval is bounded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import integer, measure, survey_toml

from ldpsql.dbapi.connection import Connection
from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql_lab.simulation import simulate

LEVELS = (0.5, 0.9, 0.95, 0.99, 0.999)
AVERAGES = "SELECT age, AVG(pay) AS p FROM app GROUP BY age"


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    """Averages from well to hardly estimable: ages grow rarer and rarer."""
    columns = (integer("age", 0, 19), measure("pay", 0, 10))
    survey = design(survey_toml(*columns, epsilon="2", mechanism="fourier"))
    random = np.random.default_rng(3)
    people = {"age": np.minimum(random.geometric(0.25, 3_000) - 1, 19), "pay": np.full(3_000, 4.0)}
    with simulate(survey, pa.table(people), seed=1) as opened:
        yield opened


def test_every_average_that_is_shown_has_an_interval(connection: Connection) -> None:
    """And every one that is not, has none; the higher the level, the fewer are shown."""
    hidden = []
    for level in LEVELS:
        found = Session(connection.session.store, confidence=level).execute(AVERAGES)
        values = found.table["p"].to_numpy(zero_copy_only=False)
        bars, shown = found.intervals[1], ~np.isnan(values)
        assert (~np.isnan([bars.stderr, bars.low, bars.high]) == shown).all()
        assert ((bars.low <= values) & (values <= bars.high) & (bars.low < bars.high))[shown].all()
        hidden.append(found.table["p"].null_count)
    assert hidden == sorted(hidden)
    assert 0 < hidden[0] < hidden[-1] < len(values)


def test_a_level_of_its_own_decides_about_an_error_bar(connection: Connection) -> None:
    """CI_LOW(x, level) is what `--confidence level` says, whatever the answer's own level is."""
    sql = "SELECT age, CI_LOW(AVG(pay), 0.999) AS low FROM app GROUP BY age"
    store = connection.session.store
    other = Session(store, confidence=0.5).execute(sql).table["low"]
    usual = Session(store, confidence=0.999).execute(AVERAGES).intervals[1].low
    assert other.to_numpy(zero_copy_only=False) == pytest.approx(usual, nan_ok=True)


def test_a_session_whose_level_changes_keeps_no_answer_of_another(connection: Connection) -> None:
    session = Session(connection.session.store, confidence=LEVELS[0])
    for level in (*LEVELS, LEVELS[0]):
        session.evidence.confidence = level
        found = session.execute(AVERAGES)
        anew = Session(connection.session.store, confidence=level).execute(AVERAGES)
        assert found.table.equals(anew.table)
        np.testing.assert_array_equal(found.intervals[1].low, anew.intervals[1].low)
