from __future__ import annotations

import builtins
import subprocess
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.surveys import ANYTHING, category, integer, public, survey_toml, visitors

import ldpsql
from ldpsql.dbapi import connection as dbapi
from ldpsql.designer import design
from ldpsql.randomize.table import randomize_batch
from ldpsql.store import open_store
from ldpsql.survey import Survey
from ldpsql_device import errors
from ldpsql_lab.simulation import SeededEntropy

TOML = survey_toml(
    integer("age", 0, 9),
    category("state", "CA", "NY"),
    *(public("day", "date"), public("spent", "float")),
    epsilon="4",
    mechanism="hio",
)
PEOPLE = 4000


@pytest.fixture(scope="module")
def survey():
    return design(TOML)


@pytest.fixture(scope="module")
def reports(survey):
    people = visitors(PEOPLE, days=2)
    people = people.append_column("spent", pa.array(np.arange(PEOPLE) % 3 / 2))
    return randomize_batch(survey, people, SeededEntropy(1), policy=ANYTHING)[0]


@pytest.fixture(scope="module")
def stored(tmp_path_factory, reports, survey):
    path = tmp_path_factory.mktemp("store") / "app.duckdb"
    with ldpsql.connect(path, new=True) as opened:
        opened.ingest(reports, survey=survey)
    return path


@pytest.fixture
def connection(stored):
    with ldpsql.connect(stored, read_only=True) as opened:
        yield opened


QUESTION = "SELECT state, COUNT(*) AS n FROM app GROUP BY state ORDER BY state"


def test_what_pep_249_asks_for_and_what_a_store_has_not(reports, survey):
    """Beside what the compliance suite tries."""
    connection = ldpsql.connect()
    connection.ingest(reports, survey=survey)
    for module in (dbapi, ldpsql):
        assert (module.apilevel, module.threadsafety, module.paramstyle) == ("2.0", 1, "qmark")
    cursor = connection.cursor()
    cursor.setinputsizes([1])
    cursor.setoutputsize(1, 1)
    assert cursor.execute(QUESTION) is cursor
    assert cursor.rowcount == 2
    assert [row[0] for row in cursor] == ["CA", "NY"]
    with pytest.raises(dbapi.NotSupportedError, match="call execute"):
        cursor.executemany("SELECT COUNT(*) FROM app WHERE age < ?", [[1], [2]])
    with pytest.raises(dbapi.NotSupportedError, match="cannot be rolled back"):
        connection.rollback()
    connection.commit()
    connection.rollback()
    connection.close()
    assert dbapi.Warning is dbapi.Connection.Warning is builtins.Warning
    assert dbapi.Connection.DataError is ldpsql.DataError is errors.DataError


def test_the_description_names_columns_with_comparable_types(connection):
    cursor = connection.cursor()
    assert cursor.description is None
    assert cursor.rowcount == -1
    cursor.execute("SELECT state, day, COUNT(*) AS n FROM app GROUP BY state, day")
    names, codes = zip(*(entry[:2] for entry in cursor.description), strict=True)
    assert names == ("state", "day", "n")
    kinds = (dbapi.STRING, dbapi.DATETIME, dbapi.NUMBER)
    assert codes == kinds
    for code in codes:
        assert sum(code == kind for kind in (*kinds, dbapi.BINARY, dbapi.ROWID)) == 1
    assert {len(entry) for entry in cursor.description} == {7}
    assert dbapi.STRING != dbapi.NUMBER
    assert dbapi.STRING == dbapi.STRING
    assert len({dbapi.STRING, dbapi.NUMBER, dbapi.DATETIME, dbapi.BINARY, dbapi.ROWID}) == 5


def test_parameters_are_bound_by_position_and_by_name(connection):
    by_hand = connection.execute("SELECT COUNT(*) FROM app WHERE age < 5").fetchone()
    by_mark = connection.execute("SELECT COUNT(*) FROM app WHERE age < ?", [5]).fetchone()
    by_name = connection.execute("SELECT COUNT(*) FROM app WHERE age < :a", {"a": 5}).fetchone()
    assert by_hand == by_mark == by_name


