"""The DuckDB file and the folder that tables are written to."""

from __future__ import annotations

import subprocess
import sys
from datetime import date, datetime

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ldpsql.store import open_store
from ldpsql.workbench.publish import targets
from ldpsql.workbench.publish.queries import INDEX
from ldpsql.workbench.publish.targets import check_target, write_tables
from ldpsql_device.errors import StoreError

EVERY_TYPE = pa.table(
    {
        "text": ["Fe'male", None],
        "whole": [1, None],
        "day": [date(2026, 1, 31), None],
        "moment": [datetime(2026, 1, 31, 12), None],
        "flag": [True, None],
        "end": [float("inf"), None],
    }
)


def make(**tables):
    """Tables, and the index that lists them."""
    made = {name: pa.table({"n": n}) if isinstance(n, list) else n for name, n in tables.items()}
    return {**made, INDEX: pa.table({"table_name": [*tables]})}


def rows_of(target, table):
    if target.suffix:
        with duckdb.connect(target, read_only=True) as connection:
            return connection.execute(f'FROM "{table}"').fetchall()
    columns = pq.read_table(target / f"{table}.parquet").to_pydict().values()
    return list(zip(*columns, strict=True))


@pytest.fixture(params=["answers.duckdb", "answers"])
def target(request, tmp_path):
    return tmp_path / request.param


def test_rows_and_types_stay(target):
    # `order` is a word of SQL.
    write_tables(make(all_types=EVERY_TYPE, order=[1.5], answers=[2.5]), target)
    assert rows_of(target, "all_types") == list(zip(*EVERY_TYPE.to_pydict().values(), strict=True))
    assert (rows_of(target, "order"), rows_of(target, "answers")) == ([(1.5,)], [(2.5,)])


def test_the_target_holds_what_was_published_last(target):
    write_tables(make(a=[1.0], gone=[2.0]), target)
    write_tables(make(a=[3.0], more=[4.0]), target)
    assert (rows_of(target, "a"), rows_of(target, "more")) == ([(3.0,)], [(4.0,)])
    assert rows_of(target, INDEX) == [("a",), ("more",)]
    if not target.suffix:
        assert sorted(path.stem for path in target.iterdir()) == ["a", INDEX, "more"]
    assert [path.name for path in target.parent.iterdir()] == [target.name]


@pytest.mark.parametrize("step", ["copyfile", "write_table", "rename"])
def test_a_failure_leaves_what_was_there(target, monkeypatch, step):
    write_tables(make(a=[1.0]), target)
    places = {"copyfile": targets.shutil, "write_table": targets.pq, "rename": targets.Path}
    act = getattr(places[step], step)

    def fail_for_new(*arguments):
        if step == "rename" and "new" not in str(arguments[0]):
            return act(*arguments)
        raise KeyboardInterrupt

    is_needed = (step == "copyfile") == bool(target.suffix)
    monkeypatch.setattr(places[step], step, fail_for_new)
    if is_needed:
        with pytest.raises(KeyboardInterrupt):
            write_tables(make(a=[2.0]), target)
    monkeypatch.undo()
    assert rows_of(target, "a") == [(1.0,)]
    assert [path.name for path in target.parent.iterdir()] == [target.name]


READER = """
import duckdb, sys
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    for _ in range(2):
        print(connection.execute("SELECT sum(n) FROM a").fetchall(), flush=True)
        input()
"""


