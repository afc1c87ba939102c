"""Natural mistakes: what the hint says is answered as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from support.surveys import boolean, category, dimension, integer, measure, public, survey_toml

from ldpsql import Error
from ldpsql.dbapi.connection import Connection
from ldpsql.designer import design
from ldpsql_lab.simulation import simulate

PEOPLE = 3_000


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    survey = design(
        survey_toml(
            integer("birth_year", 1930, 2009, bin_width=10),
            category("city", "Bern", "Basel", "Chur", missing="code"),
            dimension("day", "date", range=[date(2026, 1, 1), date(2026, 12, 31)], unit="month"),
            dimension(
                "seen", "timestamp", range=[date(2026, 1, 1), date(2026, 3, 31)], unit="month"
            ),
            dimension("weight", "float", domain=[0, 100], bins=4),
            boolean("member"),
            measure("pay", 0, 1000),
            public("version", "text"),
            epsilon="6",
            mechanism="fourier",
        )
    )
    random, days = np.random.default_rng(1), np.datetime64("2026-01-01")
    people = {
        "birth_year": random.integers(1930, 2010, PEOPLE),
        "city": random.choice(["Bern", "Basel", "Chur"], PEOPLE),
        "day": pa.array((days + random.integers(0, 365, PEOPLE)).astype("datetime64[D]")),
        "seen": pa.array((days + random.integers(0, 90, PEOPLE)).astype("datetime64[us]")),
        "weight": random.uniform(0, 100, PEOPLE),
        "member": random.random(PEOPLE) < 0.5,
        "pay": random.uniform(0, 1000, PEOPLE),
        "version": random.choice(["1.0", "2.0"], PEOPLE),
    }
    with simulate(survey, pa.table(people), seed=1) as opened:
        yield opened


WHERE = "SELECT COUNT(*) FROM app WHERE "
CONDITIONS = {
    "birth_year < 1976": "birth_year < 1980",
    "birth_year <= 1972": "birth_year < 1970",
    "birth_year > 1975": "birth_year >= 1970",
    "1975 <= birth_year": "birth_year >= 1980",
    "birth_year = 1975": "birth_year >= 1970 AND birth_year < 1980",
    "birth_year <> 1975": "(birth_year < 1970 OR birth_year >= 1980)",
    "birth_year IN (1975, 1980)": "birth_year >= 1970 AND birth_year < 1990",
    "birth_year IN (1935, 1980)": "(birth_year < 1940 OR birth_year >= 1980 AND birth_year < 1990)",
    "birth_year BETWEEN 1971 AND 1988": "birth_year >= 1970 AND birth_year < 1990",
    "birth_year < '1975'": "birth_year < 1980",
    "2026 - birth_year < 50": "birth_year >= 1980",
    "weight < 60": "weight < 50.0",
    "weight <= 95": "weight < 75.0",
    "weight = 50": "weight >= 50.0 AND weight < 75.0",
    "weight = 80": "weight >= 75.0",
    "weight BETWEEN 10 AND 60": "weight < 75.0",
    "day < DATE '2026-02-15'": "day < DATE '2026-02-01'",
    "day <= '2026-02-20'": "day < DATE '2026-03-01'",
    "day = DATE '2026-02-15'": "day >= DATE '2026-02-01' AND day < DATE '2026-03-01'",
    "day BETWEEN '2026-02-15' AND '2026-04-15'": (
        "day >= DATE '2026-02-01' AND day < DATE '2026-05-01'"
    ),
    "day BETWEEN DATE '2026-02-01' AND DATE '2026-04-01'": (
        "day >= DATE '2026-02-01' AND day < DATE '2026-04-01'"
    ),
    "seen < DATE '2026-02-10'": "seen < TIMESTAMP '2026-02-01 00:00:00'",
    "seen BETWEEN '2026-02-10' AND '2026-02-20'": (
        "seen >= TIMESTAMP '2026-02-01 00:00:00' AND seen < TIMESTAMP '2026-03-01 00:00:00'"
    ),
    "seen < '2026-02-01T00:00:00Z'": ("seen >= TIMESTAMP '2026-01-01 00:00:00'"),
    "day < '2026-02-01 00:00:00+01:00'": "day >= DATE '2026-01-01'",
    "birth_year < 'old'": "birth_year >= 1930",
    "member = 'often'": "member = TRUE",
    "city IS 'Bern'": "city = 'Bern'",
}
"""By condition what the hint writes in its place."""

STATEMENTS = {
    "SELECT city, COUNT(*) OVER (PARTITION BY city) FROM app": (
        "SELECT city, COUNT(*) FROM app GROUP BY city"
    ),
    "SELECT city, AVG(pay) OVER (PARTITION BY city) FROM app": (
        "SELECT city, AVG(pay) FROM app GROUP BY city"
    ),
    "SELECT COUNT(DISTINCT version) FROM app": (
        "SELECT COUNT(*) FROM (SELECT version FROM app GROUP BY version)"
    ),
    "SELECT SUM(city) FROM app": "SELECT city, COUNT(*) FROM app GROUP BY city",
    "PIVOT app ON city USING COUNT(*)": "SELECT city, COUNT(*) FROM app GROUP BY city",
    "PIVOT app ON city": "SELECT city, COUNT(*) FROM app GROUP BY city",
    "PIVOT app ON city, member USING AVG(pay) AS a, COUNT(*)": (
        "SELECT city, member, AVG(pay) AS a, COUNT(*) FROM app GROUP BY city, member"
    ),
    "PIVOT app ON city IN ('Bern') USING SUM(pay - 1) GROUP BY member ORDER BY 1 LIMIT 3": (
        "SELECT city, member, SUM(pay - 1) FROM app GROUP BY city, member"
    ),
    "PIVOT main.app ON lower(city) USING SUM(CASE WHEN member THEN 1 END);": (
        "SELECT LOWER(city), SUM(CASE WHEN member THEN 1 END) FROM main.app GROUP BY LOWER(city)"
    ),
    "SELECT * FROM app AS a PIVOT (AVG(a.pay) AS p FOR a.city IN ('Bern') GROUP BY member)": (
        "SELECT a.city, member, AVG(a.pay) AS p FROM app AS a GROUP BY a.city, member"
    ),
    "FROM app PIVOT (COUNT(*) FOR city IN ('Bern', 'Chur'))": (
        "SELECT city, COUNT(*) FROM app GROUP BY city"
    ),
    "SELECT * FROM app PIVOT (AVG(pay) FOR member IN (TRUE, FALSE))": (
        "SELECT member, AVG(pay) FROM app GROUP BY member"
    ),
}
"""By statement the one of the hint."""

PARTS = {
    'SELECT COUNT(*) FROM app WHERE city = "Bern"': ('"Bern"', "'Bern'"),
    "SELECT COUNT(*) FROM app WHERE city = bern": ("bern", "'Bern'"),
    "SELECT COUNT(*) FROM app WHERE birth_year = 'young'": (
        "birth_year = 'young'",
        "birth_year >= 1930",
    ),
    "SELECT city, SUM(pay) FROM app GROUP BY city, 2": ("city, 2", "city"),
    "SELECT COUNT(*) FROM app WHERE city IN ('Bern', 'Bsel')": ("'Bsel'", "'Basel'"),
    "SELECT COUNT(*) FROM app WHERE day = '15.02.2026'": (
        "day = '15.02.2026'",
        "day >= DATE '2026-01-01'",
    ),
    "SELECT COUNT(*) FROM app WHERE citty = 'Bern'": ("citty", "city"),
    "SELECT COUNT(*) FROM app WHERE member && city = 'Bern'": ("&&", "AND"),
    "SELECT COUNT(*) FROM app WHERE 1950 <= birth_year <= 1969": (
        "1950 <= birth_year <= 1969",
        "birth_year BETWEEN 1950 AND 1969",
    ),
    "SELECT TOP 5 city, COUNT(*) FROM app GROUP BY city": (
        "TOP 5 city, COUNT(*) FROM app GROUP BY city",
        "city, COUNT(*) FROM app GROUP BY city LIMIT 5",
    ),
    "SELECT city, COUNT(*) FROM app GROUP BY 1, 2": ("1, 2", "1"),
    "SELECT AVG(pay) FROM app HAVING city = 'Bern'": ("HAVING", "GROUP BY city HAVING"),
    "SELECT COUNT(DISTINCT pay) FROM app": ("COUNT(DISTINCT pay)", "COUNT(pay)"),
    "SELECT SUM(CASE WHEN pay > 500 THEN 1 ELSE 0 END) FROM app": (
        "SUM(CASE WHEN pay > 500 THEN 1 ELSE 0 END)",
        "AVG(pay)",
    ),
    "SELECT COUNT(DISTINCT city) FROM app": ("COUNT(DISTINCT city)", "COUNT(city)"),
    "SELECT city, COUNT(*) FROM app": ("app", "app GROUP BY city"),
    "SELECT * FROM app LIMIT 5": ("*", "COUNT(*)"),
    "SELECT MIN(birth_year) FROM app": ("MIN(birth_year)", "QUANTILE_DISC(birth_year, 0.01)"),
    "SELECT MEDIAN(pay) FROM app": ("MEDIAN(pay)", "AVG(pay)"),
    "SELECT AVG(weight) FROM app": ("AVG(weight)", "MEDIAN(weight)"),
    "SELECT COUNT(*), AVG(pay) FROM app WHERE pay > 500": (" WHERE pay > 500", ""),
    "SELECT city, COUNT(*) FROM app GROUP BY city HAVING pay > 10": ("pay > 10", "AVG(pay) > 10"),
    "SELECT city, COUNT(*) OVER () FROM app GROUP BY city": ("COUNT(*)", "SUM(COUNT(*))"),
    "SELECT city, COUNT(*) AS people FROM app GROUP BY city ORDER BY peple": ("peple", "people"),
    "SELECT 2029 - birth_year AS age, COUNT(*) FROM app GROUP BY age": (
        "2029 - birth_year",
        "birth_year",
    ),
    "SELECT date_trunc('week', day), COUNT(*) FROM app GROUP BY 1": (
        "date_trunc('week', day)",
        "day",
    ),
    "SELECT COUNT(*) FROM (SELECT * FROM app UNION ALL SELECT * FROM app)": (
        "(SELECT * FROM app UNION ALL SELECT * FROM app)",
        "app",
    ),
    "SELECT GROUPING(member), COUNT(*) FROM app GROUP BY ROLLUP (version, city)": (
        "GROUPING(member)",
        "GROUPING(city)",
    ),
    "SELECT city, COUNT(*) FROM app WHERE COUNT(*) > 10 GROUP BY city": (
        "WHERE COUNT(*) > 10 GROUP BY city",
        "GROUP BY city HAVING COUNT(*) > 10",
    ),
}
"""By statement what is wrong in it, and what takes its place."""


def refuse(connection: Connection, sql: str) -> str:
    with pytest.raises(Error) as caught:
        connection.execute(sql)
    hint: str = caught.value.hint  # type: ignore[attr-defined]
    return hint


@pytest.mark.parametrize(("wrong", "right"), CONDITIONS.items())
def test_a_condition_of_the_hint_is_answered(
    connection: Connection, wrong: str, right: str
) -> None:
    """Every condition that the hint has, and the expected one among them."""
    conditions = refuse(connection, WHERE + wrong).removeprefix("write ").split(", or ")
    assert right in conditions
    for each in conditions:
        assert connection.execute(WHERE + each).fetchall()


@pytest.mark.parametrize(("wrong", "right"), STATEMENTS.items())
def test_the_statement_of_the_hint_is_answered(
    connection: Connection, wrong: str, right: str
) -> None:
    assert right in refuse(connection, wrong)
    assert connection.execute(right).fetchall()


@pytest.mark.parametrize(("wrong", "change"), PARTS.items())
def test_a_statement_that_follows_the_hint_is_answered(
    connection: Connection, wrong: str, change: tuple[str, str]
) -> None:
    part, instead = change
    hint = refuse(connection, wrong)
    words = {"app GROUP BY city": "GROUP BY city", "GROUP BY city HAVING COUNT(*) > 10": "HAVING"}
    words |= {
        "GROUPING(city)": "GROUPING(key)",
        "AVG(pay) > 10": "AVG(pay)",
        "birth_year BETWEEN 1950 AND 1969": "BETWEEN",
        "city, COUNT(*) FROM app GROUP BY city LIMIT 5": "LIMIT 5",
        "1": "leave it out",
        "city": "leave it out" if wrong.endswith("city, 2") else "city",
        "GROUP BY city HAVING": "GROUP BY city",
        "day >= DATE '2026-01-01'": "DATE '2026-01-01'",
    }
    assert words.get(instead, instead) in hint
    assert connection.execute(wrong.replace(part, instead, 1)).fetchall()


def test_an_alias_in_where_is_what_it_stands_for(connection: Connection) -> None:
    grouped = "SELECT city AS c, COUNT(*) AS n FROM app WHERE {} = 'Bern' GROUP BY city"
    found = [connection.execute(grouped.format(name)).fetchall() for name in ("c", "city")]
    assert found[0] == found[1]


def test_objects_and_refusals_are_short(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of surveys at a prompt, and of errors in a notebook, which has a traceback if asked to."""
    assert all(len(repr(survey)) <= 200 for survey in connection.surveys)
    assert "app: 8 columns" in repr(connection.surveys)
    with pytest.raises(Error) as caught:
        connection.sql("SELECT nope FROM app")
    monkeypatch.delenv("LDPSQL_DEBUG", raising=False)
    (line,) = caught.value._render_traceback_()
    assert line == f"QueryError: {caught.value}"
    monkeypatch.setenv("LDPSQL_DEBUG", "1")
    with pytest.raises(AttributeError):
        caught.value._render_traceback_()


