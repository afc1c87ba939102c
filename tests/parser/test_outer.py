"""Queries over results: what is taken out as base queries, and what DuckDB makes of the rest."""

from __future__ import annotations

from functools import cache
from typing import Any

import duckdb
import pytest
from support.sql_survey import APP, parsed, refusal

from ldpsql.parser.query import ROW, ParsedSQL, Query
from ldpsql.sql.domains import find_dimension

_BY_STATE = "WITH t AS (SELECT state, COUNT(*) AS n FROM app GROUP BY state) "


def relation(query: Query) -> str:
    """SQL for a made-up relation of estimates of three rows."""
    columns = []
    for key in query.keys:
        text = find_dimension(APP.schema, key.column) == 1 or key.column == "version"
        columns.append(
            f"(CASE i WHEN 0 THEN 'CA' WHEN 1 THEN 'NY' END) AS {key.name}"
            if text
            else f"i * 10 AS {key.name}"
        )
    for index, column in enumerate(query.columns):
        columns.append(f"i * {index + 1} + 0.5 AS {column.name}")
    return f"SELECT {', '.join(columns)}, i AS {ROW} FROM range({3 if query.keys else 1}) r(i)"


Answer = tuple[list[str], list[tuple[Any, ...]]]


@cache
def database() -> duckdb.DuckDBPyConnection:
    """One for all tests: temporary tables are a cursor's own."""
    return duckdb.connect(config={"threads": 1})


def evaluated(statement: ParsedSQL, sql: str = "") -> Answer:
    """Names and rows that DuckDB gives for the outer SQL, or another, over made-up relations."""
    with database().cursor() as connection:
        for query in statement.bases:
            connection.execute(f"CREATE TEMP TABLE {query.relation} AS {relation(query)}")
        result = connection.execute(sql or statement.outer)
        return [column[0] for column in result.description], result.fetchall()


