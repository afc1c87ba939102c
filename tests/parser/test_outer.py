"""Queries over results: surveys that CTEs hide, and what grows without end."""

from __future__ import annotations

import pytest
from support.sql_survey import parsed, refusal

_BY_STATE = "WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) "


def test_a_cte_hides_a_survey_of_the_same_name() -> None:
    statement = parsed("WITH app AS (SELECT COUNT(*) AS n FROM app) SELECT MAX(n) FROM app")
    assert len(statement.bases) == 1
    assert "SELECT MAX(n)" in statement.outer


def test_queries_over_records_do_not_grow_exponentially() -> None:
    """Each of them names the column of the one before twice."""
    more = ", ".join(f"t{i + 1} AS (SELECT x + x AS x FROM t{i})" for i in range(60))
    error = refusal(f"WITH t0 AS (SELECT age AS x FROM app), {more} SELECT SUM(x) FROM t60")
    assert "unfold into too large an expression" in error.reason
    more = ", ".join(f"t{i + 1} AS (SELECT x + 1 AS x FROM t{i})" for i in range(20))
    parsed(f"WITH t0 AS (SELECT age AS x FROM app), {more} SELECT SUM(x) FROM t20")


@pytest.mark.parametrize(
    "sql",
    [
        "WITH app AS (SELECT * FROM app WHERE age < 30) SELECT COUNT(*) FROM app",
        "WITH app AS (SELECT * FROM (SELECT * FROM app) WHERE age < 30) SELECT COUNT(*) FROM app",
        "WITH t AS (SELECT * FROM app), app AS (SELECT * FROM t WHERE age < 30) "
        "SELECT COUNT(*) FROM app",
        "WITH app AS (SELECT * FROM app), t AS (SELECT * FROM app WHERE age < 30) "
        "SELECT COUNT(*) FROM t",
    ],
)
def test_a_query_over_records_may_have_the_name_of_their_table(sql: str) -> None:
    (base,) = parsed(sql).bases
    assert base.predicate == parsed("SELECT COUNT(*) FROM app WHERE age < 30").bases[0].predicate


@pytest.mark.parametrize("steps", [16, 40, 400])
@pytest.mark.parametrize(
    "source",
    ["SELECT {} FROM g", "SELECT x FROM (SELECT {} FROM g) AS h", "SELECT {} FROM g LIMIT 1"],
)
def test_aliases_that_double_at_every_step_are_refused_over_estimates(
    steps: int, source: str
) -> None:
    """DuckDB would write them out before any deadline could end it."""
    items = ", ".join(f"n{i} + n{i} AS n{i + 1}" for i in range(steps)) + ", 1 AS x"
    counted = "WITH g AS (SELECT COUNT(*) AS n0 FROM app) "
    assert "unfold" in refusal(counted + source.format(items)).reason
    few = ", ".join(f"n{i} + 1 AS n{i + 1}" for i in range(8)) + ", 1 AS x"
    parsed(counted + source.format(few))


def test_texts_are_joined_by_one_operator() -> None:
    assert "join texts by ||" in str(refusal(_BY_STATE + "SELECT concat(state, 'x') FROM t"))


def test_texts_that_double_at_every_step_are_refused() -> None:
    def doubled(times: int) -> str:
        more = ", ".join(f"t{i + 1} AS (SELECT x || x AS x FROM t{i})" for i in range(times))
        start = _BY_STATE + f"SELECT length(x) FROM (WITH t0 AS (SELECT state AS x FROM t), {more} "
        return f"{start}SELECT x FROM t{times})"

    assert parsed(doubled(16))
    assert "texts are joined more than 16 times" in refusal(doubled(17)).reason


def test_ctes_that_double_at_every_step_are_bound_in_no_time() -> None:
    steps = ", ".join(f"t{i + 1} AS (SELECT a.n FROM t{i} a, t{i} b)" for i in range(60))
    sql = f"WITH t0 AS (SELECT COUNT(*) AS n FROM app), {steps} SELECT n FROM t60"
    assert [output.name for output in parsed(sql).outputs] == ["n"]
