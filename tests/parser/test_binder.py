"""DuckDB's errors about outer SQL: in plain words, at the place in the user's text."""

from __future__ import annotations

import pytest
from support.sql_survey import parsed

_BY_STATE = "WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) "


@pytest.mark.parametrize(
    ("select", "names"),
    [
        ("*", ["state", "n"]),
        ("t.*, n", ["state", "n", "n"]),
        ("N, n / 2, ROUND(n, 1)  AS r", ["N", "n / 2", "r"]),
    ],
)
def test_columns_are_called_as_they_are_written(select: str, names: list[str]) -> None:
    assert [output.name for output in parsed(f"{_BY_STATE}SELECT {select} FROM t").outputs] == names


def test_ctes_that_double_at_every_step_are_bound_in_no_time() -> None:
    steps = ", ".join(f"t{i + 1} AS (SELECT a.n FROM t{i} a, t{i} b)" for i in range(60))
    sql = f"WITH t0 AS (SELECT COUNT(*) AS n FROM app), {steps} SELECT n FROM t60"
    assert [output.name for output in parsed(sql).outputs] == ["n"]
