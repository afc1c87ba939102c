"""DuckDB's errors about outer SQL: in plain words, at the place in the user's text."""

from __future__ import annotations

import pytest
from support.sql_survey import marked, parsed, refusal

_BY_STATE = "WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) "


@pytest.mark.parametrize(
    ("tail", "marks", "reason", "hint"),
    [
        ("SELECT t.stat FROM t", "t.stat", "no column 't.stat'", "did you mean state?"),
        ("SELECT n FROM t WHERE 'é' = stat", "stat", "no column 'stat'", "did you mean state?"),
        ("SELECT q.n FROM (SELECT n FROM t) AS q WHERE q.z = 1", "q.z", "no column 'q.z'", ""),
        ("SELECT (SELECT MAX(n) FROM t y WHERE y.n > t.k) FROM t", "t.k", "no column 't.k'", ""),
        ("SELECT n FROM t JOIN t x USING (zz)", "zz", "does not exist on left side", ""),
        ("SELECT n FROM t CROSS JOIN t y", "n", "Ambiguous reference", ""),
        ("SELECT UPPER(n) FROM t", "UPPER(n)", "No function matches", ""),
        ("SELECT state,\n n, SUM(n) FROM t", "n", "must appear in the GROUP BY", ""),
        ("SELECT SUM(n) OVER w FROM t", "w", "does not exist", ""),
        ("SELECT n FROM t ORDER BY 9", "9", "out of range", ""),
        ("SELECT n FROM t WHERE state IN (SELECT state, n FROM t)", None, "2 columns", ""),
    ],
)
def test_errors_of_the_binder_have_a_place(
    tail: str, marks: str | None, reason: str, hint: str
) -> None:
    error = refusal(_BY_STATE + tail)
    assert reason in error.reason
    assert hint in error.hint
    assert marks is None or marked(error) == marks


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


@pytest.mark.parametrize(
    ("condition", "reason", "hint"),
    [
        ("regexp_matches(state, '[')", "missing ]", "check the constants in it"),
        ("lower(age) = 'a'", "No function matches", "check the types of what it is"),
    ],
)
def test_what_is_wrong_over_declared_values_is_told_by_its_kind(
    condition: str, reason: str, hint: str
) -> None:
    error = refusal(f"SELECT COUNT(*) FROM app WHERE {condition}")
    assert reason in error.reason
    assert error.hint.startswith(hint)
