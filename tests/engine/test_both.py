"""A column that is a measure and a dimension is one column: it filters, groups and averages."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.surveys import dimension, integer, survey_toml

from ldpsql.designer import design
from ldpsql.errors import UnsupportedSQL
from ldpsql.survey import Survey
from ldpsql_lab.simulation import simulate

LISTED = integer("income", 0, 9)
BINNED = dimension("income", "float", domain=[0, 9], bins=3)
INCOME = "[measure.income]\nbounds = [0, 9]\n"
DEBT = "[measure.debt]\nbounds = [0, 4]\nrequired = true\n"
SQUARES = {"queries": ["SELECT STDDEV(income) FROM app", "SELECT COUNT(*) FROM app WHERE income<3"]}
ONE_COLUMN = [
    "COUNT(income)",
    "SUM(income)",
    "AVG(income)",
    "AVG(income * 2)",
    "AVG(income - 5)",
    "SUM(income * age)",
    "AVG(income + debt)",
    "SUM(CASE WHEN age > 1 THEN income ELSE debt END)",
    "AVG(CASE WHEN income >= 3 THEN income END)",
    "AVG(income) FILTER (WHERE income >= 3)",
    "COUNT(*) FILTER (WHERE income IS NULL)",
    "COUNT(*) FILTER (WHERE income >= 3)",
]
MOMENTS = ["STDDEV(income)", "VAR_POP(income)", "CORR(income, age)", "REGR_SLOPE(income, age)"]
LISTED_OUT = ["MEDIAN(income)", "AVG(COALESCE(income, 0))", "SUM(income * income)"]


def people() -> pa.Table:
    random = np.random.default_rng(7)
    age = random.integers(0, 4, 20_000)
    income = np.clip(2 * age + random.integers(0, 4, age.size), 0, 9).astype(float)
    missing = random.random(age.size) < 0.25
    debt = random.integers(0, 5, age.size)
    return pa.table({"income": pa.array(income, mask=missing), "age": age, "debt": debt})


def survey(column: str, workload: dict | None = None) -> Survey:
    others = integer("age", 0, 3), DEBT
    return design(
        survey_toml(
            column,
            INCOME,
            *others,
            epsilon="8",
            mechanism="fourier",
            workload={"max_predicates": 2, **(workload or {})},
        )
    )


@pytest.mark.parametrize(
    ("column", "workload", "wanted"),
    [
        (LISTED, None, [*ONE_COLUMN, *MOMENTS, *LISTED_OUT]),
        (LISTED, SQUARES, [*ONE_COLUMN, *MOMENTS, *LISTED_OUT]),
        (BINNED, SQUARES, [*ONE_COLUMN, *MOMENTS]),
    ],
)
def test_all_of_it_works_in_one_survey(column, workload, wanted):
    """Within five standard errors of what DuckDB finds in the raw table."""
    table = people()
    with simulate(survey(column, workload), table, seed=3) as connection, duckdb.connect() as raw:
        raw.register("app", table)
        for each in wanted:
            found, error = connection.execute(f"SELECT {each}, STDERR({each}) FROM app").fetchone()
            [exact] = raw.execute(f"SELECT {each} FROM app").fetchone()
            assert abs(found - exact) <= 5.0 * (error or 0.2), each
        [plain, doubled, count, present] = connection.execute(
            "SELECT AVG(income), AVG(income * 2), COUNT(income), "
            "COUNT(*) FILTER (WHERE income IS NOT NULL) FROM app"
        ).fetchone()
        assert doubled == pytest.approx(2.0 * plain, rel=1e-9)
        assert count == pytest.approx(present, rel=1e-9)
        grouped = connection.execute(
            "SELECT income, COUNT(*) FROM app GROUP BY income ORDER BY income NULLS LAST"
        ).fetchall()
        assert grouped[-1][0] is None
        assert grouped[-1][1] == pytest.approx(table["income"].null_count, rel=0.1)


def test_what_is_missing_for_moments_of_bins_is_said():
    with simulate(survey(BINNED), people(), seed=3) as connection:
        with pytest.raises(UnsupportedSQL) as refusal:
            connection.execute("SELECT STDDEV(income) FROM app")
        assert "give every value of [dimension.income] a code of its own" in str(refusal.value)
        assert "VAR_POP(income) in [workload] queries" in str(refusal.value)


def test_a_sum_with_a_measure_that_may_be_missing_is_not_that_of_everybody():
    columns = integer("age", 0, 3), INCOME, DEBT
    alone = design(survey_toml(*columns, epsilon="8", mechanism="fourier"))
    with simulate(alone, people(), seed=3) as connection:
        with pytest.raises(UnsupportedSQL, match="whose queries ask about debt by income"):
            connection.execute("SELECT AVG(income + debt) FROM app")
        connection.execute("SELECT SUM(CASE WHEN age > 1 THEN income ELSE debt END) FROM app")
    workload = {"queries": ["SELECT AVG(income + debt) FROM app"], "max_predicates": 1}
    asked = survey_toml(*columns, epsilon="8", mechanism="fourier", workload=workload)
    with simulate(design(asked), people(), seed=3) as connection:
        cursor = connection.execute("SELECT AVG(income + debt) FROM app")
        table = people()
        both = pc.add(table["income"], table["debt"])
        stderr = float(cursor.result.intervals[0].stderr[0])
        assert abs(cursor.fetchone()[0] - pc.mean(both).as_py()) < 6 * stderr
