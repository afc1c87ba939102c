"""Which tables are published, and what is in them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.command_line import store_reports

import ldpsql
from ldpsql.designer import design
from ldpsql.errors import QueryError
from ldpsql.publish.tables import INDEX, Asked, answer_tables, make_table, read_queries
from ldpsql.simulation import simulate
from ldpsql_device.errors import NotSupportedError, OperationalError, ProgrammingError


@pytest.fixture(scope="module")
def connection(tmp_path_factory):
    path = tmp_path_factory.mktemp("publish") / "app.duckdb"
    store_reports(path, 4_000)
    with ldpsql.connect(path, read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def published(connection):
    return answer_tables(connection.session, connection.surveys)


def test_there_is_a_table_for_everybody_for_every_column_and_for_every_pair(published):
    keys = ("age", "state", "day", "version")
    pairs = [f"app_by_{a}_and_{b}" for i, a in enumerate(keys) for b in keys[i + 1 :]]
    expected = ["app", *(f"app_by_{key}" for key in keys), *pairs]
    assert [table.name for table in published.tables] == expected
    assert published.notes == ()


def test_numbers_are_those_of_the_question(connection, published):
    (table,) = (table for table in published.tables if table.name == "app_by_state")
    answer = connection.sql(table.sql).arrow(intervals=True)
    assert table.rows.column_names == answer.column_names
    for name in answer.column_names:
        assert table.rows.column(name).to_pylist() == answer.column(name).to_pylist()
    assert {str(table.rows.schema.field(n).type) for n in answer.column_names[1:]} == {"double"}
    assert table.reports == 4_000
    assert table.surveys == (("app", connection.surveys[0].fingerprint),)


def test_every_number_is_explained(published):
    (table,) = (table for table in published.tables if table.name == "app_by_state")
    said = dict(zip(table.rows.column_names, table.comments, strict=True))
    assert all(said.values())
    assert said["people"] == "estimated number of people"
    assert said["people_low"] == "lower end of the 95 % interval of people"
    assert said["spent_avg"] == "estimated average: spent; bounds [0, 500]"
    assert "4000 randomized reports of survey app" in table.comment
    assert "2-LDP" in table.comment
    assert "sums over rows have none" in table.comment


def test_digests_tell_answers_apart(connection, published):
    again = answer_tables(connection.session, connection.surveys)
    assert [t.digest for t in again.tables] == [t.digest for t in published.tables]
    assert len({table.digest for table in published.tables}) == len(published.tables)


def test_fewer_ways_are_fewer_tables(connection):
    made = answer_tables(connection.session, connection.surveys, ways=1)
    assert [t.name for t in made.tables] == [
        "app",
        *(f"app_by_{key}" for key in ("age", "state", "day", "version")),
    ]


def test_what_the_reports_cannot_tell_is_left_out_with_a_note(tmp_path):
    path = tmp_path / "one.duckdb"
    store_reports(
        path,
        500,
        """
        [survey]
        table = "app"
        epsilon = "2"
        mechanism = "fourier"
        [workload]
        max_predicates = 1
        [dimension.age]
        type = "int"
        domain = [18, 90]
        [dimension.state]
        type = "category"
        values = ["CA", "NY", "WA"]
        """,
    )
    with ldpsql.connect(path, read_only=True) as connection:
        made = answer_tables(connection.session, connection.surveys)
    assert [table.name for table in made.tables] == ["app", "app_by_age", "app_by_state"]
    assert len(made.notes) == 1
    assert made.notes[0].startswith("no table of app by age and state: ")


def test_names_that_are_taken_are_not_taken_twice():
    long = "a" * 60
    survey = f"""
        [survey]
        table = "app"
        epsilon = "2"
        mechanism = "fourier"
        [dimension.people]
        type = "int"
        domain = [0, 3]
        [dimension.b]
        type = "bool"
        [dimension.people_and_b]
        type = "bool"
        [dimension.{long}]
        type = "bool"
        """
    columns = {name: [True, False] * 200 for name in ("people_and_b", "b", long)}
    table = pa.table({"people": [0, 1, 2, 3] * 100, **columns})
    with simulate(design(survey), table) as connection:
        made = answer_tables(connection.session, connection.surveys)
        result = connection.session.execute(f"SELECT COUNT(*) AS {long}abc FROM app")
    names = [table.name for table in made.tables]
    assert len(names) == len(set(names)) == 11
    assert max(map(len, names)) <= 63
    assert "app_by_people_and_b" in names
    for table in made.tables:
        assert "people_" in table.rows.column_names  # the count, beside the column people
    with pytest.raises(NotSupportedError, match="is empty, unprintable or longer"):
        make_table(Asked("x", "", "x"), result, {})


class Growing:
    """A session to whose store reports come while it is asked. for_rounds: how often."""

    def __init__(self, session, for_rounds):
        self.session, self.store, self.left = session, session.store, for_rounds

    def execute(self, sql):
        result = self.session.execute(sql)
        if "GROUP BY" not in sql and self.left:
            self.left -= 1
            object.__setattr__(result, "reports", result.reports - 1)
        return result


def test_tables_are_of_one_state_of_the_reports(connection):
    made = answer_tables(Growing(connection.session, 3), connection.surveys, ways=1)
    assert {table.reports for table in made.tables} == {4_000}
    with pytest.raises(
        OperationalError, match="new reports arrived while the tables were computed"
    ):
        answer_tables(Growing(connection.session, 99), connection.surveys, ways=1)


QUERIES = """\
-- What the board asks.
-- name: young
SELECT state, COUNT(*) AS n FROM app WHERE age < 30 GROUP BY state;
--name:  total
SELECT COUNT(*) AS n, ';' AS text
  FROM app -- all of it
"""


def test_queries_of_a_file_have_names(connection, tmp_path):
    path = tmp_path / "q.sql"
    path.write_text(QUERIES)
    asked = read_queries(path)
    assert [query.name for query in asked] == ["young", "total"]
    made = answer_tables(connection.session, (), asked)
    assert [table.name for table in made.tables] == ["young", "total"]
    assert made.tables[0].rows.column_names == ["state", "n", "n_stderr", "n_low", "n_high"]
    assert made.tables[1].rows.column("text").to_pylist() == [";"]


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
        ("EXPLAIN SELECT COUNT(*) FROM app", "a plan is not a table"),
    ],
)
def test_a_query_that_cannot_be_answered_is_an_error(connection, tmp_path, sql, reason):
    path = tmp_path / "q.sql"
    path.write_text(f"-- name: a\n{sql}")
    with pytest.raises((ProgrammingError, NotSupportedError), match=reason):
        answer_tables(connection.session, (), read_queries(path))


def test_a_whole_number_is_published_as_an_estimate(connection):
    """Its type does not depend on what the reports happen to be."""
    result = connection.session.execute("SELECT COUNT(*) AS n FROM app")
    table = make_table(Asked("t", "", "t"), result, {})
    assert table.rows.schema.field("n").type == pa.float64()
