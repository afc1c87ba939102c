"""Surveys in product form from their text to answers in SQL."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support.surveys import category, integer, measure, survey_toml

from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.mechanisms.fourier.design import FourierDesign
from ldpsql_lab.simulation import simulate

COLUMNS = integer("x", 0, 23), category("y", *"abcde"), measure("pay", 0, 10)
PEOPLE = 30_000
QUESTIONS = (
    "SELECT COUNT(*), AVG(pay) FROM app WHERE x BETWEEN 5 AND 12",
    "SELECT COUNT(*), SUM(pay) FROM app WHERE x >= 6 AND y IN ('b', 'c')",
    "SELECT y, COUNT(*), SUM(pay) FROM app GROUP BY y ORDER BY y",
    "SELECT x, y, COUNT(*) FROM app WHERE x BETWEEN 6 AND 11 GROUP BY x, y ORDER BY x, y",
)


def people() -> pa.Table:
    """Codes that go together, and a measure that grows with both."""
    random = np.random.default_rng(3)
    x = random.binomial(23, 0.4, PEOPLE)
    y = random.binomial(4, 0.2 + 0.02 * x)
    pay = np.clip(x / 4 + y / 2 + random.normal(0, 1, PEOPLE), 0, 10)
    return pa.table({"x": x, "y": np.array(list("abcde"))[y], "pay": pay})


@pytest.mark.fast(1)
@pytest.mark.parametrize("form", ["listed", "product"])
def test_sql_answers_what_people_hold(form: str) -> None:
    """Within six standard errors of the table of their raw values, whatever the form."""
    table = people()
    survey = design(survey_toml(*COLUMNS, epsilon="2", mechanism="fourier", options={"form": form}))
    assert isinstance(survey.design, FourierDesign)
    assert bool(survey.design.table.products) is (form == "product")
    compared = 0
    with simulate(survey, table, seed=5) as opened, duckdb.connect() as raw:
        raw.register("app", table)
        for sql in QUESTIONS:
            found = Session(opened.session.store).execute(sql)
            expected = raw.sql(sql).to_arrow_table()
            assert found.table.num_rows == expected.num_rows
            for place, name in enumerate(expected.column_names):
                values, bars = found.table.column(place), found.intervals.get(place)
                if bars is None:
                    assert values.to_pylist() == expected[name].to_pylist()
                    continue
                misses = np.abs(values.to_numpy() - expected[name].to_numpy()) / bars.stderr
                assert misses.max() < 6.0
                compared += len(misses)
    assert compared == 4 + 10 + 30
