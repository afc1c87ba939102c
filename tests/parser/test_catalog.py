"""What can be asked: SHOW TABLES, DESCRIBE and information_schema."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.sql_survey import APP
from support.surveys import LABELLED
from support.two_estimators import known, stored, survey_of_two

from ldpsql.designer import design
from ldpsql.engine.session import Session
from ldpsql.errors import QueryError, UnsupportedSQL
from ldpsql.parser.catalog import COLUMNS, describe, relations
from ldpsql.store import open_store


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    survey = survey_of_two()
    with known(survey), stored(survey) as opened:
        yield Session(opened)


def rows(session: Session, sql: str) -> list[dict[str, object]]:
    return session.execute(sql).table.to_pylist()


def test_every_column_is_described_once() -> None:
    found = {column["column_name"]: column for column in describe(APP.schema)}
    assert list(found) == [
        *("age", "state", "active", "hours", "joined", "score", "purchase"),
        *("day", "amount", "version", "beta", "seen", "build"),
    ]
    assert found["age"]["domain"] == "[18, 90]"
    assert (found["age"]["bins"], found["age"]["data_type"]) == (73, "BIGINT")
    assert found["state"]["declared_values"] == "'CA', 'NY', 'WA'"
    assert (found["state"]["is_nullable"], found["state"]["data_type"]) == ("YES", "VARCHAR")
    assert found["hours"]["role"] == "dimension, measure"
    assert (found["purchase"]["role"], found["purchase"]["domain"]) == ("measure", "[0, 500]")
    assert (found["joined"]["bins"], found["joined"]["data_type"]) == (12, "DATE")
    assert (found["seen"]["role"], found["seen"]["data_type"]) == ("public", "TIMESTAMP")
    assert set().union(*found.values()) <= set(COLUMNS["columns"])


def test_the_catalog_of_no_survey_is_empty() -> None:
    assert [table.num_rows for table in relations({}).values()] == [0, 0]


def test_surveys_are_shown_and_described(session: Session) -> None:
    assert rows(session, "SHOW TABLES;") == [{"table_name": "app"}]
    columns = rows(session, "SELECT * FROM information_schema.columns ORDER BY ordinal_position")
    for sql in ("DESCRIBE app", "desc APP", 'SHOW COLUMNS FROM "App"'):
        described = rows(session, sql)
        assert described == [{key: row[key] for key in described[0]} for row in columns]
    assert {row["epsilon"] for row in described if row["role"] != "public"} == {
        rows(session, "SELECT epsilon FROM information_schema.tables")[0]["epsilon"]
    }


def test_the_catalog_is_asked_like_any_result(session: Session) -> None:
    sql = "SELECT COUNT(*) AS n FROM Information_Schema.Tables t WHERE t.table_name = ?"
    (answer,) = session.execute(sql, ["app"]).table.to_pylist()
    assert answer == {"n": 1}
    joined = (
        "WITH c AS (SELECT table_name, MAX(bins) AS m FROM information_schema.columns GROUP BY 1) "
        "SELECT m, tables.mechanism FROM c JOIN information_schema.tables USING (table_name)"
    )
    assert len(rows(session, joined)) == 1


@pytest.mark.parametrize(
    ("qualified", "plain"),
    [
        (
            'SELECT "app"."age", COUNT(*) FROM "main"."app" GROUP BY "app"."age"',
            "SELECT age, COUNT(*) FROM app GROUP BY age",
        ),
        (
            "SELECT main.app.age FROM MAIN.app GROUP BY main.app.age",
            "SELECT age FROM app GROUP BY 1",
        ),
        (
            "SELECT COUNT(*) FROM ldpsql.main.app a WHERE a.age = 30",
            "SELECT COUNT(*) FROM app WHERE age = 30",
        ),
        (
            "WITH app AS (SELECT * FROM main.app WHERE age < 4) SELECT COUNT(*) FROM app",
            "SELECT COUNT(*) FROM app WHERE age < 4",
        ),
        (
            "WITH app AS (SELECT * FROM app WHERE age < 4) SELECT COUNT(*) FROM main.app",
            "SELECT COUNT(*) FROM app",
        ),
        ("DESCRIBE main.app", "DESCRIBE app"),
        ('SHOW COLUMNS FROM ldpsql."main"."app"', "DESCRIBE app"),
        (
            "SELECT table_name FROM ldpsql.information_schema.tables",
            "SELECT table_name FROM information_schema.tables",
        ),
    ],
)
def test_the_schema_that_the_catalog_tells_may_be_written(
    session: Session, qualified: str, plain: str
) -> None:
    assert rows(session, qualified) == rows(session, plain)


def test_labels_and_what_values_count_as_are_described() -> None:
    survey = design(LABELLED)
    found = {column["column_name"]: column for column in describe(survey.schema)}
    assert {name: column["label"] for name, column in found.items()} == {
        "age": "How old are you?",
        "state": None,
        "spent": "Ausgaben",
        "version": "App Version",
    }
    assert [(column["outside"], column["missing"]) for column in found.values()] == [
        ("the nearest value", "a value drawn evenly"),
        ("a value drawn evenly", "a value drawn evenly"),
        ("the nearest value", "a value drawn evenly"),
        (None, "missing (NULL)"),
    ]
    with open_store(None, read_only=False) as opened:
        opened.register(survey)
        (table,) = rows(Session(opened), "SELECT label FROM information_schema.tables")
        described = rows(Session(opened), "DESCRIBE app")
    assert table == {"label": survey.label}
    assert [row["label"] for row in described] == [column["label"] for column in found.values()]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM app WHERE 1=0",
        'SELECT * FROM "app" WHERE FALSE',
        "SELECT * FROM main.app LIMIT 0",
        "SELECT * FROM app WHERE 0 = 1 LIMIT 10",
    ],
)
def test_the_columns_of_a_survey_without_rows(session: Session, sql: str) -> None:
    table = session.execute(sql).table
    described = rows(session, "SELECT column_name, data_type FROM information_schema.columns")
    assert table.num_rows == 0
    assert table.column_names == [row["column_name"] for row in described]
    kinds = {"VARCHAR": "string", "BIGINT": "int64", "DOUBLE": "double", "BOOLEAN": "bool"}
    known = {row["column_name"]: kinds.get(str(row["data_type"])) for row in described}
    for column in table.schema:
        assert known[column.name] in (None, str(column.type))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM app WHERE 1 = 1",
        "SELECT * FROM app LIMIT 1",
        "SELECT *, age FROM app LIMIT 0",
        "SELECT * FROM app AS a, app AS b LIMIT 0",
        "SELECT * FROM other.app LIMIT 0",
    ],
)
def test_rows_of_people_are_refused(session: Session, sql: str) -> None:
    with pytest.raises((QueryError, UnsupportedSQL)):
        session.execute(sql)


def test_an_unknown_table_without_rows_is_refused(session: Session) -> None:
    with pytest.raises(QueryError, match="no survey 'nothing'"):
        session.execute("SELECT * FROM nothing LIMIT 0")
