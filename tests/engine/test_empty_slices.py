"""Questions about public values that no report has."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from support.surveys import integer, measure, public, survey_toml
from support.tiers import keep_fast

from ldpsql.dbapi.connection import Connection
from ldpsql.designer import design
from ldpsql_lab.simulation import simulate


@pytest.fixture(
    scope="module",
    params=keep_fast(["fourier", "ahio", "hgrr", "staircase"], ["fourier", "ahio", "hgrr"]),
)
def connection(request: pytest.FixtureRequest) -> Connection:
    """Two hundred people, none of whom has version 3."""
    columns = (integer("a", 0, 7), measure("pay", 0, 10), public("version", "int"))
    survey = design(survey_toml(*columns, epsilon="1", mechanism=request.param))
    people = {"a": [1, 2, 3, 4] * 50, "pay": [1.0, 2, 3, 9] * 50, "version": [1, 2, 2, 1] * 50}
    return simulate(survey, pa.table(people), seed=1)


@pytest.mark.fast(6)
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT COUNT(*) FROM app WHERE version = 3", (0,)),
        ("SELECT SUM(pay), COUNT(*) + 1 FROM app WHERE version = 3", (0, 1)),
        ("SELECT COUNT(*) FROM app WHERE version = 3 AND a < 2", (0,)),
        ("SELECT AVG(version), SUM(version) FROM app WHERE version = 3", (None, 0)),
        ("SELECT AVG(pay) FROM app WHERE version = 3 AND a < 2", (None,)),
    ],
)
def test_nobody_is_counted_exactly_and_without_a_warning(
    connection: Connection, sql: str, expected: tuple[float | None, ...]
) -> None:
    """Warnings are errors in tests; no error is infinite or not a number."""
    cursor = connection.execute(sql)
    assert cursor.fetchall() == [expected]
    for index, bars in cursor.result.intervals.items():
        ends = (bars.stderr[0], bars.low[0], bars.high[0])
        if expected[index] is not None:
            assert all(map(math.isfinite, ends))
            assert bars.stderr[0] == 0


def test_there_is_no_group_without_reports(connection: Connection) -> None:
    sql = "SELECT version, COUNT(*) FROM app WHERE version > 2 GROUP BY version"
    assert connection.execute(sql).fetchall() == []