def test_who_reads_keeps_nobody_from_publishing(tmp_path):
    path = tmp_path / "a.duckdb"
    write_tables(make(a=[8.5]), path)
    command = [sys.executable, "-c", READER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as reader:
        assert reader.stdout.readline() == "[(8.5,)]\n"
        write_tables(make(a=[3.0]), path)
        print(file=reader.stdin, flush=True)
        assert reader.stdout.readline() == "[(8.5,)]\n"
        reader.stdin.close()
    assert rows_of(path, "a") == [(3.0,)]


def test_no_database_of_others_is_replaced(tmp_path):
    mine = tmp_path / "mine.duckdb"
    with duckdb.connect(mine) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1")
    both = tmp_path / "both.duckdb"
    write_tables(make(a=[1.0]), both)
    with duckdb.connect(both) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1")
    store = tmp_path / "store.duckdb"
    open_store(store, read_only=False).close()
    for path in (mine, both, store):
        before = path.read_bytes()
        with pytest.raises(StoreError, match="did not write; publish to a file of its own"):
            write_tables(make(a=[2.0]), path)
        assert path.read_bytes() == before
    text = tmp_path / "text.duckdb"
    text.write_text("hello, this is no database at all")
    with pytest.raises(StoreError, match="is no DuckDB file"):
        write_tables(make(a=[1.0]), text)
    assert text.read_text().startswith("hello")


def test_a_file_that_somebody_writes_is_left_alone(tmp_path):
    path = tmp_path / "a.duckdb"
    write_tables(make(a=[1.0]), path)
    path.with_name("a.duckdb.wal").write_bytes(b"log")
    with pytest.raises(StoreError, match="is open for writing, or was"):
        write_tables(make(a=[2.0]), path)


@pytest.mark.parametrize("name", ["a", "a.parquet", "photo.png", f"{INDEX}.parquet"])
def test_no_folder_of_others_is_replaced(tmp_path, name):
    """Nor one to which somebody added a file."""
    fresh, added = tmp_path / "fresh", tmp_path / "added"
    fresh.mkdir()
    write_tables(make(b=[1.0]), added)
    for folder in (fresh, added):
        (folder / name).write_text("somebody's data")
        with pytest.raises(StoreError, match="did not write; publish to a folder of its own"):
            write_tables(make(a=[2.0]), folder)
        assert (folder / name).read_text() == "somebody's data"


def test_an_empty_folder_and_a_link_are_filled(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("empty")
    write_tables(make(a=[1.0]), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert rows_of(tmp_path / "empty", "a") == [(1.0,)]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE SCHEMA mine; CREATE TABLE mine.a AS SELECT 42 AS n",
        "CREATE VIEW seen AS SELECT 1 AS n",
        "CREATE SEQUENCE counted",
        "CREATE MACRO twice(x) AS 2 * x",
        "CREATE TYPE mood AS ENUM ('good')",
    ],
)
def test_what_somebody_added_to_a_database_is_not_replaced(tmp_path, statement):
    """Whatever its kind; without it the same file is."""
    target = tmp_path / "out.duckdb"
    write_tables(make(a=[1]), target)
    write_tables(make(a=[2]), target)
    with duckdb.connect(target) as connection:
        connection.execute(statement)
    with pytest.raises(StoreError, match="holds something that `ldpsql publish` did not write"):
        write_tables(make(a=[3]), target)


@pytest.mark.parametrize("name", ["out.duckdb", "out"])
def test_who_may_read_stays_as_it_was(tmp_path, name):
    target = tmp_path / name
    write_tables(make(a=[1]), target)
    target.chmod(0o700)
    write_tables(make(a=[2]), target)
    assert target.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["answers", "answers.duckdb"])
def test_two_at_once_take_turns(tmp_path, name):
    """Every run ends well, and one of them is what is there in the end."""
    target, script = tmp_path / name, tmp_path / "publish.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\nimport pyarrow as pa\n"
        "from ldpsql.workbench.publish.queries import INDEX, INDEX_COLUMNS\n"
        "from ldpsql.workbench.publish.targets import write_tables\n"
        "row = {field: None for field in INDEX_COLUMNS.names} | {'table_name': 'a'}\n"
        "index = pa.Table.from_pylist([row], INDEX_COLUMNS)\n"
        "for _ in range(3):\n"
        "    write_tables({'a': pa.table({'a': [1.0]}), INDEX: index}, Path(sys.argv[1]))\n"
    )
    command = [sys.executable, str(script), str(target)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        assert (process.communicate()[1], process.returncode) == ("", 0)
    check_target(target)
    assert target.exists()
