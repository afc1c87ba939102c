"""A whole survey in memory: randomized, ingested, ready to be asked."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.surveys import integer, measure, survey_toml

from ldpsql.designer import design
from ldpsql.survey import Survey
from ldpsql_device.errors import RecordError, ReportError
from ldpsql_lab.simulation import simulate

SURVEY = design(
    survey_toml(integer("age", 0, 9), measure("pay", 0, 10), epsilon="2", mechanism="hgrr")
)
TABLE = pa.table(
    {"age": [n % 10 for n in range(3_000)], "pay": [float(n % 7) for n in range(3_000)]}
)
SQL = "SELECT COUNT(*), SUM(pay), STDERR(COUNT(*)) FROM app WHERE age < 4"


def answers(**options: Any) -> tuple[Any, ...]:
    """COUNT, SUM and a standard error."""
    with simulate(SURVEY, TABLE, **options) as connection:
        (row,) = connection.execute(SQL).fetchall()
    return row


def test_the_same_seed_gives_the_same_answers() -> None:
    """To the last bit; without a seed it is 0."""
    assert answers(seed=5) == answers(seed=5)
    assert answers() == answers(seed=0)


def test_the_confidence_is_that_of_the_intervals() -> None:
    """50 % intervals lie inside 99 % ones."""
    widths = []
    for confidence in (0.5, 0.99):
        with simulate(SURVEY, TABLE, confidence=confidence) as connection:
            bars = connection.execute(SQL).result.intervals[0]
        widths.append(float(bars.high[0] - bars.low[0]))
    assert widths[1] / widths[0] == pytest.approx(2.5758 / 0.6745, rel=1e-3)


def test_nobody_is_left_out() -> None:
    """Whatever their record holds; a table without a column is none."""
    with simulate(SURVEY, pa.table({"age": [3, None], "pay": [1.0, 200.0]})) as connection:
        assert connection.execute("SELECT COUNT(*) FROM app").fetchone() == (2,)
    with pytest.raises(RecordError):
        simulate(SURVEY, pa.table({"age": [3, None]}))


def test_reports_for_a_shuffler_are_shuffled() -> None:
    """And fewer than were promised are not."""

    def shuffled(users: int) -> Survey:
        how = {"mechanism": "srr-ss", "trust": "shuffle", "delta": "1e-4", "users": users}
        return design(survey_toml(integer("age", 0, 9), **how))

    ages = TABLE.select(["age"])
    with simulate(shuffled(3_000), ages, seed=1) as connection:
        (row,) = connection.execute("SELECT COUNT(*), STDERR(COUNT(*)) FROM app WHERE age < 4")
    assert abs(row[0] - 1200) < 6 * row[1]
    with pytest.raises(ReportError, match="fewer than"):
        simulate(shuffled(4_000), ages, seed=1)
