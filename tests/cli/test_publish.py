"""`publish` as it is called."""

from __future__ import annotations

import duckdb
import pyarrow.parquet as pq
import pytest
from support.command_line import refusal, run, store_reports
from support.http import serving
from support.surveys import ANYTHING, app, people

from ldpsql.remote import TOKEN
from ldpsql.server.tokens import Tokens
from ldpsql.simulation import SeededEntropy
from ldpsql.store import open_store
from ldpsql_device.table import randomize_batch


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "app.duckdb"
    store_reports(path, 3_000)
    return path


def test_once_per_refresh(tmp_path):
    source, target = tmp_path / "app.duckdb", tmp_path / "answers.duckdb"
    store_reports(source, 2_000)
    first = run("publish", "--db", source, "--to", target, "--ways", "1")
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr == f"{target}: 5 tables\n"
    again = run("publish", "--db", source, "--to", target, "--ways", "1")
    assert again.stderr == f"{target}: 5 tables, nothing new\n"
    reports, _ = randomize_batch(app(), people(500), SeededEntropy(7), policy=ANYTHING)
    with open_store(source, read_only=False) as store:
        store.ingest_table(reports, app())
    assert run("publish", "--db", source, "--to", target, "--ways", "1").stderr == first.stderr
    with duckdb.connect(target, read_only=True) as connection:
        ((n,),) = connection.execute("SELECT people FROM app").fetchall()
    assert n == 2_500


def test_a_folder_of_csv_and_queries(db, tmp_path):
    queries = tmp_path / "q.sql"
    queries.write_text("-- name: young\nSELECT COUNT(*) AS n FROM app WHERE age < 30")
    out = tmp_path / "out"
    done = run(
        *("publish", "--db", db, "--to", out, "--file-format", "csv", "--ways", "0"),
        *("--queries", queries, "--confidence", "0.9"),
    )
    assert done.exit_code == 0, done.stderr
    assert (out / "young.csv").read_text().startswith("n,n_stderr,n_low,n_high\n")
    assert "90 % interval" in (out / "README.md").read_text()


@pytest.mark.slow
def test_over_http(db, tmp_path, monkeypatch):
    """The tables of a collector are those of its file."""
    served = tmp_path / "app.duckdb"
    served.write_bytes(db.read_bytes())
    run("publish", "--db", db, "--to", tmp_path / "local")
    with serving("--db", str(served)) as (_, address):
        monkeypatch.setenv(TOKEN, Tokens.beside(served).add("ann", "analyst"))
        done = run("publish", "--db", address, "--to", tmp_path / "remote")
        assert done.exit_code == 0, done.stderr
        again = run("publish", "--db", address, "--to", tmp_path / "remote")
    assert again.stderr.endswith("11 tables, nothing new\n")
    files = sorted((tmp_path / "local").glob("*.parquet"))
    assert len(files) == 11
    for path in files:
        other = pq.read_table(tmp_path / "remote" / path.name)
        assert pq.read_table(path).equals(other)
        assert pq.read_table(path).schema.metadata == other.schema.metadata


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("--to", "mysql://x"), 2, "--to takes a file, a folder or postgresql://"),
        (("--to", "x.xlsx"), 2, "'x.xlsx' looks like neither"),
        (("--to", "x.duckdb", "--file-format", "csv"), 2, "--file-format is for a folder"),
        (("--to", "x.duckdb", "--table", "nobody"), 1, "there is no survey 'nobody'"),
        (("--to", "no/such/x.duckdb"), 1, "there is no such folder"),
    ],
)
def test_what_is_refused(db, tmp_path, monkeypatch, arguments, code, reason):
    monkeypatch.chdir(tmp_path)
    assert reason in refusal(run("publish", "--db", db, *arguments), code)
    assert list(tmp_path.iterdir()) == []


def test_the_database_of_reports_is_no_target(db):
    before = db.read_bytes()
    said = refusal(run("publish", "--db", db, "--to", db), 2)
    assert "--to would replace" in said
    assert db.read_bytes() == before


def test_a_store_without_surveys_has_nothing_to_publish(tmp_path):
    empty = tmp_path / "empty.duckdb"
    open_store(empty, read_only=False).close()
    said = refusal(run("publish", "--db", empty, "--to", tmp_path / "x.duckdb"), 1)
    assert said.startswith("there is nothing to publish")
