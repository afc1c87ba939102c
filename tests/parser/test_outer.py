"""Queries over results: what is taken out as base queries, and what DuckDB makes of the rest."""

from __future__ import annotations

from functools import cache
from typing import Any

import duckdb
import pytest
from support.sql_survey import APP, marked, parsed, refusal

from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.parser.query import ROW, Query, Statement
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


def evaluated(statement: Statement, sql: str = "") -> Answer:
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


@pytest.mark.parametrize(
    ("tail", "kind", "marks", "reason"),
    [
        ("SELECT nn FROM t", QueryError, "nn", "no column 'nn'"),
        ("SELECT x.n FROM t", QueryError, "x.n", "no column 'x.n'"),
        ("SELECT t FROM t", QueryError, "t", "no column 't'"),
        ("SELECT n FROM t WHERE m > 3", QueryError, "m", "no column 'm'"),
        ("SELECT n FROM t JOIN t x ON t.n = x.m", QueryError, "x.m", "no column"),
        ("SELECT x.* FROM t", QueryError, "x.*", "no relation"),
        ("SELECT n FROM t, t", QueryError, "t", "two relations"),
        ("SELECT (*) FROM t", QueryError, "*", "only by itself"),
        ("SELECT * / n FROM t", QueryError, "*", "only by itself"),
        ("SELECT n FROM u", QueryError, "u", "no survey"),
        ("SELECT n FROM t UNION SELECT state, n FROM t", QueryError, "state, n FROM t", "columns"),
        ("SELECT n FROM t JOIN app USING (state)", UnsupportedSQL, "app", "JOIN with a survey"),
        ("SELECT n FROM t, app", UnsupportedSQL, "app", "JOIN with a survey"),
        ("SELECT * EXCLUDE (n) FROM t", UnsupportedSQL, None, "EXCLUDE"),
        ("SELECT COLUMNS('n') FROM t", UnsupportedSQL, None, "COLUMNS"),
        ("SELECT n FROM t NATURAL JOIN t x", UnsupportedSQL, None, "NATURAL"),
        ("SELECT n FROM t ASOF JOIN t x ON t.n > x.n", UnsupportedSQL, None, "ASOF"),
        ("SELECT n FROM t SEMI JOIN t x USING (n)", UnsupportedSQL, None, "SEMI"),
        ("SELECT n FROM t TABLESAMPLE 10%", UnsupportedSQL, None, "sampling is not supported"),
        ("SELECT n FROM t, read_csv('x')", UnsupportedSQL, "read_csv('x')", "table function"),
        ("SELECT n FROM t, unnest([1])", UnsupportedSQL, None, "table function"),
        ("SELECT n FROM t, LATERAL (SELECT 1)", UnsupportedSQL, None, "table function"),
        ("SELECT n FROM t, (VALUES (getenv('HOME'))) v", UnsupportedSQL, None, "GETENV"),
        ("SELECT n FROM t, 'file.csv'", QueryError, "'file.csv'", "no survey"),
        ("SELECT getenv('HOME') FROM t", UnsupportedSQL, "getenv('HOME')", "GETENV"),
        ("SELECT current_setting('threads') FROM t", UnsupportedSQL, None, "CURRENT_SETTING"),
        ("SELECT nextval('x') FROM t", UnsupportedSQL, None, "NEXTVAL"),
        ("SELECT repeat('x', 1000000000) FROM t", UnsupportedSQL, None, "REPEAT"),
        ("SELECT random() FROM t", UnsupportedSQL, None, "RAND"),
        ("SELECT n FROM t ORDER BY read_text('x')", UnsupportedSQL, None, "READ_TEXT"),
        ("SELECT STDERR(n) FROM t", UnsupportedSQL, "STDERR(n)", "only in the SELECT over"),
        ("SELECT bin(n, 10) FROM t", UnsupportedSQL, "bin(n, 10)", "only in the SELECT over"),
        ("SELECT n[1] FROM t", UnsupportedSQL, None, "not supported"),
        ("SELECT x -> n FROM t", UnsupportedSQL, None, "not supported"),
        ("SELECT (SELECT age FROM app) FROM t", UnsupportedSQL, "age", "not a GROUP BY key"),
        ("SELECT (SELECT COUNT(*) FROM app WHERE age = t.n) FROM t", QueryError, None, "no table"),
    ],
)
def test_what_duckdb_must_not_see_is_refused(
    tail: str, kind: type[Exception], marks: str | None, reason: str
) -> None:
    error = refusal(_BY_STATE + tail)
    assert reason in error.reason
    assert type(error) is kind
    assert error.place is not None
    if marks is not None:
        assert marked(error) == marks


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x FROM t) SELECT x FROM t", "recurs"),
        ("WITH ldpsql_base_0 AS (SELECT 1 AS x) SELECT x FROM ldpsql_base_0", "reserved"),
        ("SELECT x FROM (SELECT 1 AS x) AS ldpsql_base_0", "reserved"),
        (
            "WITH t AS (SELECT COUNT(*) AS ldpsql_d1 FROM app) SELECT ldpsql_d1 + 1 FROM t",
            "reserved",
        ),
        ("SELECT x.LDPSQL_D0 FROM (SELECT 1) AS x(ldpsql_d0)", "reserved"),
        ("WITH t(a, b) AS (SELECT COUNT(*) FROM app) SELECT a FROM t", "1 columns to name"),
        ("WITH t AS (SELECT age FROM app) SELECT age FROM t", "not a GROUP BY key"),
        ("WITH t AS (SELECT age FROM app) SELECT COUNT(*) FROM t WHERE active", "no column"),
        ("WITH t AS (SELECT age FROM app) SELECT COUNT(*) FROM t WHERE t.active", "no column"),
        ("WITH t AS (SELECT nope FROM app) SELECT COUNT(*) FROM t", "no column"),
        ("SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER () AS r FROM app) AS t", "without an"),
        ("SELECT COUNT(*) FROM (SELECT * FROM app UNION ALL SELECT * FROM app)", "a survey twice"),
        ("WITH t AS (DELETE FROM app RETURNING *) SELECT * FROM t", "not a query"),
        ("SELECT *", "needs a FROM"),
        ("SELECT", "names no column"),
        ("SELECT COUNT(*) app", "needs a FROM"),
        ("SELECT * AS x FROM (SELECT COUNT(*) FROM app)", "no single name"),
    ],
)
def test_other_ways_around_are_refused(sql: str, reason: str) -> None:
    assert reason in refusal(sql).reason


@pytest.mark.parametrize(
    ("sql", "marks", "reason"),
    [
        ("WITH y AS (SELECT * FROM app) SELECT * FROM y", "*", "single people"),
        ("WITH y AS (SELECT * FROM app) SELECT COUNT(*) FROM y JOIN y AS z ON TRUE", None, "JOIN"),
        ("WITH y AS (SELECT * FROM app WHERE nope) SELECT COUNT(*) FROM y", "nope", "no column"),
        ("WITH y AS (SELECT * FROM app LIMIT 3) SELECT COUNT(*) FROM y", "*", "single people"),
        ("WITH y(a) AS (SELECT * FROM app) SELECT COUNT(*) FROM y", "*", "single people"),
    ],
)
def test_a_query_that_filters_people_shows_nobody(sql: str, marks: str | None, reason: str) -> None:
    error = refusal(sql)
    assert reason in error.reason
    assert marks is None or marked(error) == marks


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