def test_estimates_have_values_and_a_covariance(connection):
    cursor = connection.execute(QUESTION)
    assert cursor.estimates.values.tolist() == [row[1] for row in cursor.fetchall()]
    assert cursor.estimates.covariance.shape == (2, 2)
    assert (cursor.estimates.stderr > 0).all()
    assert isinstance(cursor.notes, tuple)


def test_answers_come_as_arrow_and_pandas(connection, survey):
    cursor = connection.execute(QUESTION)
    cursor.fetchone()
    assert cursor.arrow().column_names == ["state", "n"]
    assert cursor.arrow().num_rows == 2
    assert cursor.df()["state"].tolist() == ["CA", "NY"]
    assert connection.surveys == (survey,)


@pytest.mark.filterwarnings("error")
def test_tables_have_error_bars_for_the_asking(connection):
    """Through an outer query too; columns and numbers that are no estimates have none."""
    cursor = connection.execute(
        f"WITH t AS ({QUESTION}) SELECT state, ROUND(n) AS n, n > 3 AS big FROM t"
    )
    names = ["state", "n", "n_stderr", "n_low", "n_high", "big"]
    assert cursor.arrow(intervals=True).column_names == names
    frame = cursor.df(intervals=True)
    assert frame.columns.tolist() == names
    assert (frame["n_low"] < frame["n_high"]).all()
    assert str(frame["n_stderr"].dtype) == "float64"
    assert cursor.df().columns.tolist() == ["state", "n", "big"]
    assert cursor.notes[0] == "no error bar for big: a comparison of estimates"


def test_a_cursor_says_what_it_holds(connection):
    cursor = connection.cursor()
    assert repr(cursor) == "<ldpsql.Cursor: no answer yet>"
    cursor.execute(QUESTION)
    assert repr(cursor) == "<ldpsql.Cursor: 2 rows of state, n>"
    cursor.close()
    assert repr(cursor) == "<ldpsql.Cursor: closed>"


def test_explain_is_one_line_a_row(connection):
    cursor = connection.execute("EXPLAIN " + QUESTION)
    assert [entry[0] for entry in cursor.description] == ["plan"]
    assert cursor.rowcount > 1
    with pytest.raises(dbapi.NotSupportedError):
        _ = cursor.estimates


def test_fetching_needs_an_answer(connection):
    cursor = connection.cursor()
    for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.arrow):
        with pytest.raises(dbapi.ProgrammingError, match="call execute first"):
            fetch()
    with pytest.raises(dbapi.ProgrammingError):
        next(cursor)


def test_a_failed_question_leaves_no_older_answer_behind(connection):
    cursor = connection.execute(QUESTION)
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute("SELECT COUNT(*) FROM nowhere")
    assert cursor.description is None
    with pytest.raises(dbapi.ProgrammingError, match="call execute first"):
        cursor.fetchall()


def test_what_is_closed_refuses(connection):
    cursor, other = connection.execute(QUESTION), connection.execute(QUESTION)
    with cursor:
        assert cursor.fetchone()
    for use in (cursor.fetchone, lambda: cursor.execute(QUESTION)):
        with pytest.raises(dbapi.InterfaceError, match="cursor is closed"):
            use()
    connection.close()
    connection.close()
    uses = (
        other.fetchone,
        connection.cursor,
        connection.commit,
        connection.rollback,
        lambda: connection.execute(QUESTION),
        lambda: connection.surveys,
    )
    for use in uses:
        with pytest.raises(dbapi.InterfaceError, match="connection is closed"):
            use()


def test_types_and_constructors_of_pep_249():
    assert dbapi.Date(2026, 1, 2) == date(2026, 1, 2)
    assert dbapi.Timestamp(2026, 1, 2, 3).hour == 3
    assert dbapi.Time(3, 4).minute == 4
    assert dbapi.Binary(b"x") == b"x"
    moment = dbapi.TimestampFromTicks(86400 * 365)
    assert dbapi.DateFromTicks(86400 * 365) == moment.date()
    assert dbapi.TimeFromTicks(86400 * 365) == moment.time()


