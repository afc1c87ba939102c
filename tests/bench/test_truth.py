"""True answers: DuckDB's own, as somebody who knows the survey would have asked for them."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pytest
from bench.comparing import TOML, asked, raw, survey_file

from ldpsql.bench.people import People
from ldpsql.bench.questions import KINDS, Draft, Wanted
from ldpsql.bench.truth import Truth

SUM_PAY = "COALESCE(SUM(greatest(-5, least(50, pay))), 0)"
PAIRS = [
    ("COUNT(*)", "age < 5 OR NOT state = 'NY'", "COUNT(*)", None),
    (
        "SUM(pay), AVG(pay)",
        "age BETWEEN 3 AND 7",
        f"{SUM_PAY}, AVG(greatest(-5, least(50, pay)))",
        None,
    ),
    # The measure is clamped to [3, 9], the dimension of the same name is not.
    ("SUM(age)", "age >= 10", "SUM(least(9, age))", None),
    ("COUNT(state), COUNT(version)", "score < 8", "COUNT(state), COUNT(version)", None),
    ("SUM(pay) / COUNT(*) + 1", "state IN ('CA', 'O''K')", f"{SUM_PAY} / COUNT(*) + 1", None),
    ("SUM(version)", "state IS NULL AND version IS NOT NULL", "COALESCE(SUM(version), 0)", None),
    ("COUNT(*)", "joined >= '2026-01-12'", "COUNT(*)", None),
    ("COUNT(*)", "weight < 1.5", "COUNT(*)", None),
    ("COUNT(*)", "age > 99", "COUNT(*)", None),
    ("COUNT(*)", "version = 1 OR age = 4", "COUNT(*)", None),
]
GROUPED = [
    ("state", "state"),
    ("score", "(score // 4) * 4"),
    ("bin(age, 4)", "(age // 4) * 4"),
    ("version", "version"),
    ("joined", "CAST(date_trunc('week', joined) AS DATE)"),
    ("weight", "CASE WHEN weight < 1.5 THEN 0.0 ELSE 1.5 END"),
]


@pytest.fixture(scope="module")
def truth():
    file = survey_file()
    with Truth(file.schema, People(raw()).table) as found:
        yield found


def theirs(sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as database:
        database.register("app", raw())
        return database.execute(sql).fetchall()


@pytest.mark.parametrize(("ours", "where", "exact", "_"), PAIRS)
def test_where(truth: Truth, ours: str, where: str, exact: str, _: None) -> None:
    """A row of aggregates."""
    found = truth.answer(asked(f"SELECT {ours} FROM app WHERE {where}")).of(())
    (row,) = theirs(f"SELECT {exact} FROM app WHERE {where}")
    assert found == pytest.approx([float(value) for value in row])


@pytest.mark.parametrize(("ours", "exact"), GROUPED)
def test_groups(truth: Truth, ours: str, exact: str) -> None:
    """Rows by their keys, bins by their lower edges."""
    found = truth.answer(asked(f"SELECT {ours}, COUNT(*), SUM(pay) FROM app GROUP BY {ours}"))
    rows = theirs(f"SELECT {exact}, COUNT(*), {SUM_PAY} FROM app GROUP BY ALL")
    assert {key: tuple(row) for (key,), row in found.rows.items()} == {
        key: (float(count), float(total)) for key, count, total in rows
    }


def test_nobody(truth: Truth) -> None:
    """A key that nobody has: COUNT and SUM are 0, AVG is NULL."""
    found = truth.answer(asked("SELECT age, COUNT(*), SUM(pay), AVG(pay) FROM app GROUP BY age"))
    count, total, average = found.of((99,))
    assert (count, total) == (0.0, 0.0)
    assert math.isnan(average)


def test_scales(truth: Truth) -> None:
    """People, and the sum of what everybody has, signs aside; nothing for an AVG."""
    found = truth.scales(asked("SELECT COUNT(*), SUM(pay), AVG(pay) FROM app WHERE age < 5"))
    ((total,),) = theirs("SELECT SUM(ABS(greatest(-5, least(50, pay)))) FROM app")
    assert found[:2] == pytest.approx([400.0, float(total)])
    assert np.isnan(found[2])


def test_every_made_up_question_has_a_truth(truth: Truth) -> None:
    """Of every kind, over every kind of dimension; rows of a GROUP BY add up to everybody."""
    file = survey_file(TOML)
    wanted = Wanted(KINDS, (1, 2), 0.3, 6)
    for made in wanted.questions(Draft(file.table, file.schema)):
        rows = truth.answer(made).rows
        assert rows
        if made.query.keys:
            assert sum(row[0] for row in rows.values()) == 400.0