@pytest.mark.parametrize(
    ("sql", "bases"),
    [
        ("SELECT COUNT(*), COUNT(*) FROM app", 1),
        ("SELECT state, day, COUNT(*) FROM app GROUP BY ALL HAVING COUNT(*) > 0 ORDER BY ALL", 1),
        ("SELECT state, AVG(hours) FROM app GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 2", 1),
        ("SELECT DISTINCT COUNT(*) n FROM app GROUP BY state ORDER BY n", 1),
        ("(SELECT COUNT(*) FROM app)", 1),
        ("SELECT 1", 0),
        ("SELECT COUNT(*) n, (SELECT AVG(hours) FROM app) AS mean FROM app", 2),
        ("SELECT (SELECT COUNT(*) FROM app) - (SELECT AVG(hours) FROM app) AS d", 2),
        (_BY_STATE + "SELECT (SELECT MAX(n) FROM t) most, n FROM t", 1),
        (_BY_STATE + "SELECT * FROM t", 1),
        (_BY_STATE + "SELECT t.*, x.n FROM t JOIN t AS x USING (state)", 1),
        (_BY_STATE + "SELECT * FROM t JOIN t AS x USING (state)", 1),
        (_BY_STATE + "SELECT * FROM t LEFT JOIN t AS x ON t.n = x.n CROSS JOIN t y", 1),
        (_BY_STATE + "SELECT state, n, RANK() OVER (ORDER BY n DESC) AS r FROM t QUALIFY r < 3", 1),
        (_BY_STATE + "SELECT SUM(n) OVER w FROM t WINDOW w AS (PARTITION BY state)", 1),
        (_BY_STATE + "SELECT MAX(n), MIN(state), MEDIAN(n), STDDEV_SAMP(n), COUNT(*) FROM t", 1),
        (_BY_STATE + "SELECT state, n / (SELECT SUM(n) FROM t) AS share FROM t WHERE n > 0", 1),
        (_BY_STATE + "SELECT n FROM t UNION ALL SELECT SUM(n) FROM t ORDER BY n LIMIT 1", 1),
        (_BY_STATE + "SELECT n FROM t WHERE state LIKE 'C!A' ESCAPE '!'", 1),
        (_BY_STATE + "SELECT n FROM t WHERE state LIKE 'C%' OR state IN (SELECT state FROM t)", 1),
        (_BY_STATE + "SELECT n FROM t WHERE EXISTS (SELECT 1 FROM t x WHERE x.n > t.n)", 1),
        (_BY_STATE + "SELECT UPPER(state), ROUND(n, 1)::INT, n % 2, n // 2 FROM t", 1),
        (
            _BY_STATE + "SELECT COALESCE(state, 'none') s, SUM(n) FROM t GROUP BY s HAVING s <> ''",
            1,
        ),
        (_BY_STATE + "SELECT COUNT(DISTINCT state), SUM(n) FILTER (WHERE n > 1) FROM t", 1),
        (_BY_STATE + "SELECT s FROM (SELECT state AS s FROM t) AS q WHERE q.s = 'CA'", 1),
        ("WITH t(a, b) AS (SELECT state, COUNT(*) FROM app GROUP BY 1) SELECT a, b FROM t", 1),
        ("WITH app AS (SELECT COUNT(*) AS n FROM app) SELECT n FROM app", 1),
        ("WITH t AS (SELECT 1 AS x) SELECT COUNT(*) FROM app", 1),
        ("SELECT * FROM (SELECT COUNT(*) FROM app)", 1),
        (
            "SELECT a.n + b.n "
            "FROM (SELECT COUNT(*) n FROM app) a, (SELECT AVG(hours) n FROM app) b",
            2,
        ),
        ("SELECT COUNT(*) FROM app UNION ALL SELECT COUNT(*) FROM app WHERE active", 2),
        ("SELECT COUNT(*) / (SELECT COUNT(*) FROM app) FROM app WHERE active", 2),
        (
            "SELECT state, COUNT(*) FROM app GROUP BY 1 "
            "HAVING COUNT(*) > (SELECT AVG(hours) FROM app)",
            2,
        ),
    ],
)
def test_duckdb_evaluates_what_is_left_and_gives_the_promised_columns(sql: str, bases: int) -> None:
    statement = parsed(sql)
    assert [query.relation for query in statement.bases] == [
        f"ldpsql_base_{i}" for i in range(bases)
    ]
    names, rows = evaluated(statement)
    assert names == [output.name for output in statement.outputs]
    if statement.projection is None:
        traced, with_gradients = evaluated(statement, statement.traced)
        width = len(names)
        assert traced[:width] == names
        assert len(traced) - width == sum(output.is_estimate for output in statement.outputs)
        assert sorted(map(str, rows)) == sorted(str(row[:width]) for row in with_gradients)


def test_having_order_and_limit_are_applied_to_the_estimates() -> None:
    statement = parsed(
        "SELECT state, COUNT(*) FROM app GROUP BY 1 HAVING COUNT(*) > 1 ORDER BY 2 DESC LIMIT 1"
    )
    _, rows = evaluated(statement)
    assert [(row[0], float(row[1])) for row in rows] == [(None, 2.5)]


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


def test_texts_are_joined_over_results() -> None:
    sql = _BY_STATE + "SELECT state || '-' || 'x' AS label, n FROM t"
    names, rows = evaluated(parsed(sql))
    assert names[:2] == ["label", "n"]
    assert [row[0] for row in rows] == ["CA-x", "NY-x", None]
    assert "join texts by ||" in str(refusal(_BY_STATE + "SELECT concat(state, 'x') FROM t"))


def test_texts_that_double_at_every_step_are_refused() -> None:
    def doubled(times: int) -> str:
        more = ", ".join(f"t{i + 1} AS (SELECT x || x AS x FROM t{i})" for i in range(times))
        start = _BY_STATE + f"SELECT length(x) FROM (WITH t0 AS (SELECT state AS x FROM t), {more} "
        return f"{start}SELECT x FROM t{times})"

    assert parsed(doubled(16))
    assert "texts are joined more than 16 times" in refusal(doubled(17)).reason
