"""What outputs depend on; how it goes through a query, and why it is lost, is in error_bars.sql."""

from __future__ import annotations

import pytest
from support.sql_survey import parsed

_T = "WITH t AS (SELECT state, COUNT(*) AS n, AVG(hours) AS h FROM app GROUP BY state) "


def test_nothing_is_logged_of_the_parts_of_windows(caplog: pytest.LogCaptureFixture) -> None:
    (lag,) = parsed(_T + "SELECT LAG(n IGNORE NULLS) OVER (ORDER BY state) FROM t").outputs
    assert lag.is_estimate
    assert not caplog.records


def test_expressions_that_double_are_not_followed_for_ever() -> None:
    steps = ", ".join(f"{' + '.join([f'a{i}'] * 4)} AS a{i + 1}" for i in range(6))
    last = parsed(f"{_T} SELECT n AS a0, {steps} FROM t").outputs[-1]
    assert last.lost == "its expression is too long to follow"
    nested = "n"
    for _ in range(40):
        nested = f"CASE WHEN state = 'CA' THEN COALESCE({nested}, 0) ELSE 1 END"
    assert not parsed(f"{_T} SELECT {nested} FROM t").outputs[0].is_estimate


def test_stars_show_no_gradients() -> None:
    for query in (
        "SELECT * FROM t",
        "SELECT * FROM t WHERE n IN (SELECT 1 FROM (SELECT * FROM t))",
    ):
        assert [o.name for o in parsed(_T + query).outputs] == ["state", "n", "h"]
    joined = parsed(_T + "SELECT *, b.* FROM t JOIN t b USING (state)")
    assert [o.name for o in joined.outputs] == ["state", "n", "h", "n", "h", "state", "n", "h"]
    assert (
        "IN (SELECT * FROM t)"
        not in parsed(
            "WITH t AS (SELECT COUNT(*) AS n FROM app) SELECT 1 FROM t WHERE 1 IN (SELECT * FROM t)"
        ).traced
    )
