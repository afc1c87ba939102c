"""Tables in a DuckDB file."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest

from ldpsql.publish import duckdb as target_duckdb
from ldpsql.publish.duckdb import publish_to_duckdb
from ldpsql.publish.tables import INDEX
from ldpsql.store import open_store
from ldpsql_device.errors import StoreError

from .conftest import EVERY_TYPE, make


def rows_of(path, table):
    with duckdb.connect(path, read_only=True) as connection:
        return connection.execute(f"FROM {table}").fetchall()


def test_tables_have_rows_types_and_comments(tmp_path, tables):
    path = tmp_path / "a.duckdb"
    assert publish_to_duckdb(tables, path)
    assert rows_of(path, "by_sex") == [("Fe'male", 10.5), (None, -2.0)]
    firsts = (values[0] for values in EVERY_TYPE.values())
    assert rows_of(path, "all_types")[0] == ("Fe'male", 10.5, *firsts)
    with duckdb.connect(path, read_only=True) as connection:
        said = connection.execute(
            "SELECT comment FROM duckdb_tables() WHERE table_name = 'by_sex'"
        ).fetchall()
        columns = connection.execute(
            "SELECT comment FROM duckdb_columns() WHERE table_name = 'by_sex'"
        ).fetchall()
        listed = connection.execute(f"SELECT table_name, reports FROM {INDEX}").fetchall()
    assert said == [("It's a \\ test",)]
    assert columns == [("declared",), ("estimate of n",)]
    assert listed == [("by_sex", 12), ("all_types", 12)]


def test_the_same_answers_touch_nothing(tmp_path, tables):
    path = tmp_path / "a.duckdb"
    publish_to_duckdb(tables, path)
    before = path.stat()
    assert not publish_to_duckdb(tables, path)
    after = path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize(
    "changed",
    [make(n=(10.5, -2.1)), make(comment="another"), make("other")],
    ids=["number", "comment", "name"],
)
def test_the_file_holds_what_was_published_last(tmp_path, changed):
    path = tmp_path / "a.duckdb"
    publish_to_duckdb([make(), make("gone")], path)
    assert publish_to_duckdb([changed], path)
    with duckdb.connect(path, read_only=True) as connection:
        names = {name for (name,) in connection.execute("SHOW TABLES").fetchall()}
    assert names == {changed.name, INDEX}
    assert rows_of(path, changed.name)[1][1] == changed.rows.column("n")[1].as_py()


READER = """
import duckdb, sys
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    for _ in range(2):
        print(connection.execute("SELECT sum(n) FROM by_sex").fetchall(), flush=True)
        input()
"""


def test_who_reads_keeps_nobody_from_publishing(tmp_path):
    path = tmp_path / "a.duckdb"
    publish_to_duckdb([make()], path)
    command = [sys.executable, "-c", READER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as reader:
        assert reader.stdout.readline() == "[(8.5,)]\n"
        publish_to_duckdb([make(n=(1.0, 2.0))], path)
        print(file=reader.stdin, flush=True)
        assert reader.stdout.readline() == "[(8.5,)]\n"
        reader.stdin.close()
    assert rows_of(path, "by_sex") == [("Fe'male", 1.0), (None, 2.0)]


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.duckdb"
    publish_to_duckdb([make()], path)
    before = path.read_bytes()

    def fail(table):
        raise KeyboardInterrupt

    monkeypatch.setattr(target_duckdb, "comment_statements", fail)
    with pytest.raises(KeyboardInterrupt):
        publish_to_duckdb([make(n=(1.0, 2.0))], path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.duckdb"]


def test_nothing_of_others_is_replaced(tmp_path):
    mine = tmp_path / "mine.duckdb"
    with duckdb.connect(mine) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1")
    both = tmp_path / "both.duckdb"
    publish_to_duckdb([make()], both)
    with duckdb.connect(both) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1")
    store = tmp_path / "store.duckdb"
    open_store(store, read_only=False).close()
    for path in (mine, both, store):
        before = path.read_bytes()
        with pytest.raises(StoreError, match="did not write; publish to a file of its own"):
            publish_to_duckdb([make()], path)
        assert path.read_bytes() == before
    text = tmp_path / "text.duckdb"
    text.write_text("hello, this is no database at all")
    with pytest.raises(StoreError, match="is no DuckDB file"):
        publish_to_duckdb([make()], text)
    assert text.read_text().startswith("hello")


def test_a_file_that_somebody_writes_is_left_alone(tmp_path):
    path = tmp_path / "a.duckdb"
    publish_to_duckdb([make()], path)
    path.with_name("a.duckdb.wal").write_bytes(b"log")
    with pytest.raises(StoreError, match="is open for writing, or was"):
        publish_to_duckdb([make(n=(1.0, 2.0))], path)