REGIONS = {"state": ["CA", "NY"], "region": ["west", "east"]}
BY_REGION = "SELECT region, COUNT(*) FROM app JOIN regions USING (state) GROUP BY region"


def test_questions_join_registered_tables(connection):
    pandas = pytest.importorskip("pandas")
    for data in (REGIONS, pa.table(REGIONS), pandas.DataFrame(REGIONS)):
        connection.register("regions", data)
        rows = connection.execute(BY_REGION).fetchall()
        assert [row[0] for row in rows] == ["east", "west"]
    assert [table.name for table in connection.lookups] == ["regions"]
    connection.register("regions", {"state": ["CA"], "region": ["all"]})
    assert [row[0] for row in connection.execute(BY_REGION).fetchall()] == ["all"]
    with pytest.raises(dbapi.IntegrityError, match="survey app"):
        connection.register("app", REGIONS)
    connection.unregister("regions")
    with pytest.raises(dbapi.InterfaceError, match="regions"):
        connection.unregister("regions")
    with pytest.raises(dbapi.ProgrammingError, match="regions"):
        connection.execute(BY_REGION)


def test_tables_in_the_store_outlive_the_connection(files, survey):
    path = files / "app.duckdb"
    (files / "regions.csv").write_text("state,region\nCA,west\nNY,east\n")
    with ldpsql.connect(path, new=True) as opened:
        opened.register("kept", REGIONS)
        opened.ingest(files / "1.parquet", survey=survey)
        opened.add_lookup(files / "regions.csv")
        assert [table.name for table in opened.lookups] == ["kept", "regions"]
    with ldpsql.connect(path, read_only=True) as opened:
        assert len(opened.execute(BY_REGION).fetchall()) == 2
        with pytest.raises(dbapi.OperationalError, match="read-only"):
            opened.add_lookup(REGIONS, "more")
    with ldpsql.connect(path, new=True) as opened:
        opened.remove_lookup("regions")
        assert opened.lookups == ()


@pytest.fixture
def files(tmp_path, reports, survey):
    survey.write(tmp_path / "app.survey.json")
    pq.write_table(reports.slice(0, 1000), tmp_path / "1.parquet")
    pq.write_table(reports.slice(1000), tmp_path / "2.parquet")
    return tmp_path


def total(connection):
    return connection.cursor().execute("SELECT COUNT(*) FROM app").result.reports


def test_by_default_the_file_is_made_and_held_for_writing_only_while_ingesting(files):
    path = files / "s.duckdb"
    with ldpsql.connect(path, new=True) as connection:
        assert path.exists()
        assert connection.ingest(files / "1.parquet")[0].reports == 1000
        with ldpsql.connect(path, read_only=True) as reader:
            assert total(reader) == 1000
        assert [b.known for b in connection.ingest([files / "1.parquet", files / "2.parquet"])] == [
            True,
            False,
        ]
        assert total(connection) == PEOPLE


def test_a_connection_that_cannot_write_now_can_still_be_asked(files):
    path = files / "s.duckdb"
    with ldpsql.connect(path, new=True) as connection:
        connection.ingest(files / "1.parquet")
        with (
            open_store(path, read_only=True),
            pytest.raises(dbapi.OperationalError, match="open in this process"),
        ):
            connection.ingest(files / "2.parquet")
        assert total(connection) == 1000
        connection.ingest(files / "2.parquet")
        assert total(connection) == PEOPLE


def test_what_is_registered_stays_while_reports_are_ingested(files):
    with ldpsql.connect(files / "s.duckdb", new=True) as connection:
        connection.ingest(files / "1.parquet")
        connection.register("regions", {"state": ["CA", "NY"], "region": ["west", "east"]})
        connection.ingest(files / "2.parquet")
        joined = "SELECT COUNT(*) FROM app JOIN regions USING (state) WHERE region = 'east'"
        assert connection.execute(joined).fetchall()


