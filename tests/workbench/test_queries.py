"""Files of named queries, and the tables of their answers."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.command_line import store_reports

import ldpsql
from ldpsql.errors import QueryError
from ldpsql.workbench.publish.queries import INDEX, answer_queries, read_queries
from ldpsql_device.errors import NotSupportedError, ProgrammingError


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    path = tmp_path_factory.mktemp("publish") / "app.duckdb"
    store_reports(path, 4_000)
    with ldpsql.connect(path, read_only=True) as opened:
        yield opened


QUERIES = """\
-- What the board asks.
-- name: young
SELECT state, COUNT(*) AS n FROM app WHERE age < 30 GROUP BY state;
--name:  total
SELECT COUNT(*) AS n, ';' AS text
  FROM app -- all of it
"""


def test_answers_are_those_of_the_questions(connection, tmp_path):
    path = tmp_path / "q.sql"
    path.write_text(QUERIES)
    queries, steps = read_queries(path), []
    assert [query.name for query in queries] == ["young", "total"]
    tables = answer_queries(connection.session, queries, lambda *step: steps.append(step))
    assert [*tables] == ["young", "total", INDEX]
    assert steps == [(0, 2), (1, 2)]
    answer = connection.sql(queries[0].sql).arrow(intervals=True)
    assert tables["young"].column_names == ["state", "n", "n_stderr", "n_low", "n_high"]
    assert tables["young"].to_pydict() == answer.to_pydict()
    assert tables["total"].column("text").to_pylist() == [";"]
    # The type of an estimate does not depend on what the reports happen to be.
    assert {tables[name].schema.field("n").type for name in ("young", "total")} == {pa.float64()}
    young, total = tables[INDEX].to_pylist()
    assert (young["table_name"], young["sql"]) == ("young", queries[0].sql)
    assert young["survey"] == f"app ({connection.surveys[0].fingerprint[:12]})"
    assert "2-LDP" in young["guarantee"]
    assert (young["reports"], young["confidence"]) == (4_000, 0.95)
    assert "weak (~)" in young["notes"]
    assert total["notes"] == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no query"),
        ("SELECT 1", "has SQL without a name"),
        ("SELECT 1;\n-- name: a\nSELECT 1", "has SQL without a name"),
        ("-- name: a", "line 1: a has 0 statements, not one"),
        ("-- name: a\nSELECT 1; SELECT 2", "line 1: a has 2 statements, not one"),
        ("\n-- name: A b\nSELECT 1", "line 2: 'A b' is not the name of a table"),
        (f"-- name: {'a' * 64}\nSELECT 1", "is not the name of a table"),
        (f"-- name: {INDEX}\nSELECT 1", "there is another table ldpsql_published"),
        ("-- name: a\nSELECT 1\n-- name: a\nSELECT 2", "line 3: there is another table a"),
    ],
)
def test_files_that_are_refused(tmp_path, text, reason):
    path = tmp_path / "q.sql"
    path.write_text(text)
    with pytest.raises(QueryError, match="q.sql.*" + reason):
        read_queries(path)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT MAX(age) FROM app", "q.sql, line 1: MAX depends on single people"),
        ("SELECT COUNT(*) FROM nobody", "q.sql, line 1: there is no survey 'nobody'"),
        ("EXPLAIN SELECT COUNT(*) FROM app", "q.sql, line 1: a plan is not a table"),
    ],
)
def test_a_query_that_cannot_be_answered_is_an_error(connection, tmp_path, sql, reason):
    path = tmp_path / "q.sql"
    path.write_text(f"-- name: a\n{sql}")
    with pytest.raises((ProgrammingError, NotSupportedError), match=reason):
        answer_queries(connection.session, read_queries(path))
