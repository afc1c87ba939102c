"""Tables in a PostgreSQL database: a server of these tests' own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ldpsql.publish import postgresql
from ldpsql.publish.postgresql import publish_to_postgresql, without_password
from ldpsql.publish.tables import INDEX
from ldpsql_device.errors import NotSupportedError, StoreError

from .conftest import EVERY_TYPE, make

psycopg = pytest.importorskip("psycopg")


def _server() -> Path | None:
    """The folder of a server's programs: on the path, or where Debian has them."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return places[-1] if places else None


@pytest.fixture(scope="module")
def server():
    """Its address. It does not run as root, so root runs it as the user postgres."""
    programs = _server()
    if programs is None:
        pytest.skip("there is no PostgreSQL server")
    user = "postgres" if os.geteuid() == 0 else None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="pg-"))  # the path of a socket must be short
    if user:
        shutil.chown(folder, user)

    def call(program, *arguments):
        command = [str(programs / program), "-D", str(folder / "data"), *arguments]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=True, user=user, cwd=folder, **quiet)

    call("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8")
    call("pg_ctl", "-w", "-o", f"-p {port} -k {folder} -c fsync=off", "start")
    try:
        yield f"postgresql://tester@127.0.0.1:{port}/postgres"
    finally:
        call("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture
def url(server, request):
    """An empty schema of the test's own."""
    name = f"s{abs(hash(request.node.name))}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}?options=-csearch_path%3D{name}"


def ask(url, sql):
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def test_tables_have_rows_types_and_comments(url, tables):
    assert publish_to_postgresql(tables, url)
    assert ask(url, "TABLE by_sex") == [("Fe'male", 10.5), (None, -2.0)]
    firsts = [values[0] for values in EVERY_TYPE.values()]
    assert list(ask(url, "TABLE all_types")[0][2:]) == firsts
    assert set(ask(url, "TABLE all_types")[1]) == {None, -2.0}
    assert ask(url, "SELECT obj_description('by_sex'::regclass)") == [("It's a \\ test",)]
    assert ask(url, "SELECT col_description('by_sex'::regclass, 2)") == [("estimate of n",)]
    assert ask(url, f"SELECT table_name, reports FROM {INDEX} ORDER BY 1") == [
        ("all_types", 12),
        ("by_sex", 12),
    ]


def test_the_same_answers_touch_nothing(url, tables):
    publish_to_postgresql(tables, url)
    versions = "SELECT xmin::text FROM by_sex"
    before = ask(url, versions)
    assert not publish_to_postgresql(tables, url)
    assert ask(url, versions) == before
    ask(url, "DROP TABLE by_sex")  # what somebody took away is brought again
    assert publish_to_postgresql(tables, url)
    assert ask(url, "SELECT count(*) FROM by_sex") == [(2,)]


def test_a_table_is_replaced_with_its_views_and_grants(url):
    publish_to_postgresql([make(), make("gone")], url)
    ask(url, "CREATE VIEW seen AS SELECT sum(n) FROM by_sex")
    ask(url, "GRANT SELECT ON by_sex TO PUBLIC")
    assert publish_to_postgresql([make(n=(1.0, 2.0), comment="new")], url)
    assert ask(url, "TABLE seen") == [(3.0,)]
    assert (
        "=r/" in ask(url, "SELECT relacl::text FROM pg_class WHERE oid = 'by_sex'::regclass")[0][0]
    )
    assert ask(url, "SELECT obj_description('by_sex'::regclass)") == [("new",)]
    assert ask(url, "SELECT to_regclass('gone')") == [(None,)]


def test_other_columns_make_another_table(url):
    publish_to_postgresql([make()], url)
    assert publish_to_postgresql([make(more={"m": [1.0, 2.0]})], url)
    assert ask(url, "SELECT m FROM by_sex") == [(1.0,), (2.0,)]
    ask(url, "CREATE VIEW seen AS TABLE by_sex")
    with pytest.raises(StoreError, match="other objects depend on it; nothing was changed"):
        publish_to_postgresql([make()], url)
    assert ask(url, "SELECT m FROM seen") == [(1.0,), (2.0,)]


def test_a_failure_changes_nothing_and_readers_see_no_half(url, monkeypatch):
    publish_to_postgresql([make(), make("other")], url)
    fill, seen = postgresql._fill, []

    def fail(cursor, name, *more):
        fill(cursor, name, *more)
        seen.append(ask(url, "SELECT n FROM by_sex"))  # somebody else, meanwhile
        if name == "other":
            raise KeyboardInterrupt

    monkeypatch.setattr(postgresql, "_fill", fail)
    with pytest.raises(KeyboardInterrupt):
        publish_to_postgresql([make(n=(1.0, 2.0)), make("other", n=(1.0, 2.0))], url)
    assert seen == [[(10.5,), (-2.0,)]] * 2
    assert ask(url, "SELECT n FROM by_sex") == [(10.5,), (-2.0,)]
    monkeypatch.undo()
    assert not publish_to_postgresql([make(), make("other")], url)


def test_nothing_of_others_is_replaced(url):
    ask(url, "CREATE TABLE by_sex AS SELECT 1 AS mine")
    with pytest.raises(StoreError, match="has a table or view by_sex that `ldpsql publish` did"):
        publish_to_postgresql([make()], url)
    publish_to_postgresql([make("other")], url)
    with pytest.raises(StoreError, match="has a table or view by_sex"):
        publish_to_postgresql([make()], url)
    assert ask(url, "TABLE by_sex") == [(1,)]
    assert ask(url, "SELECT count(*) FROM other") == [(2,)]


def test_types_without_a_counterpart_are_refused(url):
    with pytest.raises(NotSupportedError, match="no column for parts, which is list"):
        publish_to_postgresql([make(more={"parts": [[1], [2]]})], url)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:swordfish@127.0.0.1:1/db",
        "postgresql://ann:sword%zzfish@127.0.0.1:1/db",
        "postgresql://ann:swordfish@127.0.0.1:port/db",
        "postgresql://127.0.0.1:1/db?password=swordfish",
    ],
)
def test_no_password_is_told(address):
    assert "sword" not in without_password(address)
    with pytest.raises(StoreError) as caught:
        publish_to_postgresql([make()], address)
    assert "sword" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_psycopg_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NotSupportedError, match=r"pip install ldpsql\[postgresql\]"):
        publish_to_postgresql([make()], "postgresql://127.0.0.1/db")