def test_answers_can_be_fetched_while_another_has_the_file(files):
    path = files / "s.duckdb"
    script = (
        "import sys; from ldpsql.store import open_store; "
        "s = open_store(sys.argv[1], read_only=False); print('open', flush=True); sys.stdin.read()"
    )
    with ldpsql.connect(path, new=True) as connection:
        connection.ingest(files / "1.parquet")
        cursor = connection.execute("SELECT COUNT(*) FROM app")
        connection.ingest(files / "2.parquet")
        command = [sys.executable, "-c", script, str(path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as rival:
            assert rival.stdout.readline() == "open\n"
            [(count,)] = cursor.fetchall()
            assert count == pytest.approx(1000)
            rival.stdin.close()
        assert total(connection) == PEOPLE


def test_files_before_a_refused_one_are_told_and_the_connection_is_usable(files):
    (files / "3.parquet").write_bytes(b"nonsense")
    told = []
    with ldpsql.connect(files / "s.duckdb", new=True) as connection:
        with pytest.raises(dbapi.DataError, match=r"3\.parquet"):
            connection.ingest(str(files / "*.parquet"), tell=told.append)
        assert [batch.reports for batch in told] == [1000, PEOPLE - 1000]
        assert total(connection) == PEOPLE
        connection.ingest(pq.read_table(files / "1.parquet"), tell=told.append)
        assert told[-1].repeats == 1000


def test_read_only_never_writes_and_never_makes_a_file(files):
    path = files / "s.duckdb"
    with pytest.raises(dbapi.OperationalError, match="no store"):
        ldpsql.connect(path, read_only=True)
    with pytest.raises(dbapi.OperationalError, match="no store"):
        ldpsql.connect(path, read_only=True, new=True)
    ldpsql.connect(path, new=True).close()
    with (
        ldpsql.connect(path, read_only=True) as connection,
        pytest.raises(dbapi.OperationalError, match="read-only"),
    ):
        connection.ingest(files)


@pytest.mark.parametrize("read_only", [None, True, False])
@pytest.mark.parametrize("spell", [str, Path, Path.as_uri])
def test_a_misspelt_file_is_refused_and_not_made(files, read_only, spell):
    path = files / "s.duckdb"
    with pytest.raises(dbapi.OperationalError, match=r"no store .*s\.duckdb; make .*new=True"):
        ldpsql.connect(spell(path), read_only=read_only)
    assert not path.exists()
    for _ in range(2):
        ldpsql.connect(spell(path), new=True).close()
    ldpsql.connect(spell(path), read_only=read_only).close()


def test_read_only_false_holds_the_file(files):
    path = files / "s.duckdb"
    with ldpsql.connect(path, read_only=False, new=True) as connection:
        connection.ingest(files)
        script = f"import duckdb; duckdb.connect({str(path)!r}, read_only=True)"
        other = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
        assert "Could not set lock" in other.stderr


def test_options_of_ingest_reach_the_store(reports, survey):
    bad = reports.set_column(0, reports.column_names[0], pa.array([99] * PEOPLE))
    with ldpsql.connect() as connection:
        [batch] = connection.ingest(bad, survey=survey, skip_invalid=True, keep="counts")
        assert (batch.reports, batch.skipped) == (0, PEOPLE)


def test_names_of_the_package_are_listed_and_unknown_ones_refused():
    assert {"Survey", "connect", "Error", "Connection"} <= set(dir(ldpsql))
    assert ldpsql.Survey is Survey
    assert ldpsql.connect is dbapi.connect
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ldpsql.nothing


IMPORTS = """
import sys
for module in ("ldpsql_device.errors", "ldpsql", "ldpsql_device.answer"):
    __import__(module)
    print(module, *sorted({"duckdb", "sqlglot", "click", "pyarrow", "numpy"} & set(sys.modules)))
import ldpsql
print(*[name for name in ldpsql.__all__ if getattr(ldpsql, name) is None])
"""


def test_importing_a_part_loads_nothing_heavier_and_every_public_name_can_be_loaded():
    command = [sys.executable, "-c", IMPORTS]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == "ldpsql_device.errors\nldpsql\nldpsql_device.answer numpy\n\n"
