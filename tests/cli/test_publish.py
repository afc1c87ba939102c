"""`publish` as it is called."""

from __future__ import annotations

import duckdb
import pyarrow.parquet as pq
import pytest
from support.command_line import refusal, run, store_reports
from support.http import serving
from support.surveys import ANYTHING, app, people

from ldpsql.randomize.table import randomize_batch
from ldpsql.server.remote import TOKEN
from ldpsql.server.tokens import Tokens
from ldpsql.store import open_store
from ldpsql.workbench.publish.queries import INDEX
from ldpsql_lab.simulation import SeededEntropy

QUERIES = """\
-- name: young
SELECT state, COUNT(*) AS n FROM app WHERE age < 30 GROUP BY state ORDER BY state;
-- name: total
SELECT COUNT(*) AS n FROM app
"""


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "app.duckdb"
    store_reports(path, 3_000)
    return path


@pytest.fixture
def queries(tmp_path):
    path = tmp_path / "q.sql"
    path.write_text(QUERIES)
    return path


def test_once_per_refresh(tmp_path, queries):
    source, target = tmp_path / "app.duckdb", tmp_path / "answers.duckdb"
    store_reports(source, 2_000)
    first = run("publish", "--db", source, "--to", target, "--queries", queries)
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr == f"{target}: 2 tables\n"
    reports, _ = randomize_batch(app(), people(500), SeededEntropy(7), policy=ANYTHING)
    with open_store(source, read_only=False) as store:
        store.ingest_table(reports, app())
    again = run("publish", "--db", source, "--to", target, "--queries", queries)
    assert again.stderr == first.stderr
    with duckdb.connect(target, read_only=True) as connection:
        assert connection.execute("SELECT n FROM total").fetchall() == [(2_500,)]
        assert connection.execute(f"SELECT DISTINCT reports FROM {INDEX}").fetchall() == [(2_500,)]


def test_a_folder_of_parquet_with_the_settings_that_were_given(db, tmp_path, queries):
    out = tmp_path / "out"
    done = run(
        *("publish", "--db", db, "--to", out, "--queries", queries, "--confidence", "0.9"),
    )
    assert done.exit_code == 0, done.stderr
    assert pq.read_table(out / "young.parquet").column_names == [
        *("state", "n", "n_stderr", "n_low", "n_high"),
    ]
    index = pq.read_table(out / f"{INDEX}.parquet").to_pylist()
    assert [row["table_name"] for row in index] == ["young", "total"]
    assert {row["confidence"] for row in index} == {0.9}


@pytest.mark.slow
def test_over_http(db, tmp_path, monkeypatch, queries):
    """The tables of a collector are those of its file."""
    served = tmp_path / "app.duckdb"
    served.write_bytes(db.read_bytes())
    run("publish", "--db", db, "--to", tmp_path / "local", "--queries", queries)
    with serving("--db", str(served)) as (_, address):
        monkeypatch.setenv(TOKEN, Tokens.beside(served).add("ann", "analyst"))
        done = run("publish", "--db", address, "--to", tmp_path / "remote", "--queries", queries)
        assert done.exit_code == 0, done.stderr
    files = sorted((tmp_path / "local").glob("*.parquet"))
    assert len(files) == 3
    for path in files:
        assert pq.read_table(path).equals(pq.read_table(tmp_path / "remote" / path.name))


def test_a_query_that_cannot_be_answered_leaves_what_was_there(db, tmp_path, queries):
    target = tmp_path / "x.duckdb"
    assert run("publish", "--db", db, "--to", target, "--queries", queries).exit_code == 0
    before = target.read_bytes()
    queries.write_text(f"{QUERIES};\n-- name: wrong\nSELECT COUNT(*) FROM nobody")
    said = refusal(run("publish", "--db", db, "--to", target, "--queries", queries), 1)
    assert "q.sql, line 6: there is no survey 'nobody'" in said
    assert target.read_bytes() == before


def test_the_database_of_reports_is_no_target(db, queries):
    before = db.read_bytes()
    said = refusal(run("publish", "--db", db, "--to", db, "--queries", queries), 3)
    assert "holds something that `ldpsql publish` did not write" in said
    assert db.read_bytes() == before