def test_other_objects_are_short_at_a_prompt(connection: Connection) -> None:
    connection.register("towns", {"name": ["Bern"] * 1000, "size": [1] * 1000})
    result = connection.sql("SELECT city, COUNT(*) AS n FROM app GROUP BY city").result
    assert repr(connection.lookups[0]) == "<ldpsql.PublicTable towns: 1,000 rows of name, size>"
    assert repr(result) == "<ldpsql.Result: 4 rows of city, n>"
    assert repr(connection) == "<ldpsql.Connection: app>"
    connection.unregister("towns")


def test_summarize_says_what_is_declared_and_what_the_reports_say(connection: Connection) -> None:
    answer = connection.sql("SUMMARIZE app")
    assert answer.columns[-3:] == ("count", "avg", "median")
    rows = {row[0]: row for row in answer.rows()}
    assert list(rows) == [row[0] for row in connection.table("app").fetchall()]
    for sql, column, place in (
        ("SELECT COUNT(city) FROM app", "city", -3),
        ("SELECT AVG(pay) FROM app", "pay", -2),
        ("SELECT MEDIAN(weight) FROM app", "weight", -1),
    ):
        assert connection.execute(sql).fetchall() == [(rows[column][place],)]
    assert rows["city"][-2:] == (None, None)
    assert rows["pay"][3] == "[0, 1000]"
    assert answer.arrow(intervals=True)["count_low"].null_count < len(rows)


def test_answers_have_the_names_of_duckdb(
    connection: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    cursor = connection.execute("SELECT COUNT(*) AS n FROM app")
    answer = cursor.answer
    assert answer.fetchall() == cursor.fetchall() == [(PEOPLE,)]
    assert list(answer.to_df().n) == list(cursor.to_df().n) == [PEOPLE]
    answer.show()
    cursor.show()
    assert capsys.readouterr().out.count("3000") == 2
    names = [row[0] for row in connection.table("app").fetchall()]
    assert names[:2] == ["birth_year", "city"]
