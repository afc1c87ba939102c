"""Surveys with sensitive values from the file to SQL: two attributes and a public amount."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import category, public, survey_toml

from ldpsql.designer import design
from ldpsql_lab.simulation import simulate

PEOPLE = 12_000
ILLNESSES, CITIES = ("none", "flu", "HIV", "cancer", None), ("A", "B", "C")
COLUMNS = (
    category("illness", *ILLNESSES[:4], sensitive=["HIV", "cancer"], missing="code"),
    category("city", *CITIES, sensitive=["C"]),
    public("cost", "float"),
)


def survey_by(mechanism):
    return design(survey_toml(*COLUMNS, table="clinic", epsilon="2", mechanism=mechanism))


def people():
    """Illness depends on the city, cost on the illness."""
    random = np.random.default_rng(8)
    city = random.choice(3, PEOPLE, p=[0.5, 0.3, 0.2])
    illness = (random.choice(5, PEOPLE, p=[0.4, 0.3, 0.1, 0.15, 0.05]) + (city == 2)) % 5
    cost = np.round(10.0 * (1 + illness) + random.random(PEOPLE), 2)
    table = {
        "illness": [ILLNESSES[i] for i in illness],
        "city": [CITIES[i] for i in city],
        "cost": cost,
    }
    return pa.table(table), illness, city, cost


@pytest.fixture(scope="module", params=["jurr", "cprr", "jurr-g", "tdrr"])
def asked(request):
    table, *arrays = people()
    with simulate(survey_by(request.param), table, seed=4) as connection:
        yield connection, arrays


def bars(result, index, row=0):
    """Value and standard error."""
    interval = result.intervals[index]
    return result.table.column(index)[row].as_py(), interval.stderr[row]


def test_every_declared_combination_is_returned(asked):
    connection, (illness, city, _) = asked
    result = connection.execute(
        "SELECT illness, city, COUNT(*) FROM clinic GROUP BY illness, city"
    ).result
    keys = list(zip(*(result.table.column(i).to_pylist() for i in (0, 1)), strict=True))
    assert keys == [(i, c) for i in ILLNESSES for c in CITIES]
    for row, (one, other) in enumerate(keys):
        truth = np.sum((illness == ILLNESSES.index(one)) & (city == CITIES.index(other)))
        value, error = bars(result, 2, row)
        assert abs(value - truth) <= 6 * error


@pytest.mark.parametrize(
    ("where", "chosen"),
    [
        ("illness = 'HIV' AND city = 'B'", lambda i, c: (i == 2) & (c == 1)),
        ("illness IN ('HIV', 'flu')", lambda i, _: (i == 2) | (i == 1)),
        ("city = 'C' OR illness IS NULL", lambda i, c: (c == 2) | (i == 4)),
        ("NOT illness = 'none'", lambda i, _: (i > 0) & (i < 4)),
    ],
)
def test_counts_sums_and_averages_of_a_public_measure(asked, where, chosen):
    connection, (illness, city, cost) = asked
    inside = chosen(illness, city)
    sql = f"SELECT COUNT(*), SUM(cost), AVG(cost) FROM clinic WHERE {where}"
    result = connection.execute(sql).result
    truths = (inside.sum(), cost[inside].sum(), cost[inside].mean())
    for index, truth in enumerate(truths):
        value, error = bars(result, index)
        assert abs(value - truth) <= 6 * error
        assert error < 0.3 * truth


def test_conditional_frequencies_by_arithmetic(asked):
    """Two aggregates of one row: the ratio has an interval of its own."""
    connection, (illness, city, _) = asked
    sql = "SELECT city, COUNT(illness) / COUNT(*) FROM clinic GROUP BY city"
    result = connection.execute(sql).result
    for row in range(3):
        truth = np.mean(illness[city == row] < 4)
        value, error = bars(result, 1, row)
        assert abs(value - truth) <= 6 * error < 1


@pytest.mark.parametrize("estimator", ["smooth", "em"])
def test_post_processed_answers_agree_with_themselves(estimator):
    with simulate(survey_by("jurr"), people()[0], seed=4, estimator=estimator) as connection:
        cells = connection.execute(
            "SELECT illness, COUNT(*) FROM clinic WHERE city = 'B' GROUP BY illness"
        ).result.table.column(1)
        total = connection.execute("SELECT COUNT(*) FROM clinic WHERE city <> 'B'").result
        amount = connection.execute("SELECT SUM(cost) FROM clinic WHERE city = 'B'").result
    assert min(cells.to_pylist()) >= 0
    rest = total.table.column(0)[0].as_py()
    assert sum(cells.to_pylist()) + rest == pytest.approx(PEOPLE)
    assert amount.table.column(0)[0].as_py() > 0


def test_explain_names_cells_and_guarantee(asked):
    connection, _ = asked
    text = connection.execute("EXPLAIN SELECT COUNT(*) FROM clinic WHERE city = 'C'").result.explain
    assert "5 of 5 x 3 cells" in text
    assert "ULDP" in text
